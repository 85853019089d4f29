//! The words and places of findings that several rules share.

pub(crate) mod addresses;
pub(crate) mod calls;
pub(crate) mod forecast;
pub(crate) mod host_constants;
pub(crate) mod lanes;
pub(crate) mod symbols;
pub(crate) mod variants;
pub(crate) mod wording;
