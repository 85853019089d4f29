//! The operations of instructions, as far as analyses interpret them.

use super::asynchronous::Scope;
use super::index::{CallId, InstructionId};
use bitflags::bitflags;

/// Threads of a warp (PTX ISA, `WARP_SZ`, 32 on all targets).
pub const WARP: u32 = 32;

/// A memory an address points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// No space named: the address is generic.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the CTA (`.shared`, `.shared::cta`).
    Shared,
    /// Shared memory of a CTA of the cluster (`.shared::cluster`).
    SharedCluster,
    /// Memory of one thread.
    Local,
    /// Constant memory.
    Const,
    /// Parameters of kernels and functions.
    Param,
    /// Tensor memory (`tcgen05`).
    Tensor,
}

impl Space {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Generic,
        Self::Global,
        Self::Shared,
        Self::SharedCluster,
        Self::Local,
        Self::Const,
        Self::Param,
        Self::Tensor,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::SharedCluster => "shared::cluster",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
            Self::Tensor => "tensor",
        }
    }
}

/// Two-operand integer operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    MulLow,
    MulHighSigned,
    MulHighUnsigned,
    /// Operands of half the width, result of the full width.
    MulWideSigned,
    MulWideUnsigned,
    DivSigned,
    DivUnsigned,
    RemSigned,
    RemUnsigned,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    /// Amounts of the width or more give 0, as in PTX (`shl`).
    Shl,
    /// Amounts of the width or more fill with the sign.
    ShrSigned,
    /// Amounts of the width or more give 0.
    ShrUnsigned,
    /// `bmsk.clamp`: as many ones as the second operand says, from the bit on that the first one says; none above the highest bit.
    OnesClamped,
    /// `bmsk.wrap`: the same, with both operands modulo the width.
    OnesWrapped,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Add,
        Self::Sub,
        Self::MulLow,
        Self::MulHighSigned,
        Self::MulHighUnsigned,
        Self::MulWideSigned,
        Self::MulWideUnsigned,
        Self::DivSigned,
        Self::DivUnsigned,
        Self::RemSigned,
        Self::RemUnsigned,
        Self::MinSigned,
        Self::MinUnsigned,
        Self::MaxSigned,
        Self::MaxUnsigned,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Shl,
        Self::ShrSigned,
        Self::ShrUnsigned,
        Self::OnesClamped,
        Self::OnesWrapped,
    ];

    /// What it does to its operands, by which domains of numbers know what holds of its result.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Add => Class::Sum,
            Self::Sub => Class::Difference,
            Self::MulLow => Class::Product,
            Self::MulWideSigned => Class::WideProduct { signed: true },
            Self::MulWideUnsigned => Class::WideProduct { signed: false },
            Self::DivSigned => Class::Quotient { signed: true },
            Self::DivUnsigned => Class::Quotient { signed: false },
            Self::RemSigned => Class::Remainder { signed: true },
            Self::RemUnsigned => Class::Remainder { signed: false },
            Self::MinSigned => Class::Least { signed: true },
            Self::MinUnsigned => Class::Least { signed: false },
            Self::MaxSigned => Class::Greatest { signed: true },
            Self::MaxUnsigned => Class::Greatest { signed: false },
            Self::And => Class::And,
            Self::Or => Class::Or,
            Self::Xor => Class::Xor,
            Self::Shl => Class::ShiftedLeft,
            Self::ShrSigned => Class::ShiftedRight { signed: true },
            Self::ShrUnsigned => Class::ShiftedRight { signed: false },
            Self::MulHighSigned | Self::MulHighUnsigned | Self::OnesClamped | Self::OnesWrapped => {
                Class::Other
            }
        }
    }

    /// True for a shift: its result has the bits of the first operand alone.
    #[must_use]
    pub const fn is_shift(self) -> bool {
        matches!(self.class(), Class::ShiftedLeft | Class::ShiftedRight { .. })
    }

    /// The operation on predicates that it is, if it is one.
    #[must_use]
    pub const fn logic(self) -> Option<Logic> {
        match self {
            Self::And => Some(Logic::And),
            Self::Or => Some(Logic::Or),
            Self::Xor => Some(Logic::Xor),
            _ => None,
        }
    }
}

