//! The places of findings, in all the spellings that patterns are matched against.

use std::collections::HashMap;
use std::rc::Rc;

use crate::finding::{Finding, Frame, Source};
use crate::inventory::InputReport;
use crate::names;
use crate::scope::{PlaceSpellings, Root};

/// The spellings of paths and names, each worked out once.
pub(super) struct SpellingCache<'a> {
    root: &'a Root,
    paths: HashMap<String, Rc<[String]>>,
    names: HashMap<String, Rc<[String]>>,
}

impl<'a> SpellingCache<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self {
            root,
            paths: HashMap::new(),
            names: HashMap::new(),
        }
    }

    pub(super) fn path(&mut self, path: &str) -> Rc<[String]> {
        if let Some(known) = self.paths.get(path) {
            return Rc::clone(known);
        }
        let spellings: Rc<[String]> = self.root.spellings(path).into();
        self.paths.insert(path.to_owned(), Rc::clone(&spellings));
        spellings
    }

    pub(super) fn name(&mut self, name: &str) -> Rc<[String]> {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        let spellings: Rc<[String]> = names::spellings(name).into();
        self.names.insert(name.to_owned(), Rc::clone(&spellings));
        spellings
    }

    /// The place of a finding.
    pub(super) fn place(&mut self, finding: &Finding, inputs: &[InputReport]) -> PlaceSpellings {
        let input = inputs.get(finding.input).map(|input| input.name.as_str());
        let source = finding.source.as_ref().map(|source| source.at.file.as_str());
        let name = finding.kernel.as_deref().or(finding.function.as_deref());
        let paths = input.into_iter().chain(source);
        PlaceSpellings {
            paths: paths.map(|path| self.path(path)).collect(),
            names: name.map_or_else(|| Rc::from([]), |name| self.name(name)),
        }
    }
}

/// Identifies a place among those of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlaceKey(Vec<usize>, Option<String>);

impl PlaceKey {
    /// The key of a place whose paths come from one [`SpellingCache`], valid as long as that lives.
    pub(super) fn of(place: &PlaceSpellings) -> Self {
        let address = |spellings: &Rc<[String]>| Rc::as_ptr(spellings).cast::<String>().addr();
        Self(
            place.paths.iter().map(address).collect(),
            place.names.first().cloned(),
        )
    }
}

/// The frames of a source, from the inside out.
pub(super) fn frames(source: &Source) -> impl Iterator<Item = &Frame> {
    source
        .inside
        .iter()
        .chain(std::iter::once(&source.at))
        .chain(&source.inlined_at)
}
