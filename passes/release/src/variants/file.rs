//! The content of a file with metadata: labels, and the properties that each stands for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::MAX_VARIANT_FAULTS;
use crate::names::in_message;
use crate::shown;

/// The label of the variant without properties. PEP 825, Variant label.
const NULL: &str = "null";

/// The properties of a variant, by namespace and feature. The values of a feature are alternatives; each feature has to be supported.
pub type Properties = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The metadata of a file: of a wheel, or of all wheels of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantMetadata {
    /// The properties of each label.
    pub variants: BTreeMap<String, Properties>,
    /// Sentences about parts that the format does not allow.
    pub faults: Vec<String>,
}

/// Metadata in a format that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata are in format {0} of wheel variants, which this release does not know")]
pub struct UnknownFormat(String);

impl VariantMetadata {
    /// The metadata in these bytes, faults included.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`], if its schema is newer than the drafts (PEP 825, Schema): its meaning is unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self, UnknownFormat> {
        let document: Document = match serde_json::from_slice(bytes) {
            Ok(document) => document,
            Err(error) => {
                return Ok(Self {
                    faults: vec![format!("they are not read: {}", in_message(&error.to_string()))],
                    ..Self::default()
                });
            }
        };
        let mut faults = Faults::default();
        match document.schema.as_deref().map(format_version) {
            None => faults.add("`$schema` is missing"),
            Some(None) => faults.add("`$schema` does not end in a version such as `v0.1.0.json`"),
            Some(Some(version)) if !version.starts_with("0.") => {
                return Err(UnknownFormat(version.to_owned()));
            }
            Some(Some(_)) => {}
        }
        let variants = properties(document.variants, &mut faults);
        priorities(document.priorities, &variants, &mut faults);
        Ok(Self {
            variants,
            faults: faults.0,
        })
    }
}

/// `0.1.0` of `https://…/v0.1.0.json`.
fn format_version(schema: &str) -> Option<&str> {
    let version = schema
        .rsplit('/')
        .next()?
        .strip_prefix('v')?
        .strip_suffix(".json")?;
    let mut numbers = version.split('.');
    let is_version = numbers.clone().count() == 3 && numbers.all(|number| number.parse::<u32>().is_ok());
    is_version.then_some(version)
}

/// The labels, with what the grammar does not allow in them.
fn properties(
    variants: Option<Pairs<Pairs<Pairs<Vec<String>>>>>,
    faults: &mut Faults,
) -> BTreeMap<String, Properties> {
    let Some(Pairs(variants)) = variants else {
        faults.add("`variants` is missing");
        return BTreeMap::new();
    };
    if variants.is_empty() {
        faults.add("`variants` has no label");
    }
    let mut known: BTreeMap<String, Properties> = BTreeMap::new();
    for (label, Pairs(namespaces)) in variants {
        faults.spelling("label", &label, true);
        let mut properties = Properties::new();
        for (namespace, Pairs(features)) in namespaces {
            faults.spelling("namespace", &namespace, false);
            let mut of_namespace = BTreeMap::new();
            for (feature, values) in features {
                faults.spelling("feature", &feature, false);
                for value in &values {
                    faults.spelling("value", value, true);
                }
                let name = || format!("`{} :: {}`", in_message(&namespace), in_message(&feature));
                if values.is_empty() {
                    faults.add(&format!("{} has no value, so no machine supports it", name()));
                }
                if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
                    faults.add(&format!("{} has a value twice", name()));
                }
                if of_namespace.contains_key(&feature) {
                    faults.add(&format!("{} stands there twice", name()));
                }
                of_namespace.insert(feature, values);
            }
            if properties.contains_key(&namespace) {
                faults.add(&format!(
                    "namespace `{}` stands there twice",
                    in_message(&namespace)
                ));
            }
            properties.insert(namespace, of_namespace);
        }
        if label == NULL && !properties.is_empty() {
            faults.add("the label `null` has properties: it is reserved for the variant without");
        }
        if known.contains_key(&label) {
            faults.add(&format!("label `{}` stands there twice", in_message(&label)));
        }
        known.insert(label, properties);
    }
    known
}

fn priorities(priorities: Option<Priorities>, variants: &BTreeMap<String, Properties>, faults: &mut Faults) {
    let Some(namespaces) = priorities.and_then(|priorities| priorities.namespace) else {
        faults.add("`default-priorities.namespace` is missing");
        return;
    };
    let listed: BTreeSet<&str> = namespaces.iter().map(String::as_str).collect();
    if listed.len() < namespaces.len() {
        faults.add("`default-priorities.namespace` has a namespace twice");
    }
    let used: BTreeSet<&str> = variants
        .values()
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
        .collect();
    for namespace in used.difference(&listed) {
        faults.add(&format!(
            "`default-priorities.namespace` lacks `{}`, which a variant uses",
            in_message(namespace)
        ));
    }
}