/// Classes of two-operand integer operations. A domain of numbers has a row for each of them, so that an operation that is added is known
/// to all domains by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Class {
    Sum,
    Difference,
    /// The low half of the product.
    Product,
    /// The whole product of operands of half the width.
    WideProduct {
        signed: bool,
    },
    Quotient {
        signed: bool,
    },
    Remainder {
        signed: bool,
    },
    Least {
        signed: bool,
    },
    Greatest {
        signed: bool,
    },
    And,
    Or,
    Xor,
    /// Amounts of the width or more give 0.
    ShiftedLeft,
    /// Amounts of the width or more give copies of the sign, or 0.
    ShiftedRight {
        signed: bool,
    },
    /// Known where both operands are.
    Other,
}

/// One-operand integer operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Not,
    Neg,
    Abs,
    /// Number of set bits, 32-bit result.
    PopCount,
    /// Number of leading zero bits, 32-bit result.
    LeadingZeros,
    ReverseBits,
    /// Position of the most significant bit that is set (unsigned), 0xffffffff without one.
    FindHighestSet,
    /// Number of places by which that bit lies below the top (unsigned, `bfind.shiftamt`), 0xffffffff without one.
    ShiftToHighest,
    /// C's negation: 1 for 0, else 0.
    LogicalNot,
}

/// Comparison of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Condition {
    Equal,
    NotEqual,
    LessSigned,
    LessEqualSigned,
    GreaterSigned,
    GreaterEqualSigned,
    LessUnsigned,
    LessEqualUnsigned,
    GreaterUnsigned,
    GreaterEqualUnsigned,
}

/// The combination of a comparison's outcome with a third, predicate operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Logic {
    None,
    And,
    Or,
    Xor,
}

/// The source lane of a shuffle (PTX ISA, shfl.sync).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The result of a vote (PTX ISA, vote.sync).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// The result of a match (PTX ISA, match.sync).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Match {
    Any,
    All,
}

/// Member mask of a warp collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberMask {
    /// The `.sync` form: its first use is the mask.
    Operand,
    /// The form before PTX 6.0: all lanes that execute it together take part.
    Absent,
}

impl MemberMask {
    /// The mask of an instruction that has `.sync` or not.
    #[must_use]
    pub const fn of_sync(is_sync: bool) -> Self {
        if is_sync { Self::Operand } else { Self::Absent }
    }
}

/// A warp collective. Operands after the member mask, which is always the first use ([`super::Value::Unknown`] for
/// the forms without `.sync`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `bar.warp.sync`: no further use.
    Sync,
    /// `shfl`: value, source lane or delta, `c` operand. Results: value, in-range predicate (optional).
    Shuffle(Shuffle),
    /// `vote`: predicate.
    Vote(Vote),
    /// `match`: value, at 32 or 64 bits. Results: mask, predicate (`all`, optional).
    Match(Match, u8),
    /// `redux.sync`: value.
    Reduce,
    /// `elect.sync`: no further use. Results: lane, predicate.
    Elect,
}

impl Collective {
    /// The CUDA spelling. `redux` and `elect` have no intrinsic of one name, so the PTX spelling stands for them.
    #[must_use]
    pub const fn cuda_name(self) -> &'static str {
        match self {
            Self::Sync => "__syncwarp",
            Self::Shuffle(Shuffle::Up) => "__shfl_up_sync",
            Self::Shuffle(Shuffle::Down) => "__shfl_down_sync",
            Self::Shuffle(Shuffle::Butterfly) => "__shfl_xor_sync",
            Self::Shuffle(Shuffle::Index) => "__shfl_sync",
            Self::Vote(Vote::All) => "__all_sync",
            Self::Vote(Vote::Any) => "__any_sync",
            Self::Vote(Vote::Uniform) => "vote.sync.uni",
            Self::Vote(Vote::Ballot) => "__ballot_sync",
            Self::Match(Match::Any, _) => "__match_any_sync",
            Self::Match(Match::All, _) => "__match_all_sync",
            Self::Reduce => "redux.sync",
            Self::Elect => "elect.sync",
        }
    }
}

