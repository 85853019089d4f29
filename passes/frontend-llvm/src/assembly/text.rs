//! The text of inline assembly, lowered once for each set of operands.

use std::fmt::Write as _;

use ptxcheck_ptx_parser::ast::Tree;
use rustc_hash::FxHashMap;

use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};
use ptxcheck_ir::{
    Asynchronous, Block, Body, Instruction, InstructionId, Matrix, Register, Registers, SymbolId, Value,
};

/// The operand in place of `$n`: a register of this many bits, or a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operand {
    Register(u8),
    Number(i64),
}

/// An operand with which a text does no more than LLVM does with a value, so that it needs no register of its own.
#[derive(Clone, Copy)]
pub(super) enum Direct {
    /// The text only reads it.
    Read(usize),
    /// The text writes it once, and always.
    Written(usize),
}

impl Direct {
    pub(super) const fn operand(self) -> usize {
        match self {
            Self::Read(operand) | Self::Written(operand) => operand,
        }
    }
}

/// A lowered text.
pub(super) struct Template {
    pub(super) blocks: Vec<Block>,
    pub(super) edges: Vec<u32>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) asynchronous: Vec<Asynchronous>,
    pub(super) matrices: Vec<Matrix>,
    pub(super) values: Vec<Value>,
    pub(super) registers: Registers,
    /// All of it is executed, in its order.
    pub(super) is_straight: bool,
    /// The registers of the operands.
    pub(super) operands: Vec<Option<Register>>,
    /// By register: the operand that it may be.
    pub(super) direct: Vec<Option<Direct>>,
    /// Names of the symbols that values refer to, and of those that nothing declares.
    pub(super) symbols: FxHashMap<SymbolId, String>,
    pub(super) undeclared: Vec<(String, InstructionId)>,
}

/// A constraint of inline assembly (LLVM Language Reference, Inline Asm Constraint String).
#[derive(Clone, Copy)]
pub(super) enum Constraint {
    Output,
    Input { tied: Option<usize>, immediate: bool },
}

pub(super) fn constraints(text: &str) -> Vec<Constraint> {
    text.split(',')
        .filter(|word| !word.is_empty() && !word.starts_with('~') && !word.starts_with('!'))
        .map(|word| match word.strip_prefix('=') {
            Some(rest) if !rest.contains('*') => Constraint::Output,
            _ => Constraint::Input {
                tied: word.parse().ok(),
                immediate: matches!(word, "n" | "i"),
            },
        })
        .collect()
}

impl Template {
    pub(super) fn successors(&self, block: usize) -> &[u32] {
        &self.edges[self.blocks[block].successors.range()]
    }
}

/// Lowers a text; `None` where it is malformed.
pub(super) fn read(text: &str, operands: &[Operand], declarations: &str) -> Option<Template> {
    let mut source = String::from(".version 9.0\n.target sm_120a\n.address_size 64\n");
    source.push_str(declarations);
    source.push_str(".func inline_assembly() {\n");
    for (number, operand) in operands.iter().enumerate() {
        let ty = match operand {
            Operand::Register(1) => "pred",
            Operand::Register(16) => "b16",
            Operand::Register(32) => "b32",
            Operand::Register(8) => "b8",
            Operand::Register(0) => "b128",
            Operand::Register(_) => "b64",
            Operand::Number(_) => continue,
        };
        let _ = writeln!(source, ".reg .{ty} %asm_{number};");
    }
    let body = substituted(text, operands)?;
    source.push_str(&body);
    if !matches!(body.trim_end().as_bytes().last(), None | Some(b';' | b'}' | b'{')) {
        source.push(';');
    }
    source.push_str("\ninline_assembly_end:\n}\n");
    let tree = ptxcheck_ptx_parser::parse(source.as_bytes()).ok()?;
    if !tree.errors().is_empty() {
        return None;
    }
    lowered(&tree, operands.len())
}

