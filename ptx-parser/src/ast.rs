//! The syntax tree: flat arenas of small records that point into the source.
//!
//! A module is one sequence of [`Statement`]s in source order, those inside function bodies included. Nothing
//! owns text: names, numbers and opcodes are byte ranges, decoded when somebody asks. An average instruction
//! costs 20 bytes for its statement and 12 for each operand node.
//!
//! The records are reached through the methods of [`Tree`], which return slices and iterators. To see everything in order, write a
//! [`Visitor`](crate::Visitor).
//!
//! Enumerations that a later PTX ISA version may extend are `#[non_exhaustive]`.

pub use crate::scalar::ScalarType;

use crate::error::SyntaxError;
use crate::span::Span;

/// Marks "no index" in 32-bit index fields.
pub(crate) const NONE: u32 = u32::MAX;

/// A parsed module: what [`parse`](crate::parse) returns.
///
/// It borrows the source and is read through methods: [`Tree::functions`], [`Tree::variables`], [`Tree::statements`] and
/// their like give all of one kind, in source order; [`Tree::instruction`], [`Tree::body`] and their like give the parts
/// of one of them. A method that takes a record expects one of the same tree: with one of another tree the answer is
/// meaningless, but there is no panic.
#[derive(Debug)]
pub struct Tree<'s> {
    pub(crate) source: &'s [u8],
    pub(crate) statements: Vec<Statement>,
    /// Each node is directly followed by its descendants.
    pub(crate) operands: Vec<Operand>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
    pub(crate) locations: Vec<Location>,
    pub(crate) inlined: Vec<InlinedAt>,
    pub(crate) files: Vec<File>,
    pub(crate) sections: Vec<Section>,
    pub(crate) comments: Vec<Span>,
    pub(crate) errors: Vec<SyntaxError>,
    pub(crate) errors_left_out: u32,
}

/// The kind of a statement, and where its parts lie (PTX ISA, Statements).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `@!%p1 add.s32 %r1, %r2, 1;`: [`Tree::instruction`] takes it apart.
    Instruction,
    /// `$L__BB0_1:`; its name is [`Statement::name`].
    Label,
    /// A declaration of one or more variables, which [`Tree::declared`] gives; [`Statement::index`] is the place of the
    /// first in [`Tree::variables`].
    Declaration,
    /// `{` of a nested scope; [`Statement::index`] is the statement of the `}` that closes it.
    BlockOpen,
    /// `}` of a nested scope; [`Statement::index`] is the statement of its `{`.
    BlockClose,
    /// A kernel or function, with or without body: [`Statement::index`] is its place in [`Tree::functions`].
    /// The statements of its directives and its body follow directly.
    Function,
    /// `.callprototype` (a label stands before it): [`Statement::index`] in [`Tree::functions`].
    Prototype,
    /// `.loc`: [`Statement::index`] in [`Tree::locations`].
    Location,
    /// `.file`: [`Statement::index`] in [`Tree::files`].
    File,
    /// `.section`: [`Statement::index`] in [`Tree::sections`].
    Section,
    /// Any other directive (`.version`, `.target`, `.pragma`, `.branchtargets`, `.maxntid`, …), read like an
    /// instruction: its name (with the dot) is [`Statement::name`], its arguments are operands, and
    /// [`Tree::instruction`] takes it apart.
    Directive,
}

/// One statement. 20 bytes; the meaning of the fields depends on the kind, so they are read through methods.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Instruction, directive: index of the first operand node (the guard comes first if there is one).
    /// Label: where its name ends. Declaration: index of the first variable. Others: see [`Statement::index`].
    pub(crate) index: u32,
    /// Instruction, label: offset of the name. Directive (its name is at the start): number of top-level operands.
    /// Declaration: number of variables.
    pub(crate) name: u32,
    pub(crate) tag: Tag,
    /// Instruction: top-level operands, without the guard.
    pub(crate) operand_count: u8,
    /// Instruction, directive: length of the name.
    pub(crate) name_len: u16,
}

/// The kind with the guard folded in, to save a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tag {
    Instruction,
    InstructionIf,
    InstructionIfNot,
    Label,
    Declaration,
    BlockOpen,
    BlockClose,
    Function,
    Prototype,
    Location,
    File,
    Section,
    Directive,
}

