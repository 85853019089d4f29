//! The wheels of a run with metadata about their variant, for the rules about those.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::forecast::{Gpu, InputForecast, KernelForecast};
use crate::inventory::{InputReport, Status};
use crate::names::in_message;
use crate::variants::{Claims, MetadataName, Properties, VariantMetadata};

/// A wheel whose metadata name one variant.
pub(crate) struct VariantWheel<'a> {
    /// Number of the input that is its metadata.
    pub metadata: usize,
    /// Its claims about NVIDIA's GPUs.
    pub claims: Claims,
    /// Its other inputs, with their numbers.
    pub inputs: Vec<(usize, &'a InputReport)>,
    forecasts: OnceLock<Vec<(usize, &'a InputReport, InputForecast<'a>)>>,
}

impl<'a> VariantWheel<'a> {
    /// The wheels that hold kernels and claim something of GPUs. Wheels that could not be read completely are left out: the unread part may
    /// support the claims.
    pub(crate) fn all(all: &'a [InputReport]) -> Vec<Self> {
        let metadata = metadata(all).filter_map(|(number, name, metadata)| match name {
            MetadataName::Wheel { root, .. } => Some((number, root, the_variant(metadata)?)),
            MetadataName::Index { .. } => None,
        });
        let wheel = |(number, root, properties): (usize, &str, &Properties)| {
            let claims = Claims::of(properties)?;
            let others = all.iter().enumerate();
            let inputs: Vec<_> = others
                .filter(|(other, input)| *other != number && input.name.starts_with(root))
                .collect();
            let is_read = |input: &InputReport| {
                matches!(input.status, Status::Checked | Status::Skipped)
                    && input
                        .images
                        .iter()
                        .all(|image| image.is_read || image.role.is_copy())
            };
            let has_kernels =
                |input: &InputReport| input.images.iter().any(|image| !image.facts.kernels.is_empty());
            let is_of_use = inputs.iter().all(|(_, input)| is_read(input))
                && inputs.iter().any(|(_, input)| has_kernels(input));
            is_of_use.then_some(Self {
                metadata: number,
                claims,
                inputs,
                forecasts: OnceLock::new(),
            })
        };
        metadata.filter_map(wheel).collect()
    }

    /// For each input, with its number, the images that the GPUs load to which the wheel is offered: all, if it names none.
    pub(crate) fn forecasts(&self) -> &[(usize, &'a InputReport, InputForecast<'a>)] {
        self.forecasts.get_or_init(|| {
            let gpus: Vec<Gpu> = Gpu::all().filter(|gpu| self.claims.offers(*gpu)).collect();
            let forecast = |(number, input): &(usize, &'a InputReport)| {
                (*number, *input, InputForecast::new(input, &gpus, None))
            };
            self.inputs.iter().map(forecast).collect()
        })
    }

    /// The GPUs that it is offered to by their names.
    pub(crate) fn gpus(&self) -> Vec<Gpu> {
        if !self.claims.names_gpus {
            return Vec::new();
        }
        Gpu::all().filter(|gpu| self.claims.offers(*gpu)).collect()
    }
}

/// The kernels of an input that exist for some architectures alone: those that no image for all GPUs from one on has. Host code launches
/// them where they are there.
pub(crate) struct Specialised<'a>(BTreeSet<&'a str>);

impl<'a> Specialised<'a> {
    pub(crate) fn of(input: &'a InputReport) -> Self {
        let common = input.images.iter().filter(|image| image.suffix().is_empty());
        Self(
            common
                .flat_map(|image| &image.facts.kernels)
                .map(|kernel| kernel.identity.as_str())
                .collect(),
        )
    }

    pub(crate) fn contains(&self, row: &KernelForecast<'_>) -> bool {
        !self.0.contains(row.kernel.identity.as_str())
    }
}

/// The inputs that are metadata.
pub(crate) fn metadata<'a>(
    inputs: &'a [InputReport],
) -> impl Iterator<Item = (usize, MetadataName<'a>, &'a VariantMetadata)> {
    let inputs = inputs.iter().enumerate();
    inputs.filter_map(|(number, input)| {
        let metadata = input.variants.as_ref()?;
        Some((number, MetadataName::of(&input.name)?, metadata))
    })
}

/// The properties of the one variant that the metadata of a wheel name.
pub(crate) fn the_variant(metadata: &VariantMetadata) -> Option<&Properties> {
    let mut variants = metadata.variants.values();
    variants.next().filter(|_| variants.next().is_none())
}

/// `` `cu12`, `cu13` ``.
pub(crate) fn label_list<'a>(labels: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    labels
        .into_iter()
        .map(|label| format!("`{}`", in_message(label)))
        .collect()
}
