//! The dependencies between the packages of the workspace, as `cargo metadata` reads them from the manifests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The packages of the workspace that a package may depend on.
pub struct Layer {
    /// The package.
    pub package: &'static str,
    /// Dependencies of its code.
    pub uses: &'static [&'static str],
    /// Further dependencies of its tests.
    pub tests_use: &'static [&'static str],
}

/// By package: what its code depends on, and what its tests do besides.
pub type Arrows = BTreeMap<String, [BTreeSet<String>; 2]>;

/// The arrows between the packages of a workspace; dependencies of a build script count as those of the code.
pub fn arrows(metadata: &Value) -> Arrows {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(metadata, "packages");
    let dependencies_of = |package: &Value| {
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        for dependency in list(package, "dependencies") {
            if dependency["path"].is_string() {
                found[usize::from(dependency["kind"] == "dev")].insert(name(&dependency));
            }
        }
        (name(package), found)
    };
    packages.iter().map(dependencies_of).collect()
}

/// The errors in the dependencies of a workspace, a sentence each.
pub fn faults(arrows: &Arrows, layers: &[Layer]) -> Vec<String> {
    let mut faults = Vec::new();
    for (package, found) in arrows {
        let Some(layer) = layers.iter().find(|layer| layer.package == package) else {
            faults.push(format!(
                "{package} has no layer: say in LAYERS what it may depend on, and in ARCHITECTURE.md what it is for."
            ));
            continue;
        };
        for (found, allowed, section) in [
            (&found[0], layer.uses, "[dependencies]"),
            (&found[1], layer.tests_use, "[dev-dependencies]"),
        ] {
            let allowed: BTreeSet<String> = allowed.iter().map(ToString::to_string).collect();
            for used in found.difference(&allowed) {
                faults.push(format!(
                    "{package} must not depend on {used} ({section}): what both need belongs into a crate below them. If the \
                     layers themselves are to change, change LAYERS and ARCHITECTURE.md."
                ));
            }
            for unused in allowed.difference(found) {
                faults.push(format!(
                    "{package} does not depend on {unused} any more ({section}): take the arrow out of LAYERS, and out of \
                     ARCHITECTURE.md."
                ));
            }
        }
    }
    for layer in layers.iter().filter(|layer| !arrows.contains_key(layer.package)) {
        faults.push(format!(
            "There is no package {}: take it out of LAYERS.",
            layer.package
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{Layer, arrows, faults};
    use serde_json::json;

    const LAYERS: &[Layer] = &[
        Layer {
            package: "low",
            uses: &[],
            tests_use: &["middle"],
        },
        Layer {
            package: "middle",
            uses: &["low"],
            tests_use: &[],
        },
    ];

    fn said(low: &[(&str, Option<&str>)], middle: &[(&str, Option<&str>)]) -> Vec<String> {
        let dependencies = |of: &[(&str, Option<&str>)]| {
            let one =
                |(name, kind): &(&str, Option<&str>)| json!({ "name": name, "kind": kind, "path": "/" });
            of.iter().map(one).collect::<Vec<_>>()
        };
        let metadata = json!({ "packages": [
            { "name": "low", "dependencies": dependencies(low) },
            { "name": "middle", "dependencies": dependencies(middle) },
        ] });
        faults(&arrows(&metadata), LAYERS)
    }

    #[test]
    fn arrows_of_the_table_are_allowed() {
        assert_eq!(said(&[("middle", Some("dev"))], &[("low", None)]), [""; 0]);
    }

    #[test]
    fn an_arrow_back_is_a_fault() {
        let faults = said(&[("middle", Some("dev")), ("middle", None)], &[("low", None)]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("low must not depend on middle ([dependencies])"));
    }

    #[test]
    fn an_arrow_that_is_gone_is_a_fault() {
        let faults = said(&[("middle", Some("dev"))], &[]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("middle does not depend on low any more"));
    }

    #[test]
    fn a_package_without_a_layer_is_a_fault() {
        let metadata = json!({ "packages": [{ "name": "new", "dependencies": [] }] });
        let faults = faults(&arrows(&metadata), &[]);
        assert!(faults[0].starts_with("new has no layer"));
    }

    #[test]
    fn crates_of_others_are_not_looked_at() {
        let metadata =
            json!({ "packages": [{ "name": "low", "dependencies": [{ "name": "memchr", "kind": null }] }] });
        assert!(arrows(&metadata)["low"][0].is_empty());
    }
}
