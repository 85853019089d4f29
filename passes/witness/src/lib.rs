//! Witnesses: launches and values of parameters with which a kernel goes wrong, found by search and confirmed by a machine that runs it.
//!
//! [`conditional`] searches. [`assumptions`] are what a user states of parameters: witnesses keep to them. This crate knows analyses and
//! the machine, and no rules: it says what goes wrong where, and rules say it to people.

#![warn(unreachable_pub, unnameable_types)]

pub mod assumptions;
pub mod conditional;
mod limits;

use ptxcheck_analysis as analysis;
use ptxcheck_analysis::launches;
use ptxcheck_common::patterns;
use ptxcheck_ir as ir;
