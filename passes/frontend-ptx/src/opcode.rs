//! The operations of PTX opcodes: one row of [`ROWS`] per opcode, decoded once per distinct dotted spelling (`opcodes.rs`).
//!
//! An opcode without a row, or with modifiers a row does not interpret, is [`Op::Opaque`]: it defines its first
//! operand and reads the others. Source: PTX ISA, Instruction Set.

use super::asynchronous::async_op;
use super::matrices::matrix_rows;
use super::modifiers::{IntType, Modifiers};
use ptxcheck_ir::{
    Access, AccessKind, Barrier, BinaryOp, Collective, Condition, Logic, Match, MemberMask, Op,
    RegisterChange, Scope, Semantics, Shuffle, Space, UnaryOp, Update, Vote,
};

/// The mapping of an opcode's operands to results and uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The first so many operands are results, the others uses.
    Plain(u8),
    /// A result, the others uses, and the last operand is the member mask, which becomes the first use.
    MaskLast,
    /// The same without a mask.
    MaskAbsent,
    /// As for an opaque opcode: the first operand is a result unless it is an address or an integer.
    Guess,
    /// Memory access with so many results first, then addresses whose spaces are these in turn, then uses.
    Memory {
        /// Results before the first address.
        results: u8,
        /// Spaces of the second and later addresses; the first one's is in the op.
        others: [Space; 2],
    },
    /// `call`.
    Call,
    /// `bra`: a label.
    Branch,
    /// `brx.idx`: an index and a label.
    BranchTable,
}

/// An opcode, understood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    pub(super) op: Op,
    pub(super) shape: Shape,
    pub(super) listed: Listed,
}

/// The list of its body that an operation is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    No,
    /// Asynchronous operations.
    Asynchronous,
    /// Loads and stores of matrices.
    Matrix,
}

const OPAQUE: Decoded = Decoded {
    op: Op::Opaque,
    shape: Shape::Guess,
    listed: Listed::No,
};
const EFFECT: Decoded = Decoded {
    op: Op::Opaque,
    shape: Shape::Plain(0),
    listed: Listed::No,
};

const fn plain(op: Op) -> Decoded {
    Decoded {
        op,
        shape: Shape::Plain(1),
        listed: Listed::No,
    }
}

const fn effect(op: Op) -> Decoded {
    Decoded {
        op,
        shape: Shape::Plain(0),
        listed: Listed::No,
    }
}

/// The operation of an opcode, and the fewest operands at the top level that any form of it has; 0 for one that is not known.
pub(super) fn decode_with_least(opcode: &[u8]) -> (Decoded, u8) {
    let (name, modifiers) = Modifiers::split(opcode);
    let listed = match async_op(opcode, row(name).is_some()) {
        Some(_) => Listed::Asynchronous,
        None if matrix_rows(opcode, true).is_some() => Listed::Matrix,
        None => Listed::No,
    };
    let decoded = Decoded {
        listed,
        ..decode(opcode)
    };
    (decoded, least_operands(name, &modifiers))
}

/// The opcode, the fewest operands at the top level that any form of it has, and its effect.
type Row = (&'static str, u8, fn(&Modifiers<'_>) -> Decoded);