impl Statement {
    /// Its kind.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> StatementKind {
        match self.tag {
            Tag::Instruction | Tag::InstructionIf | Tag::InstructionIfNot => StatementKind::Instruction,
            Tag::Label => StatementKind::Label,
            Tag::Declaration => StatementKind::Declaration,
            Tag::BlockOpen => StatementKind::BlockOpen,
            Tag::BlockClose => StatementKind::BlockClose,
            Tag::Function => StatementKind::Function,
            Tag::Prototype => StatementKind::Prototype,
            Tag::Location => StatementKind::Location,
            Tag::File => StatementKind::File,
            Tag::Section => StatementKind::Section,
            Tag::Directive => StatementKind::Directive,
        }
    }

    /// From its first byte (the guard's `@`, the directive's dot) to the terminator, included. A function's span
    /// ends with its body.
    #[inline]
    #[must_use]
    pub const fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }

    /// Instruction: the dotted opcode. Directive: its name with the dot. Label: its name. Others: empty.
    #[inline]
    #[must_use]
    pub const fn name(&self) -> Span {
        match self.tag {
            Tag::Label => Span::new(self.name, self.index),
            Tag::Directive => Span::new(self.start, self.start + self.name_len as u32),
            Tag::Declaration => Span::new(self.start, self.start),
            _ => Span::new(self.name, self.name + self.name_len as u32),
        }
    }

    /// The place that its [`StatementKind`] speaks of. Instruction and other directive: the index of its first operand
    /// node, the guard included, where it has one ([`Tree::operand`]). Label: 0.
    #[inline]
    #[must_use]
    pub const fn index(&self) -> usize {
        match self.tag {
            Tag::Label => 0,
            _ => self.index as usize,
        }
    }
}

/// The kind of an operand node (PTX ISA, Instruction Operands).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OperandKind {
    /// An identifier: register, special register, symbol, label; with component selectors (`%r1.b0`, `%tid.x`).
    Name,
    /// `_`.
    Sink,
    /// An integer literal with its sign: `-1`, `0x1F`, `0777`, `0b01`, `16U`. See [`crate::operand::integer`].
    Integer,
    /// A floating-point literal: `0f3F800000`, `0d…`, `1.5e3`.
    Float,
    /// A constant expression that is more than a literal: `(4*N)+1`, `.s64 -1`, `~0`. No children.
    Expression,
    /// `"…"`, quotes included.
    String,
    /// `{a, b, c}`: children.
    Vector,
    /// `[…]`. Children: the base (name, integer, expression), then an [`OperandKind::Offset`] if there is one,
    /// then the operands after a comma (`[tensor, {x, y}]`, `[tex, sampler, {x}]`).
    Address,
    /// `sym+4` outside brackets. Children: the name, then the offset.
    Sum,
    /// The `+4`, `+-2`, ` - 4` of an address or sum: the span begins at the first sign. No children, unless the
    /// offset is a name (`[sym+%r1]`), which is then the one child.
    Offset,
    /// `a|b`: two children.
    Pair,
    /// `!p`: one child.
    Not,
    /// `-%r1` before a name: one child.
    Minus,
    /// `(a, b)`: children; a call's arguments or results.
    List,
    /// `x[1]`, `x[%r2]`. Children: the name, then the operands in brackets (no `Address` node).
    Index,
}

/// One operand node. 12 bytes. Its descendants follow it directly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) kind: OperandKind,
    pub(crate) descendants: u16,
}

impl Operand {
    #[inline]
    pub(crate) const fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// The linkage of a symbol (PTX ISA, Linking Directives).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// No linkage directive: local to the module.
    Local,
    /// `.extern`: defined in another module.
    Extern,
    /// `.visible`: defined here, for all modules.
    Visible,
    /// `.weak`: defined here, for all modules; of several definitions the linker takes one.
    Weak,
    /// `.common`: defined here, for all modules; the linker takes the largest.
    Common,
}

/// The state space of a variable (PTX ISA, State Spaces).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSpace {
    /// `.reg`: a register of the thread.
    Reg,
    /// `.sreg`: a special register.
    Sreg,
    /// `.const`, `.const[n]`: constant memory.
    Const,
    /// `.global`: memory of the whole device.
    Global,
    /// `.local`: memory of the thread.
    Local,
    /// `.param`, `.param::entry`, `.param::func`: parameters of kernels and functions.
    Param,
    /// `.shared`, `.shared::cta`, `.shared::cluster`: memory of the CTA or its cluster.
    Shared,
    /// `.tex`: textures; deprecated.
    Tex,
}

/// The number of elements of a declarator (PTX ISA, Array Declarations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// No brackets.
    Scalar,
    /// `[]` alone or as the first dimension: the size is found elsewhere.
    Unsized,
    /// The product of the dimensions.
    Elements(u64),
}

