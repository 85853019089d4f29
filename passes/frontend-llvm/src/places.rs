//! Places in LLVM assembly: which line a symbol or an instruction of the device IR comes from.
//!
//! The lowering gives each symbol, and each of LLVM's instructions that it reaches, a [`Ticket`]. The device IR keeps nothing else. If a
//! place has to be shown, the text is scanned ([`super::outline`]), and the instructions of the function in question are matched with
//! LLVM's: a module without findings needs none of this.
//!
//! LLVM's reader may drop, add and rename calls of intrinsics, so a block's instructions are matched by opcode, result and
//! callee. An instruction without a certain partner has the place of its block, or of its function: a wrong line is worse than a
//! vague one.

use std::sync::{Mutex, OnceLock, PoisonError};

use ptxcheck_ptx_parser::{LineIndex, Position, Span};
use rustc_hash::FxHashMap;

use super::opcodes::is_call;
use super::outline::{self, Outline, TextBlock, TextInstruction, unquoted};
use super::raw::{Opcode, SharedHandles, User, Value};

/// A number for sorting that leads back to a place: symbols first, then instructions. 0 is nowhere.
pub(super) type Ticket = u32;

/// The tickets of a module, as they are given out.
#[derive(Default)]
pub(super) struct Tickets<'m> {
    last: Ticket,
    /// By ticket, from 1 on.
    symbols: Vec<&'m str>,
    pub(super) functions: Vec<Value<'m>>,
    /// The ticket before the first of each function's instructions, the first of its entries in `blocks`, its symbol's
    /// ticket.
    ranges: Vec<(Ticket, usize, Ticket)>,
    /// The ticket before the first of each block's instructions.
    blocks: Vec<Ticket>,
}

impl<'m> Tickets<'m> {
    /// A symbol of this name. All come before the first function.
    pub(super) fn symbol(&mut self, name: &'m str) -> Span {
        self.symbols.push(name);
        self.instruction()
    }

    /// The instructions to come are those of this function, whose symbol has this place.
    pub(super) fn function(&mut self, function: Value<'m>, symbol: Span) {
        self.ranges.push((self.last, self.blocks.len(), symbol.start));
        self.functions.push(function);
    }

    /// The instructions to come are those of the next block.
    pub(super) fn block(&mut self) {
        self.blocks.push(self.last);
    }

    /// The next instruction.
    pub(super) fn instruction(&mut self) -> Span {
        self.last = self.last.saturating_add(1);
        Span::new(self.last, self.last)
    }
}

/// The text of a module, and what leads from tickets to places in it.
pub(super) struct Places<'m> {
    text: &'m [u8],
    lines: OnceLock<LineIndex>,
    outline: OnceLock<Outline>,
    symbols: Vec<&'m str>,
    ranges: Vec<(Ticket, usize, Ticket)>,
    blocks: Vec<Ticket>,
    /// The places of a function's instructions, block by block, of the functions that were asked for.
    matched: Mutex<FxHashMap<usize, Vec<Vec<Option<Span>>>>>,
}

impl<'m> Places<'m> {
    pub(super) fn new(text: &'m [u8], tickets: Tickets<'m>) -> Self {
        Self {
            text,
            lines: OnceLock::new(),
            outline: OnceLock::new(),
            symbols: tickets.symbols,
            ranges: tickets.ranges,
            blocks: tickets.blocks,
            matched: Mutex::default(),
        }
    }

    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(self.text))
    }

    fn outline(&self) -> &Outline {
        self.outline.get_or_init(|| Outline::of(self.text))
    }

    pub(super) fn position(&self, offset: u32) -> Option<Position> {
        (offset as usize <= self.text.len()).then(|| self.lines().position(offset))
    }

    pub(super) fn line(&self, line: u32) -> &[u8] {
        self.lines().line(self.text, line)
    }

    /// The span in the text of the instruction or symbol with this ticket.
    pub(super) fn place(&self, llvm: &SharedHandles<'m>, ticket: Ticket) -> Option<Span> {
        let number = (ticket as usize).checked_sub(1)?;
        if let Some(name) = self.symbols.get(number) {
            return self.outline().globals.get(name.as_bytes()).copied();
        }
        let function = self
            .ranges
            .partition_point(|(before, ..)| *before < ticket)
            .checked_sub(1)?;
        let &(_, first, symbol) = self.ranges.get(function)?;
        let end = self
            .ranges
            .get(function + 1)
            .map_or(self.blocks.len(), |next| next.1);
        let blocks = self.blocks.get(first..end)?;
        let found = blocks
            .partition_point(|before| *before < ticket)
            .checked_sub(1)
            .and_then(|block| {
                let number = (ticket - blocks[block]).checked_sub(1)?;
                self.instruction(llvm, (function, block, number as usize))
            });
        found.or_else(|| self.place(llvm, symbol))
    }

    fn instruction(
        &self,
        llvm: &SharedHandles<'m>,
        (function, block, number): (usize, usize, usize),
    ) -> Option<Span> {
        let mut matched = self.matched.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = matched
            .entry(function)
            .or_insert_with(|| llvm.read(|llvm| self.matched(llvm.functions.get(function).copied())));
        *blocks.get(block)?.get(number)?
    }

    /// The places of a function's instructions; none where the text has other blocks than LLVM.
    fn matched(&self, function: Option<Value<'m>>) -> Vec<Vec<Option<Span>>> {
        let body = function.and_then(|function| self.outline().bodies.get(function.name().as_bytes()));
        let (Some(function), Some(&body)) = (function, body) else {
            return Vec::new();
        };
        let written = outline::blocks(self.text, body);
        let read: Vec<Vec<LlvmInstruction<'_>>> = function
            .blocks()
            .map(|block| block.instructions().map(LlvmInstruction::of).collect())
            .collect();
        if written.len() != read.len() {
            return Vec::new();
        }
        written
            .iter()
            .zip(&read)
            .map(|(written, read)| matched(self.text, written, read))
            .collect()
    }
}

