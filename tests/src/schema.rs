//! The schema of the JSON document.

use std::sync::OnceLock;

use serde_json::Value;

use crate::root;

/// What is wrong with `document` as the schema of `check --format json` sees it; empty if nothing.
///
/// # Panics
///
/// If the schema in the repository is none.
#[must_use]
pub fn problems(document: &Value) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let file = root().join("tools/ptxcheck/schema/check-v1.schema.json");
        let text = std::fs::read_to_string(file).expect("the schema is in the repository");
        let schema = serde_json::from_str(&text).expect("the schema is JSON");
        jsonschema::draft202012::new(&schema).expect("the schema is a schema")
    });
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
