//! Places in PTX text, and the places in the program's source that its debug information names.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use ptxcheck_ptx_parser::ast::{self, Statement, Tree};
use ptxcheck_ptx_parser::operand::constant;
use ptxcheck_ptx_parser::span::LineCounts;
use ptxcheck_ptx_parser::{Element, Position, Span, debug_info};

use crate::inlined::InlinedCalls;
use crate::parameters::ParameterNames;
use ptxcheck_ir::limits::{MAX_INITIAL_BYTES, MAX_INLINE_DEPTH};
use ptxcheck_ir::places::Frame;
use ptxcheck_ir::{DebugId, Ends, Origin, SymbolId};

/// The syntax tree of a module. A [`DebugId`] is the offset of a `.loc` in the text.
pub struct PtxOrigin<'t> {
    tree: &'t Tree<'t>,
    locations: Locations,
    /// The tree of the whole text, where the code of functions has been read without one; made when somebody asks for a debug location.
    whole: OnceLock<Option<(Tree<'t>, Locations)>>,
    lines: OnceLock<LineCounts>,
    files: OnceLock<FxHashMap<u32, String>>,
    strings: OnceLock<debug_info::Strings<'t>>,
    parameters: OnceLock<ParameterNames>,
    /// The comments that inline assembly begins and ends at, in the order of the text: offset, and whether it begins.
    assembly: OnceLock<Vec<(u32, bool)>>,
}

/// The id of a `.loc`.
pub(crate) const fn debug_id(location: &Statement) -> DebugId {
    DebugId::new(location.span().start as usize)
}

/// File, line and column.
type Triple = (u32, u32, u32);

/// File and line.
type Line = (u32, u32);

/// Indices over the debug locations of a tree.
#[derive(Default)]
struct Locations {
    /// The `.loc`s by what they name, in the order of the input.
    places: OnceLock<FxHashMap<Triple, Vec<u32>>>,
    /// The columns of the `.loc`s with a line, where they have one, with the numbers of the `.loc`s in ascending order.
    columns: OnceLock<FxHashMap<Line, Vec<(u32, u32)>>>,
    inlined: OnceLock<InlinedCalls>,
}

