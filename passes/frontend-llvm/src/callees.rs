//! The callees of calls, read once each: a symbol, or the operation that the name of an intrinsic stands for.

use super::body::Lowering;
use super::numbers::Numbers;
use super::raw::{Type, Value as LlvmValue, ValueKind};
use super::reflect;
use ptxcheck_frontend_ptx::special;
use ptxcheck_ir::{Special, SymbolId, SymbolKind, Value};

/// The callees of a module.
#[derive(Default)]
pub(super) struct Callees<'m> {
    numbers: Numbers,
    known: Vec<KnownCallee<'m>>,
    /// The number of the module's target, 0 for none, once something has asked for it.
    pub(super) architecture: Option<u32>,
    /// Something has asked for the target, and was answered.
    pub(super) has_answers: bool,
}

/// A callee.
#[derive(Clone, Copy)]
pub(super) enum Called<'m> {
    /// A function of the module.
    Function(SymbolId),
    Intrinsic(Intrinsic<'m>),
    Assembly,
    /// The intrinsic that asks for the target.
    Reflect,
    /// An address.
    Address,
}

/// The operation that the name of an intrinsic stands for.
#[derive(Clone, Copy)]
pub(super) enum Intrinsic<'m> {
    /// It neither computes nor touches memory.
    Nothing,
    /// It returns its first operand.
    Identity,
    /// It reads a special register.
    Special(Value),
    /// An NVVM intrinsic that is interpreted: its name after `llvm.nvvm.`.
    Nvvm(&'m str),
    /// An NVVM intrinsic that is not.
    Other,
    /// A general one: its name after `llvm.`.
    General(&'m str),
}

#[derive(Clone, Copy)]
struct KnownCallee<'m> {
    called: Called<'m>,
    /// It takes arguments in memory.
    has_memory: bool,
}

/// Intrinsics that neither compute nor touch memory.
const NOTHING: &[&str] = &[
    "dbg.",
    "donothing",
    "experimental.noalias.scope.decl",
    "invariant.end",
    "invariant.start",
    "lifetime.",
    "pseudoprobe",
    "sideeffect",
    "var.annotation",
];

/// Intrinsics that return their first operand.
const IDENTITY: &[&str] = &[
    "annotation.",
    "expect.",
    "launder.invariant.group",
    "ptr.annotation",
    "ssa.copy",
    "strip.invariant.group",
];

/// First words of NVVM intrinsics that are interpreted.
const INTERPRETED: &[&str] = &[
    "activemask",
    "atomic",
    "bar",
    "barrier",
    "barrier0",
    "brev32",
    "brev64",
    "clz",
    "cp",
    "elect",
    "exit",
    "fence",
    "isspacep",
    "ldg",
    "ldu",
    "mapa",
    "match",
    "mbarrier",
    "membar",
    "move",
    "popc",
    "ptr",
    "redux",
    "setmaxnreg",
    "shfl",
    "tcgen05",
    "vote",
    "wgmma",
];

impl<'m> Intrinsic<'m> {
    fn named(name: &'m str) -> Self {
        let name = name.strip_prefix("llvm.").unwrap_or(name);
        if let Some(name) = name.strip_prefix("nvvm.") {
            if let Some(register) = name.strip_prefix("read.ptx.sreg.") {
                return Self::Special(special_register(register));
            }
            let word = name.split('.').next().unwrap_or_default();
            return if INTERPRETED.contains(&word) {
                Self::Nvvm(name)
            } else {
                Self::Other
            };
        }
        let has = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if has(NOTHING) {
            Self::Nothing
        } else if has(IDENTITY) {
            Self::Identity
        } else {
            Self::General(name)
        }
    }
}