/// Sorted by name.
static ROWS: &[Row] = &[
    ("abs", 2, |m| unary(m, UnaryOp::Abs)),
    ("activemask", 1, |_| plain(Op::ActiveMask)),
    ("add", 3, |m| binary(m, BinaryOp::Add, BinaryOp::Add)),
    ("alloca", 2, |_| plain(Op::StackAlloc)),
    ("and", 3, |m| bitwise(m, BinaryOp::And)),
    ("applypriority", 2, |m| touch(m, 0, Space::Generic)),
    ("atom", 3, |m| access(m, AccessKind::Atomic, 1)),
    ("bar", 0, |m| barrier(m, true)),
    ("barrier", 0, |m| barrier(m, m.has("aligned"))),
    ("bfe", 4, |m| int(m, |t| Op::ExtractBits(t.bits, t.signed))),
    ("bfi", 5, |m| {
        m.bits().map_or(OPAQUE, |bits| plain(Op::InsertBits(bits)))
    }),
    ("bfind", 2, |m| {
        let op = if m.has("shiftamt") {
            UnaryOp::ShiftToHighest
        } else {
            UnaryOp::FindHighestSet
        };
        unsigned_unary(m, op)
    }),
    ("bmsk", 3, |m| {
        let is_wrapped = m.has("wrap");
        bitwise(
            m,
            if is_wrapped {
                BinaryOp::OnesWrapped
            } else {
                BinaryOp::OnesClamped
            },
        )
    }),
    ("bra", 1, |_| Decoded {
        op: Op::Branch,
        shape: Shape::Branch,
        listed: Listed::No,
    }),
    ("brev", 2, |m| bits_unary(m, UnaryOp::ReverseBits)),
    ("brx", 2, |_| Decoded {
        op: Op::BranchTable,
        shape: Shape::BranchTable,
        listed: Listed::No,
    }),
    ("call", 1, |_| Decoded {
        op: Op::Opaque,
        shape: Shape::Call,
        listed: Listed::No,
    }),
    ("clusterlaunchcontrol", 2, launch_control),
    ("clz", 2, |m| bits_unary(m, UnaryOp::LeadingZeros)),
    ("cnot", 2, |m| bits_unary(m, UnaryOp::LogicalNot)),
    ("cp", 0, copy_async),
    ("createpolicy", 1, |m| touch(m, 1, Space::Generic)),
    ("cvt", 2, convert),
    ("cvta", 2, convert_address),
    ("discard", 2, |m| touch(m, 0, Space::Generic)),
    ("div", 3, |m| {
        binary(m, BinaryOp::DivSigned, BinaryOp::DivUnsigned)
    }),
    ("elect", 2, |m| collective(m, Collective::Elect)),
    ("exit", 0, |_| effect(Op::Exit)),
    // Only a fence between the generic proxy and that of tensor maps has an address.
    ("fence", 0, |_| touch_in(0, Space::Generic)),
    ("griddepcontrol", 0, |_| EFFECT),
    ("isspacep", 2, |m| {
        m.space().map_or(OPAQUE, |space| plain(Op::IsSpace(space)))
    }),
    ("ld", 2, |m| access(m, AccessKind::Load, 1)),
    ("ldmatrix", 2, |m| matrix(m, AccessKind::Load, 1)),
    ("ldu", 2, |m| access(m, AccessKind::Load, 1)),
    ("lop3", 5, |m| {
        if m.len() == 1 && m.has("b32") {
            plain(Op::Lop3(0))
        } else {
            OPAQUE
        }
    }),
    ("mad", 4, multiply_add),
    ("mapa", 3, |m| {
        plain(Op::MapShared(if m.space().is_some() {
            Space::SharedCluster
        } else {
            Space::Generic
        }))
    }),
    ("match", 3, |m| {
        let bits = m.bits().unwrap_or(32);
        collective(
            m,
            Collective::Match(if m.has("all") { Match::All } else { Match::Any }, bits),
        )
    }),
    ("max", 3, |m| {
        binary(m, BinaryOp::MaxSigned, BinaryOp::MaxUnsigned)
    }),
    ("mbarrier", 1, memory_barrier),
    ("membar", 0, |_| EFFECT),
    ("min", 3, |m| {
        binary(m, BinaryOp::MinSigned, BinaryOp::MinUnsigned)
    }),
    ("mov", 2, |_| plain(Op::Copy)),
    ("mul", 3, multiply),
    ("multimem", 2, multimem),
    ("nanosleep", 1, |_| EFFECT),
    ("neg", 2, |m| unary(m, UnaryOp::Neg)),
    ("not", 2, |m| bits_unary(m, UnaryOp::Not)),
    ("or", 3, |m| bitwise(m, BinaryOp::Or)),
    ("pmevent", 1, |_| EFFECT),
    ("popc", 2, |m| bits_unary(m, UnaryOp::PopCount)),
    ("prefetch", 1, |m| touch(m, 0, Space::Generic)),
    ("prefetchu", 1, |_| touch_in(0, Space::Generic)),
    ("red", 2, |m| access(m, AccessKind::Reduction, 0)),
    ("redux", 3, |m| collective(m, Collective::Reduce)),
    ("rem", 3, |m| {
        binary(m, BinaryOp::RemSigned, BinaryOp::RemUnsigned)
    }),
    ("ret", 0, |_| effect(Op::Return)),
    ("selp", 4, |_| plain(Op::Select)),
    ("setmaxnreg", 1, |m| match m.first() {
        b"inc" => effect(Op::SetRegisters(RegisterChange::Raise)),
        b"dec" => effect(Op::SetRegisters(RegisterChange::Lower)),
        _ => EFFECT,
    }),
    ("setp", 3, compare),
    ("shf", 4, |m| {
        if m.has("b32") {
            plain(Op::FunnelShift {
                left: m.has("l"),
                wrap: m.has("wrap"),
            })
        } else {
            OPAQUE
        }
    }),
    ("shfl", 4, |m| match shuffle_mode(m) {
        Some(mode) => collective(m, Collective::Shuffle(mode)),
        None => OPAQUE,
    }),
    ("shl", 3, |m| bitwise(m, BinaryOp::Shl)),
    ("shr", 3, |m| match m.int() {
        Some(IntType { bits, signed: true }) => plain(Op::Binary(BinaryOp::ShrSigned, bits)),
        _ => bitwise(m, BinaryOp::ShrUnsigned),
    }),
    ("st", 2, |m| access(m, AccessKind::Store, 0)),
    ("stackrestore", 1, |_| EFFECT),
    ("stmatrix", 2, |m| matrix(m, AccessKind::Store, 0)),
    ("sub", 3, |m| binary(m, BinaryOp::Sub, BinaryOp::Sub)),
    ("sust", 2, |_| EFFECT),
    ("tcgen05", 0, tensor_memory),
    ("tensormap", 2, |m| {
        // `tensormap.cp_fenceproxy` has a destination and a source, `tensormap.replace` one address.
        let mut spaces = m.spaces();
        let mut next = || spaces.next().unwrap_or(Space::Generic);
        memory(other(next()), 0, [next(), Space::Generic])
    }),
    ("trap", 0, |_| effect(Op::Trap)),
    ("vote", 2, |m| match vote_mode(m) {
        Some(mode) => collective(m, Collective::Vote(mode)),
        None => OPAQUE,
    }),
    ("wgmma", 0, |_| OPAQUE),
    ("wmma", 2, |m| match (m.has("load"), m.has("store")) {
        (true, _) => matrix(m, AccessKind::Load, 1),
        (_, true) => matrix(m, AccessKind::Store, 0),
        _ => OPAQUE,
    }),
    ("xor", 3, |m| bitwise(m, BinaryOp::Xor)),
];

