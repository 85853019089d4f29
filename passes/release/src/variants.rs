//! Wheel variants: the metadata that say which GPUs and drivers a wheel is offered to.
//!
//! ```text
//! x-1.0-py3-none-linux_x86_64-cu13.whl!x-1.0.dist-info/variant.json ─► name.rs: its wheel, release and label
//!                                                                     file.rs: labels and their properties
//!                                                                     claims.rs: GPUs and drivers of the properties
//! ```
//!
//! PEP 825 (draft), Wheel Variants: Package Format. The values of the namespace `nvidia` are those of NVIDIA's provider 0.0.2, which
//! reports to an installer what the machine supports.

mod claims;
mod file;
mod name;

pub use claims::{Claims, CudaVersion, NAMESPACE, UnknownValue};
pub use file::{Properties, UnknownFormat, VariantMetadata};
pub use name::{MetadataName, PythonTags, WheelName, file_name, wheel_names};
