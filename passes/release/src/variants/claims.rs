//! The claims of a variant about GPUs and drivers, as NVIDIA's provider understands its properties.

use std::fmt;

use super::file::Properties;
use crate::drivers::{Driver, driver_of_cuda};
use crate::forecast::Gpu;

/// The namespace of NVIDIA's provider.
pub const NAMESPACE: &str = "nvidia";

const SM_ARCH: &str = "sm_arch";
const LOWER_BOUND: &str = "cuda_version_lower_bound";
const UPPER_BOUND: &str = "cuda_version_upper_bound";

/// The numbers of the GPUs that the provider knows.
const SM_NUMBERS: std::ops::RangeInclusive<u32> = 50..=129;

/// The major and minor versions of CUDA that the provider knows.
const CUDA_MAJORS: std::ops::RangeInclusive<u32> = 11..=15;
const CUDA_MINORS: std::ops::RangeInclusive<u32> = 0..=20;

/// The claims of a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// `sm_arch :: 90_real`: machine code.
    pub real: Vec<u32>,
    /// `sm_arch :: 120_virtual`: PTX.
    pub virtuals: Vec<u32>,
    /// The variant is offered to some GPUs alone.
    pub names_gpus: bool,
    /// The oldest version of CUDA that a driver has to support.
    pub lower: Option<CudaVersion>,
    /// The version of CUDA that it has to be older than.
    pub upper: Option<CudaVersion>,
    /// Features and values that the provider does not know, and so never reports as supported.
    pub unknown: Vec<UnknownValue>,
}

/// A version of CUDA, `12.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion(u32, u32);

/// A feature of the provider's namespace that it does not know, or a value of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownValue {
    /// The feature.
    pub feature: String,
    /// The value; `None` if the feature itself is not known.
    pub value: Option<String>,
}

impl Claims {
    /// The claims in the properties of a variant; `None` if they say nothing of NVIDIA's GPUs.
    #[must_use]
    pub fn of(properties: &Properties) -> Option<Self> {
        let mut claims = Self::default();
        for (feature, values) in properties.get(NAMESPACE)? {
            for value in values {
                if !claims.add(feature, value) {
                    let is_feature = [SM_ARCH, LOWER_BOUND, UPPER_BOUND].contains(&feature.as_str());
                    claims.unknown.push(UnknownValue {
                        feature: feature.clone(),
                        value: is_feature.then(|| value.clone()),
                    });
                }
            }
            claims.names_gpus |= feature == SM_ARCH;
        }
        // An unknown feature is reported once, not for each of its values.
        claims.unknown.dedup();
        Some(claims)
    }

    /// Adds the claim of a property; false if the provider does not know it.
    fn add(&mut self, feature: &str, value: &str) -> bool {
        match (feature, CudaVersion::parse(value)) {
            (SM_ARCH, _) => self.add_target(value),
            // Values are alternatives: the widest bounds count.
            (LOWER_BOUND, Some(version)) => {
                self.lower = Some(self.lower.map_or(version, |one| one.min(version)));
                true
            }
            (UPPER_BOUND, Some(version)) => {
                self.upper = Some(self.upper.map_or(version, |one| one.max(version)));
                true
            }
            _ => false,
        }
    }

    fn add_target(&mut self, value: &str) -> bool {
        let Some((number, kind)) = value.split_once('_') else {
            return false;
        };
        let Some(number) = parse_number(number).filter(|number| SM_NUMBERS.contains(number)) else {
            return false;
        };
        match kind {
            "real" => self.real.push(number),
            "virtual" => self.virtuals.push(number),
            _ => return false,
        }
        true
    }

    /// True if an installer takes the variant on a machine with this GPU, because of the GPU: machine code for its generation up to itself,
    /// or PTX of the first of its generation.
    #[must_use]
    pub fn offers(&self, gpu: Gpu) -> bool {
        let (number, generation) = (gpu.number(), gpu.number() / 10);
        !self.names_gpus
            || self
                .real
                .iter()
                .any(|real| real / 10 == generation && *real <= number)
            || self.virtuals.contains(&(generation * 10))
    }
}

impl CudaVersion {
    /// `12` and `12.8`, if the provider knows it.
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        let (major, minor) = (parse_number(major)?, parse_number(minor)?);
        (CUDA_MAJORS.contains(&major) && CUDA_MINORS.contains(&minor)).then_some(Self(major, minor))
    }

    /// The first driver that supports it; `None` if that is not known.
    #[must_use]
    pub fn driver(self) -> Option<Driver> {
        driver_of_cuda(&self.to_string())
    }
}

/// A number as the provider writes it: decimal, and without zeros before it.
fn parse_number(text: &str) -> Option<u32> {
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok())?
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

impl fmt::Display for UnknownValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{NAMESPACE} :: {}", self.feature)?;
        self.value
            .iter()
            .try_for_each(|value| write!(formatter, " :: {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(features: &[(&str, &[&str])]) -> Claims {
        let of_namespace = features
            .iter()
            .map(|(feature, values)| {
                let values = values.iter().map(|value| (*value).to_owned()).collect();
                ((*feature).to_owned(), values)
            })
            .collect();
        Claims::of(&Properties::from([(NAMESPACE.to_owned(), of_namespace)])).unwrap()
    }

    fn gpu(number: u32) -> Gpu {
        Gpu::of_number(number).unwrap()
    }

    #[test]
    fn a_gpu_is_offered_code_of_its_generation() {
        let claims = claims(&[(SM_ARCH, &["80_real", "90_virtual", "121_virtual"])]);
        let offered: Vec<u32> = Gpu::of_cuda_13()
            .filter(|gpu| claims.offers(*gpu))
            .map(Gpu::number)
            .collect();
        assert_eq!(offered, [80, 86, 87, 88, 89, 90]);
    }

    #[test]
    fn a_variant_that_names_no_gpu_is_offered_to_all() {
        let bounds = claims(&[(LOWER_BOUND, &["12.8", "13"]), (UPPER_BOUND, &["13", "14"])]);
        assert!(bounds.offers(gpu(75)) && bounds.offers(gpu(121)));
        assert_eq!(bounds.lower, Some(CudaVersion(12, 8)));
        assert_eq!(bounds.upper, Some(CudaVersion(14, 0)));
        assert_eq!(bounds.lower.unwrap().driver().unwrap().0, 570);
        assert_eq!(bounds.upper.unwrap().driver(), None);
        assert_eq!(Claims::of(&Properties::new()), None);
    }

    #[test]
    fn values_that_the_provider_does_not_have_are_known() {
        let claims = claims(&[
            (
                SM_ARCH,
                &[
                    "90a_real",
                    "49_real",
                    "+90_real",
                    "130_virtual",
                    "90",
                    "90_ptx",
                    "090_real",
                ],
            ),
            (LOWER_BOUND, &["10.2", "12.8.1", "16", "12.21"]),
            ("cuda_arch", &["90", "100"]),
        ]);
        assert_eq!(claims.unknown.len(), 12);
        assert_eq!(claims.unknown[0].to_string(), "nvidia :: cuda_arch");
        assert!(
            !claims.offers(gpu(90)),
            "none of its values is one that a GPU has"
        );
    }
}
