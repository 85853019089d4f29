//! The analyses against machines that run generated kernels, and findings against changes of the text that mean the same.

mod async_oracle;
mod block_oracle;
#[path = "../common/mod.rs"]
mod common;
mod graph_pairs;
mod lane_oracle;
mod metamorphic;
mod protocol_oracle;
mod provenance_oracle;
mod random;
