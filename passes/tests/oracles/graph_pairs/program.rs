//! Programs of irregular kernels over graphs, with sites at which one thing can be left out.

/// A number of 32 bits.
#[derive(Clone, Debug)]
pub enum Expr {
    Number(i32),
    Thread,
    Block,
    Threads,
    Blocks,
    Variable(&'static str),
    /// A number among the parameters.
    Param(&'static str),
    /// An element of an array.
    Element(&'static str, Box<Expr>),
    /// The same, by a volatile load.
    Volatile(&'static str, Box<Expr>),
    Binary(Operation, Box<Expr>, Box<Expr>),
}

/// Operations, by their PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Mul,
    Div,
    And,
    Or,
    Min,
    Max,
}

/// Comparisons, by their PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Ge,
    Gt,
    Le,
}

impl Comparison {
    pub const fn opposite(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Ge => Self::Lt,
            Self::Gt => Self::Le,
            Self::Le => Self::Gt,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Condition(pub Comparison, pub Expr, pub Expr);

/// Atomics, by their PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    Min,
    Max,
    Or,
    Exch,
    /// With the number that is compared.
    Cas(i32),
}

#[derive(Clone, Debug)]
pub enum Statement {
    Set(&'static str, Expr),
    Store(&'static str, Expr, Expr),
    /// `array[index] = array[index] op value`
    Update(&'static str, Expr, Operation, Expr),
    /// The array, the index and the value; the variable of the old value.
    Atomic(Atomic, &'static str, Expr, Expr, Option<&'static str>),
    If(Condition, Vec<Statement>),
    While(Condition, Vec<Statement>),
    Barrier,
    Fence,
    /// The variable gets what the lane that is so much higher holds in another one.
    ShuffleDown(&'static str, &'static str, u32),
    /// Site number: what is there, and what is there in the wrong kernel of this site.
    Site(usize, Vec<Statement>, Vec<Statement>),
}

/// A kernel with its wrong versions.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    /// The arrays in shared memory, with their elements.
    pub shared: Vec<(&'static str, u32)>,
    pub body: Vec<Statement>,
    /// By site: what is left out.
    pub sites: Vec<&'static str>,
}

pub fn n(number: i32) -> Expr {
    Expr::Number(number)
}

pub fn v(name: &'static str) -> Expr {
    Expr::Variable(name)
}

pub fn p(name: &'static str) -> Expr {
    Expr::Param(name)
}

pub fn at(array: &'static str, index: Expr) -> Expr {
    Expr::Element(array, Box::new(index))
}

pub fn volatile(array: &'static str, index: Expr) -> Expr {
    Expr::Volatile(array, Box::new(index))
}

pub fn op(operation: Operation, a: Expr, b: Expr) -> Expr {
    Expr::Binary(operation, Box::new(a), Box::new(b))
}

pub fn add(a: Expr, b: Expr) -> Expr {
    op(Operation::Add, a, b)
}

/// The number of the thread in the grid.
pub fn index() -> Expr {
    add(op(Operation::Mul, Expr::Block, Expr::Threads), Expr::Thread)
}

/// The number of threads of the grid.
pub fn stride() -> Expr {
    op(Operation::Mul, Expr::Blocks, Expr::Threads)
}
