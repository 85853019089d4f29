//! Small wheels with metadata about their variant.

use crate::packing::{ZipMember, zip};

/// The metadata of a wheel with one label, whose features in NVIDIA's namespace are the members of this JSON object.
#[must_use]
pub fn metadata(label: &str, features: &str) -> String {
    let properties = if features.is_empty() {
        String::new()
    } else {
        format!("\"nvidia\": {{{features}}}")
    };
    format!(
        r#"{{"$schema": "https://example.org/v0.1.0.json", "default-priorities": {{"namespace": ["nvidia"]}},
        "variants": {{"{label}": {{{properties}}}}}}}"#
    )
}

/// A wheel of `release`, `x-1.0`, with these metadata and files.
#[must_use]
pub fn wheel(release: &str, metadata: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut members: Vec<ZipMember> = files
        .iter()
        .map(|(name, content)| ZipMember::new(name, content))
        .collect();
    let folder = format!("{release}.dist-info");
    members.push(ZipMember::new(
        &format!("{folder}/WHEEL"),
        b"Wheel-Version: 1.0\n",
    ));
    members.push(ZipMember::new(
        &format!("{folder}/variant.json"),
        metadata.as_bytes(),
    ));
    zip(&members)
}
