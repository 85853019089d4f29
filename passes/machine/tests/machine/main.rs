//! Runs of kernels, and tables of what each instruction computes.

mod runs;
mod tables;
