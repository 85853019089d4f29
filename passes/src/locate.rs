//! Drafts to findings: places become lines, in the input and in the program's source.

use std::cell::{OnceCell, RefCell};
use std::hash::{Hash as _, Hasher as _};

use ptxcheck_ptx_parser::Span;
use rustc_hash::{FxHashMap, FxHasher};

use crate::analysis::call_graph::{CallGraph, CallSite};

use crate::context::{Draft, Place};
use crate::finding::{Cause, Finding, Frame, LineText, Located, Location, Related, Source};
use crate::fingerprint;
use crate::ir::{DebugId, FunctionId, InstructionId, Module, Op, Origin};
use crate::limits::{LEAST_CODE, SHOWN_LINE_BYTES};
use crate::names;
use crate::rule::Level;
use crate::settings::Settings;
use crate::toolkit;

/// Looks places up in one image.
pub(crate) struct Locator<'a> {
    pub(crate) module: &'a Module<'a>,
    /// The input's name, its index, and the image's.
    pub(crate) name: &'a str,
    pub(crate) input: usize,
    pub(crate) image: u32,
    /// The call graph, made for the first finding in a function that is called.
    calls: OnceCell<CallGraph>,
    /// [`Cause::code`] of functions with findings.
    code: RefCell<FxHashMap<FunctionId, u64>>,
}

/// Most calls that are named between a kernel and a function with a finding in it, where one of them is the user's.
const MAX_NAMED_CALLS: usize = 8;

/// Most calls that are followed out of the headers of the toolkit. Cooperative Groups' reductions are nine deep.
const MAX_HEADER_CALLS: usize = 64;

/// A place of a finding, resolved to text, function and debug locations.
struct ResolvedPlace {
    span: Span,
    function: Option<FunctionId>,
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

    /// The finding that a draft becomes; `None` if the settings do not want it.
    pub(crate) fn finding(&self, mut draft: Draft, settings: &Settings) -> Option<Finding> {
        let level = settings.level(draft.rule, draft.certainty, draft.level);
        if level == Level::Allow {
            return None;
        }
        if let Some(others) = self.follow_callers(&mut draft.place) {
            draft.notes.push(others);
        }
        draft.notes.append(&mut draft.launch_notes);
        let resolved = self.resolve(&draft.place);
        let kernel = self.kernel_of_place(&draft.place, resolved.function);
        let is_imported = resolved
            .function
            .is_some_and(|id| self.module.function(id).is_imported);
        let span = self.span_to_show(&draft.place, resolved.span);
        let (location, line_text) = location_and_text_of(self.module.origin, span, self.name);
        let function = resolved.function.map(|id| self.module.function_name(id));
        let source = self.source(&resolved);
        let shown = source.as_ref().map(|source| &source.at);
        let mut cause = draft.cause;
        let to_mend = draft.to_mend.map(|index| &draft.related[index].0);
        let text = self.text_to_mend(&draft.place, resolved.span, to_mend);
        cause.instruction = text.map_or(0, fingerprint::of_text);
        self.describe_cause(&draft.place, &mut cause);
        let related = draft
            .related
            .into_iter()
            .enumerate()
            .map(|(index, (place, message))| {
                let is_cause = draft.to_mend == Some(index);
                Related {
                    is_cause,
                    ..self.related(&self.moved_out_of_headers(place, &draft.place), message)
                }
            });
        let related = Related::beside(related, shown.filter(|_| !draft.has_two_places));
        let steps = draft.steps.into_iter();
        let steps = steps
            .map(|(place, message, by)| Related {
                by: Some(by),
                ..self.related(&place, message)
            })
            .collect();
        Some(Finding {
            rule: draft.rule,
            certainty: draft.certainty,
            level,
            own_level: draft.level,
            message: draft.message,
            notes: draft.notes,
            assumes_block: draft.assumes_block,
            help: draft.help,
            input: self.input,
            image: Some(self.image),
            offset: self.text_offset(span),
            function: function.map(str::to_owned),
            kernel: kernel.map(|id| self.module.function_name(id).to_owned()),
            location,
            line_text,
            related,
            has_two_places: draft.has_two_places,
            sanitizer: draft.sanitizer,
            steps,
            source,
            data: draft.data,
            cause,
            fingerprint: fingerprint::of_instruction(
                draft.rule.code,
                &names::normalised(function.unwrap_or_default()),
                self.module.origin.text(resolved.span),
            ),
            is_imported,
            suppressed: None,
        })
    }