/// A barrier of the CTA or the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Waits for the others, in contrast to arriving only.
    pub waits: bool,
    /// A thread count is given: the second use. Without it, all threads of the CTA take part.
    pub counted: bool,
    /// All threads of a warp must execute it together (`bar`, `.aligned`).
    pub aligned: bool,
    /// Of the cluster, not of the CTA.
    pub cluster: bool,
}

/// The direction in which `setmaxnreg` changes the number of registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterChange {
    /// `inc`: it waits until the pool of the CTA has enough.
    Raise,
    /// `dec`: the rest goes to the pool of the CTA.
    Lower,
}

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AccessKind {
    Load,
    Store,
    /// Returns the old value.
    Atomic,
    /// An atomic without a result.
    Reduction,
    /// LLVM's `atomicrmw`: an atomic, which the code generator turns into a plain load and store if it sees that the memory is local.
    ReadModifyWrite,
    /// Uses the address without a value that analyses follow: prefetches, bulk copies, barriers in memory. An
    /// instruction with several addresses becomes one access per address, all with its text and place; the first
    /// has its results and other uses.
    Other,
}

impl AccessKind {
    /// True for an access that reads and writes at once, with a result or without.
    #[must_use]
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduction | Self::ReadModifyWrite)
    }
}

/// The value that an atomic stores, computed from the old content and the values that it has as uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Not known, or not computed from integers; also that of all other accesses.
    Unknown,
    /// The result of an operation on the old content and the value.
    Binary(BinaryOp),
    /// The value.
    Exchange,
    /// The second value where the old content equals the first one.
    CompareAndSwap,
    /// The next number, or 0 after the value.
    Increment,
    /// The number before; before 0, and where the old content is above the value, the value.
    Decrement,
}

/// What an access promises to other threads (PTX ISA, Memory Consistency Model, Operation types).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Semantics {
    Weak,
    /// A relaxed access of system scope that is made each time (`.volatile`, or a volatile access in IR).
    Volatile,
    /// `.relaxed`, an atomic in IR that is unordered or monotonic, or an atomic that does not say.
    Relaxed,
    /// `.mmio`: relaxed, and made exactly once.
    Mmio,
    Acquire,
    Release,
    /// `.acq_rel`, or a sequentially consistent atomic in IR.
    AcquireRelease,
}

/// A memory access. Uses: base address, constant byte offset, then the values stored. Results: the values loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Its kind.
    pub kind: AccessKind,
    /// The space that the instruction names.
    pub space: Space,
    /// Bits of one element; 0 where the instruction does not say.
    pub bits: u8,
    /// A load extends to a wider register with the sign.
    pub signed: bool,
    /// Elements.
    pub count: u8,
    /// The value that an atomic of one element stores.
    pub update: Update,
    /// What it promises to other threads.
    pub semantics: Semantics,
    /// The threads that it promises that to; without meaning for a weak access.
    pub scope: Scope,
    /// Bytes that its address is said to be a multiple of, at most 128; 0 for those that it accesses, as always in PTX. A
    /// compiler takes an access apart that is said to be aligned to less (LLVM Language Reference, load).
    pub align: u8,
}

impl Access {
    /// A weak one of one element of so many bits, not extended by its sign, and aligned to its size.
    #[must_use]
    pub const fn one(kind: AccessKind, space: Space, bits: u8) -> Self {
        Self {
            kind,
            space,
            bits,
            signed: false,
            count: 1,
            update: Update::Unknown,
            semantics: Semantics::Weak,
            scope: Scope::System,
            align: 0,
        }
    }