/// A tree with the indices over its debug locations.
type Located<'o, 't> = (&'o Tree<'t>, &'o Locations);

impl<'t> PtxOrigin<'t> {
    /// For the modules lowered from `tree`.
    #[must_use]
    pub fn new(tree: &'t Tree<'t>) -> Self {
        Self {
            tree,
            locations: Locations::default(),
            whole: OnceLock::new(),
            lines: OnceLock::new(),
            files: OnceLock::new(),
            strings: OnceLock::new(),
            parameters: OnceLock::new(),
            assembly: OnceLock::new(),
        }
    }

    /// The text.
    #[must_use]
    pub fn source(&self) -> &'t [u8] {
        self.tree.source()
    }

    fn lines(&self) -> &LineCounts {
        self.lines.get_or_init(|| LineCounts::new(self.tree.source()))
    }

    /// The tree of the whole text.
    fn whole(&self) -> Located<'_, 't> {
        let whole = self.whole.get_or_init(|| {
            if self.tree.has_all_code() {
                return None;
            }
            // On this thread alone: while it waits for others, it might ask for the tree again.
            let tree = ptxcheck_ptx_parser::parse(self.tree.source()).ok()?;
            Some((tree, Locations::default()))
        });
        match whole {
            Some((tree, locations)) => (tree, locations),
            None => (self.tree, &self.locations),
        }
    }

    /// The last `.loc` before one that names this place.
    fn last_before((tree, known): Located<'_, 't>, location: usize, place: Triple) -> Option<usize> {
        let places = known.places.get_or_init(|| {
            let mut places: FxHashMap<Triple, Vec<u32>> = FxHashMap::default();
            for (number, known) in tree.locations().iter().enumerate() {
                places
                    .entry((known.file, known.line, known.column))
                    .or_default()
                    .push(number as u32);
            }
            places
        });
        let numbers = places.get(&place)?;
        let before = numbers.partition_point(|&number| (number as usize) < location);
        numbers.get(before.checked_sub(1)?).map(|&number| number as usize)
    }

    /// The column of the nearest `.loc` with this line, one before `location` if there is one; 0 if no `.loc` has it.
    fn column((tree, known): Located<'_, 't>, location: usize, line: Line) -> u32 {
        let columns = known.columns.get_or_init(|| {
            let mut columns: FxHashMap<Line, Vec<(u32, u32)>> = FxHashMap::default();
            for (number, known) in tree.locations().iter().enumerate() {
                if known.column > 0 {
                    let line = columns.entry((known.file, known.line)).or_default();
                    line.push((number as u32, known.column));
                }
            }
            columns
        });
        let Some(places) = columns.get(&line) else {
            return 0;
        };
        let before = places.partition_point(|&(number, _)| (number as usize) < location);
        let nearest = places.get(before.saturating_sub(1));
        nearest.map_or(0, |&(_, column)| column)
    }

    /// The frames around the function that a `.loc` lies in, as the debug data says: unoptimised code has them nowhere else. The
    /// first name is that function's.
    fn inlined_chain(&self, of: Located<'_, 't>, statement: &Statement) -> (Option<String>, Vec<Frame>) {
        let inlined = of.1.inlined.get_or_init(|| InlinedCalls::new(of.0));
        let mut calls = inlined.around(statement.span().start).peekable();
        let innermost = calls.peek().and_then(|call| call.callee.clone());
        let mut frames = Vec::new();
        while let Some(call) = calls.next() {
            let column = match call.column {
                0 => Self::column(of, statement.index(), (call.file, call.line)),
                column => column,
            };
            let Some(frame) = self.frame(call.file, call.line, column) else {
                break;
            };
            frames.push(Frame {
                function: calls.peek().and_then(|outer| outer.callee.clone()),
                ..frame
            });
        }
        (innermost, frames)
    }

    fn strings(&self) -> &debug_info::Strings<'t> {
        self.strings.get_or_init(|| debug_info::Strings::new(self.tree))
    }

    fn file(&self, number: u32) -> Option<&str> {
        let files = self.files.get_or_init(|| {
            let name =
                |file: &ast::File| ptxcheck_common::shown::source(self.tree.text(file.name)).into_owned();
            self.tree
                .files()
                .iter()
                .map(|file| (file.number, name(file)))
                .collect()
        });
        files.get(&number).map(String::as_str)
    }

    fn frame(&self, file: u32, line: u32, column: u32) -> Option<Frame> {
        let file = self.file(file)?.to_owned();
        (line > 0).then_some(Frame {
            file,
            line,
            column,
            function: None,
        })
    }

    /// True if a place lies between the comments in which nvcc and LLVM put inline assembly.
    fn lies_in_assembly(&self, offset: u32) -> bool {
        let marks = self.assembly.get_or_init(|| {
            let comments = self.tree.comments().iter();
            let marks = comments.filter_map(|comment| {
                let text = self.tree.text(*comment).trim_ascii_end();
                let is_begin = text.ends_with(b"begin inline asm");
                (is_begin || text.ends_with(b"end inline asm")).then_some((comment.start, is_begin))
            });
            marks.collect()
        });
        let before = marks.partition_point(|(start, _)| *start < offset);
        before.checked_sub(1).is_some_and(|last| marks[last].1)
    }

    /// nvcc's chain: `.loc` names the place in the function that was inlined and the place of its call, and that
    /// place stands in an earlier `.loc`, with its own call if it was inlined itself.
    fn chain(&self, of: Located<'_, 't>, number: usize) -> Vec<Frame> {
        let (tree, _) = of;
        let mut frames = Vec::new();
        let mut current = number;
        for _ in 0..MAX_INLINE_DEPTH {
            let Some(location) = tree.locations().get(current) else {
                break;
            };
            frames.extend(self.frame(location.file, location.line, location.column));
            let Some(call) = tree.inlined_at(location) else {
                return frames;
            };
            if let (Some(frame), Some(name)) = (
                frames.last_mut(),
                self.strings().at_label(tree.text(call.function)),
            ) {
                frame.function = Some(ptxcheck_common::shown::name(&name).into_owned());
            }
            let caller = Self::last_before(of, current, (call.file, call.line, call.column));
            let Some(caller) = caller else {
                frames.extend(self.frame(call.file, call.line, call.column));
                return frames;
            };
            current = caller;
        }
        frames
    }

    /// clang's chain: a comment after the `.loc`, with the names of the files.
    fn commented_chain(&self, statement: &Statement) -> Vec<Frame> {
        let Some(comment) = self.tree.comment_after(statement.span().end) else {
            return Vec::new();
        };
        debug_info::frames(self.tree.text(comment))
            .into_iter()
            .map(|frame| Frame {
                file: ptxcheck_common::shown::source(frame.file).into_owned(),
                line: frame.line,
                column: frame.column,
                function: None,
            })
            .filter(|frame: &Frame| frame.line > 0)
            .collect()
    }

    /// The frames of a `.loc`; `None` if it is not in the tree.
    fn frames_in(&self, of: Located<'_, 't>, debug: DebugId) -> Option<Vec<Frame>> {
        let (tree, _) = of;
        let statements = tree.statements();
        let place = statements.partition_point(|one| (one.span().start as usize) < debug.index());
        let statement = statements.get(place).filter(|one| debug_id(one) == debug)?;
        let location = tree.location(statement)?;
        let mut frames = self.chain(of, statement.index());
        if tree.inlined_at(location).is_none() {
            let commented = self.commented_chain(statement);
            // The comment's first frame is the `.loc`'s own, whose full path the `.file` gives.
            if commented.len() > 1 {
                frames.truncate(1);
                let skip = frames.len();
                frames.extend(commented.into_iter().skip(skip));
            } else if let [own] = &mut *frames {
                let (function, around) = self.inlined_chain(of, statement);
                own.function = function;
                frames.extend(around);
            }
        }
        Some(frames)
    }
}

