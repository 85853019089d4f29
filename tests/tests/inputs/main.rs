//! The inputs that the program reads: folders, images, packages, MLIR.

mod build_trees;
mod images;
#[cfg(feature = "mlir")]
mod mlir_inputs;
mod package_limits;
mod packages;
mod wheel_variants;