fn row(name: &[u8]) -> Option<&'static Row> {
    let found = ROWS.binary_search_by(|(known, ..)| known.as_bytes().cmp(name));
    found.ok().map(|row| &ROWS[row])
}

/// The opcodes that are interpreted; all others are opaque.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// The operation of an opcode with its modifiers (`shfl.sync.idx.b32`); [`Op::Opaque`] for those that are not interpreted.
#[must_use]
pub fn operation(opcode: &[u8]) -> Op {
    decode(opcode).op
}

fn decode(opcode: &[u8]) -> Decoded {
    let (name, modifiers) = Modifiers::split(opcode);
    row(name).map_or(OPAQUE, |row| row.2(&modifiers))
}

/// The forms with `.sync` have the member mask besides; barriers have a number or a mask, but for those of the cluster.
fn least_operands(name: &[u8], m: &Modifiers<'_>) -> u8 {
    let more = match name {
        b"shfl" | b"vote" => m.has("sync"),
        b"bar" | b"barrier" => !m.has("cluster"),
        _ => false,
    };
    row(name).map_or(0, |row| row.1) + u8::from(more)
}

fn int(m: &Modifiers<'_>, op: impl Fn(IntType) -> Op) -> Decoded {
    m.int().map_or(OPAQUE, |ty| plain(op(ty)))
}

