//! The words and places of findings that several rules share.

pub(crate) mod addresses;
pub(crate) mod asynchronous;
pub(crate) mod calls;
pub(crate) mod contention;
pub(crate) mod forecast;
pub(crate) mod host_constants;
mod lane_words;
pub(crate) mod lanes;
pub(crate) mod symbols;
pub(crate) mod threshold;
pub(crate) mod variants;
pub(crate) mod witness;
pub(crate) mod wording;
