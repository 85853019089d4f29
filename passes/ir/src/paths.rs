//! Questions about paths of control: which blocks they reach, and whether one leads from one instruction to another.
//!
//! ```text
//! edges      all of a body, or those that the caller leaves of each block, where it knows more
//! avoided    instructions that paths do not pass; those at the ends of a path do not count
//! ```

use std::ops::Range;

use crate::{BlockId, Body, InstructionId};

/// The blocks that control reaches from some blocks, these included: for each block of the body, true if it does. `next` are the
/// blocks that may follow a block.
#[must_use]
pub fn reached<'n>(
    body: &Body<'_>,
    from: impl IntoIterator<Item = BlockId>,
    mut next: impl FnMut(BlockId) -> &'n [BlockId],
) -> Vec<bool> {
    let mut is_reached = vec![false; body.blocks.len()];
    let mut open: Vec<BlockId> = from.into_iter().collect();
    while let Some(block) = open.pop() {
        let Some(is_reached) = is_reached.get_mut(block.index()) else {
            continue;
        };
        if !std::mem::replace(is_reached, true) {
            open.extend_from_slice(next(block));
        }
    }
    is_reached
}

/// The blocks that may follow a block whose branch takes the first of two (true) or the second (false), where that is known.
#[must_use]
pub fn taken<'b>(body: &'b Body<'_>, block: BlockId, takes_first: Option<bool>) -> &'b [BlockId] {
    match (takes_first, body.successors(block)) {
        (Some(true), [first, _]) => std::slice::from_ref(first),
        (Some(false), [_, second]) => std::slice::from_ref(second),
        (_, all) => all,
    }
}

/// The instructions that paths do not pass.
#[derive(Clone, Copy)]
enum Avoided<'a> {
    Nothing,
    One(InstructionId),
    /// True for each of them.
    Marked(&'a [bool]),
}

/// Paths of control in a body.
#[derive(Clone, Copy)]
pub struct Paths<'a, 'b> {
    body: &'a Body<'b>,
    next: Option<&'a dyn Fn(BlockId) -> &'a [BlockId]>,
    avoided: Avoided<'a>,
}

impl<'a, 'b> Paths<'a, 'b> {
    /// All paths.
    #[must_use]
    pub const fn new(body: &'a Body<'b>) -> Self {
        Self {
            body,
            next: None,
            avoided: Avoided::Nothing,
        }
    }

    /// Those along these edges: the blocks that may follow each block.
    #[must_use]
    pub const fn along(self, next: &'a dyn Fn(BlockId) -> &'a [BlockId]) -> Self {
        Self {
            next: Some(next),
            ..self
        }
    }

    /// Those that do not pass an instruction.
    #[must_use]
    pub const fn without(self, avoided: InstructionId) -> Self {
        Self {
            avoided: Avoided::One(avoided),
            ..self
        }
    }

    /// Those that pass none of the instructions for which this is true. Instructions beyond its end are passed.
    #[must_use]
    pub const fn without_marked(self, marked: &'a [bool]) -> Self {
        Self {
            avoided: Avoided::Marked(marked),
            ..self
        }
    }

    /// True if one of them leads from after an instruction to another, or to the same one again.
    #[must_use]
    pub fn lead(&self, from: InstructionId, to: InstructionId) -> bool {
        let (start, end) = (self.body.block_of(from), self.body.block_of(to));
        let after = from.index() + 1;
        if start == end && from < to && self.avoids_none(after..to.index()) {
            return true;
        }
        let is_left = self.avoids_none(after..self.instructions(start).end);
        is_left && self.lead_from(self.next(start), to)
    }

    /// True if one of them leads from the start of some blocks to an instruction.
    #[must_use]
    pub fn lead_from(&self, from: &[BlockId], to: InstructionId) -> bool {
        let end = self.body.block_of(to);
        let mut seen = vec![false; self.body.blocks.len()];
        let mut open = from.to_vec();
        while let Some(block) = open.pop() {
            let Some(is_seen) = seen.get_mut(block.index()) else {
                continue;
            };
            if std::mem::replace(is_seen, true) {
                continue;
            }
            let instructions = self.instructions(block);
            if block == end && self.avoids_none(instructions.start..to.index()) {
                return true;
            }
            if self.avoids_none(instructions) {
                open.extend_from_slice(self.next(block));
            }
        }
        false
    }

