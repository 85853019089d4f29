//! Random programs. Equal seeds make equal ones.

use super::program::{
    Array, Barrier, COUNTERS, Comparison, Condition, DATA, Expr, Function, Kind, LOCAL, LOOPS, Operation,
    Place, Program, Shuffle, Statement, UNIFORM, VARIABLES, Variable,
};
use crate::random::Random;

/// Blocks that kernels state.
const BLOCKS: [[u32; 3]; 8] = [
    [64, 1, 1],
    [64, 1, 1],
    [96, 1, 1],
    [128, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [32, 2, 1],
    [16, 8, 1],
];

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Context {
    /// All threads of the block that have not ended come here together.
    is_of_block: bool,
    /// All threads of a warp that have not ended do.
    is_of_warp: bool,
    depth: usize,
    /// The counter of the innermost loop, if all threads have the same.
    counter: Option<Variable>,
}

impl Context {
    const fn inside(self, is_of_block: bool, is_of_warp: bool) -> Self {
        Self {
            is_of_block: self.is_of_block && is_of_block,
            is_of_warp: self.is_of_warp && is_of_warp,
            depth: self.depth + 1,
            counter: self.counter,
        }
    }
}

struct Generator {
    random: Random,
    statements: usize,
    loops: usize,
    block: Option<[u32; 3]>,
    most: Option<u32>,
    arrays: Vec<Array>,
    functions: Vec<bool>,
    /// Some threads of a warp may have ended.
    have_ended: bool,
    /// Bytes of the elements of most accesses.
    width: u32,
    left: usize,
    /// Named barriers so far.
    named: u32,
    has_generic: bool,
    has_volatile: bool,
}

fn binary(operation: Operation, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operation, Box::new(left), Box::new(right))
}

fn with_number(operation: Operation, left: Expr, right: u32) -> Expr {
    binary(operation, left, Expr::Number(right))
}

fn warp() -> Expr {
    with_number(Operation::ShiftRight, Expr::Thread, 5)
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let block = random.chance(2).then(|| *random.pick(&BLOCKS));
    let most = (block.is_none() && random.chance(8)).then(|| *random.pick(&[64, 128, 256]));
    let arrays = (0..1 + random.below(2)).map(|number| Array {
        bytes: match number {
            0 if random.chance(5) => None,
            _ => Some(*random.pick(&[256, 512, 1024, 2048, 4096, 4096])),
        },
    });
    let arrays = arrays.collect();
    let width = *random.pick(&[4, 4, 4, 4, 4, 4, 8, 2, 1]);
    let left = 4 + random.below(10);
    let mut generator = Generator {
        statements: 0,
        loops: 0,
        block,
        most,
        arrays,
        functions: Vec::new(),
        have_ended: false,
        width,
        left,
        named: 0,
        has_generic: random.chance(8),
        has_volatile: random.chance(12),
        random,
    };
    let functions = if generator.random.chance(4) {
        let count = 1 + generator.random.below(2);
        (0..count).map(|_| generator.function()).collect()
    } else {
        Vec::new()
    };
    let start = Context {
        is_of_block: true,
        is_of_warp: true,
        depth: 0,
        counter: None,
    };
    let body = generator.body(start);
    Program {
        arrays: generator.arrays,
        functions,
        body,
        block,
        most,
    }
}

impl Generator {
    fn statement(&mut self, kind: Kind) -> Statement {
        self.statements += 1;
        Statement {
            id: self.statements,
            kind,
        }
    }

    fn variable(&mut self) -> Variable {
        self.random.below(VARIABLES)
    }

    /// The threads of the block, or as many as the smallest one that is tried has.
    fn threads(&self) -> u32 {
        self.block.map_or(64, |[x, y, z]| x * y * z)
    }

    fn is_of_rows(&self) -> bool {
        self.block.is_some_and(|[_, y, _]| y > 1)
    }