    /// The text of the instruction to fix: that of a finding at `place`, whose span is known, or `to_mend`, if it is another.
    fn text_to_mend(&self, place: &Place, span: Span, to_mend: Option<&Place>) -> Option<&[u8]> {
        let span = match (to_mend, place) {
            (Some(to_mend), _) => self.resolve(to_mend).span,
            (None, Place::Module | Place::Function(_)) => return None,
            (None, _) => span,
        };
        Some(self.module.origin.text(span))
    }

    /// Adds the operation, and the code of its function, to the cause of a finding at `place`.
    fn describe_cause(&self, place: &Place, cause: &mut Cause) {
        if let Place::Instruction(function, instruction, _) = place
            && let Some(body) = &self.module.function(*function).body
        {
            cause.operation = self.module.origin.name(body.instruction(*instruction));
        }
        if let Place::Instruction(function, ..) | Place::Text(function, ..) = place {
            cause.code = *self
                .code
                .borrow_mut()
                .entry(*function)
                .or_insert_with(|| self.code_hash_of(*function));
        }
    }

    /// The hash of what a function's threads meet at and where they part.
    fn code_hash_of(&self, function: FunctionId) -> u64 {
        let Some(body) = &self.module.function(function).body else {
            return 0;
        };
        let mut hasher = FxHasher::default();
        let mut count = 0;
        for instruction in &body.instructions {
            if let Op::Branch
            | Op::BranchTable
            | Op::Call(_)
            | Op::Barrier(_)
            | Op::Collective(..)
            | Op::Exit = instruction.op
            {
                std::mem::discriminant(&instruction.op).hash(&mut hasher);
                count += 1;
            }
        }
        if count < LEAST_CODE {
            0
        } else {
            hasher.finish().max(1)
        }
    }

    /// A place beside a finding, where only lines in the toolkit's headers are known of it: with the calls that lead to its
    /// function on the way to the finding.
    fn moved_out_of_headers(&self, place: Place, finding: &Place) -> Place {
        let (Place::Instruction(at, instruction, of_place), Place::Instruction(function, _, callers)) =
            (&place, finding)
        else {
            return place;
        };
        let outer = if at == function {
            &callers[..]
        } else {
            let next = callers.iter().position(|call| call.caller == *at);
            next.map_or(&[][..], |next| &callers[next + 1..])
        };
        if !of_place.is_empty() || outer.is_empty() || self.leads_out_of_headers(*at, *instruction, of_place)
        {
            return place;
        }
        Place::Instruction(*at, *instruction, outer.to_vec())
    }

    fn related(&self, place: &Place, message: String) -> Related {
        let resolved = self.resolve(place);
        let (location, _) = location_and_text_of(self.module.origin, resolved.span, self.name);
        Related {
            message,
            location,
            source: self.source(&resolved),
            is_cause: false,
            by: None,
        }
    }