fn binary(m: &Modifiers<'_>, signed: BinaryOp, unsigned: BinaryOp) -> Decoded {
    if m.has("sat") {
        return OPAQUE;
    }
    int(m, |ty| {
        Op::Binary(if ty.signed { signed } else { unsigned }, ty.bits)
    })
}

fn unary(m: &Modifiers<'_>, op: UnaryOp) -> Decoded {
    int(m, |ty| Op::Unary(op, ty.bits))
}

fn unsigned_unary(m: &Modifiers<'_>, op: UnaryOp) -> Decoded {
    match m.int() {
        Some(IntType { bits, signed: false }) => plain(Op::Unary(op, bits)),
        _ => OPAQUE,
    }
}

fn bits_unary(m: &Modifiers<'_>, op: UnaryOp) -> Decoded {
    m.bits().map_or(OPAQUE, |bits| plain(Op::Unary(op, bits)))
}

fn bitwise(m: &Modifiers<'_>, op: BinaryOp) -> Decoded {
    m.bits().map_or(OPAQUE, |bits| plain(Op::Binary(op, bits)))
}

fn multiplication(m: &Modifiers<'_>, signed: bool) -> Option<BinaryOp> {
    Some(match (m.has("lo"), m.has("hi"), m.has("wide"), signed) {
        (true, ..) => BinaryOp::MulLow,
        (_, true, _, true) => BinaryOp::MulHighSigned,
        (_, true, _, false) => BinaryOp::MulHighUnsigned,
        (_, _, true, true) => BinaryOp::MulWideSigned,
        (_, _, true, false) => BinaryOp::MulWideUnsigned,
        _ => return None,
    })
}

/// The operation and the width of its result.
fn multiplication_type(m: &Modifiers<'_>) -> Option<(BinaryOp, u8)> {
    let ty = m.int().filter(|_| !m.has("sat"))?;
    let op = multiplication(m, ty.signed)?;
    Some((op, if m.has("wide") { ty.bits * 2 } else { ty.bits }))
}

fn multiply(m: &Modifiers<'_>) -> Decoded {
    multiplication_type(m).map_or(OPAQUE, |(op, bits)| plain(Op::Binary(op, bits)))
}

fn multiply_add(m: &Modifiers<'_>) -> Decoded {
    multiplication_type(m).map_or(OPAQUE, |(op, bits)| plain(Op::MulAdd(op, bits)))
}

fn compare(m: &Modifiers<'_>) -> Decoded {
    let logic = if m.has("and") {
        Logic::And
    } else if m.has("or") {
        Logic::Or
    } else if m.has("xor") {
        Logic::Xor
    } else {
        Logic::None
    };
    let Some(bits) = m.bits() else {
        return plain(Op::CompareOther);
    };
    let signed = m.int().is_some_and(|ty| ty.signed);
    let condition = match (m.first(), signed) {
        (b"eq", _) => Condition::Equal,
        (b"ne", _) => Condition::NotEqual,
        (b"lt", true) => Condition::LessSigned,
        (b"le", true) => Condition::LessEqualSigned,
        (b"gt", true) => Condition::GreaterSigned,
        (b"ge", true) => Condition::GreaterEqualSigned,
        (b"lt" | b"lo", false) => Condition::LessUnsigned,
        (b"le" | b"ls", false) => Condition::LessEqualUnsigned,
        (b"gt" | b"hi", false) => Condition::GreaterUnsigned,
        (b"ge" | b"hs", false) => Condition::GreaterEqualUnsigned,
        _ => return plain(Op::CompareOther),
    };
    plain(Op::Compare(condition, bits, logic))
}

/// `cvt.dtype.atype`, integers only: conversions to or from floating point are opaque.
fn convert(m: &Modifiers<'_>) -> Decoded {
    match (m.len(), m.int_at(0), m.int_at(1)) {
        (2, Some(to), Some(from)) => plain(Op::Convert {
            from: from.bits,
            signed: from.signed,
            to: to.bits,
        }),
        _ => OPAQUE,
    }
}

fn convert_address(m: &Modifiers<'_>) -> Decoded {
    let (Some(space), Some(bits)) = (m.space(), m.bits()) else {
        return OPAQUE;
    };
    plain(if m.first() == b"to" {
        Op::FromGeneric(space, bits)
    } else {
        Op::ToGeneric(space, bits)
    })
}

