//! Variables of the host that device code uses: what LLVM IR says of a global that CUDA's address spaces leave out.
//!
//! A CUDA compiler gives each variable of device code an address space. A variable in the generic address space that has a name in the
//! source, and is not a literal, table or vtable of the compiler, was not meant for the device. Other languages (OpenMP, C, Rust, Triton,
//! Numba) keep device variables there: the rule is for CUDA modules, which clang marks. clang copies constants of the host into constant
//! memory, where they cannot be distinguished from `__constant__` variables, except by a type that is `const volatile`.

use rustc_hash::FxHashSet;

use super::raw::{Linkage, Module, Node, Opcode, User, Value, ValueKind};
use super::spaces::space_of;
use crate::limits::{MAX_INITIALIZER_NODES, MAX_TYPE_DEPTH};
use ptxcheck_ir::{HostConstant, Space};

/// A variable of the host, as a module shows it.
pub(super) enum Host {
    /// Device code has its address, or writes it, or it is not a constant.
    Variable,
    /// Device code does no more than read it.
    Constant(HostConstant),
}

/// A constant whose value the module knows, to fold it, and that it does not define: of a static member with its value in the
/// class, code that takes the address is left with a symbol that nobody defines.
const MERELY_KNOWN: Host = Host::Constant(HostConstant {
    is_volatile: false,
    is_number: true,
    is_initialized: false,
    is_copy: true,
});

/// True if a CUDA compiler wrote a module.
pub(super) fn is_cuda(module: Module<'_>) -> bool {
    module.has_flag("nvvm-reflect-ftz") && !module.has_flag("openmp") && !module.has_flag("openmp-device")
}

/// A global variable of a CUDA module, if it is the host's and used.
pub(super) fn of<'m>(module: Module<'m>, global: Value<'m>) -> Option<Host> {
    let space = space_of(global.ty());
    if !matches!(space, Space::Generic | Space::Const) || global.is_unnamed() {
        return None;
    }
    if global.linkage() == Some(Linkage::LLVMAvailableExternallyLinkage) {
        return Uses::of(global).filter(|uses| uses.escapes).map(|_| MERELY_KNOWN);
    }
    let variable = global.source_variable()?;
    let name = module.operand(variable, VARIABLE_NAME)?.string()?;
    if name.is_empty() || name.contains('$') {
        return None;
    }
    let declared = Declared::of(module, variable);
    let uses = Uses::of(global)?;
    let is_copy = space == Space::Const;
    if is_copy && !(declared.is_const && declared.is_volatile) {
        return None;
    }
    if !is_copy && (uses.escapes || !declared.is_const) {
        return Some(Host::Variable);
    }
    Some(Host::Constant(HostConstant {
        is_volatile: declared.is_volatile || uses.volatile,
        is_number: declared.is_number,
        is_initialized: global.initializer().is_some(),
        is_copy,
    }))
}

/// The operands of metadata with the name and the type of a variable, and the name and the base of a type.
const VARIABLE_NAME: u32 = 1;
const VARIABLE_TYPE: u32 = 3;
const TYPE_NAME: u32 = 2;
const BASE_TYPE: u32 = if cfg!(feature = "llvm") { 5 } else { 3 };

/// The type that a variable is declared with (DWARF 5, Type Modifiers).
#[derive(Default)]
struct Declared {
    is_const: bool,
    is_volatile: bool,
    is_number: bool,
}

impl Declared {
    fn of<'m>(module: Module<'m>, variable: Node<'m>) -> Self {
        const ARRAY: u16 = 0x01;
        const TYPEDEF: u16 = 0x16;
        const BASE: u16 = 0x24;
        const CONST: u16 = 0x26;
        const VOLATILE: u16 = 0x35;
        let mut declared = Self::default();
        let mut is_element = false;
        let step = |node, number| module.operand(node, number).and_then(Value::node);
        let mut current = step(variable, VARIABLE_TYPE);
        for _ in 0..MAX_TYPE_DEPTH {
            let Some(node) = current else { break };
            match node.type_tag() {
                CONST => declared.is_const = true,
                VOLATILE => declared.is_volatile = true,
                ARRAY => is_element = true,
                TYPEDEF => {}
                BASE => {
                    let name = module.operand(node, TYPE_NAME).and_then(Value::string);
                    declared.is_number = !is_element && name.is_some_and(|name| name != "long double");
                    break;
                }
                _ => break,
            }
            current = step(node, BASE_TYPE);
        }
        declared
    }
}

/// The uses of a global by code and other variables.
#[derive(Default)]
struct Uses {
    /// Something else than a load has its address.
    escapes: bool,
    /// A load is volatile.
    volatile: bool,
}

impl Uses {
    /// `None` if there are none, or too many to analyse.
    fn of(global: Value<'_>) -> Option<Self> {
        let mut found = None::<Self>;
        let mut seen = FxHashSet::default();
        let mut open = vec![global];
        while let Some(value) = open.pop() {
            for user in value.users() {
                if seen.len() >= MAX_INITIALIZER_NODES {
                    return None;
                }
                if !seen.insert(user) {
                    continue;
                }
                let is_list =
                    user.kind() == ValueKind::LLVMGlobalVariableValueKind && user.name().starts_with("llvm.");
                let is_aggregate = matches!(
                    user.kind(),
                    ValueKind::LLVMConstantArrayValueKind | ValueKind::LLVMConstantStructValueKind
                );
                match user.opcode() {
                    _ if is_list => {}
                    Some(Opcode::LLVMLoad) => {
                        let is_volatile = user.user().is_some_and(User::is_volatile);
                        found.get_or_insert_default().volatile |= is_volatile;
                    }
                    Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast | Opcode::LLVMGetElementPtr) => {
                        open.push(user);
                    }
                    None if is_aggregate => open.push(user),
                    _ => found.get_or_insert_default().escapes = true,
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_module;

    const CASE: &str = include_str!("../../../corpus/ir/host_variables.ll");

    /// Each global: name, whether it is the host's, and what its constant is.
    fn read(text: &str) -> Vec<(String, bool, Option<super::HostConstant>)> {
        with_module(text.as_bytes(), |module| {
            let of_one = |symbol: &ptxcheck_ir::Symbol<'_>| {
                (symbol.name.to_owned(), symbol.is_host, symbol.host_constant)
            };
            module.symbols.iter().map(of_one).collect()
        })
        .unwrap()
    }

    #[test]
    fn variables_of_the_host_are_told_from_the_compilers_own() {
        let all = read(CASE);
        let host: Vec<_> = all.iter().filter(|(_, is_host, _)| *is_host).collect();
        let names: Vec<_> = host.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["counter", "shown"]);
        let constants: Vec<_> = all
            .iter()
            .filter_map(|(name, _, constant)| {
                let constant = (*constant)?;
                Some((
                    name.as_str(),
                    constant.is_volatile,
                    constant.is_number,
                    constant.is_initialized,
                    constant.is_copy,
                ))
            })
            .collect();
        assert_eq!(
            constants,
            [
                ("known", false, true, true, false),
                ("later", false, true, false, false),
                ("limits", false, false, true, false),
                ("changing", true, true, true, false),
                ("copied", true, true, true, true),
            ]
        );
    }

    #[test]
    fn other_languages_keep_device_variables_in_the_generic_space() {
        for flag in ["openmp-device", "nothing"] {
            let all = read(&CASE.replace("nvvm-reflect-ftz", flag));
            assert!(
                all.iter()
                    .all(|(_, is_host, constant)| !is_host && constant.is_none())
            );
        }
    }
}