    /// True if one of them leads from the end of a block to the start of another, or of the same one. What is avoided does not count.
    #[must_use]
    pub fn lead_between(&self, from: BlockId, to: BlockId) -> bool {
        let from = self.next(from).iter().copied();
        reached(self.body, from, |block| self.next(block))
            .get(to.index())
            .is_some_and(|is_reached| *is_reached)
    }

    fn next(&self, block: BlockId) -> &'a [BlockId] {
        match self.next {
            Some(next) => next(block),
            None => self.body.successors(block),
        }
    }

    fn instructions(&self, block: BlockId) -> Range<usize> {
        self.body.blocks[block.index()].instructions.range()
    }

    /// True if none of these instructions is avoided.
    fn avoids_none(&self, instructions: Range<usize>) -> bool {
        match self.avoided {
            Avoided::Nothing => true,
            Avoided::One(avoided) => !instructions.contains(&avoided.index()),
            Avoided::Marked(marked) => {
                let marked = marked.get(instructions.start..instructions.end.min(marked.len()));
                !marked.unwrap_or_default().contains(&true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Paths, reached, taken};
    use crate::{Block, BlockId, Body, InstructionId, Op, Slots, SourcePlace, Span};

    /// Blocks of two instructions each, with these successors.
    fn body(edges: &[&[usize]]) -> Body<'static> {
        let mut body = Body::default();
        for (number, successors) in edges.iter().enumerate() {
            for _ in 0..2 {
                body.add(Op::Opaque, None, (0, 0), SourcePlace::NONE);
            }
            let first = body.edges.len();
            body.edges.extend(successors.iter().map(|&to| BlockId::new(to)));
            body.blocks.push(Block {
                instructions: Slots::new(2 * number, 2 * number + 2),
                successors: Slots::new(first, first + successors.len()),
                span: Span::default(),
            });
        }
        body
    }

    fn at(number: usize) -> InstructionId {
        InstructionId::new(number)
    }

    /// A loop of blocks 1 and 2 after block 0, left for block 3.
    fn a_loop() -> Body<'static> {
        body(&[&[1], &[2, 3], &[1], &[]])
    }

    #[test]
    fn paths_lead_forward_and_around_loops() {
        let body = a_loop();
        let paths = Paths::new(&body);
        for (from, to, wanted) in [
            (0, 1, true),
            (1, 0, false),
            (0, 0, false),
            (2, 2, true),
            (3, 2, true),
            (5, 6, true),
            (6, 2, false),
            (6, 7, true),
        ] {
            assert_eq!(paths.lead(at(from), at(to)), wanted, "{from} to {to}");
        }
        assert!(paths.lead_between(BlockId::new(1), BlockId::new(1)));
        assert!(!paths.lead_between(BlockId::new(3), BlockId::new(3)));
    }

    /// The ends of a path do not count, and a second visit of an end does.
    #[test]
    fn avoided_instructions_are_not_passed() {
        let body = a_loop();
        for (from, to, avoided, wanted) in [
            (0, 3, 2, false),
            (0, 2, 2, true),
            (2, 2, 5, false),
            (3, 3, 2, false),
            (2, 6, 4, true),
            (4, 6, 2, false),
            (0, 1, 0, true),
        ] {
            let paths = Paths::new(&body).without(at(avoided));
            assert_eq!(
                paths.lead(at(from), at(to)),
                wanted,
                "{from} to {to} without {avoided}"
            );
            let mut marked = vec![false; 8];
            marked[avoided] = true;
            let paths = Paths::new(&body).without_marked(&marked);
            assert_eq!(
                paths.lead(at(from), at(to)),
                wanted,
                "{from} to {to} without {avoided}"
            );
        }
        assert!(
            Paths::new(&body)
                .without(at(0))
                .lead_from(&[BlockId::new(1)], at(6))
        );
        assert!(
            !Paths::new(&body)
                .without(at(2))
                .lead_from(&[BlockId::new(1)], at(6))
        );
    }

    #[test]
    fn decided_branches_go_one_way() {
        let body = a_loop();
        let next = |block: BlockId| taken(&body, block, (block.index() == 1).then_some(false));
        assert_eq!(reached(&body, [BlockId::new(0)], next), [true, true, false, true]);
        assert!(!Paths::new(&body).along(&next).lead(at(2), at(2)));
        assert_eq!(reached(&body, [BlockId::new(9)], next), [false; 4]);
    }
}