fn memory(op: Access, results: u8, others: [Space; 2]) -> Decoded {
    Decoded {
        op: Op::Access(op),
        shape: Shape::Memory { results, others },
        listed: Listed::No,
    }
}

/// What an access promises: without a word on it, a load or store is weak, and an atomic relaxed (PTX ISA, ld, st, atom, red).
fn semantics(m: &Modifiers<'_>, kind: AccessKind) -> Semantics {
    let words = [
        ("volatile", Semantics::Volatile),
        ("acq_rel", Semantics::AcquireRelease),
        ("acquire", Semantics::Acquire),
        ("release", Semantics::Release),
        ("mmio", Semantics::Mmio),
        ("relaxed", Semantics::Relaxed),
    ];
    let said = words.into_iter().find(|(word, _)| m.has(word));
    said.map_or(
        match kind {
            AccessKind::Atomic | AccessKind::Reduction => Semantics::Relaxed,
            _ => Semantics::Weak,
        },
        |(_, semantics)| semantics,
    )
}

/// The scope of an access: of an atomic that names none it is the GPU (PTX ISA, atom), of a volatile access the system.
fn scope(m: &Modifiers<'_>) -> Scope {
    let words = [
        ("cta", Scope::Cta),
        ("cluster", Scope::Cluster),
        ("gpu", Scope::Gpu),
        ("sys", Scope::System),
    ];
    let said = words.into_iter().find(|(word, _)| m.has(word));
    said.map_or(
        if m.has("volatile") {
            Scope::System
        } else {
            Scope::Gpu
        },
        |(_, scope)| scope,
    )
}

/// The value that an atomic of integers stores (PTX ISA, atom).
fn update(m: &Modifiers<'_>, kind: AccessKind) -> Update {
    let Some(ty) = m.int().filter(|_| kind.is_atomic()) else {
        return Update::Unknown;
    };
    let of_sign = |signed, unsigned| Update::Binary(if ty.signed { signed } else { unsigned });
    let words = [
        ("add", Update::Binary(BinaryOp::Add)),
        ("and", Update::Binary(BinaryOp::And)),
        ("or", Update::Binary(BinaryOp::Or)),
        ("xor", Update::Binary(BinaryOp::Xor)),
        ("min", of_sign(BinaryOp::MinSigned, BinaryOp::MinUnsigned)),
        ("max", of_sign(BinaryOp::MaxSigned, BinaryOp::MaxUnsigned)),
        ("exch", Update::Exchange),
        ("cas", Update::CompareAndSwap),
        ("inc", Update::Increment),
        ("dec", Update::Decrement),
    ];
    let said = words.into_iter().find(|(word, _)| m.has(word));
    said.map_or(Update::Unknown, |(_, update)| update)
}

/// `ld`, `st`, `atom`, `red` and their like: one address in the space that the opcode names.
fn access(m: &Modifiers<'_>, kind: AccessKind, results: u8) -> Decoded {
    let op = Access {
        kind,
        space: m.space().unwrap_or(Space::Generic),
        bits: m.any_bits().unwrap_or(0),
        signed: m.int().is_some_and(|ty| ty.signed),
        count: m.vector(),
        update: update(m, kind),
        semantics: semantics(m, kind),
        scope: scope(m),
        align: 0,
    };
    // `st.async` and `red.async` signal a barrier through their last address, which is written as the first one.
    memory(op, results, [op.space, Space::Generic])
}

/// `ldmatrix`, `stmatrix`, `wmma.load` and `.store`: which elements of the matrix a lane gets is not said. The rows of the matrix are
/// in a list of the body.
fn matrix(m: &Modifiers<'_>, kind: AccessKind, results: u8) -> Decoded {
    let space = m.space().unwrap_or(Space::Generic);
    memory(Access::one(kind, space, 0), results, [Space::Generic; 2])
}

/// An address that is used without a value to follow; the space from the opcode, or `default`.
fn touch(m: &Modifiers<'_>, results: u8, default: Space) -> Decoded {
    touch_in(results, m.space().unwrap_or(default))
}

