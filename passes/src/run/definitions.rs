//! The functions that texts of a link set define for each other.
//!
//! ```text
//! declarations of each text ─► definer of each function ─► texts that others call, lowered
//! ```

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxcheck_cache::Key;
use ptxcheck_common::maps::{NameMap, NameSet};
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};
use ptxcheck_ptx_parser::ast::Tree;
use rayon::prelude::*;

use crate::deadline::Deadline;
use crate::ir::linked::Definition;
use crate::ir::{FunctionId, Linkage, Module, SymbolKind};
use crate::settings::Settings;

/// The result of `work`, if it does not panic. A panic is reported where the text itself is analysed.
fn result_unless_panic<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}

/// The functions that a text declares, by name.
#[derive(Default)]
struct DeclaredFunctions {
    target: String,
    /// Those that it defines, for all.
    strong: Vec<String>,
    /// Those that others may define.
    open: Vec<String>,
}

impl DeclaredFunctions {
    fn of(text: &[u8]) -> Option<Self> {
        let tree = ptxcheck_ptx_parser::parse_declarations(text).ok()?;
        let origin = PtxOrigin::new(&tree);
        let module = ptx::declarations(&tree, &origin);
        let mut declared = Self {
            target: module.target.name.to_owned(),
            ..Self::default()
        };
        for function in module.functions.iter().filter(|function| !function.is_kernel()) {
            let symbol = module.symbol(function.symbol);
            match symbol.linkage {
                Linkage::External => declared.strong.push(symbol.name.to_owned()),
                Linkage::Undefined | Linkage::Weak => declared.open.push(symbol.name.to_owned()),
                Linkage::Local | Linkage::Common => {}
            }
        }
        Some(declared)
    }
}

fn declared_functions(all: &[&[u8]]) -> Vec<DeclaredFunctions> {
    all.par_iter()
        .map(|text| result_unless_panic(|| DeclaredFunctions::of(text)).unwrap_or_default())
        .collect()
}

/// The text that defines a function, by its number; `None` where several do.
type Definer = Option<usize>;

/// By target and name.
type Index = NameMap<String, NameMap<String, Definer>>;

fn index(all: &[&[u8]], declared: &[DeclaredFunctions], elsewhere: &NameSet<&str>) -> Index {
    let mut index = Index::default();
    for (number, declared) in declared.iter().enumerate() {
        // An image without a target fits none.
        if declared.target.is_empty() {
            continue;
        }
        let of_target = index.entry(declared.target.clone()).or_default();
        for name in &declared.strong {
            let own = (!elsewhere.contains(name.as_str())).then_some(number);
            let definer = of_target.entry(name.clone()).or_insert(own);
            // The same text may have been read in two ways.
            if definer.is_some_and(|other| other != number && all[other] != all[number]) {
                *definer = None;
            }
        }
    }
    index
}

/// By text: another one calls functions of it.
fn texts_needed_by_others(all: &[&[u8]], declared: &[DeclaredFunctions], index: &Index) -> Vec<bool> {
    let mut needed = vec![false; all.len()];
    for (number, declared) in declared.iter().enumerate() {
        let of_target = index.get(&declared.target);
        let definers = declared.open.iter().filter_map(|name| *of_target?.get(name)?);
        for definer in definers.filter(|definer| *definer != number) {
            needed[definer] = true;
        }
    }
    needed
}

/// A text that others call functions of.
struct Source<'a> {
    module: Module<'a>,
    functions: NameMap<&'a str, FunctionId>,
}

impl<'a> Source<'a> {
    fn of(tree: &'a Tree<'a>, origin: &'a PtxOrigin<'a>, settings: &Settings) -> Option<Self> {
        let deadline = Deadline::after(settings.timeout);
        let module = ptx::lower_until(tree, origin, &deadline);
        if deadline.is_over() {
            return None;
        }
        let visible = module.symbols.iter().filter_map(|symbol| match symbol.kind {
            SymbolKind::Function(function) if symbol.linkage == Linkage::External => {
                Some((symbol.name, function))
            }
            _ => None,
        });
        let functions = visible.collect();
        Some(Self { module, functions })
    }
}

