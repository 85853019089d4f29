//! Rules about the repository: its layers, its source files, its documentation.

mod guidelines;
mod layers;
mod links;
mod phrases;
mod site;
mod sources;
mod versions;