fn touch_in(results: u8, space: Space) -> Decoded {
    memory(other(space), results, [Space::Generic; 2])
}

const fn other(space: Space) -> Access {
    Access::one(AccessKind::Other, space, 0)
}

/// `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`: destination, source, barrier. The opcode names the spaces
/// of destination and source in this order; a tensor map's own address is generic. The barrier is where the
/// destination is, which may be another CTA of the cluster.
fn copy_async(m: &Modifiers<'_>) -> Decoded {
    if m.has("commit_group") || m.has("wait_group") || m.has("wait_all") {
        return EFFECT;
    }
    if m.has("mbarrier") {
        return touch(m, 0, Space::Generic);
    }
    let tensor = m.has("tensor");
    let mut spaces = m.spaces();
    if m.has("prefetch") {
        // `cp.async.bulk.prefetch.L2.global [src], size`, or the same with a tensor map.
        return touch_in(0, if tensor { Space::Generic } else { Space::Global });
    }
    let first = spaces.next().unwrap_or(Space::Generic);
    let second = spaces.next().unwrap_or(Space::Generic);
    let to_global = first == Space::Global;
    match (tensor, to_global) {
        // `[tensorMap, {…}], [src]`
        (true, true) => memory(other(Space::Generic), 0, [second, Space::Generic]),
        // `[dst], [tensorMap, {…}], [mbar]`
        (true, false) => memory(other(first), 0, [Space::Generic, Space::SharedCluster]),
        (false, _) => memory(other(first), 0, [second, Space::SharedCluster]),
    }
}

/// `mbarrier.*`: the object's space defaults to generic. Those that return a state have one result.
fn memory_barrier(m: &Modifiers<'_>) -> Decoded {
    let no_result = matches!(m.first(), b"init" | b"inval" | b"expect_tx" | b"complete_tx");
    if m.first() == b"pending_count" {
        return OPAQUE;
    }
    touch(m, u8::from(!no_result), Space::Generic)
}

/// `multimem.ld_reduce`, `.st`, `.red`, and the bulk copies to a multicast address.
fn multimem(m: &Modifiers<'_>) -> Decoded {
    if m.first() == b"cp" {
        return copy_async(m);
    }
    let results = u8::from(m.first() == b"ld_reduce");
    touch(m, results, Space::Generic)
}

/// `tcgen05.*`: addresses in tensor memory, but for those that leave the address of an allocation, or signal a
/// barrier, in shared memory.
fn tensor_memory(m: &Modifiers<'_>) -> Decoded {
    let results = match m.first() {
        b"alloc" | b"commit" => return touch(m, 0, Space::Generic),
        b"ld" if m.has("red") => 2,
        b"ld" => 1,
        _ => 0,
    };
    memory(other(Space::Tensor), results, [Space::Tensor; 2])
}

/// `clusterlaunchcontrol.try_cancel`: where the answer goes, and a barrier. The queries have results only.
fn launch_control(m: &Modifiers<'_>) -> Decoded {
    if m.first() != b"try_cancel" {
        return OPAQUE;
    }
    let space = m.space().unwrap_or(Space::Generic);
    memory(other(space), 0, [space, Space::Generic])
}

fn collective(m: &Modifiers<'_>, kind: Collective) -> Decoded {
    let sync = m.has("sync");
    Decoded {
        op: Op::Collective(kind, MemberMask::of_sync(sync)),
        shape: if sync { Shape::MaskLast } else { Shape::MaskAbsent },
        listed: Listed::No,
    }
}

fn shuffle_mode(m: &Modifiers<'_>) -> Option<Shuffle> {
    [
        ("up", Shuffle::Up),
        ("down", Shuffle::Down),
        ("bfly", Shuffle::Butterfly),
        ("idx", Shuffle::Index),
    ]
    .into_iter()
    .find_map(|(word, mode)| m.has(word).then_some(mode))
}

fn vote_mode(m: &Modifiers<'_>) -> Option<Vote> {
    [
        ("all", Vote::All),
        ("any", Vote::Any),
        ("uni", Vote::Uniform),
        ("ballot", Vote::Ballot),
    ]
    .into_iter()
    .find_map(|(word, mode)| m.has(word).then_some(mode))
}

