//! Variables that keep the content of their initialiser in each run of a kernel: constant memory, and the module's own
//! global memory that none of its code can write.

use ptxcheck_ir::{AccessKind, Body, Linkage, Module, Op, Space, SymbolId, SymbolKind, Value};
use rustc_hash::FxHashSet;

use crate::limits::MAX_CONSTANT_OBJECTS;

/// A read-only variable, with the first bytes of its initialiser: the following bytes, up to its size, are zeros unless
/// [`ptxcheck_ir::limits::MAX_INITIAL_BYTES`] are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantObject {
    /// The variable.
    pub symbol: SymbolId,
    /// Its first bytes.
    pub bytes: Vec<u8>,
}

/// The constant objects of a module, in the order of their declarations.
pub(crate) fn find_constant_objects(module: &Module<'_>) -> Vec<ConstantObject> {
    let named: FxHashSet<SymbolId> = module.initializers.iter().copied().collect();
    let symbols = (0..module.symbols.len()).map(SymbolId::new);
    let candidates = symbols.filter(|&id| {
        let symbol = module.symbol(id);
        // The host may write variables that other modules can see.
        let is_own =
            symbol.space == Space::Const || symbol.space == Space::Global && symbol.linkage == Linkage::Local;
        matches!(symbol.kind, SymbolKind::Variable)
            && is_own
            && !symbol.is_undefined()
            && !symbol.managed
            && !named.contains(&id)
    });
    let objects = candidates.filter_map(|symbol| {
        let variable = module.symbol(symbol);
        let bytes = module.origin.initial_bytes(variable.name, variable.span)?;
        Some(ConstantObject { symbol, bytes })
    });
    let mut objects: Vec<ConstantObject> = objects.take(MAX_CONSTANT_OBJECTS).collect();
    for (.., body) in module.bodies() {
        if objects.is_empty() {
            break;
        }
        let used: FxHashSet<SymbolId> = body.values.iter().filter_map(symbol_operand).collect();
        objects.retain(|object| {
            let is_constant = module.symbol(object.symbol).space == Space::Const;
            is_constant || !used.contains(&object.symbol) || is_only_read(body, object.symbol)
        });
    }
    objects
}

const fn symbol_operand(value: &Value) -> Option<SymbolId> {
    match value {
        Value::Symbol(symbol, _) => Some(*symbol),
        _ => None,
    }
}

/// True if a body uses values computed from the address of a variable only as addresses of loads.
fn is_only_read(body: &Body<'_>, symbol: SymbolId) -> bool {
    let mut derived = vec![false; body.registers.len()];
    loop {
        let mut has_grown = false;
        for instruction in &body.instructions {
            let is_derived = |value: &Value| match value {
                Value::Symbol(named, _) => *named == symbol,
                Value::Register(register) | Value::Not(register) => derived[register.index()],
                _ => false,
            };
            let uses = body.uses(instruction);
            if !uses.iter().any(is_derived) {
                continue;
            }
            match instruction.op {
                // The loaded value is not an address of the variable: no initialiser of the module names it.
                Op::Access(access) if access.kind == AccessKind::Load => continue,
                Op::Access(_) | Op::Call(_) | Op::CallResult(_) | Op::Return | Op::Opaque => return false,
                _ => {}
            }
            for register in body.defined(instruction) {
                has_grown |= !std::mem::replace(&mut derived[register.index()], true);
            }
        }
        let is_passed = |value: &Value| match value {
            Value::Register(register) => derived[register.index()],
            Value::Symbol(named, _) => *named == symbol,
            _ => false,
        };
        if body.arguments.iter().any(|argument| is_passed(&argument.value)) {
            return false;
        }
        if !has_grown {
            return true;
        }
    }
}