/// A declared variable, register (or register range) or parameter, one for each declarator (PTX ISA, Variables).
/// [`Variable::bytes`] and [`Variable::alignment`] give its size, [`Tree::initializer`] its initial value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// From the first directive of the declaration to the end of this declarator.
    pub span: Span,
    /// The declared name (`_` in prototypes; empty where a prototype gives none).
    pub name: Span,
    /// `[3][4]`, empty for scalars.
    pub dimensions: Span,
    /// The text after `=`, braces included; empty if there is none. See [`crate::operand::initializer`].
    pub initializer: Span,
    /// The initializer has an address of a symbol, or was passed over.
    pub has_addresses: bool,
    /// `.attribute(…)`, empty if there is none.
    pub attribute: Span,
    /// The scalar type's directive, with its dot (`.u64`, `.texref`).
    pub scalar_name: Span,
    /// Product of the dimensions.
    pub extent: Extent,
    /// `<n>`; [`NONE`] without it.
    pub(crate) range: u32,
    /// `.align n` in bytes; 0 without it.
    pub align: u32,
    /// `.ptr … .align n` in bytes; 0 without it.
    pub pointer_align: u32,
    /// Linkage of the declaration.
    pub linkage: Linkage,
    /// State space of the declaration. Kernel parameters without one are `.param`.
    pub space: StateSpace,
    /// `.const[n]`: the bank.
    pub bank: Option<u32>,
    /// Scalar type.
    pub scalar: ScalarType,
    /// 1, or 2, 4, 8 for `.v2`, `.v4`, `.v8`.
    pub vector: u8,
    /// `.ptr` was written.
    pub is_pointer: bool,
    /// `.ptr .space`: the space that the parameter points into, when given.
    pub pointer_space: Option<StateSpace>,
}

/// Kernel, function, or prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: a function that kernels and functions call.
    Func,
    /// `.callprototype`: the signature of an indirect call.
    Prototype,
}

/// A range of places in one of the slices that a [`Tree`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Indices {
    /// The first place.
    pub(crate) start: u32,
    /// One past the last.
    pub(crate) end: u32,
}

impl Indices {
    /// As a range for slicing.
    #[inline]
    #[must_use]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A kernel, a function or a call prototype (PTX ISA, Kernel and Function Directives: .entry, .func; Control Flow
/// Directives: .callprototype).
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// From the linkage directive to the closing brace or semicolon.
    pub span: Span,
    /// From the linkage directive to the end of the parameter list.
    pub header: Span,
    /// Its name.
    pub name: Span,
    /// `.attribute(…)`, empty if there is none.
    pub attribute: Span,
    /// Linkage directive.
    pub linkage: Linkage,
    /// Kernel, function or prototype.
    pub kind: FunctionKind,
    /// Return parameters, as places in [`Tree::variables`]: [`Tree::results`] gives the variables.
    pub results: Indices,
    /// Parameters, as places in [`Tree::variables`]: [`Tree::params`] gives the variables.
    pub params: Indices,
    /// `.maxntid`, `.noreturn` and their like, as places in [`Tree::statements`]: [`Tree::directives`] gives the
    /// statements, all of them [`StatementKind::Directive`]s.
    pub directives: Indices,
    /// The statements between the braces, as places in [`Tree::statements`]: [`Tree::body`] gives the statements.
    pub body: Indices,
    /// The part of the body that was not read, from the end of [`Self::body`] to the closing brace; empty where all of it was. See
    /// [`parse_heads`](crate::parse_heads).
    pub unread: Span,
    /// True if it has braces: a definition, not a declaration.
    pub has_body: bool,
}

impl Function {
    /// True for a kernel: `.entry`.
    #[must_use]
    pub const fn is_kernel(&self) -> bool {
        matches!(self.kind, FunctionKind::Entry)
    }
}

/// A `.loc` directive (PTX ISA, Debugging Directives: .loc).
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Number of the `.file`.
    pub file: u32,
    /// 1-based line; 0 if the compiler had none.
    pub line: u32,
    /// 1-based column; 0 if the compiler had none.
    pub column: u32,
    /// Place of the operand after `inlined_at`; [`NONE`] without it.
    pub(crate) inlined: u32,
}

/// The `function_name …, inlined_at file line column` part of a `.loc`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct InlinedAt {
    /// A label in `.debug_str`, with an optional `+offset`: the linkage name of the function that was inlined.
    pub function: Span,
    /// Number of the `.file` of the call.
    pub file: u32,
    /// 1-based line of the call.
    pub line: u32,
    /// 1-based column of the call.
    pub column: u32,
}

/// A `.file` directive (PTX ISA, Debugging Directives: .file).
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its number, as `.loc` uses it.
    pub number: u32,
    /// The name, without the quotes.
    pub name: Span,
    /// The text after the name: time stamp and size; may be empty.
    pub rest: Span,
}

/// A `.section` directive: debug data (PTX ISA, Debugging Directives: .section). Its items are read on demand, see [`crate::debug_info`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// `.debug_info`, with the dot.
    pub name: Span,
    /// The text between the braces.
    pub body: Span,
}
