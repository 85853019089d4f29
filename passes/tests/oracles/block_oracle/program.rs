//! Abstract programs for the threads of a block.

/// A register of a thread.
pub type Variable = usize;

/// Variables that statements assign.
pub const VARIABLES: usize = 4;

/// A variable that is loaded from global memory alone.
pub const DATA: Variable = VARIABLES;

/// Variables with the same value in all threads.
pub const UNIFORM: std::ops::Range<usize> = DATA + 1..DATA + 3;

/// Variables of functions.
pub const LOCAL: std::ops::Range<usize> = UNIFORM.end..UNIFORM.end + 2;

/// Variables of loops: of each, its counter and its bound.
pub const COUNTERS: usize = LOCAL.end;

/// Loops of a program.
pub const LOOPS: usize = 8;

/// Variables of a thread.
pub const ALL_VARIABLES: usize = COUNTERS + 2 * LOOPS;

/// A number that a thread computes.
#[derive(Clone, Debug)]
pub enum Expr {
    Number(u32),
    /// The number of the thread in its block.
    Thread,
    /// Its coordinates.
    X,
    Y,
    /// Its place in its warp, as the special register has it.
    Lane,
    /// The index of the block.
    Block,
    /// The threads of the block in x.
    Width,
    /// One of the two parameters that are numbers.
    Param(usize),
    Variable(Variable),
    /// The argument of the function.
    Argument,
    Binary(Operation, Box<Expr>, Box<Expr>),
    Select(Box<Condition>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    And,
    Xor,
    ShiftLeft,
    ShiftRight,
    Remainder,
}

#[derive(Clone, Debug)]
pub enum Condition {
    Compare(Comparison, Expr, Expr),
    Both(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

/// All but the last are of numbers without a sign.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    GreaterOrEqual,
    SignedLess,
}

/// Bytes of a shared array.
#[derive(Clone, Debug)]
pub struct Place {
    pub array: usize,
    /// The element.
    pub index: Expr,
    /// Elements that are added to it.
    pub offset: u32,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub width: u32,
    /// The address is generic.
    pub is_generic: bool,
    /// The access is volatile.
    pub is_volatile: bool,
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub id: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Assign(Variable, Expr),
    Load(Variable, Place),
    Store(Place, Expr),
    /// Adds to an element.
    Atomic(Option<Variable>, Place, Expr),
    /// Loads from global memory that nobody writes.
    LoadData(Variable, Expr),
    /// Stores to global memory.
    StoreOut(Expr, Expr),
    If {
        condition: Condition,
        /// It is one statement, which is printed with a guard.
        is_guard: bool,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Repeat {
        /// The variable after it is the bound.
        counter: Variable,
        bound: Expr,
        /// The bound is tested after each round alone.
        is_tested_last: bool,
        body: Vec<Statement>,
    },
    /// All threads of the block that have not ended come here together.
    Barrier(Barrier),
    /// Threads of some warps meet.
    Named {
        barrier: u32,
        threads: u32,
        waits: bool,
    },
    /// The threads of a warp meet.
    WarpSync,
    Shuffle(Variable, Shuffle, Expr),
    Fence(bool),
    /// The thread ends.
    End,
    Call(Variable, usize, Expr),
}

#[derive(Clone, Debug)]
pub enum Barrier {
    /// `bar.sync` of this barrier.
    Sync(u32),
    /// With all threads of the block as their number.
    Counted(u32),
    /// `barrier.sync`
    Unaligned,
    /// The number of threads for which a condition holds.
    Count(Variable, Condition),
}

#[derive(Clone, Copy, Debug)]
pub enum Shuffle {
    From(u32),
    Xor(u32),
    Down(u32),
}

/// A shared array.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its bytes, or `None` if the launch says how many.
    pub bytes: Option<u32>,
}

/// A function with an argument, and a number that it returns.
#[derive(Clone, Debug)]
pub struct Function {
    pub body: Vec<Statement>,
    pub result: Expr,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub arrays: Vec<Array>,
    pub functions: Vec<Function>,
    pub body: Vec<Statement>,
    /// The block that the kernel states.
    pub block: Option<[u32; 3]>,
    /// Most threads of a block, as the kernel states it.
    pub most: Option<u32>,
}

impl Program {
    /// Statements of the kernel.
    pub fn statements(&self) -> usize {
        let mut count = 0;
        visit(&self.body, &mut |_| count += 1);
        count
    }

    /// True if the kernel calls a function.
    pub fn calls(&self, function: usize) -> bool {
        let mut is_called = false;
        visit(&self.body, &mut |statement| {
            is_called |= matches!(statement.kind, Kind::Call(_, called, _) if called == function);
        });
        is_called
    }

    /// The program without its statement of this number, or with what is inside of it in its place; `None` if there is no such statement.
    pub fn without(&self, number: usize, keeps_inside: bool) -> Option<Self> {
        let mut left = number;
        let body = without(&self.body, &mut left, keeps_inside)?;
        Some(Self { body, ..self.clone() })
    }
}

/// Calls `see` with each statement, from the first one to the last.
fn visit<'s>(statements: &'s [Statement], see: &mut impl FnMut(&'s Statement)) {
    for statement in statements {
        see(statement);
        match &statement.kind {
            Kind::If { then, otherwise, .. } => {
                visit(then, see);
                visit(otherwise, see);
            }
            Kind::Repeat { body, .. } => visit(body, see),
            _ => {}
        }
    }
}

fn without(all: &[Statement], left: &mut usize, keeps_inside: bool) -> Option<Vec<Statement>> {
    for (place, statement) in all.iter().enumerate() {
        let with = |new: Vec<Statement>| {
            let mut changed = all[..place].to_vec();
            changed.extend(new);
            changed.extend_from_slice(&all[place + 1..]);
            Some(changed)
        };
        if *left == 0 {
            return match &statement.kind {
                Kind::If { then, otherwise, .. } if keeps_inside => {
                    with(then.iter().chain(otherwise).cloned().collect())
                }
                Kind::Repeat { body, .. } if keeps_inside => with(body.clone()),
                _ if keeps_inside => None,
                _ => with(Vec::new()),
            };
        }
        *left -= 1;
        let changed = |kind: Kind| {
            with(vec![Statement {
                id: statement.id,
                kind,
            }])
        };
        match &statement.kind {
            Kind::If {
                condition,
                is_guard,
                then,
                otherwise,
            } => {
                let arms = match without(then, left, keeps_inside) {
                    Some(then) => Some((then, otherwise.clone())),
                    None => without(otherwise, left, keeps_inside).map(|otherwise| (then.clone(), otherwise)),
                };
                if let Some((then, otherwise)) = arms {
                    if then.is_empty() && otherwise.is_empty() {
                        return with(Vec::new());
                    }
                    return changed(Kind::If {
                        condition: condition.clone(),
                        is_guard: *is_guard,
                        then,
                        otherwise,
                    });
                }
            }
            Kind::Repeat {
                counter,
                bound,
                is_tested_last,
                body,
            } => {
                if let Some(body) = without(body, left, keeps_inside) {
                    return changed(Kind::Repeat {
                        counter: *counter,
                        bound: bound.clone(),
                        is_tested_last: *is_tested_last,
                        body,
                    });
                }
            }
            _ => {}
        }
    }
    None
}