/// The register that `llvm.nvvm.read.ptx.sreg.NAME` reads.
fn special_register(name: &str) -> Value {
    if name == "warpsize" {
        return Value::Integer(32);
    }
    // The dots in names of special registers are dimensions; the others are underscores in PTX.
    let (stem, dimension) = match name.rsplit_once('.') {
        Some((stem, dimension @ ("x" | "y" | "z" | "w"))) => (stem, Some(dimension)),
        _ => (name, None),
    };
    let mut spelling = format!("%{}", stem.replace('.', "_"));
    if let Some(dimension) = dimension {
        spelling = format!("{spelling}.{dimension}");
    }
    Value::Special(special(spelling.as_bytes()).unwrap_or(Special::Other))
}

impl<'m> Lowering<'_, '_, 'm> {
    /// A value as a callee, and true if it takes arguments in memory.
    pub(super) fn callee(&mut self, value: LlvmValue<'m>) -> (Called<'m>, bool) {
        let kind = value.kind();
        if !matches!(
            kind,
            ValueKind::LLVMFunctionValueKind
                | ValueKind::LLVMGlobalAliasValueKind
                | ValueKind::LLVMInlineAsmValueKind
        ) {
            return (Called::Address, false);
        }
        let callees = &mut self.scratch.callees;
        let next = callees.known.len();
        let number = callees.numbers.get_or_insert(value.address(), next as u32) as usize;
        if number == next {
            let known = self.new_callee(value, kind);
            self.scratch.callees.known.push(known);
        }
        let known = self.scratch.callees.known[number];
        (known.called, known.has_memory)
    }

    fn new_callee(&self, value: LlvmValue<'m>, kind: ValueKind) -> KnownCallee<'m> {
        let known = |symbol: SymbolId| &self.symbols.all[symbol.index()];
        let asks = |name: &str| reflect::NAMES.contains(&name);
        let called = match self.symbols.find(value) {
            _ if kind == ValueKind::LLVMInlineAsmValueKind => Called::Assembly,
            Some(symbol) if asks(known(symbol).name) => Called::Reflect,
            Some(symbol) if matches!(known(symbol).kind, SymbolKind::Function(_)) => Called::Function(symbol),
            // The functions that are not symbols are intrinsics.
            None if kind == ValueKind::LLVMFunctionValueKind => match value.name() {
                name if asks(name) => Called::Reflect,
                name => Called::Intrinsic(Intrinsic::named(name)),
            },
            _ => Called::Address,
        };
        KnownCallee {
            called,
            has_memory: value
                .params()
                .zip(0..)
                .any(|(_, number)| value.by_value(number).is_some()),
        }
    }

    /// The type of what an argument passes in memory.
    pub(super) fn memory_of(&self, called: LlvmValue<'m>, has_memory: bool, number: u32) -> Option<Type<'m>> {
        has_memory.then(|| called.by_value(number)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERPRETED, Intrinsic, special_register};
    use ptxcheck_ir::{Special, Value};

    #[test]
    fn names_say_what_intrinsics_do() {
        assert!(matches!(
            Intrinsic::named("llvm.lifetime.start.p0"),
            Intrinsic::Nothing
        ));
        assert!(matches!(Intrinsic::named("llvm.expect.i1"), Intrinsic::Identity));
        assert!(matches!(
            Intrinsic::named("llvm.nvvm.shfl.sync.idx.i32"),
            Intrinsic::Nvvm("shfl.sync.idx.i32")
        ));
        assert!(matches!(Intrinsic::named("llvm.nvvm.fma.rn.f"), Intrinsic::Other));
        assert!(matches!(
            Intrinsic::named("llvm.ctpop.i32"),
            Intrinsic::General("ctpop.i32")
        ));
        assert!(INTERPRETED.is_sorted());
    }

    #[test]
    fn special_registers_have_their_dimension() {
        assert_eq!(special_register("tid.y"), Value::Special(Special::Tid(1)));
        assert_eq!(special_register("warpsize"), Value::Integer(32));
        assert_eq!(special_register("no.such"), Value::Special(Special::Other));
    }
}