    /// A function with a barrier, or an access, or both.
    fn function(&mut self) -> Function {
        let mut body = Vec::new();
        let waits = self.random.chance(2);
        let (first, second) = (LOCAL.start, LOCAL.start + 1);
        let waits_first = self.random.chance(2);
        let accesses = !waits || self.random.chance(2);
        if waits && waits_first {
            body.push(self.statement(Kind::Barrier(Barrier::Sync(0))));
        }
        if accesses {
            let place = self.place(None);
            let kind = match self.random.chance(2) {
                true => Kind::Load(first, place),
                false => Kind::Store(place, Expr::Argument),
            };
            let access = self.statement(kind);
            body.push(match self.random.chance(4) {
                true => {
                    let condition = self.of_threads();
                    self.statement(Kind::If {
                        condition,
                        is_guard: false,
                        then: vec![access],
                        otherwise: Vec::new(),
                    })
                }
                false => access,
            });
        }
        if waits && !waits_first {
            body.push(self.statement(Kind::Barrier(Barrier::Sync(0))));
        }
        body.push(self.statement(Kind::Assign(
            second,
            binary(Operation::Add, Expr::Variable(first), Expr::Argument),
        )));
        self.functions.push(waits);
        Function {
            body,
            result: Expr::Variable(second),
        }
    }

    /// The statements of the kernel.
    fn body(&mut self, context: Context) -> Vec<Statement> {
        let mut all = Vec::new();
        while self.left > 0 {
            self.some(context, &mut all);
        }
        // What is known at the end is of use.
        for variable in 0..VARIABLES {
            if self.random.chance(3) {
                let index = binary(Operation::Add, Expr::Thread, Expr::Number(variable as u32));
                all.push(self.statement(Kind::StoreOut(index, Expr::Variable(variable))));
            }
        }
        all
    }

