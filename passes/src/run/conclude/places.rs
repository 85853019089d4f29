//! Where findings are, spelt in all the ways that patterns are held against.

use std::collections::HashMap;
use std::rc::Rc;

use crate::finding::{Finding, Frame, Source};
use crate::inventory::InputReport;
use crate::names;
use crate::scope::{Root, Whereabouts};

/// Paths and names in all their spellings, each spelt once.
pub(super) struct Spelt<'a> {
    root: &'a Root,
    paths: HashMap<String, Rc<[String]>>,
    names: HashMap<String, Rc<[String]>>,
}

impl<'a> Spelt<'a> {
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
        let spelt: Rc<[String]> = self.root.spellings(path).into();
        self.paths.insert(path.to_owned(), Rc::clone(&spelt));
        spelt
    }

    pub(super) fn name(&mut self, name: &str) -> Rc<[String]> {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        let spelt: Rc<[String]> = names::spellings(name).into();
        self.names.insert(name.to_owned(), Rc::clone(&spelt));
        spelt
    }
}

/// A place among those of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(Vec<usize>, Option<String>);

/// Where a finding is.
pub(super) struct Places {
    pub(super) paths: Vec<Rc<[String]>>,
    pub(super) names: Rc<[String]>,
}

impl Places {
    pub(super) fn of(finding: &Finding, inputs: &[InputReport], spelt: &mut Spelt<'_>) -> Self {
        let input = inputs.get(finding.input).map(|input| input.name.as_str());
        let source = finding.source.as_ref().map(|source| source.at.file.as_str());
        let name = finding.kernel.as_deref().or(finding.function.as_deref());
        Self {
            paths: input
                .into_iter()
                .chain(source)
                .map(|path| spelt.path(path))
                .collect(),
            names: name.map_or_else(|| Rc::from([]), |name| spelt.name(name)),
        }
    }

    /// Which place it is, as long as [`Spelt`] lives, which spells each path once.
    pub(super) fn key(&self) -> Key {
        let address = |spelt: &Rc<[String]>| Rc::as_ptr(spelt).cast::<String>().addr();
        Key(
            self.paths.iter().map(address).collect(),
            self.names.first().cloned(),
        )
    }

    pub(super) fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts {
            paths: self.paths.iter().map(|path| &**path).collect(),
            names: &self.names,
        }
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
