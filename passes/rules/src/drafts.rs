//! Drafts to findings: the calls that lead to a place, its cause, and its lines in the input and in the program's source.

use std::hash::{Hash as _, Hasher as _};

use crate::ir::Span;
use rustc_hash::FxHasher;

use crate::analysis::call_graph::{CallGraph, CallSite};
use crate::context::{Draft, Place};
use crate::finding::{Cause, Finding, Located, Related};
use crate::fingerprint;
use crate::ir::{DebugId, FunctionId, InstructionId, Op};
use crate::limits::LEAST_CODE;
use crate::locate::{Locator, location_and_text_of};
use crate::names;
use crate::rule::Level;
use crate::rule_settings::RuleSettings;
use crate::toolkit;

/// Most calls that are named between a kernel and a function with a finding in it, where one of them is the user's.
const MAX_NAMED_CALLS: usize = 8;

/// Most calls that are followed out of the headers of the toolkit. Cooperative Groups' reductions are nine deep.
const MAX_HEADER_CALLS: usize = 64;

impl Locator<'_> {
    /// The finding that a draft becomes; `None` if the settings do not want it.
    pub(crate) fn finding(&self, draft: Draft, settings: &RuleSettings<'_>) -> Option<Finding> {
        let level = settings.level_of(&draft.finding);
        if level == Level::Allow {
            return None;
        }
        let Draft {
            mut finding,
            mut place,
            mut launch_notes,
            related,
            to_mend,
            ..
        } = draft;
        finding.level = level;
        finding.notes.extend(self.follow_callers(&mut place));
        finding.notes.append(&mut launch_notes);
        let resolved = self.resolve(&place);
        let function = resolved.function;
        let kernel = self.kernel_of_place(&place, function);
        let span = self.span_to_show(&place, resolved.span);
        let (location, line_text) = location_and_text_of(self.module.origin, span, self.name);
        let name = |id| self.module.function_name(id);
        finding.fingerprint = fingerprint::of_instruction(
            finding.rule.code,
            &names::normalised(function.map_or("", name)),
            self.module.origin.text(resolved.span),
        );
        finding.input = self.input;
        finding.image = Some(self.image);
        finding.is_imported = function.is_some_and(|id| self.module.function(id).is_imported);
        finding.set_place(Located {
            function: function.map(|id| name(id).to_owned()),
            kernel: kernel.map(|id| name(id).to_owned()),
            offset: self.text_offset(span),
            location,
            line_text,
            source: self.source(&resolved),
        });
        let text = self.text_to_mend(&place, resolved.span, to_mend.map(|index| &related[index].0));
        finding.cause.instruction = text.map_or(0, fingerprint::of_text);
        self.describe_cause(&place, &mut finding.cause);
        let related = related
            .into_iter()
            .enumerate()
            .map(|(index, (at, message))| Related {
                is_cause: to_mend == Some(index),
                ..self.related(&self.moved_out_of_headers(at, &place), message)
            });
        let shown = finding.source.as_ref().map(|source| &source.at);
        finding.related = Related::beside(related, shown.filter(|_| !finding.has_two_places));
        let steps = draft.steps.into_iter().map(|(place, message, by)| Related {
            by: Some(by),
            ..self.related(&place, message)
        });
        finding.steps = steps.collect();
        Some(finding)
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
            cause.operation = self.module.origin.name(body.span_of(*instruction));
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
        let own = self.source_place_of(function, instruction).debug;
        let calls = callers
            .iter()
            .map(|call| self.source_place_of(call.caller, call.instruction).debug);
        let mut frames = std::iter::once(own)
            .chain(calls)
            .filter(|&debug| debug != DebugId::NONE)
            .flat_map(|debug| self.module.origin.frames(debug))
            .peekable();
        frames.peek().is_none() || frames.any(|frame| !toolkit::is_header(&frame.file))
    }

    /// The span to show of a place: that of the innermost call of this module where another one has the function.
    fn span_to_show(&self, place: &Place, span: Span) -> Span {
        let is_defined_here = |id: FunctionId| !self.module.function(id).is_imported;
        match place {
            Place::Instruction(function, _, callers) if !is_defined_here(*function) => callers
                .iter()
                .find(|call| is_defined_here(call.caller))
                .map_or(span, |call| {
                    self.source_place_of(call.caller, call.instruction).span
                }),
            _ => span,
        }
    }
}