fn lowered(tree: &Tree<'_>, operands: usize) -> Option<Template> {
    let origin = PtxOrigin::new(tree);
    let mut module = ptx::lower(tree, &origin);
    if !module.errors.is_empty() {
        return None;
    }
    let body: Body<'_> = module
        .functions
        .iter_mut()
        .find_map(|function| function.body.take())?;
    let names: FxHashMap<Vec<u8>, usize> = (0..operands)
        .map(|number| (format!("%asm_{number}").into_bytes(), number))
        .collect();
    let mut registers = vec![None; operands];
    for register in (0..body.registers.len()).map(Register::new) {
        if let Some(&number) = names.get(tree.text(body.registers.name(register))) {
            registers[number].get_or_insert(register);
        }
    }
    let symbols = body
        .values
        .iter()
        .filter_map(|value| match value {
            Value::Symbol(symbol, _) => Some((*symbol, module.symbol(*symbol).name.to_owned())),
            _ => None,
        })
        .collect();
    let undeclared = body
        .undeclared
        .iter()
        .map(|unknown| (unknown.name.to_owned(), unknown.instruction))
        .collect();
    let edges: Vec<u32> = body.edges.iter().map(|target| target.index() as u32).collect();
    let is_straight = match body.blocks.as_slice() {
        [first, _] => {
            // A guarded `exit` ends a block, too, and the remaining lanes continue after it.
            let ends = body.instructions[first.instructions.range()]
                .last()
                .is_some_and(|last| last.op.is_terminator());
            !ends
                && edges[first.successors.range()] == [1]
                && first.instructions.end as usize == body.instructions.len()
        }
        _ => false,
    };
    Some(Template {
        direct: direct(&body, is_straight, &registers),
        edges,
        is_straight,
        blocks: body.blocks,
        instructions: body.instructions,
        asynchronous: body.asynchronous,
        matrices: body.matrices,
        values: body.values,
        registers: body.registers,
        operands: registers,
        symbols,
        undeclared,
    })
}

/// By register: the operand that it may be.
fn direct(body: &Body<'_>, is_straight: bool, operands: &[Option<Register>]) -> Vec<Option<Direct>> {
    // Number of writes to each register; two for one whose write is not certain.
    let mut writers = vec![0_usize; body.registers.len()];
    for instruction in &body.instructions {
        let is_certain = is_straight && instruction.guard.is_none();
        for register in body.defined(instruction) {
            writers[register.index()] += if is_certain { 1 } else { 2 };
        }
    }
    let mut direct = vec![None; body.registers.len()];
    for (number, register) in operands.iter().enumerate() {
        let Some(register) = *register else { continue };
        direct[register.index()] = match writers[register.index()] {
            0 => Some(Direct::Read(number)),
            1 => Some(Direct::Written(number)),
            _ => None,
        };
    }
    direct
}

/// The text with its operands' names: `$0`, `${1:c}`, `$$`. `None` if one of them is not an operand.
fn substituted(text: &str, operands: &[Operand]) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (number, after) = match rest.as_bytes().first()? {
            b'$' => {
                out.push('$');
                rest = &rest[1..];
                continue;
            }
            b'{' => {
                let end = rest.find('}')?;
                let inside = &rest[1..end];
                let digits = inside.split(':').next().unwrap_or_default();
                if digits.is_empty() {
                    // `${:uid}` is a number of its own for each place; one place needs only one.
                    out.push('0');
                    rest = &rest[end + 1..];
                    continue;
                }
                (digits, &rest[end + 1..])
            }
            _ => {
                let end = rest.bytes().take_while(u8::is_ascii_digit).count();
                (&rest[..end], &rest[end..])
            }
        };
        let number: usize = number.parse().ok()?;
        match operands.get(number)? {
            Operand::Register(_) => write!(out, "%asm_{number}").ok()?,
            Operand::Number(value) => write!(out, "{value}").ok()?,
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