    /// True if it is strong: two strong accesses to exactly the same bytes, each with a scope that includes the other thread, are not a
    /// data race (PTX ISA, Memory Consistency Model, Morally strong operations).
    #[must_use]
    pub const fn is_strong(self) -> bool {
        !matches!(self.semantics, Semantics::Weak)
    }

    /// True if it reads or writes memory each time, and others may do so meanwhile: any strong load or store. A strong atomic counts
    /// where it is volatile alone, since each atomic accesses memory.
    #[must_use]
    pub const fn is_volatile(self) -> bool {
        match self.semantics {
            Semantics::Weak => false,
            Semantics::Volatile => true,
            _ => matches!(self.kind, AccessKind::Load | AccessKind::Store),
        }
    }

    /// True if it may order what its thread does with what others do.
    #[must_use]
    pub const fn is_ordering(self) -> bool {
        matches!(
            self.semantics,
            Semantics::Acquire | Semantics::Release | Semantics::AcquireRelease
        )
    }

    /// The conversion that a load makes of each element that it reads, for a register of `to` bits: a narrow load leaves zeros,
    /// or copies of the sign, above the element (PTX ISA, ld).
    #[must_use]
    pub const fn extension(self, to: u8) -> Op {
        if self.bits == 0 || self.bits >= to {
            return Op::Copy;
        }
        Op::Convert {
            from: self.bits,
            signed: self.signed,
            to,
        }
    }

    /// Bytes that it accesses; 0 where the instruction does not say.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        (self.bits / 8) as u32 * self.count as u32
    }

    /// Bytes that its address has to be a multiple of: a power of two, or 0 where it accesses none. What has another size is
    /// accessed in parts.
    #[must_use]
    pub const fn unit(self) -> u32 {
        let bytes = self.bytes();
        let part = bytes & bytes.wrapping_neg();
        let align = self.align as u32;
        if align == 0 || align > part { part } else { align }
    }
}

/// A special register (PTX ISA, Special Registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Special {
    /// `%tid`, dimension 0 to 2.
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NwarpId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    /// The same for all threads of the grid, unknown: `%gridid`, `%dynamic_smem_size`, …
    Uniform,
    /// Anything else: may differ from lane to lane and from read to read.
    Other,
}

