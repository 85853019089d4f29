//! Places become lines, in the input and in the program's source.

use std::cell::{OnceCell, RefCell};

use rustc_hash::FxHashMap;

use crate::analysis::Place;
use crate::analysis::call_graph::CallGraph;
use crate::finding::{Finding, Frame, LineText, Located, Location, Related, Source};
use crate::ir::{DebugId, FunctionId, InstructionId, Module, Origin, SourcePlace, Span};
use crate::limits::SHOWN_LINE_BYTES;
use crate::toolkit;

/// Looks places up in one image.
pub(crate) struct Locator<'a> {
    pub(crate) module: &'a Module<'a>,
    /// The input's name, its index, and the image's.
    pub(crate) name: &'a str,
    pub(crate) input: usize,
    pub(crate) image: u32,
    /// The call graph, made for the first finding in a function that is called.
    pub(super) calls: OnceCell<CallGraph>,
    /// [`Cause::code`](crate::finding::Cause::code) of functions with findings.
    pub(super) code: RefCell<FxHashMap<FunctionId, u64>>,
}

/// A place of a finding, resolved to text, function and debug locations.
pub(super) struct ResolvedPlace {
    pub(super) span: Span,
    pub(super) function: Option<FunctionId>,
    /// Its debug location and those of the calls that lead to it.
    debug: Vec<DebugId>,
    /// Only the outermost frame counts: the place is a declaration, not a line of code.
    is_declaration: bool,
}

impl<'a> Locator<'a> {
    /// For an image whose place in the run is not yet known: of input 0 and image 0, in a file without a name.
    pub(crate) fn unplaced(module: &'a Module<'a>) -> Self {
        Self {
            module,
            name: "",
            input: 0,
            image: 0,
            calls: OnceCell::new(),
            code: RefCell::default(),
        }
    }

    /// A place, looked up.
    pub(crate) fn located(&self, place: &Place) -> Located {
        let resolved = self.resolve(place);
        let (location, line_text) = location_and_text_of(self.module.origin, resolved.span, self.name);
        let name = |id| self.module.function_name(id).to_owned();
        Located {
            function: resolved.function.map(name),
            kernel: self.kernel_of_place(place, resolved.function).map(name),
            offset: self.text_offset(resolved.span),
            location,
            line_text,
            source: self.source(&resolved),
        }
    }

    pub(super) fn related(&self, place: &Place, message: String) -> Related {
        let resolved = self.resolve(place);
        let (location, _) = location_and_text_of(self.module.origin, resolved.span, self.name);
        Related::new(message, location, self.source(&resolved))
    }

    pub(super) fn resolve(&self, place: &Place) -> ResolvedPlace {
        let resolved = |span, function, debug| ResolvedPlace {
            span,
            function,
            debug,
            is_declaration: false,
        };
        match place {
            Place::Module => resolved(Span::default(), None, Vec::new()),
            Place::Symbol(id) => {
                let symbol = self.module.symbol(*id);
                resolved(symbol.span, symbol.owner, Vec::new())
            }
            Place::Function(id) => {
                let function = self.module.function(*id);
                let debug = vec![function.declared];
                ResolvedPlace {
                    span: self.first_line(function.header),
                    function: Some(*id),
                    debug,
                    is_declaration: true,
                }
            }
            Place::Text(id, span, debug) => resolved(*span, Some(*id), vec![*debug]),
            Place::Instruction(id, instruction, callers) => {
                let own = self.source_place_of(*id, *instruction);
                let calls = callers
                    .iter()
                    .map(|site| self.source_place_of(site.caller, site.instruction).debug);
                let debug = std::iter::once(own.debug).chain(calls).collect();
                resolved(own.span, Some(*id), debug)
            }
        }
    }

    pub(super) fn source_place_of(&self, function: FunctionId, instruction: InstructionId) -> SourcePlace {
        let body = self.module.function(function).body.as_ref();
        body.map_or(SourcePlace::NONE, |body| body.place(instruction))
    }

    /// The kernel that the place is in, or that its chain of calls begins in.
    pub(super) fn kernel_of_place(&self, place: &Place, function: Option<FunctionId>) -> Option<FunctionId> {
        let outermost = match place {
            Place::Instruction(_, _, callers) => callers.last().map(|site| site.caller),
            _ => None,
        };
        outermost
            .or(function)
            .filter(|id| self.module.function(*id).is_kernel())
    }

    /// The offset in the text; of LLVM IR in bitcode, a number in the order of its instructions.
    pub(super) fn text_offset(&self, span: Span) -> u32 {
        self.module.origin.place(span).unwrap_or(span).start
    }

    /// A header may run over hundreds of lines; its first one names the function.
    fn first_line(&self, span: Span) -> Span {
        let text = self.module.origin.text(span);
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len()) as u32;
        Span::new(span.start, span.start + end)
    }

    pub(super) fn source(&self, resolved: &ResolvedPlace) -> Option<Source> {
        let mut frames: Vec<Frame> = Vec::new();
        for &debug in resolved.debug.iter().filter(|&&debug| debug != DebugId::NONE) {
            frames.extend(self.module.origin.frames(debug));
        }
        if resolved.is_declaration {
            frames.drain(..frames.len().saturating_sub(1));
        }
        source_of_frames(frames)
    }
}

/// Frames, innermost first, as the place of a finding: the first that is not in a header of the toolkit is shown.
pub fn source_of_frames(mut frames: Vec<Frame>) -> Option<Source> {
    let shown = frames
        .iter()
        .position(|frame| !toolkit::is_header(&frame.file))
        .unwrap_or(0);
    if frames.is_empty() {
        return None;
    }
    let inlined_at = frames.split_off(shown + 1);
    let at = frames.pop()?;
    Some(Source {
        at,
        inside: frames,
        inlined_at,
    })
}

/// The lines and columns of a span in the input's text, and the line that it begins on.
pub fn location_and_text_of(
    origin: &dyn Origin,
    span: Span,
    name: &str,
) -> (Option<Location>, Option<LineText>) {
    let ends = origin.place(span).and_then(|place| {
        let start = origin.position(place.start)?;
        Some((start, origin.position(place.end.max(place.start))?))
    });
    let Some((start, end)) = ends else {
        return (None, None);
    };
    let location = Location {
        file: name.to_owned(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
    };
    let line = origin.line(start.line);
    let column = start.column as usize - 1;
    let from = if line.len() > SHOWN_LINE_BYTES {
        column.saturating_sub(SHOWN_LINE_BYTES / 4)
    } else {
        0
    };
    let shown = line
        .get(from..(from + SHOWN_LINE_BYTES).min(line.len()))
        .unwrap_or_default();
    let line_text = LineText {
        text: String::from_utf8_lossy(shown).into_owned(),
        from: from as u32 + 1,
    };
    (Some(location), Some(line_text))
}

/// The order of findings, the same for any number of threads.
pub fn sort_findings(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| {
            (
                finding.input,
                finding.image,
                finding.offset,
                finding.rule.code,
                finding.certainty,
            )
        };
        let frame = |finding: &Finding| finding.source.as_ref().map(|source| source.at.clone());
        key(a)
            .cmp(&key(b))
            .then_with(|| frame(a).cmp(&frame(b)))
            // Fingerprints are numbered in this order, which must not depend on the wording of messages.
            .then_with(|| format!("{:?}", a.data).cmp(&format!("{:?}", b.data)))
            .then_with(|| a.message.cmp(&b.message))
    });
}
