//! The analysis library of ptxcheck.