    fn resolve(&self, place: &Place) -> ResolvedPlace {
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
                let own = self.span_and_debug_of(*id, *instruction);
                let calls = callers
                    .iter()
                    .map(|site| self.span_and_debug_of(site.caller, site.instruction).1);
                resolved(own.0, Some(*id), std::iter::once(own.1).chain(calls).collect())
            }
        }
    }

    fn span_and_debug_of(&self, function: FunctionId, instruction: InstructionId) -> (Span, DebugId) {
        let body = self.module.function(function).body.as_ref();
        body.map_or((Span::default(), DebugId::NONE), |body| {
            let instruction = body.instruction(instruction);
            (instruction.span, instruction.debug)
        })
    }

    /// The span to show of a place: that of the innermost call of this module where another one has the function.
    fn span_to_show(&self, place: &Place, span: Span) -> Span {
        let is_defined_here = |id: FunctionId| !self.module.function(id).is_imported;
        match place {
            Place::Instruction(function, _, callers) if !is_defined_here(*function) => callers
                .iter()
                .find(|call| is_defined_here(call.caller))
                .map_or(span, |call| {
                    self.span_and_debug_of(call.caller, call.instruction).0
                }),
            _ => span,
        }
    }

    /// Adds the calls that lead to an instruction of a function, as far as the rule has not named them: the first one of
    /// each function, up to a kernel. Returns a note if there are others.
    fn follow_callers(&self, place: &mut Place) -> Option<String> {
        let Place::Instruction(function, instruction, callers) = place else {
            return None;
        };
        let mut at = callers.last().map_or(*function, |call| call.caller);
        let mut others = None;
        while !self.module.function(at).is_kernel() && callers.len() < MAX_HEADER_CALLS {
            if callers.len() >= MAX_NAMED_CALLS && self.leads_out_of_headers(*function, *instruction, callers)
            {
                break;
            }
            let calls = self
                .calls
                .get_or_init(|| CallGraph::new(self.module))
                .calls_to(at);
            let is_new = |call: &&CallSite| {
                call.caller != *function && callers.iter().all(|known| known.caller != call.caller)
            };
            let Some(call) = calls.iter().find(is_new) else {
                break;
            };
            if calls.len() > 1 && others.is_none() {
                others = Some(format!(
                    "`{}` is called in {} places, of which the first is shown",
                    names::in_message(self.module.function_name(at)),
                    calls.len()
                ));
            }
            callers.push(*call);
            at = call.caller;
        }
        others
    }

    /// True if a line of an instruction, or of the calls that lead to it, lies outside of the toolkit's headers, or none is known.
    fn leads_out_of_headers(
        &self,
        function: FunctionId,
        instruction: InstructionId,
        callers: &[CallSite],
    ) -> bool {
        let own = self.span_and_debug_of(function, instruction).1;
        let calls = callers
            .iter()
            .map(|call| self.span_and_debug_of(call.caller, call.instruction).1);
        let mut frames = std::iter::once(own)
            .chain(calls)
            .filter(|&debug| debug != DebugId::NONE)
            .flat_map(|debug| self.module.origin.frames(debug))
            .peekable();
        frames.peek().is_none() || frames.any(|frame| !toolkit::is_header(&frame.file))
    }

    /// The kernel that the place is in, or that its chain of calls begins in.
    fn kernel_of_place(&self, place: &Place, function: Option<FunctionId>) -> Option<FunctionId> {
        let outermost = match place {
            Place::Instruction(_, _, callers) => callers.last().map(|site| site.caller),
            _ => None,
        };
        outermost
            .or(function)
            .filter(|id| self.module.function(*id).is_kernel())
    }

    /// The offset in the text; of LLVM IR in bitcode, a number in the order of its instructions.
    fn text_offset(&self, span: Span) -> u32 {
        self.module.origin.place(span).unwrap_or(span).start
    }

    /// A header may run over hundreds of lines; its first one names the function.
    fn first_line(&self, span: Span) -> Span {
        let text = self.module.origin.text(span);
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len()) as u32;
        Span::new(span.start, span.start + end)
    }

    fn source(&self, resolved: &ResolvedPlace) -> Option<Source> {
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
pub(crate) fn source_of_frames(mut frames: Vec<Frame>) -> Option<Source> {
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
pub(crate) fn location_and_text_of(
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
pub(crate) fn sort_findings(findings: &mut [Finding]) {
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
