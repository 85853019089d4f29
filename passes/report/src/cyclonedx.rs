//! A CycloneDX document of the device code in release files, to be merged into the bill of materials of a release.
//!
//! CycloneDX 1.6: a component of type `file` for each input, with one for each kind and target of its images inside, and what is known of
//! them as properties of the names `ptxcheck:…`.

use std::collections::BTreeMap;
use std::fmt::Display;

use ptxcheck_passes::inventory::ImageKind;
use ptxcheck_passes::run::{InputReport, Outcome, Status};
use serde::Serialize;

use crate::PROGRAM;
use crate::forecast::Columns;
use crate::format::{self, Format, Renderer, Run};

/// The format.
#[derive(Debug)]
pub struct CycloneDx;

impl Renderer for CycloneDx {
    fn format(&self) -> Format {
        Format::document(
            "cyclonedx",
            "cdx.json",
            "A CycloneDX 1.6 document of the device code, for a bill of materials",
        )
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        format::one(render(run.outcome, run.columns().unwrap_or(&Columns::default())))
    }
}

/// The document, with a line end.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(outcome: &Outcome, columns: &Columns) -> serde_json::Result<String> {
    let inputs = outcome
        .inputs
        .iter()
        .filter(|input| input.status != Status::Skipped);
    let document = Document {
        bom_format: "CycloneDX",
        spec_version: "1.6",
        version: 1,
        metadata: Metadata {
            tools: Tools {
                components: [Component::new(
                    "application",
                    PROGRAM,
                    Some(env!("CARGO_PKG_VERSION")),
                )],
            },
        },
        components: inputs.map(|input| file(input, columns)).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: Metadata<'a>,
    components: Vec<Component<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    tools: Tools<'a>,
}

#[derive(Serialize)]
struct Tools<'a> {
    components: [Component<'a>; 1],
}

#[derive(Serialize)]
struct Component<'a> {
    r#type: &'static str,
    name: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Self>,
}

impl<'a> Component<'a> {
    fn new(
        r#type: &'static str,
        name: impl Into<std::borrow::Cow<'a, str>>,
        version: Option<&'static str>,
    ) -> Self {
        Self {
            r#type,
            name: name.into(),
            version,
            properties: Vec::new(),
            components: Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct Property {
    name: String,
    value: String,
}

fn property(name: &str, value: &dyn Display) -> Property {
    Property {
        name: format!("{PROGRAM}:{name}"),
        value: value.to_string(),
    }
}

/// An input, and what its images are.
fn file<'a>(input: &'a InputReport, columns: &Columns) -> Component<'a> {
    let mut component = Component::new("file", &input.name, None);
    if let Some(forecast) = columns.of(input) {
        for (gpu, counts) in forecast.counts() {
            for (state, count) in counts {
                let name = format!("forecast:{gpu}:{}", state.as_str());
                component.properties.push(property(&name, &count));
            }
        }
    }
    let mut forms: BTreeMap<(u32, String), (u64, u64, u64)> = BTreeMap::new();
    let mut producers: BTreeMap<(u32, String), Vec<&str>> = BTreeMap::new();
    for image in input.images.iter().filter(|image| !image.role.is_copy()) {
        let target = if image.target.is_empty() {
            "any"
        } else {
            &image.target
        };
        let kind = match image.kind {
            ImageKind::Ptx => format!("PTX {} for {target}", image.isa),
            ImageKind::Cubin => format!("machine code for {target}"),
            kind => format!("{} for {target}", kind.as_str()),
        };
        let key = (image.sm(), kind);
        let (images, bytes, kernels) = forms.entry(key.clone()).or_default();
        *images += 1;
        *bytes = bytes.saturating_add(image.packed);
        *kernels = kernels.saturating_add(image.kernels.into());
        let known = producers.entry(key).or_default();
        if let Some(producer) = image.facts.producer.as_deref()
            && !known.contains(&producer)
        {
            known.push(producer);
        }
    }
    for (key, (images, bytes, kernels)) in forms {
        let of_form = producers.remove(&key).unwrap_or_default();
        let mut part = Component::new("data", key.1, None);
        part.properties = vec![
            property("images", &images),
            property("bytes", &bytes),
            property("kernels", &kernels),
        ];
        part.properties.extend(
            of_form
                .into_iter()
                .map(|producer| property("producer", &producer)),
        );
        component.components.push(part);
    }
    component
}