/// `bar`, `barrier`: of the warp, the CTA or the cluster. Whether a count is given is known from the operands. `bar` is
/// `barrier.aligned` (PTX ISA, bar/barrier).
fn barrier(m: &Modifiers<'_>, aligned: bool) -> Decoded {
    if m.has("warp") {
        return effect(Op::Collective(Collective::Sync, MemberMask::Operand));
    }
    let op = Op::Barrier(Barrier {
        waits: !m.has("arrive"),
        counted: false,
        aligned,
        cluster: m.has("cluster"),
    });
    Decoded {
        op,
        shape: Shape::Plain(u8::from(m.has("red"))),
        listed: Listed::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn qualifier_order_does_not_matter() {
        for opcode in ["vote.ballot.sync.b32", "vote.sync.ballot.b32"] {
            let decoded = decode(opcode.as_bytes());
            assert_eq!(
                decoded.op,
                Op::Collective(Collective::Vote(Vote::Ballot), MemberMask::Operand),
                "{opcode}"
            );
            assert_eq!(decoded.shape, Shape::MaskLast);
        }
    }

    #[test]
    fn what_is_not_integer_arithmetic_is_opaque() {
        for opcode in [
            "add.f32",
            "add.rn.f16x2",
            "min.s16x2",
            "add.sat.s32",
            "cvt.rn.f32.s32",
            "frobnicate.x",
        ] {
            assert_eq!(decode(opcode.as_bytes()).op, Op::Opaque, "{opcode}");
        }
        assert_eq!(decode(b"setp.lt.f32").op, Op::CompareOther);
    }

    #[test]
    fn widths_are_those_of_the_result() {
        assert_eq!(
            decode(b"mul.wide.s32").op,
            Op::Binary(BinaryOp::MulWideSigned, 64)
        );
        assert_eq!(decode(b"mad.lo.s32").op, Op::MulAdd(BinaryOp::MulLow, 32));
        assert_eq!(
            decode(b"cvt.u64.u32").op,
            Op::Convert {
                from: 32,
                signed: false,
                to: 64
            }
        );
    }

    #[test]
    fn bulk_copies_name_a_space_for_each_address() {
        let decoded = decode(b"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes");
        assert_eq!(
            decoded.shape,
            Shape::Memory {
                results: 0,
                others: [Space::Generic, Space::SharedCluster]
            }
        );
        assert!(matches!(
            decoded.op,
            Op::Access(Access {
                space: Space::SharedCluster,
                ..
            })
        ));
        let store = decode(b"cp.async.bulk.global.shared::cta.bulk_group");
        assert_eq!(
            store.shape,
            Shape::Memory {
                results: 0,
                others: [Space::Shared, Space::SharedCluster]
            }
        );
    }

    #[test]
    fn each_address_has_its_own_space() {
        let spaces = |opcode: &str| {
            let decoded = decode(opcode.as_bytes());
            match (decoded.op, decoded.shape) {
                (Op::Access(access), Shape::Memory { results, others }) => (results, access.space, others[0]),
                other => panic!("{opcode}: {other:?}"),
            }
        };
        for (opcode, wanted) in [
            (
                "multimem.cp.async.bulk.global.shared::cta.bulk_group",
                (0, Space::Global, Space::Shared),
            ),
            (
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
                (0, Space::Global, Space::Shared),
            ),
            (
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32",
                (0, Space::SharedCluster, Space::SharedCluster),
            ),
            (
                "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
                (0, Space::Shared, Space::Generic),
            ),
            (
                "tcgen05.ld.sync.aligned.32x32b.x1.b32",
                (1, Space::Tensor, Space::Tensor),
            ),
            (
                "fence.proxy.tensormap::generic.acquire.gpu",
                (0, Space::Generic, Space::Generic),
            ),
            (
                "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128",
                (0, Space::Shared, Space::Shared),
            ),
        ] {
            assert_eq!(spaces(opcode), wanted, "{opcode}");
        }
    }
}