    fn nested(&mut self, context: Context) -> Vec<Statement> {
        let mut all = Vec::new();
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            self.some(context, &mut all);
        }
        all
    }

    /// Adds some statements.
    fn some(&mut self, context: Context, all: &mut Vec<Statement>) {
        self.left = self.left.saturating_sub(1);
        let is_shallow = context.depth < 3;
        match self.random.below(30) {
            0..=4 => self.store(context, all),
            5..=9 => self.load(context, all),
            10..=12 if context.is_of_block => self.barrier(all),
            13 | 14 if is_shallow => self.branch(context, all),
            15 | 16 if is_shallow && self.loops < LOOPS => self.repeat(context, all),
            17 if is_shallow && context.is_of_block => self.exchange(context, all),
            18 if is_shallow && context.is_of_block && self.loops < LOOPS => self.tiles(context, all),
            19 if is_shallow && context.is_of_block => self.reduction(context, all),
            20 => {
                let into = if self.random.chance(2) {
                    DATA
                } else {
                    self.variable()
                };
                let index = self.data_index();
                all.push(self.statement(Kind::LoadData(into, index)));
            }
            21 if context.is_of_block => {
                let index = Expr::Number(self.random.below(4) as u32);
                let into = UNIFORM.start + self.random.below(UNIFORM.len());
                all.push(self.statement(Kind::LoadData(into, index)));
            }
            22 if context.depth > 0 || self.random.chance(3) => self.end(context, all),
            23 if context.is_of_warp && !self.have_ended => {
                let kind = match self.random.below(4) {
                    0 => Kind::WarpSync,
                    1 => Kind::Shuffle(
                        self.variable(),
                        Shuffle::From(self.random.below(32) as u32),
                        self.value(context),
                    ),
                    2 => Kind::Shuffle(
                        self.variable(),
                        Shuffle::Xor(*self.random.pick(&[1, 8, 16])),
                        self.value(context),
                    ),
                    _ => Kind::Shuffle(
                        self.variable(),
                        Shuffle::Down(*self.random.pick(&[1, 8, 16])),
                        self.value(context),
                    ),
                };
                all.push(self.statement(kind));
            }
            24 => self.atomic(context, all),
            25 if !self.functions.is_empty() => {
                let function = self.random.below(self.functions.len());
                if !self.functions[function] || context.is_of_block {
                    let (into, argument) = (self.variable(), self.value(context));
                    all.push(self.statement(Kind::Call(into, function, argument)));
                }
            }
            26 if context.is_of_block && !self.have_ended => self.roles(context, all),
            27 => {
                let is_old = self.random.chance(2);
                if self.random.chance(3) {
                    all.push(self.statement(Kind::Fence(is_old)));
                }
            }
            _ => self.consume(context, all),
        }
    }

    fn barrier(&mut self, all: &mut Vec<Statement>) {
        let barrier = match self.random.below(12) {
            0 => Barrier::Sync(1),
            1 => match self.block {
                // Only those that come are counted.
                Some(_) if !self.have_ended => Barrier::Counted(self.threads()),
                _ => Barrier::Sync(0),
            },
            2 => Barrier::Unaligned,
            3 => {
                let into = UNIFORM.start + self.random.below(UNIFORM.len());
                Barrier::Count(into, self.of_values())
            }
            _ => Barrier::Sync(0),
        };
        all.push(self.statement(Kind::Barrier(barrier)));
    }

    fn store(&mut self, context: Context, all: &mut Vec<Statement>) {
        let (place, value) = (self.place(context.counter), self.value(context));
        let access = self.statement(Kind::Store(place, value));
        let access = self.sometimes_guarded(access);
        all.push(access);
    }

    fn load(&mut self, context: Context, all: &mut Vec<Statement>) {
        let (place, into) = (self.place(context.counter), self.variable());
        let is_wide = place.width == 8;
        let access = self.statement(Kind::Load(into, place));
        let access = if is_wide {
            access
        } else {
            self.sometimes_guarded(access)
        };
        all.push(access);
        if self.random.chance(2) {
            self.consume_one(context, into, all);
        }
    }

    fn atomic(&mut self, context: Context, all: &mut Vec<Statement>) {
        let place = Place {
            width: 4,
            is_volatile: false,
            ..self.place(context.counter)
        };
        let into = self.random.chance(2).then(|| self.variable());
        let value = self.value(context);
        let access = self.statement(Kind::Atomic(into, place, value));
        let access = self.sometimes_guarded(access);
        all.push(access);
    }

    fn sometimes_guarded(&mut self, statement: Statement) -> Statement {
        let (is_guard, condition) = match self.random.below(10) {
            0 => (true, self.of_threads()),
            1 => (false, self.of_threads()),
            2 => (true, self.of_values()),
            3 => (true, self.of_block()),
            _ => return statement,
        };
        self.statement(Kind::If {
            condition,
            is_guard,
            then: vec![statement],
            otherwise: Vec::new(),
        })
    }

    fn consume(&mut self, context: Context, all: &mut Vec<Statement>) {
        let variable = self.variable();
        self.consume_one(context, variable, all);
    }

    /// Uses the value of a variable, or drops it.
    fn consume_one(&mut self, context: Context, variable: Variable, all: &mut Vec<Statement>) {
        let value = Expr::Variable(variable);
        let out = |generator: &mut Self, value: Expr| {
            let offset = 64 * generator.random.below(8) as u32;
            let index = binary(Operation::Add, Expr::Thread, Expr::Number(offset));
            generator.statement(Kind::StoreOut(index, value))
        };
        match self.random.below(9) {
            0 | 1 => {
                let statement = out(self, value);
                all.push(statement);
            }
            2 => {
                let statement = out(self, value);
                let is_guard = self.random.chance(2);
                let condition = self.condition();
                all.push(self.statement(Kind::If {
                    condition,
                    is_guard,
                    then: vec![statement],
                    otherwise: Vec::new(),
                }));
            }
            3 | 4 => {
                // Some threads drop it.
                let other = self.value(context);
                // Chosen by itself, it could be what it would be without.
                let condition = self.condition();
                let chosen = Expr::Select(Box::new(condition), Box::new(value), Box::new(other));
                let into = self.variable();
                all.push(self.statement(Kind::Assign(into, chosen)));
                if self.random.chance(2) {
                    let statement = out(self, Expr::Variable(into));
                    all.push(statement);
                }
            }
            5 => {
                let into = self.variable();
                // The analysis takes it that no other operand hides a value. In products, minima and differences, one may.
                let sum = binary(Operation::Add, Expr::Variable(into), value);
                all.push(self.statement(Kind::Assign(into, sum)));
            }
            6 => {
                let statement = out(self, Expr::Number(1));
                let number = *self.random.pick(&[0, 1, 3, 8, 40]);
                all.push(self.statement(Kind::If {
                    condition: Condition::Compare(Comparison::Less, value, Expr::Number(number)),
                    is_guard: false,
                    then: vec![statement],
                    otherwise: Vec::new(),
                }));
            }
            7 => {
                let new = self.value(context);
                all.push(self.statement(Kind::Assign(variable, new)));
            }
            _ => {}
        }
    }

    fn end(&mut self, context: Context, all: &mut Vec<Statement>) {
        let condition = match self.random.below(4) {
            0 => self.of_values(),
            1 => self.of_block(),
            _ => self.of_threads(),
        };
        let end = self.statement(Kind::End);
        let mut then = Vec::new();
        if self.random.chance(3) {
            self.store(context.inside(false, false), &mut then);
        }
        then.push(end);
        all.push(self.statement(Kind::If {
            condition,
            is_guard: false,
            then,
            otherwise: Vec::new(),
        }));
        self.have_ended = true;
    }

    fn branch(&mut self, context: Context, all: &mut Vec<Statement>) {
        let (condition, is_of_block, is_of_warp) = match self.random.below(6) {
            0..=2 => {
                let condition = self.of_threads();
                let is_of_warp = self.is_of_whole_warps(&condition);
                (condition, false, is_of_warp)
            }
            3 | 4 => (self.of_block(), true, true),
            _ => (self.of_values(), false, false),
        };
        let inside = context.inside(is_of_block, is_of_warp);
        let then = self.nested(inside);
        let otherwise = match self.random.chance(2) {
            true => self.nested(inside),
            false => Vec::new(),
        };
        all.push(self.statement(Kind::If {
            condition,
            is_guard: false,
            then,
            otherwise,
        }));
    }

    fn counter(&mut self) -> Variable {
        self.loops += 1;
        COUNTERS + 2 * (self.loops - 1)
    }

    fn repeat(&mut self, context: Context, all: &mut Vec<Statement>) {
        let counter = self.counter();
        let (bound, is_of_block) = match self.random.below(5) {
            0 | 1 => (Expr::Number(1 + self.random.below(4) as u32), true),
            2 => (Expr::Param(self.random.below(2)), true),
            3 => {
                let uniform = UNIFORM.start + self.random.below(UNIFORM.len());
                (with_number(Operation::And, Expr::Variable(uniform), 3), true)
            }
            _ => {
                let variable = if self.random.chance(2) {
                    DATA
                } else {
                    self.variable()
                };
                (with_number(Operation::And, Expr::Variable(variable), 3), false)
            }
        };
        let inside = Context {
            counter: is_of_block.then_some(counter).or(context.counter),
            ..context.inside(is_of_block, is_of_block)
        };
        let body = self.nested(inside);
        let is_tested_last = self.random.chance(2);
        all.push(self.statement(Kind::Repeat {
            counter,
            bound,
            is_tested_last,
            body,
        }));
    }

    /// Each thread writes, and reads what another one has written.
    fn exchange(&mut self, context: Context, all: &mut Vec<Statement>) {
        let place = self.place(context.counter);
        let value = self.value(context);
        let write = self.statement(Kind::Store(place.clone(), value));
        let write = self.sometimes_guarded(write);
        all.push(write);
        if self.random.chance(2) {
            self.barrier(all);
        }
        if self.random.chance(3) {
            self.some(context, all);
        }
        let into = self.variable();
        let index = self.index(context.counter, place.array, place.width);
        let other = Place { index, ..place };
        all.push(self.statement(Kind::Load(into, other)));
        self.consume_one(context, into, all);
    }

    /// A loop that fills an array and uses it.
    fn tiles(&mut self, context: Context, all: &mut Vec<Statement>) {
        let counter = self.counter();
        let inside = Context {
            counter: Some(counter),
            ..context.inside(true, true)
        };
        let bound = match self.random.below(3) {
            0 => Expr::Number(2 + self.random.below(4) as u32),
            1 => Expr::Variable(UNIFORM.start),
            _ => Expr::Param(0),
        };
        let bound = match bound {
            Expr::Variable(_) => with_number(Operation::And, bound, 3),
            bound => bound,
        };
        let mut body = Vec::new();
        if self.random.chance(3) {
            self.some(inside, &mut body);
        }
        let place = self.place(inside.counter);
        let value = self.value(inside);
        let write = self.statement(Kind::Store(place.clone(), value));
        let write = self.sometimes_guarded(write);
        body.push(write);
        if !self.random.chance(4) {
            self.barrier(&mut body);
        }
        let into = self.variable();
        let index = self.index(inside.counter, place.array, place.width);
        let read = self.statement(Kind::Load(into, Place { index, ..place }));
        body.push(read);
        self.consume_one(inside, into, &mut body);
        if self.random.chance(3) {
            self.barrier(&mut body);
        }
        if self.random.chance(3) {
            self.some(inside, &mut body);
        }
        let is_tested_last = self.random.chance(2);
        all.push(self.statement(Kind::Repeat {
            counter,
            bound,
            is_tested_last,
            body,
        }));
    }

    /// Halves that are added to each other, round by round.
    fn reduction(&mut self, context: Context, all: &mut Vec<Statement>) {
        let place = Place {
            index: Expr::Thread,
            offset: 0,
            ..self.place(None)
        };
        let value = self.value(context);
        all.push(self.statement(Kind::Store(place.clone(), value)));
        if !self.random.chance(4) {
            self.barrier(all);
        }
        let mut half = *self.random.pick(&[32, 64, 16]);
        for _ in 0..1 + self.random.below(2) {
            let (mine, other) = (self.variable(), self.variable());
            let away = Place {
                index: with_number(Operation::Add, Expr::Thread, half),
                ..place.clone()
            };
            let sum = binary(Operation::Add, Expr::Variable(mine), Expr::Variable(other));
            let then = vec![
                self.statement(Kind::Load(mine, place.clone())),
                self.statement(Kind::Load(other, away)),
                self.statement(Kind::Store(place.clone(), sum)),
            ];
            all.push(self.statement(Kind::If {
                condition: Condition::Compare(Comparison::Less, Expr::Thread, Expr::Number(half)),
                is_guard: false,
                then,
                otherwise: Vec::new(),
            }));
            if !self.random.chance(3) {
                self.barrier(all);
            }
            half /= 2;
        }
        if self.random.chance(2) {
            let into = self.variable();
            let first = Place {
                index: Expr::Number(0),
                ..place
            };
            all.push(self.statement(Kind::Load(into, first)));
            self.consume_one(context, into, all);
        }
    }

    /// Warps with roles, and a barrier of their own.
    fn roles(&mut self, context: Context, all: &mut Vec<Statement>) {
        if self.named >= 8 {
            return;
        }
        self.named += 1;
        let barrier = self.named + 1;
        let inside = context.inside(false, true);
        let of_warp =
            |index: u32, comparison: Comparison| Condition::Compare(comparison, warp(), Expr::Number(index));
        let (mut before, mut after) = (Vec::new(), Vec::new());
        self.store(inside, &mut before);
        self.load(inside, &mut after);
        let threads = if self.threads() > 96 && self.random.chance(2) {
            96
        } else {
            64
        };
        let named = |generator: &mut Self, waits: bool| {
            generator.statement(Kind::Named {
                barrier,
                threads,
                waits,
            })
        };
        let warps = threads / 32;
        let statement = if self.random.chance(2) {
            // All of these warps meet.
            let then = [before, vec![named(self, true)], after].concat();
            Kind::If {
                condition: of_warp(warps, Comparison::Less),
                is_guard: false,
                then,
                otherwise: Vec::new(),
            }
        } else {
            // The first one arrives, the others wait.
            let arrive = named(self, false);
            let wait = named(self, true);
            let others = self.statement(Kind::If {
                condition: of_warp(warps, Comparison::Less),
                is_guard: false,
                then: [vec![wait], after].concat(),
                otherwise: Vec::new(),
            });
            Kind::If {
                condition: of_warp(0, Comparison::Equal),
                is_guard: false,
                then: [before, vec![arrive]].concat(),
                otherwise: vec![others],
            }
        };
        let statement = self.statement(statement);
        all.push(statement);
    }

    /// A place in an array.
    fn place(&mut self, counter: Option<Variable>) -> Place {
        let array = self.random.below(self.arrays.len());
        let width = match self.random.below(12) {
            0 => *self.random.pick(&[1, 2, 4, 8]),
            _ => self.width,
        };
        Place {
            index: self.index(counter, array, width),
            array,
            offset: match self.random.below(8) {
                0 => self.random.below(4) as u32,
                1 => 32,
                _ => 0,
            },
            width,
            is_generic: self.has_generic && self.random.chance(2),
            is_volatile: self.has_volatile && self.random.chance(2),
        }
    }

    /// The number of an element, which most threads have in the array.
    fn index(&mut self, counter: Option<Variable>, array: usize, width: u32) -> Expr {
        let elements = self.arrays[array].bytes.unwrap_or(4096) / width;
        let index = self.any_index(counter);
        // The block may be larger than the array.
        let most = self.block.map_or(self.most.unwrap_or(256), |_| self.threads());
        if elements < most + 64 && !self.random.chance(4) || self.random.chance(12) {
            return with_number(Operation::And, index, elements / 2 - 1);
        }
        index
    }

    fn any_index(&mut self, counter: Option<Variable>) -> Expr {
        let threads = self.threads();
        let small = |generator: &mut Self| *generator.random.pick(&[1, 2, 3, 16, 31, 32, 33, 64]);
        match self.random.below(24) {
            0..=4 => Expr::Thread,
            5 | 6 => {
                let number = small(self);
                with_number(Operation::Add, Expr::Thread, number)
            }
            7 | 8 => {
                let number = *self.random.pick(&[1, 2, 16, 31, 32, 63]);
                with_number(Operation::Xor, Expr::Thread, number)
            }
            9 => match self.block {
                Some(_) => binary(Operation::Subtract, Expr::Number(threads - 1), Expr::Thread),
                None if self.random.chance(2) => binary(
                    Operation::Subtract,
                    with_number(Operation::Subtract, Expr::Width, 1),
                    Expr::Thread,
                ),
                None => with_number(
                    Operation::And,
                    binary(Operation::Subtract, Expr::Number(63), Expr::Thread),
                    63,
                ),
            },
            10 => warp(),
            11 => with_number(Operation::And, Expr::Thread, 31),
            12 => {
                let (factor, mask) = (small(self), *self.random.pick(&[31, 63, 127]));
                with_number(
                    Operation::And,
                    with_number(Operation::Multiply, Expr::Thread, factor),
                    mask,
                )
            }
            13 | 14 => Expr::Number(self.random.below(8) as u32),
            15 => Expr::Lane,
            16 => {
                // The place of the lane in another warp.
                let other = with_number(Operation::Xor, warp(), 1);
                let first = with_number(Operation::ShiftLeft, other, 5);
                binary(Operation::Add, first, Expr::Lane)
            }
            17 => {
                let number = *self.random.pick(&[3, 32, 48, 64]);
                with_number(Operation::Remainder, Expr::Thread, number)
            }
            18 => {
                let by = if self.random.chance(2) {
                    Expr::Block
                } else {
                    Expr::Param(1)
                };
                let by = match self.random.chance(2) {
                    true => with_number(Operation::And, by, 1),
                    false => by,
                };
                binary(Operation::Add, Expr::Thread, by)
            }
            19 => match counter {
                // Two buffers in turn.
                Some(counter) => {
                    let parity = with_number(Operation::And, Expr::Variable(counter), 1);
                    let first = with_number(Operation::Multiply, parity, threads);
                    binary(Operation::Add, first, Expr::Thread)
                }
                None => Expr::Thread,
            },
            20 => match counter {
                Some(counter) => {
                    let number = *self.random.pick(&[0, 1, 32]);
                    match number {
                        0 => Expr::Variable(counter),
                        number => binary(
                            Operation::Add,
                            with_number(Operation::Multiply, Expr::Variable(counter), number),
                            Expr::Thread,
                        ),
                    }
                }
                None => with_number(Operation::Add, Expr::Thread, 1),
            },
            21 if self.is_of_rows() => match self.random.below(4) {
                0 => Expr::X,
                1 => Expr::Y,
                2 => binary(
                    Operation::Add,
                    with_number(Operation::Multiply, Expr::X, 8),
                    Expr::Y,
                ),
                _ => with_number(Operation::Multiply, Expr::Y, 16),
            },
            22 => {
                let mask = *self.random.pick(&[7, 31, 63]);
                let variable = self.variable();
                with_number(Operation::And, Expr::Variable(variable), mask)
            }
            _ => {
                let condition = self.of_threads();
                let number = self.random.below(4) as u32;
                Expr::Select(
                    Box::new(condition),
                    Box::new(Expr::Thread),
                    Box::new(Expr::Number(number)),
                )
            }
        }
    }

    fn data_index(&mut self) -> Expr {
        let offset = 256 * self.random.below(3) as u32;
        match self.random.below(3) {
            0 => Expr::Number(offset),
            1 => with_number(Operation::Add, Expr::Thread, offset),
            _ => with_number(Operation::Add, warp(), offset),
        }
    }

    /// A value that is stored.
    fn value(&mut self, context: Context) -> Expr {
        match self.random.below(10) {
            0..=2 => Expr::Thread,
            3 => Expr::Number(self.random.below(3) as u32),
            4 => Expr::Param(self.random.below(2)),
            5 => with_number(Operation::Add, Expr::Thread, 1),
            6 => context.counter.map_or_else(warp, Expr::Variable),
            _ => Expr::Variable(self.variable()),
        }
    }

    /// A condition of what nobody reads from shared memory.
    fn condition(&mut self) -> Condition {
        match self.random.below(4) {
            0 | 1 => self.of_threads(),
            2 => self.of_data(),
            _ => self.of_block(),
        }
    }

    /// A condition of the number of the thread.
    fn of_threads(&mut self) -> Condition {
        let comparison = *self.random.pick(&[
            Comparison::Less,
            Comparison::GreaterOrEqual,
            Comparison::Less,
            Comparison::SignedLess,
        ]);
        let condition = match self.random.below(9) {
            0 => Condition::Compare(Comparison::Equal, Expr::Thread, Expr::Number(0)),
            1 => {
                let number = *self.random.pick(&[0, 31, 32, 40]);
                Condition::Compare(Comparison::Equal, Expr::Thread, Expr::Number(number))
            }
            2 => Condition::Compare(
                Comparison::Equal,
                warp(),
                Expr::Number(self.random.below(3) as u32),
            ),
            3 => Condition::Compare(
                Comparison::NotEqual,
                warp(),
                Expr::Number(self.random.below(2) as u32),
            ),
            4 => {
                let number = *self.random.pick(&[1, 8, 16]);
                Condition::Compare(comparison, Expr::Lane, Expr::Number(number))
            }
            5 => {
                let bit = *self.random.pick(&[1, 2, 32]);
                let masked = with_number(Operation::And, Expr::Thread, bit);
                Condition::Compare(Comparison::Equal, masked, Expr::Number(0))
            }
            6 if self.is_of_rows() => Condition::Compare(comparison, Expr::Y, Expr::Number(1)),
            _ => {
                let number = *self.random.pick(&[1, 16, 31, 32, 32, 33, 48, 64, 96]);
                Condition::Compare(comparison, Expr::Thread, Expr::Number(number))
            }
        };
        match self.random.below(12) {
            0 => Condition::Not(Box::new(condition)),
            1 => Condition::Both(Box::new(condition), Box::new(self.of_threads())),
            _ => condition,
        }
    }

    /// A condition that all threads of the block answer alike.
    fn of_block(&mut self) -> Condition {
        let number = *self.random.pick(&[0, 1, 2, 4]);
        let comparison =
            *self
                .random
                .pick(&[Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual]);
        let asked = match self.random.below(6) {
            0 | 1 => Expr::Param(self.random.below(2)),
            2 => Expr::Block,
            3 => Expr::Width,
            _ => Expr::Variable(UNIFORM.start + self.random.below(UNIFORM.len())),
        };
        let number = if matches!(asked, Expr::Width) {
            *self.random.pick(&[64, 65, 128, 129])
        } else {
            number
        };
        Condition::Compare(comparison, asked, Expr::Number(number))
    }

    /// A condition of what a thread has loaded.
    fn of_values(&mut self) -> Condition {
        let variable = if self.random.chance(2) {
            DATA
        } else {
            self.variable()
        };
        self.of_variable(variable)
    }

    fn of_data(&mut self) -> Condition {
        self.of_variable(DATA)
    }

    fn of_variable(&mut self, variable: Variable) -> Condition {
        let number = *self.random.pick(&[0, 1, 3, 8, 40]);
        let comparison = *self
            .random
            .pick(&[Comparison::Equal, Comparison::Less, Comparison::SignedLess]);
        Condition::Compare(comparison, Expr::Variable(variable), Expr::Number(number))
    }

    /// True if all threads of a warp answer alike.
    fn is_of_whole_warps(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Compare(Comparison::Equal | Comparison::NotEqual, Expr::Binary(operation, ..), _) => {
                *operation == Operation::ShiftRight
            }
            Condition::Compare(
                Comparison::Less | Comparison::GreaterOrEqual | Comparison::SignedLess,
                Expr::Thread,
                Expr::Number(number),
            ) => number.is_multiple_of(32),
            Condition::Compare(..) => false,
            Condition::Both(one, other) => self.is_of_whole_warps(one) && self.is_of_whole_warps(other),
            Condition::Not(inner) => self.is_of_whole_warps(inner),
        }
    }
}
