//! The target of a module, as its functions name it.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::raw::Module;
use ptxcheck_ir::{IsaVersion, Target};

/// The target and the PTX version that the module is for, from the attributes of its functions: `sm_90`, `+ptx88`.
///
/// LLVM makes one PTX module of all functions, and gives it the target and the version of its own command line. Compilers
/// write these into the attributes of each function. Where functions differ, as in modules that are linked with libraries,
/// none can be compiled for less than the highest. `+sm_90` names no target: LLVM keeps to the processor.
pub(super) fn target<'m>(module: Module<'m>) -> (Target<'m>, Option<IsaVersion>) {
    let target = module
        .functions()
        .filter_map(|function| function.string_attribute("target-cpu"))
        .filter(|name| name.starts_with("sm_"))
        .map(Target::named)
        .max_by_key(|target| (target.sm, target.name))
        .unwrap_or_default();
    // Functions share their texts.
    let mut seen = FxHashSet::default();
    let version = module
        .functions()
        .filter_map(|function| function.string_attribute("target-features"))
        .filter(|features| seen.insert((features.as_ptr(), features.len())))
        .filter_map(highest_version)
        .max();
    (target, version)
}

/// The highest PTX version among features, which are switched on and off in their order: LLVM takes that.
fn highest_version(features: &str) -> Option<IsaVersion> {
    let mut enabled = BTreeSet::new();
    for feature in features.split(',') {
        let version = |name: &str| name.strip_prefix("ptx")?.parse::<u32>().ok();
        if let Some(version) = feature.strip_prefix('+').and_then(version) {
            enabled.insert(version);
        } else if let Some(version) = feature.strip_prefix('-').and_then(version) {
            enabled.remove(&version);
        }
    }
    enabled.last().map(|number| IsaVersion {
        major: number / 10,
        minor: number % 10,
    })
}

#[cfg(test)]
mod tests {
    use super::super::with_module;

    /// Target and version of a module whose functions have these attributes.
    fn told(functions: &[&str]) -> String {
        let functions = functions
            .iter()
            .enumerate()
            .map(|(number, attributes)| format!("define void @f{number}() {attributes} {{ ret void }}\n"));
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"\n{}",
            functions.collect::<String>()
        );
        with_module(text.as_bytes(), |module| {
            let isa = module.isa.map(|isa| isa.to_string()).unwrap_or_default();
            format!("{} {isa}", module.target.name)
        })
        .unwrap()
    }

    /// As llc 22 takes `-mattr`, for a processor that wants less.
    #[test]
    fn the_highest_version_that_is_on_counts() {
        for (features, wanted) in [
            ("+ptx42,+ptx88,+sm_90", " 8.8"),
            ("+ptx88,+ptx42", " 8.8"),
            ("+ptx42", " 4.2"),
            ("+ptx42,+ptx88,-ptx88", " 4.2"),
            ("+ptx88,-ptx88,+ptx88", " 8.8"),
            ("+ptx88,-ptx42", " 8.8"),
            ("-ptx88", " "),
            ("+sm_80,+sm_90", " "),
            ("+ptx,+ptx4294967296,ptx88,+ptxé", " "),
            ("", " "),
        ] {
            let told = told(&[&format!("\"target-features\"=\"{features}\"")]);
            assert_eq!(told, wanted, "{features}");
        }
    }

    #[test]
    fn the_highest_of_all_functions_counts() {
        let old = "\"target-cpu\"=\"sm_52\" \"target-features\"=\"+ptx63\"";
        let new = "\"target-cpu\"=\"sm_90a\" \"target-features\"=\"+ptx81\"";
        let plain = "\"target-cpu\"=\"sm_90\" \"target-features\"=\"+ptx80\"";
        let generic = "\"target-cpu\"=\"generic\"";
        for functions in [
            [old, new, plain, "", generic],
            [generic, "", plain, new, old],
            [plain, old, "", generic, new],
        ] {
            assert_eq!(told(&functions), "sm_90a 8.1");
        }
        assert_eq!(told(&[generic, ""]), " ");
    }
}