/// Texts, parsed: those that other texts call functions of.
pub(super) struct ParsedTexts<'b> {
    index: Index,
    declared: Vec<DeclaredFunctions>,
    trees: Vec<Option<Tree<'b>>>,
}

impl<'b> ParsedTexts<'b> {
    /// `elsewhere`: functions that code without PTX defines.
    pub(super) fn of(all: &[&'b [u8]], elsewhere: &NameSet<&str>) -> Self {
        let declared = declared_functions(all);
        let index = index(all, &declared, elsewhere);
        let parse = |text| result_unless_panic(|| ptxcheck_ptx_parser::parse(text).ok());
        let trees = all
            .par_iter()
            .zip(texts_needed_by_others(all, &declared, &index))
            .map(|(text, is_needed)| is_needed.then(|| parse(text)).flatten())
            .collect();
        Self {
            index,
            declared,
            trees,
        }
    }

    pub(super) fn origins(&self) -> Vec<Option<PtxOrigin<'_>>> {
        let trees = self.trees.iter();
        trees.map(|tree| tree.as_ref().map(PtxOrigin::new)).collect()
    }
}

/// The functions that texts of a link set define for others.
pub(super) struct Definitions<'a> {
    index: &'a Index,
    declared: &'a [DeclaredFunctions],
    sources: Vec<Option<Source<'a>>>,
}

impl<'a> Definitions<'a> {
    /// Of these texts and their origins.
    pub(super) fn of(
        parsed: &'a ParsedTexts<'a>,
        origins: &'a [Option<PtxOrigin<'a>>],
        settings: &Settings,
    ) -> Self {
        let source = |(tree, origin): (&'a Option<Tree<'a>>, &'a Option<PtxOrigin<'a>>)| {
            let (tree, origin) = (tree.as_ref()?, origin.as_ref()?);
            result_unless_panic(|| Source::of(tree, origin, settings))
        };
        Self {
            index: &parsed.index,
            declared: &parsed.declared,
            sources: parsed.trees.par_iter().zip(origins).map(source).collect(),
        }
    }

    /// The one definition of a function for a target; `None` where there is none or several.
    pub(super) fn find(&self, target: &str, name: &str) -> Option<Definition<'_>> {
        let definer = (*self.index.get(target)?.get(name)?)?;
        let source = self.sources.get(definer)?.as_ref()?;
        let function = *source.functions.get(name)?;
        Some((
            &source.module,
            source.module.function(function).alias_of.unwrap_or(function),
        ))
    }

    /// A key of all that a text is linked with, by its number and the keys of all texts: those that its calls lead to, one after the other,
    /// and for each function that one of them leaves to others the text that defines it. `None` if one of those texts could not be lowered:
    /// another run might have more time.
    pub(super) fn link_key(&self, number: usize, texts: &[Key]) -> Option<Key> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let (mut open, mut seen) = (vec![number], BTreeSet::from([number]));
        while let Some(number) = open.pop() {
            let Some((declared, text)) = self.declared.get(number).zip(texts.get(number)) else {
                continue;
            };
            parts.push(text.as_bytes());
            let of_target = self.index.get(&declared.target);
            for name in &declared.open {
                let definer = of_target.and_then(|of_target| *of_target.get(name)?);
                parts.push(name.as_bytes());
                parts.push(definer.map_or(&[], |definer| texts[definer].as_bytes()));
                if let Some(definer) = definer.filter(|definer| seen.insert(*definer)) {
                    self.sources.get(definer)?.as_ref()?;
                    open.push(definer);
                }
            }
        }
        Some(Key::of(&parts))
    }
}