/// An instruction as LLVM has it.
struct LlvmInstruction<'m> {
    opcode: Opcode,
    result: &'m str,
    callee: &'m str,
}

impl<'m> LlvmInstruction<'m> {
    fn of(instruction: User<'m>) -> Self {
        Self {
            opcode: instruction.opcode(),
            result: instruction.value().name(),
            callee: instruction
                .called()
                .filter(|called| called.is_global())
                .map_or("", Value::name),
        }
    }
}

/// Intrinsics that LLVM turns into something that is not an instruction.
const DROPPED: &[u8] = b"llvm.dbg.";

/// The match of an instruction of the text with one of LLVM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InstructionMatch {
    /// They may be the same.
    Same,
    /// A call of one intrinsic has become that of another: more may have come of it.
    Renamed,
    Different,
}

fn pair(text: &[u8], written: &TextInstruction, read: &LlvmInstruction<'_>) -> InstructionMatch {
    let name = |span: Span| unquoted(span.of(text)).filter(|name| !name.is_empty());
    let (result, callee) = (name(written.result), name(written.callee));
    if written.opcode != read.opcode || result.as_deref().unwrap_or_default() != read.result.as_bytes() {
        return InstructionMatch::Different;
    }
    if !is_call(written.opcode) || callee.as_deref().unwrap_or_default() == read.callee.as_bytes() {
        return InstructionMatch::Same;
    }
    let is_intrinsic = |name: &[u8]| name.starts_with(b"llvm.");
    if is_intrinsic(callee.as_deref().unwrap_or_default()) && is_intrinsic(read.callee.as_bytes()) {
        InstructionMatch::Renamed
    } else {
        InstructionMatch::Different
    }
}

