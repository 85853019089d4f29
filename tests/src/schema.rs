//! The schemas of the JSON documents.

use std::sync::OnceLock;

use serde_json::Value;

use crate::root;

/// The violations of the schema of `check --format json` in `document`.
///
/// # Panics
///
/// If the schema in the repository is none.
#[must_use]
pub fn problems(document: &Value) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    against(VALIDATOR.get_or_init(|| validator("check-v2")), document)
}

/// The violations of the schema of `audit --format json` in `document`.
///
/// # Panics
///
/// If the schema in the repository is none.
#[must_use]
pub fn audit_problems(document: &Value) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    against(VALIDATOR.get_or_init(|| validator("audit-v2")), document)
}

/// The violations of the schema of `diff --format json` in `document`.
///
/// # Panics
///
/// If the schema in the repository is none.
#[must_use]
pub fn diff_problems(document: &Value) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    against(VALIDATOR.get_or_init(|| validator("diff-v1")), document)
}

/// The violations of the schema of `capacity --format json` in `document`.
///
/// # Panics
///
/// If the schema in the repository is none.
#[must_use]
pub fn capacity_problems(document: &Value) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    against(VALIDATOR.get_or_init(|| validator("capacity-v1")), document)
}

/// The schema of this name in the repository.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn read(name: &str) -> Value {
    let file = root().join(format!("passes/report/schema/{name}.schema.json"));
    let text = std::fs::read_to_string(file).expect("the schema is in the repository");
    serde_json::from_str(&text).expect("the schema is JSON")
}

fn validator(name: &str) -> jsonschema::Validator {
    jsonschema::draft202012::new(&read(name)).expect("the schema is a schema")
}

fn against(validator: &jsonschema::Validator, document: &Value) -> Vec<String> {
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
