//! The targets of a `gpu.module` or of an object, as MLIR prints them: `#nvvm.target<chip = "sm_90", features = "+ptx83">`.

use crate::mlir::Attribute;

/// The target that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// `sm_90`; `None` where none is said.
    pub(crate) chip: Option<String>,
    /// `+ptx83` and its like.
    pub(crate) features: Vec<String>,
}

/// The chip of `#nvvm.target` where it names none (MLIR, NVVMTargetAttr).
const DEFAULT_CHIP: &str = "sm_75";

/// The first chip with `redux.sync` (PTX ISA, redux.sync).
const FIRST_REDUX: u32 = 80;

/// The dialects of other targets, and the GPUs that they are for.
const OTHERS: [(&str, &str); 4] = [
    ("rocdl", "AMD's GPUs"),
    ("spirv", "SPIR-V"),
    ("xevm", "Intel's GPUs"),
    ("xegpu", "Intel's GPUs"),
];

impl Target {
    /// The first target for NVIDIA's GPUs in a list; one without a chip, where there is no list. The error names the GPUs that the
    /// list is for.
    pub(crate) fn of(list: Option<Attribute<'_>>) -> Result<Self, String> {
        let texts: Vec<String> = list
            .map(Attribute::elements)
            .unwrap_or_default()
            .into_iter()
            .map(Attribute::printed)
            .collect();
        if texts.is_empty() {
            return Ok(Self::default());
        }
        let found = texts.iter().find_map(|text| Self::parse(text));
        found.ok_or_else(|| other(&texts[0]))
    }

    /// A target that is printed so, if it is for NVIDIA's GPUs.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("#nvvm.target")?;
        let value = |name: &str| {
            let (_, rest) = rest.split_once(&format!("{name} = \""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let chip = value("chip").filter(|chip| is_plain(chip));
        let features = value("features").unwrap_or_default();
        let is_feature = |text: &&str| text.strip_prefix(['+', '-']).is_some_and(is_plain);
        Some(Self {
            chip: Some(chip.unwrap_or_else(|| DEFAULT_CHIP.to_owned())),
            features: features
                .split(',')
                .map(str::trim)
                .filter(is_feature)
                .map(str::to_owned)
                .collect(),
        })
    }

    /// True if it may have `redux.sync`.
    pub(crate) fn has_redux(&self) -> bool {
        let number = |chip: &String| {
            let digits = chip.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            let end = digits
                .find(|letter: char| !letter.is_ascii_digit())
                .unwrap_or(digits.len());
            digits[..end].parse::<u32>().ok()
        };
        self.chip
            .as_ref()
            .and_then(number)
            .is_none_or(|number| number >= FIRST_REDUX)
    }
}

/// Words for a target that is not NVIDIA's.
pub(crate) fn other(text: &str) -> String {
    let dialect = text
        .trim_start_matches('#')
        .split(['.', '<'])
        .next()
        .unwrap_or_default();
    let known = OTHERS.iter().find(|(name, _)| *name == dialect);
    known.map_or_else(
        || format!("the target `{dialect}`"),
        |(_, words)| (*words).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::{Target, other};

    #[test]
    fn targets_are_read_as_mlir_prints_them() {
        let of = |text: &str| Target::parse(text).map(|target| (target.chip.unwrap(), target.features));
        assert_eq!(
            of("#nvvm.target<chip = \"sm_90a\", features = \"+ptx83, +x\">"),
            Some(("sm_90a".to_owned(), vec!["+ptx83".to_owned(), "+x".to_owned()]))
        );
        assert_eq!(of("#nvvm.target"), Some(("sm_75".to_owned(), vec![])));
        assert_eq!(of("#nvvm.target<O = 3>"), Some(("sm_75".to_owned(), vec![])));
        assert_eq!(of("#rocdl.target"), None);
        assert_eq!(other("#rocdl.target<chip = \"gfx90a\">"), "AMD's GPUs");
        assert_eq!(other("#spirv.target_env<x>"), "SPIR-V");
        assert_eq!(other("#x.y"), "the target `x`");
    }

    #[test]
    fn reductions_need_a_chip() {
        let redux = |chip: Option<&str>| {
            Target {
                chip: chip.map(str::to_owned),
                features: vec![],
            }
            .has_redux()
        };
        assert!(redux(None) && redux(Some("sm_80")) && redux(Some("sm_120a")));
        assert!(!redux(Some("sm_75")));
    }
}