impl Special {
    /// True if its value depends on the thread's index, and so distinguishes the lanes of a warp.
    #[must_use]
    pub const fn is_of_thread(self) -> bool {
        matches!(
            self,
            Self::Tid(_)
                | Self::LaneId
                | Self::LaneMaskEq
                | Self::LaneMaskLe
                | Self::LaneMaskLt
                | Self::LaneMaskGe
                | Self::LaneMaskGt
        )
    }
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Result = use.
    Copy,
    /// Result = use 0 `op` use 1 at this many bits.
    Binary(BinaryOp, u8),
    /// Result = `op` use at this many bits.
    Unary(UnaryOp, u8),
    /// Result = use 0 × use 1 + use 2, at this many bits; the operation is one of the multiplications.
    MulAdd(BinaryOp, u8),
    /// `bfe`: use 0, start (use 1), length (use 2); bits, signed.
    ExtractBits(u8, bool),
    /// `bfi`: use 0 inserted into use 1 at start (use 2), length (use 3); bits.
    InsertBits(u8),
    /// `lop3`: the three uses combined by this truth table, 32 bits.
    Lop3(u8),
    /// `shf`: 32 bits of the pair (use 1 high, use 0 low) shifted left or right by use 2; left, wrapped amount.
    FunnelShift {
        /// Left.
        left: bool,
        /// The amount is taken modulo 32 (else clamped to 32).
        wrap: bool,
    },
    /// Compares use 0 with use 1 at this many bits, combines with use 2. Results: predicate, its complement
    /// (combined alike; optional).
    Compare(Condition, u8, Logic),
    /// A comparison whose outcome is not a function of integers (floating point): results are predicates.
    CompareOther,
    /// Result = use 2 ? use 0 : use 1.
    Select,
    /// Result = use, taken as `from` bits (signed or not), extended or cut to `to` bits.
    Convert {
        /// Bits of the source.
        from: u8,
        /// Sign-extends.
        signed: bool,
        /// Bits of the result.
        to: u8,
    },
    /// Packs the uses, lowest first, each of this many bits, into one result (`mov.b64 d, {a, b}`).
    Pack(u8),
    /// Splits the use into results, lowest first, each of this many bits (`mov.b64 {a, b}, d`).
    Unpack(u8),
    /// Address in this space to generic address (`cvta`), at this many bits.
    ToGeneric(Space, u8),
    /// Generic address to address in this space (`cvta.to`), at this many bits.
    FromGeneric(Space, u8),
    /// Predicate: the generic address (use) lies in this space (`isspacep`).
    IsSpace(Space),
    /// `mapa`: the address (use 0) in the shared memory of CTA rank use 1. [`Space::SharedCluster`] where both are
    /// addresses in the window, [`Space::Generic`] where both are generic.
    MapShared(Space),
    /// The predicate (use) holds whenever control comes here, or the behaviour is undefined (LLVM Language Reference, llvm.assume). No
    /// results.
    Assume,
    /// A memory access.
    Access(Access),
    /// A warp collective.
    Collective(Collective, MemberMask),
    /// The mask of the lanes that execute it together.
    ActiveMask,
    /// A barrier: id (use 0), thread count (use 1, if counted), predicate of a reduction.
    Barrier(Barrier),
    /// `setmaxnreg`: each thread of the warp owns use 0 registers from here on.
    SetRegisters(RegisterChange),
    /// A call; [`super::Body::calls`] says of what and with what. Results: those it writes into registers directly.
    Call(CallId),
    /// Result = what that call returned, at the byte offset in use 0 of its return value.
    CallResult(InstructionId),
    /// Memory on the stack; use 0 is the size in bytes.
    StackAlloc,
    /// To the block's first successor; if guarded, else to the second.
    Branch,
    /// To one of the successors, picked by use 0.
    BranchTable,
    /// Back to the caller; ends the thread in a kernel.
    Return,
    /// Ends the thread.
    Exit,
    /// Ends the grid with an error (`trap`), or never comes back.
    Trap,
    /// Anything else: defines its results, reads its uses.
    Opaque,
}

impl Op {
    /// True if a block ends with it.
    #[must_use]
    pub const fn is_terminator(self) -> bool {
        matches!(
            self,
            Self::Branch | Self::BranchTable | Self::Return | Self::Exit | Self::Trap
        )
    }
}

bitflags! {
    /// A set of operations that few bodies have: shows at once whether a body has one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Rare: u8 {
        /// [`Op::Barrier`]
        const BARRIER = 1;
        /// [`Op::ActiveMask`]
        const ACTIVE_MASK = 1 << 1;
        /// [`Op::IsSpace`]
        const IS_SPACE = 1 << 2;
        /// [`Op::StackAlloc`]
        const STACK_ALLOC = 1 << 3;
        /// [`Op::Exit`] and [`Op::Trap`]
        const END = 1 << 4;
        /// [`Op::MapShared`]
        const MAP_SHARED = 1 << 5;
        /// [`Op::SetRegisters`]
        const SET_REGISTERS = 1 << 6;
    }
}

impl Rare {
    /// The member of the set that an operation is, or the empty set.
    #[must_use]
    pub const fn of(op: Op) -> Self {
        match op {
            Op::Barrier(_) => Self::BARRIER,
            Op::ActiveMask => Self::ACTIVE_MASK,
            Op::IsSpace(_) => Self::IS_SPACE,
            Op::StackAlloc => Self::STACK_ALLOC,
            Op::Exit | Op::Trap => Self::END,
            Op::MapShared(_) => Self::MAP_SHARED,
            Op::SetRegisters(_) => Self::SET_REGISTERS,
            _ => Self::empty(),
        }
    }
}