/// Sentences about faults, up to a limit.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, sentence: &str) {
        if self.0.len() < MAX_VARIANT_FAULTS {
            self.0.push(shown::name(sentence.as_bytes()).into_owned());
        }
    }

    /// Names are of `a-z`, `0-9` and `_`, some with `.`, and not empty. PEP 825, Variant properties, Variant label.
    fn spelling(&mut self, part: &str, name: &str, may_have_dots: bool) {
        let is_right = |byte: u8| {
            byte.is_ascii_digit()
                || byte.is_ascii_lowercase()
                || byte == b'_'
                || may_have_dots && byte == b'.'
        };
        if name.is_empty() || !name.bytes().all(is_right) {
            let dots = if may_have_dots {
                ", `_` and `.`"
            } else {
                " and `_`"
            };
            self.add(&format!(
                "{part} `{}` is not of `a-z`, `0-9`{dots}",
                in_message(name)
            ));
        }
    }
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "$schema")]
    schema: Option<String>,
    #[serde(rename = "default-priorities")]
    priorities: Option<Priorities>,
    variants: Option<Pairs<Pairs<Pairs<Vec<String>>>>>,
}

#[derive(Deserialize)]
struct Priorities {
    namespace: Option<Vec<String>>,
    #[serde(rename = "feature")]
    _feature: Option<Pairs<Vec<String>>>,
    #[serde(rename = "property")]
    _property: Option<Pairs<Pairs<Vec<String>>>>,
}

/// The pairs of an object in their order, with those that stand there twice.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
            type Value = Pairs<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        VariantMetadata::parse(text.as_bytes()).unwrap().faults
    }

    fn with(variants: &str) -> String {
        format!(
            r#"{{"$schema": "https://example.org/v0.1.0.json", "default-priorities": {{"namespace": ["nvidia"]}},
                "variants": {variants}}}"#
        )
    }

    #[test]
    fn right_metadata_have_no_faults() {
        let text = with(r#"{"cu13": {"nvidia": {"sm_arch": ["90_real", "120_virtual"]}}}"#);
        let metadata = VariantMetadata::parse(text.as_bytes()).unwrap();
        assert_eq!(metadata.faults, <[String; 0]>::default());
        assert_eq!(
            metadata.variants["cu13"]["nvidia"]["sm_arch"],
            ["90_real", "120_virtual"]
        );
        assert_eq!(faults(&with(r#"{"null": {}}"#)), <[String; 0]>::default());
    }

    #[test]
    fn each_fault_is_told() {
        for (variants, fault) in [
            ("{}", "has no label"),
            (r#"{"CU13": {}}"#, "label `CU13` is not of"),
            (r#"{"a": {"Nvidia": {}}}"#, "namespace `Nvidia` is not of"),
            (
                r#"{"a": {"nvidia": {"sm.arch": ["1"]}}}"#,
                "feature `sm.arch` is not of",
            ),
            (r#"{"a": {"nvidia": {"x": ["+"]}}}"#, "value `+` is not of"),
            (r#"{"a": {"nvidia": {"x": []}}}"#, "has no value"),
            (r#"{"a": {"nvidia": {"x": ["1", "1"]}}}"#, "has a value twice"),
            (
                r#"{"a": {"nvidia": {"x": ["1"], "x": ["2"]}}}"#,
                "stands there twice",
            ),
            (r#"{"a": {}, "a": {}}"#, "label `a` stands there twice"),
            (r#"{"null": {"nvidia": {"x": ["1"]}}}"#, "`null` has properties"),
            (r#"{"a": {"other": {"x": ["1"]}}}"#, "lacks `other`"),
            (r#"{"a": ["nvidia"]}"#, "expected an object at line 2"),
        ] {
            let found = faults(&with(variants));
            assert!(
                found.iter().any(|one| one.contains(fault)),
                "{variants}: {found:?}"
            );
        }
        for (text, fault) in [
            ("{", "not read: EOF"),
            ("", "not read: EOF"),
            ("[]", "not read: invalid"),
            (r#"{"variants": {"a": {}}}"#, "`$schema` is missing"),
            (
                r#"{"$schema": "x", "variants": {"a": {}}}"#,
                "does not end in a version",
            ),
            (r#"{"$schema": "v0.0.1.json"}"#, "`variants` is missing"),
            (
                r#"{"$schema": "v0.0.1.json"}"#,
                "`default-priorities.namespace` is missing",
            ),
        ] {
            let found = faults(text);
            assert!(found.iter().any(|one| one.contains(fault)), "{text}: {found:?}");
        }
    }

    #[test]
    fn hostile_metadata_are_bounded() {
        let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert_eq!(faults(&deep).len(), 1);
        let many: Vec<String> = (0..1000).map(|number| format!("\"L{number}\": {{}}")).collect();
        assert_eq!(
            faults(&with(&format!("{{{}}}", many.join(",")))).len(),
            MAX_VARIANT_FAULTS
        );
    }

    #[test]
    fn another_format_is_named() {
        let error = VariantMetadata::parse(br#"{"$schema": "https://example.org/v1.0.0.json"}"#).unwrap_err();
        assert!(error.to_string().contains("format 1.0.0"));
    }
}
