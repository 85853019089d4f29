//! The library as others build on it.

mod analyses;
mod audit;
#[path = "../common/mod.rs"]
mod common;
mod conditional;
mod declarations;
mod every_operand;
mod one_pass;
mod own_container;
mod own_rule;
