//! The control flow of a generated function: nested branches and loops, with edges that nest in nothing, blocks in any
//! order, tables.

use crate::numbers::Numbers;

/// Most blocks of a function.
const MAX_BLOCKS: usize = 12;

/// The end of a block.
pub enum BlockEnd {
    /// It goes to one block.
    Jump(usize),
    /// A guarded branch to the first, then on to the second.
    Choice(usize, usize),
    /// A jump through a table.
    Table(Vec<usize>),
    /// A return, an exit, a trap.
    Leave,
    /// A guarded return or exit.
    Maybe(usize),
}

/// A block without its instructions.
pub struct Block {
    /// Number of instructions that it gets.
    pub size: usize,
    /// Its end.
    pub end: BlockEnd,
}

/// The blocks of a function.
pub struct Graph {
    /// By number; the first is the entry.
    pub blocks: Vec<Block>,
    /// Their order in the text.
    pub order: Vec<usize>,
}

impl Graph {
    /// Makes one.
    pub fn new(numbers: &mut Numbers) -> Self {
        let mut graph = Self {
            blocks: Vec::new(),
            order: Vec::new(),
        };
        let is_wild = numbers.one_in(5);
        if is_wild {
            let count = 1 + numbers.below(MAX_BLOCKS - 2);
            for _ in 0..count {
                let end = wild(numbers, count);
                graph.block(numbers, end);
            }
            graph.block(numbers, BlockEnd::Leave);
        } else {
            let budget = 1 + numbers.below(MAX_BLOCKS / 2);
            let (_, last) = graph.region(numbers, budget);
            graph.blocks[last].end = BlockEnd::Leave;
            // Edges into the middle of nested regions.
            if numbers.one_in(3) {
                for _ in 0..=numbers.below(2) {
                    let count = graph.blocks.len();
                    let (from, to) = (numbers.below(count), numbers.below(count));
                    if let BlockEnd::Jump(on) = graph.blocks[from].end {
                        graph.blocks[from].end = BlockEnd::Choice(to, on);
                    }
                }
            }
        }
        graph.order = (0..graph.blocks.len()).collect();
        let count = graph.order.len();
        match numbers.below(4) {
            // Every block except the entry anywhere: loop entries may stand after their loops.
            0 => {
                for place in (2..count).rev() {
                    graph.order.swap(place, 1 + numbers.below(place));
                }
            }
            1 if count > 2 => {
                let (a, b) = (1 + numbers.below(count - 1), 1 + numbers.below(count - 1));
                graph.order.swap(a, b);
            }
            _ => {}
        }
        graph
    }

    fn block(&mut self, numbers: &mut Numbers, end: BlockEnd) -> usize {
        let size = [0, 1, 1, 2, 2, 3, 4][numbers.below(7)];
        self.blocks.push(Block { size, end });
        self.blocks.len() - 1
    }

    /// Nested code: its first block, and its last, whose end is left open.
    fn region(&mut self, numbers: &mut Numbers, budget: usize) -> (usize, usize) {
        let first = self.block(numbers, BlockEnd::Leave);
        if budget <= 1 {
            return (first, first);
        }
        let rest = budget - 1;
        match numbers.below(7) {
            0 | 1 => {
                let (then, then_end) = self.region(numbers, rest / 2);
                let join = self.block(numbers, BlockEnd::Leave);
                self.blocks[first].end = BlockEnd::Choice(join, then);
                self.blocks[then_end].end = BlockEnd::Jump(join);
                (first, join)
            }
            2 => {
                let (then, then_end) = self.region(numbers, rest / 2);
                let (other, other_end) = self.region(numbers, rest / 2);
                let join = self.block(numbers, BlockEnd::Leave);
                self.blocks[first].end = BlockEnd::Choice(other, then);
                self.blocks[then_end].end = BlockEnd::Jump(join);
                self.blocks[other_end].end = BlockEnd::Jump(join);
                (first, join)
            }
            // A loop that tests at its end, or, entered at its test, at its start.
            3 | 4 => {
                let (body, body_end) = self.region(numbers, rest);
                let after = self.block(numbers, BlockEnd::Leave);
                if numbers.one_in(3) {
                    let test = self.block(numbers, BlockEnd::Choice(body, after));
                    self.blocks[first].end = BlockEnd::Jump(test);
                    self.blocks[body_end].end = BlockEnd::Jump(test);
                } else {
                    self.blocks[first].end = BlockEnd::Jump(body);
                    self.blocks[body_end].end = BlockEnd::Choice(body, after);
                }
                (first, after)
            }
            5 => {
                let join = self.block(numbers, BlockEnd::Leave);
                let count = 1 + numbers.below(3);
                let mut targets = Vec::new();
                for _ in 0..count {
                    let (case, case_end) = self.region(numbers, rest / 4);
                    self.blocks[case_end].end = BlockEnd::Jump(join);
                    targets.push(case);
                }
                targets.push(join);
                self.blocks[first].end = BlockEnd::Table(targets);
                (first, join)
            }
            _ => {
                let (next, end) = self.region(numbers, rest);
                self.blocks[first].end = if numbers.one_in(3) {
                    BlockEnd::Maybe(next)
                } else {
                    BlockEnd::Jump(next)
                };
                (first, end)
            }
        }
    }
}

fn wild(numbers: &mut Numbers, count: usize) -> BlockEnd {
    let mut any = || numbers.below(count + 1);
    let (a, b, c) = (any(), any(), any());
    match numbers.below(8) {
        0 => BlockEnd::Jump(a),
        1 => BlockEnd::Table(vec![a, b, c]),
        2 => BlockEnd::Leave,
        3 => BlockEnd::Maybe(a),
        _ => BlockEnd::Choice(a, b),
    }
}
