//! Debug locations: read once, kept without LLVM.
//!
//! A location is a line, a scope and perhaps the location it is inlined at. Scopes lead to their subprogram, whose
//! name is that of the function. Every distinct location becomes one [`DebugId`]. Places in the text, where the input is
//! text, are the business of `places.rs`.

use ptxcheck_ptx_parser::{Position, Span};
use rustc_hash::FxHashMap;

use super::places::{Places, Tickets};
use super::raw::{Module, Node, NodeKind};
use crate::finding::Frame;
use crate::ir::{DebugId, Origin};
use crate::limits::{MAX_INLINE_DEPTH, MAX_SCOPE_DEPTH};

/// A place: file (in [`LlvmOrigin::files`]), line, column, function's name, and the call it is inlined at.
struct Place {
    file: u32,
    line: u32,
    column: u32,
    function: u32,
    inlined_at: DebugId,
}

/// What leads from the device IR of a module back to its source, and to its text where it has one.
#[derive(Default)]
pub struct LlvmOrigin<'m> {
    places: Vec<Place>,
    files: Vec<String>,
    functions: Vec<Option<String>>,
    text: Option<Places<'m>>,
}

/// The locations of a module under lowering.
pub(super) struct Locations<'m> {
    module: Module<'m>,
    pub(super) tickets: Tickets<'m>,
    origin: LlvmOrigin<'m>,
    known: FxHashMap<Node<'m>, DebugId>,
    /// The node that was asked for before: instructions in a row often have the same.
    last: Option<(Node<'m>, DebugId)>,
    files: FxHashMap<(&'m str, &'m str), u32>,
    functions: FxHashMap<Node<'m>, u32>,
}

/// Where metadata keeps the name of a subprogram and the scope of a lexical block.
const SUBPROGRAM_NAME: u32 = 2;
const BLOCK_SCOPE: u32 = 1;

impl<'m> Locations<'m> {
    pub(super) fn new(module: Module<'m>) -> Self {
        Self {
            module,
            tickets: Tickets::default(),
            origin: LlvmOrigin {
                functions: vec![None],
                ..LlvmOrigin::default()
            },
            known: FxHashMap::default(),
            last: None,
            files: FxHashMap::default(),
            functions: FxHashMap::default(),
        }
    }

    /// What is kept, with the text of an input that is text.
    pub(super) fn finish(self, text: Option<&'m [u8]>) -> LlvmOrigin<'m> {
        LlvmOrigin {
            text: text.map(|text| Places::new(text, self.tickets)),
            ..self.origin
        }
    }

    /// The location that a node is. The chain of calls around it is entered from the outside in.
    pub(super) fn of(&mut self, node: Node<'m>) -> DebugId {
        if let Some((last, id)) = self.last
            && last == node
        {
            return id;
        }
        let id = self.looked_up(node);
        self.last = Some((node, id));
        id
    }

    fn looked_up(&mut self, node: Node<'m>) -> DebugId {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let mut chain = Vec::new();
        let mut current = Some(node);
        while let Some(node) = current.filter(|_| chain.len() < MAX_INLINE_DEPTH) {
            if self.known.contains_key(&node) {
                break;
            }
            let Some((line, column, scope, inlined_at)) = node.location() else {
                break;
            };
            chain.push((node, line, column, scope));
            current = inlined_at;
        }
        let mut outer = current
            .and_then(|node| self.known.get(&node).copied())
            .unwrap_or(DebugId::NONE);
        for (node, line, column, scope) in chain.into_iter().rev() {
            // Line 0 is a place that the compiler made up: it is the call around it that counts.
            outer = match scope.and_then(|scope| self.file(scope)) {
                Some(file) if line > 0 => {
                    let function = scope.map_or(0, |scope| self.function(scope));
                    self.add(file, line, column, function, outer)
                }
                _ => outer,
            };
            self.known.insert(node, outer);
        }
        outer
    }

    /// The place where a function is declared.
    pub(super) fn declaration(&mut self, subprogram: Node<'m>) -> DebugId {
        match (self.file(subprogram), subprogram.line()) {
            (Some(file), line @ 1..) => {
                let function = self.function(subprogram);
                self.add(file, line, 0, function, DebugId::NONE)
            }
            _ => DebugId::NONE,
        }
    }

    fn add(&mut self, file: u32, line: u32, column: u32, function: u32, inlined_at: DebugId) -> DebugId {
        let id = DebugId::new(self.origin.places.len());
        self.origin.places.push(Place {
            file,
            line,
            column,
            function,
            inlined_at,
        });
        id
    }

    fn file(&mut self, scope: Node<'m>) -> Option<u32> {
        let (directory, name) = scope.file()?;
        let files = &mut self.origin.files;
        Some(*self.files.entry((directory, name)).or_insert_with(|| {
            files.push(if directory.is_empty() || name.starts_with('/') {
                name.to_owned()
            } else {
                format!("{directory}/{name}")
            });
            files.len() as u32 - 1
        }))
    }

    /// The name of the function that a scope lies in; 0 is no name.
    fn function(&mut self, scope: Node<'m>) -> u32 {
        if let Some(known) = self.functions.get(&scope) {
            return *known;
        }
        let mut current = Some(scope);
        let mut found = 0;
        for _ in 0..MAX_SCOPE_DEPTH {
            let Some(node) = current else { break };
            if node.kind() == NodeKind::Subprogram {
                let name = self
                    .module
                    .operand(node, SUBPROGRAM_NAME)
                    .and_then(super::raw::Value::string);
                if let Some(name) = name.filter(|name| !name.is_empty()) {
                    found = self.origin.functions.len() as u32;
                    self.origin.functions.push(Some(name.to_owned()));
                }
                break;
            }
            current = self
                .module
                .operand(node, BLOCK_SCOPE)
                .and_then(super::raw::Value::node);
        }
        self.functions.insert(scope, found);
        found
    }
}

impl Origin for LlvmOrigin<'_> {
    fn place(&self, span: Span) -> Option<Span> {
        self.text.as_ref()?.place(span.start)
    }

    fn position(&self, offset: u32) -> Option<Position> {
        self.text.as_ref()?.position(offset)
    }

    fn line(&self, line: u32) -> &[u8] {
        self.text.as_ref().map_or(&[], |text| text.line(line))
    }

    /// Nothing: a fingerprint is the same for text and bitcode, and messages name no instruction in LLVM's words.
    fn text(&self, _: Span) -> &[u8] {
        &[]
    }

    fn frames(&self, debug: DebugId) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut current = debug;
        while let Some(place) = self
            .places
            .get(current.index())
            .filter(|_| frames.len() < MAX_INLINE_DEPTH)
        {
            frames.push(Frame {
                file: self.files.get(place.file as usize).cloned().unwrap_or_default(),
                line: place.line,
                column: place.column,
                // A name is of use only where the frame is inlined: the others are in the function of the finding.
                function: (place.inlined_at != DebugId::NONE)
                    .then(|| self.functions.get(place.function as usize).cloned().flatten())
                    .flatten(),
            });
            current = place.inlined_at;
        }
        frames
    }
}