/// An instruction from its opcode on: `ld.u32 %r1, [%r2]` of `@!%p ld.u32 %r1, [%r2]`, also where it is `@ ! %p`.
fn without_guard(text: &str) -> &str {
    let Some(guard) = text.strip_prefix('@') else {
        return text;
    };
    let guard = guard.trim_start().trim_start_matches('!').trim_start();
    guard
        .trim_start_matches(|letter: char| !letter.is_whitespace())
        .trim_start()
}

/// The displayed part of an opcode ends before its types and vectors.
fn is_type(part: &str) -> bool {
    let digits = part.trim_start_matches(['b', 'u', 's', 'f', 'v']);
    part.len() > digits.len() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Origin for PtxOrigin<'_> {
    fn place(&self, span: Span) -> Option<Span> {
        Some(span)
    }

    fn position(&self, offset: u32) -> Option<Position> {
        Some(self.lines().position(self.tree.source(), offset))
    }

    fn line(&self, line: u32) -> &[u8] {
        self.lines().line(self.tree.source(), line)
    }

    /// Nothing: all symbols have their names.
    fn stack_name(&self, _: SymbolId) -> Option<String> {
        None
    }

    fn name(&self, span: Span) -> Option<String> {
        let text = String::from_utf8_lossy(self.tree.text(span));
        let opcode = without_guard(text.trim_start()).split_whitespace().next()?;
        let name: Vec<&str> = opcode
            .trim_end_matches(';')
            .split('.')
            .take_while(|part| !is_type(part))
            .collect();
        Some(name.join(".")).filter(|name| !name.is_empty())
    }

    fn is_in_assembly(&self, span: Span) -> bool {
        self.lies_in_assembly(span.start)
    }

    fn text(&self, span: Span) -> &[u8] {
        self.tree.text(span)
    }

    fn initial_bytes(&self, _: &str, span: Span) -> Option<Vec<u8>> {
        let mut variables = self.tree.variables().iter();
        let variable = variables.find(|variable| variable.name == span)?;
        let width = variable.scalar.bytes()? as usize;
        if variable.vector != 1 || variable.has_addresses {
            return None;
        }
        let (mut bytes, mut has_some) = (Vec::new(), false);
        for element in self.tree.initializer(variable) {
            match element {
                // Rows of an array of several dimensions may be shorter than it says.
                Element::Open if has_some => return None,
                Element::Open | Element::Close => {}
                Element::Constant(text) => {
                    let value = constant(text)?;
                    bytes.extend(value.to_le_bytes().get(..width)?);
                    has_some = true;
                }
                _ => return None,
            }
            if bytes.len() >= MAX_INITIAL_BYTES {
                break;
            }
        }
        has_some.then_some(bytes)
    }

    fn ends(&self) -> Option<Ends> {
        Some(Ends {
            span: u32::try_from(self.tree.source().len()).ok()?,
            debug: u32::try_from(self.tree.source().len()).ok()?,
        })
    }

    fn parameter_names(&self, function: &str) -> Vec<Option<String>> {
        let names = self.parameters.get_or_init(|| ParameterNames::new(self.tree));
        names.of(function).to_vec()
    }

    fn declaration(&self, debug: DebugId) -> Option<Frame> {
        let of_tree = self.frames_in((self.tree, &self.locations), debug);
        of_tree.unwrap_or_else(|| self.frames(debug)).pop()
    }

    fn frames(&self, debug: DebugId) -> Vec<Frame> {
        if debug == DebugId::NONE {
            return Vec::new();
        }
        self.frames_in(self.whole(), debug).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{is_type, without_guard};

    #[test]
    fn guards_are_no_opcodes() {
        for text in [
            "@%p ld.u32 %r",
            "@!%p ld.u32 %r",
            "@ ! %p ld.u32 %r",
            "@ %p\n\tld.u32 %r",
            "ld.u32 %r",
        ] {
            assert_eq!(without_guard(text), "ld.u32 %r", "{text}");
        }
        assert_eq!(without_guard("@"), "");
    }

    #[test]
    fn types_are_told_from_other_parts_of_an_opcode() {
        for part in ["u32", "b128", "f16", "v4", "s64"] {
            assert!(is_type(part), "{part}");
        }
        for part in ["shared", "to", "b", "sync", "bfly", "volatile"] {
            assert!(!is_type(part), "{part}");
        }
    }
}