/// The places of LLVM's instructions of a block; `None` where nothing better than the function is known.
///
/// LLVM adds and removes only intrinsics. So instructions before the first changed intrinsic, or after the last one, keep their places;
/// between those, an instruction is identified by the name of its result.
fn matched(text: &[u8], block: &TextBlock, read: &[LlvmInstruction<'_>]) -> Vec<Option<Span>> {
    let keeps_debug = read.iter().any(|one| one.callee.as_bytes().starts_with(DROPPED));
    let is_kept = |one: &&TextInstruction| keeps_debug || !one.callee.of(text).starts_with(DROPPED);
    let written: Vec<&TextInstruction> = block.instructions.iter().filter(is_kept).collect();
    let pairs = || {
        written
            .iter()
            .zip(read)
            .map(|(written, read)| pair(text, written, read))
    };
    if written.len() == read.len() && pairs().all(|pair| pair != InstructionMatch::Different) {
        return written.iter().map(|one| Some(one.span)).collect();
    }
    let mut places = vec![block.label; read.len()];
    if block.is_crowded {
        return places;
    }
    let before = pairs().take_while(|pair| *pair == InstructionMatch::Same).count();
    let behind = written[before..]
        .iter()
        .rev()
        .zip(read[before..].iter().rev())
        .take_while(|(written, read)| pair(text, written, read) == InstructionMatch::Same)
        .count();
    for (place, written) in places.iter_mut().zip(&written[..before]) {
        *place = Some(written.span);
    }
    for (place, written) in places.iter_mut().rev().zip(written.iter().rev()).take(behind) {
        *place = Some(written.span);
    }
    let changed = &written[before..written.len() - behind];
    let named: FxHashMap<_, _> = changed
        .iter()
        .filter_map(|one| Some((unquoted(one.result.of(text))?, one.span)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let end = read.len() - behind;
    for (place, read) in places[before..end].iter_mut().zip(&read[before..end]) {
        if let Some(known) = named.get(read.result.as_bytes()) {
            *place = Some(*known);
        }
    }
    // One intrinsic that has become several instructions, or another.
    if let [one] = changed
        && !one.callee.is_empty()
    {
        places[before..end].fill(Some(one.span));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::with_module;

    /// The lines of a text's instructions that reach memory, as `line: text`.
    fn accesses(text: &str) -> Vec<String> {
        with_module(text.as_bytes(), |module| {
            let mut found = Vec::new();
            for (_, _, body) in module.bodies() {
                for (id, instruction) in body.iter() {
                    let ptxcheck_ir::Op::Access(access) = instruction.op else {
                        continue;
                    };
                    if access.space == ptxcheck_ir::Space::Param {
                        continue;
                    }
                    let place = module.origin.place(body.span_of(id)).unwrap();
                    let at = module.origin.position(place.start).unwrap();
                    let line = place.of(text.as_bytes());
                    found.push(format!("{}: {}", at.line, String::from_utf8_lossy(line)));
                }
            }
            found
        })
        .unwrap()
    }

    #[test]
    fn each_instruction_has_its_line() {
        let text = "
define void @f(ptr %p) {
  store i32 1, ptr %p
  br label %next
next:
  %x = load i32, ptr %p ; %x
  store i32 %x, ptr %p, align 4
  ret void
}
";
        assert_eq!(
            accesses(text),
            [
                "3: store i32 1, ptr %p",
                "6: %x = load i32, ptr %p",
                "7: store i32 %x, ptr %p, align 4"
            ]
        );
    }

    #[test]
    fn typed_pointers_have_lines_too() {
        let text = "
%S = type { i32, i8* }
define void @f(%S addrspace(1)* %p) {
  %1 = getelementptr inbounds %S, %S addrspace(1)* %p, i32 0, i32 0

  store i32 1, i32 addrspace(1)* %1
  ret void
}
";
        assert_eq!(accesses(text), ["6: store i32 1, i32 addrspace(1)* %1"]);
    }

    #[test]
    fn what_stands_around_an_intrinsic_that_llvm_changes_keeps_its_line() {
        // LLVM reads the old spelling of `abs` as a comparison, a subtraction and a select, or as its own intrinsic.
        let text = "
define void @f(ptr %p, i32 %a) {
  store i32 1, ptr %p
  %1 = call i32 @llvm.nvvm.abs.i(i32 %a)
  store i32 %1, ptr %p
  %2 = call i32 @llvm.nvvm.max.i(i32 %1, i32 %a)
  store i32 %2, ptr %p
  ret void
}
declare i32 @llvm.nvvm.abs.i(i32)
declare i32 @llvm.nvvm.max.i(i32, i32)
";
        let found = accesses(text);
        assert_eq!(found[0], "3: store i32 1, ptr %p");
        assert_eq!(found[2], "7: store i32 %2, ptr %p");
        // Between two that have changed, no more is known than the function.
        assert!(
            found[1].starts_with("2: ") || found[1].starts_with("5: "),
            "{found:?}"
        );
    }

    #[test]
    fn debug_intrinsics_do_not_count() {
        let text = "
define void @f(ptr %p) !dbg !3 {
  call void @llvm.dbg.value(metadata ptr %p, metadata !6, metadata !DIExpression()), !dbg !7
  store i32 1, ptr %p, !dbg !7
  ret void, !dbg !7
}
declare void @llvm.dbg.value(metadata, metadata, metadata)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"a.c\", directory: \"/\")
!2 = !{i32 2, !\"Debug Info Version\", i32 3}
!3 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocalVariable(name: \"p\", arg: 1, scope: !3, file: !1, line: 1)
!7 = !DILocation(line: 2, column: 3, scope: !3)
";
        assert_eq!(accesses(text), ["4: store i32 1, ptr %p"]);
    }

    #[test]
    fn instructions_on_one_line_have_the_place_of_their_block() {
        let text = "
define void @f(ptr %p) {
start: store i32 1, ptr %p store i32 2, ptr %p
  ret void
}
";
        assert_eq!(accesses(text), ["3: start", "3: start"]);
        let named = text.replace(
            "store i32 1, ptr %p",
            "%a = load i32, ptr %p %b = load i32, ptr %p",
        );
        assert_eq!(accesses(&named), ["3: start", "3: start", "3: start"]);
    }

    #[test]
    fn a_constant_on_a_line_of_its_own_is_no_instruction() {
        let text = "
@g = external global [4 x i32]
define void @f(ptr %p) {
  store ptr
    getelementptr inbounds (i32, ptr @g, i32 1), ptr %p
  %a = call
    i32 @h()
  store i32 1, ptr %p
  ret void
}
declare i32 @h()
";
        assert_eq!(accesses(text), ["4: store ptr", "8: store i32 1, ptr %p"]);
    }
}
