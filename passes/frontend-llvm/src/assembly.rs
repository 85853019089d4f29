//! Inline assembly: its text is PTX, so the PTX front end lowers it (`text.rs`), and the result is put in place of the call.
//!
//! The text becomes the body of a function in which operand `$n` is the register `%asm_n`. A body is lowered once for
//! each text and each set of operand widths and immediates, and copied wherever it stands. Each copy gets new registers for those that the
//! text declares; control that runs off its end continues after the call. The value of an operand is copied before and after the text,
//! unless the text treats its register as LLVM does a value: then the operand is that register.

mod text;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use self::text::{Constraint, Direct, Operand, Template, constraints, read};
use super::body::{Label, Lowering};
use super::raw::{User, Value as LlvmValue};
use crate::limits::MAX_ASSEMBLY_BYTES;
use ptxcheck_ir::limits::MAX_UNDECLARED;
use ptxcheck_ir::{
    Argument, Call, CallId, Callee, Guard, InstructionId, Op, Register, Slots, SymbolId, Unresolved, Value,
};

/// The inline assembly of a module.
#[derive(Default)]
pub(super) struct Assembly<'m> {
    known: FxHashMap<LlvmValue<'m>, Rc<AssemblyText>>,
    lists: Lists,
}

/// Bodies by operands; none where the text is malformed.
type Bodies = FxHashMap<Box<[Operand]>, Option<Rc<Template>>>;

/// A text with constraints, and its bodies by the operands that it stood with.
struct AssemblyText {
    constraints: Vec<Constraint>,
    bodies: RefCell<Bodies>,
}

/// Lists of one place's operands, values and registers, kept for the next.
#[derive(Default)]
struct Lists {
    inputs: Vec<Value>,
    results: Vec<Value>,
    operands: Vec<Operand>,
    held: Vec<OperandValues>,
    registers: Vec<Register>,
    /// The operands of one instruction.
    values: Vec<Value>,
}

/// The values of an operand of inline assembly.
#[derive(Clone, Copy)]
struct OperandValues {
    /// Its value before the assembly.
    before: Option<Value>,
    /// The result that it holds after.
    after: Option<Value>,
    /// The operand that it is the same register as: itself, unless it is an input that is tied to an output; none, and no
    /// register either, where it is a number.
    same: Option<usize>,
}

impl OperandValues {
    /// The register that an operand is all along.
    fn only(&self, direct: Direct) -> Option<Register> {
        let (only, other) = match direct {
            Direct::Read(_) => (self.before, self.after),
            Direct::Written(_) => (self.after, self.before),
        };
        match (only, other) {
            (Some(Value::Register(only)), None) => Some(only),
            _ => None,
        }
    }
}

impl<'m> Lowering<'_, '_, 'm> {
    /// A call of inline assembly. False where control does not come back from it.
    pub(super) fn inline_assembly(&mut self, call: User<'m>, called: LlvmValue<'m>) -> bool {
        let mut lists = std::mem::take(&mut self.assembly.lists);
        let comes_back = self.placed(call, called, &mut lists);
        self.assembly.lists = lists;
        comes_back
    }

    fn placed(&mut self, call: User<'m>, called: LlvmValue<'m>, lists: &mut Lists) -> bool {
        lists.results.clear();
        self.results(call, &mut lists.results);
        lists.inputs.clear();
        self.append(call, &mut lists.inputs);
        let known = self.assembly.known.entry(called).or_insert_with(|| {
            let (_, wanted) = called.assembly().unwrap_or_default();
            Rc::new(AssemblyText {
                constraints: constraints(wanted),
                bodies: RefCell::default(),
            })
        });
        let known = Rc::clone(known);
        self.operands(call, &known.constraints, lists);
        match self.template(called, &known, &lists.operands) {
            Some(template) => self.splice(&template, lists),
            None => {
                self.unread(lists);
                true
            }
        }
    }

    /// A text that is not PTX, too long, or goes elsewhere than its own labels: it may do the same as an unknown function, and end lanes.
    fn unread(&mut self, lists: &Lists) {
        let first = self.body.arguments.len();
        let passed = lists.inputs.iter().zip(0..).map(|(&value, param)| Argument {
            param,
            offset: 0,
            value,
        });
        self.body.arguments.extend(passed);
        let arguments = Slots::new(first, self.body.arguments.len());
        let call = self.unknown_call(arguments);
        self.emit_lists(call, &lists.results, &[]);
        let register = self.fresh(1);
        self.emit(Op::Opaque, &[Value::Register(register)], &[]);
        let guard = Guard {
            register,
            negated: false,
        };
        self.emit_guarded(Op::Exit, Some(guard), &[], &[]);
        let next = self.new_label();
        self.end_block(&[next]);
        self.begin(next);
    }

    /// The text in place of each operand, and its values before and after.
    fn operands(&self, call: User<'m>, constraints: &[Constraint], lists: &mut Lists) {
        let Lists {
            inputs,
            results,
            operands,
            held,
            ..
        } = lists;
        operands.clear();
        held.clear();
        let (mut output, mut input) = (0, 0);
        for (number, &constraint) in constraints.iter().enumerate() {
            let own = OperandValues {
                before: None,
                after: None,
                same: Some(number),
            };
            match constraint {
                Constraint::Output => {
                    let after = results.get(output).copied();
                    output += 1;
                    operands.push(Operand::Register(self.operand_bits(after)));
                    held.push(OperandValues { after, ..own });
                }
                Constraint::Input { tied, immediate } => {
                    let value = inputs.get(input).copied().unwrap_or(Value::Unknown);
                    let bits = call
                        .operand(input as u32)
                        .map_or(0, |operand| self.width(operand, value));
                    input += 1;
                    match (value, tied.filter(|&tied| tied < number)) {
                        (value, Some(same)) => {
                            operands.push(Operand::Register(bits));
                            held[same].before = Some(value);
                            held.push(OperandValues {
                                same: Some(same),
                                ..own
                            });
                        }
                        (Value::Integer(number), None) if immediate => {
                            operands.push(Operand::Number(number));
                            held.push(OperandValues { same: None, ..own });
                        }
                        (value, None) => {
                            operands.push(Operand::Register(bits));
                            held.push(OperandValues {
                                before: Some(value),
                                ..own
                            });
                        }
                    }
                }
            }
        }
    }

    fn operand_bits(&self, result: Option<Value>) -> u8 {
        match result {
            Some(Value::Register(register)) => self.body.registers.bits(register),
            _ => 0,
        }
    }

    fn template(
        &mut self,
        called: LlvmValue<'m>,
        known: &AssemblyText,
        operands: &[Operand],
    ) -> Option<Rc<Template>> {
        let mut bodies = known.bodies.borrow_mut();
        if let Some(body) = bodies.get(operands) {
            return body.clone();
        }
        let (text, _) = called.assembly().unwrap_or_default();
        let made = (text.len() <= MAX_ASSEMBLY_BYTES)
            .then(|| {
                let first = read(text, operands, "")?;
                // Names of the module's own: declared, they are read as symbols.
                let declared = self.declarations(&first.undeclared);
                if declared.is_empty() {
                    Some(first)
                } else {
                    read(text, operands, &declared)
                }
            })
            .flatten()
            .map(Rc::new);
        bodies.insert(operands.into(), made.clone());
        made
    }

    /// Declarations of those names that the module knows.
    fn declarations(&self, names: &[(String, InstructionId)]) -> String {
        let mut text = String::new();
        for (name, _) in names {
            let Some(symbol) = self.symbols.named(name) else {
                continue;
            };
            let space = match self.symbols.all[symbol.index()].space {
                ptxcheck_ir::Space::Shared => "shared",
                ptxcheck_ir::Space::Const => "const",
                ptxcheck_ir::Space::Global => "global",
                _ => continue,
            };
            let _ = writeln!(text, ".extern .{space} .b8 {name}[];");
        }
        text
    }

    /// Copies a template in. False where nothing of it runs off its end.
    fn splice(&mut self, template: &Template, lists: &mut Lists) -> bool {
        let Lists {
            held,
            registers,
            values,
            ..
        } = lists;
        registers.clear();
        for (&bits, &direct) in template.registers.all_bits().iter().zip(&template.direct) {
            let only = direct
                .and_then(|direct| held.get(direct.operand())?.only(direct))
                .filter(|only| self.body.registers.bits(*only) == bits);
            registers.push(only.unwrap_or_else(|| self.fresh(bits)));
        }
        let registers = registers.as_slice();
        let operand = |number: usize| {
            let register = template.operands.get(number).copied().flatten()?;
            registers.get(register.index()).copied()
        };
        for (number, one) in held.iter().enumerate() {
            if let (Some(value), Some(register)) = (one.before, operand(number))
                && value != Value::Register(register)
            {
                self.emit(Op::Copy, &[Value::Register(register)], &[value]);
            }
        }
        // An input tied to an output is the output's register under a second name.
        for (number, one) in held.iter().enumerate() {
            if let Some(same) = one.same.filter(|&same| same != number)
                && let (Some(register), Some(tied)) = (operand(number), operand(same))
            {
                self.emit(Op::Copy, &[Value::Register(register)], &[Value::Register(tied)]);
            }
        }
        let comes_back = self.splice_blocks(template, registers, values);
        if comes_back {
            for (number, one) in held.iter().enumerate() {
                match (one.after, operand(number)) {
                    (Some(result), Some(register)) if result == Value::Register(register) => {}
                    (Some(result), Some(register)) => {
                        self.emit(Op::Copy, &[result], &[Value::Register(register)]);
                    }
                    // An output that the text does not name holds anything.
                    (Some(result), None) => {
                        self.emit(Op::Opaque, &[result], &[]);
                    }
                    _ => {}
                }
            }
        }
        comes_back
    }

    /// The last block of a template is empty: it is where control runs off the end.
    fn splice_blocks(
        &mut self,
        template: &Template,
        registers: &[Register],
        values: &mut Vec<Value>,
    ) -> bool {
        let count = template.blocks.len();
        let end = count.saturating_sub(1);
        if template.is_straight {
            let base = self.body.instructions.len();
            self.splice_instructions(template, 0, base, registers, values);
            self.splice_lists(template, base);
            return true;
        }
        let labels: Vec<Label> = (0..count).map(|_| self.new_label()).collect();
        let first = labels.first().copied();
        self.emit(Op::Branch, &[], &[]);
        self.end_block(first.as_slice());
        let base = self.body.instructions.len();
        for block in 0..end {
            self.begin(labels[block]);
            self.splice_instructions(template, block, base, registers, values);
            let targets: Vec<Label> = template
                .successors(block)
                .iter()
                .filter_map(|&target| labels.get(target as usize).copied())
                .collect();
            self.end_block(&targets);
        }
        self.splice_lists(template, base);
        self.begin(labels[end]);
        true
    }

    /// Lists the asynchronous operations and the matrices of a template whose instructions stand from `base` on.
    fn splice_lists(&mut self, template: &Template, base: usize) {
        for one in &template.asynchronous {
            self.body.note_asynchronous(one.moved(base));
        }
        for one in &template.matrices {
            self.body.note_matrix(one.moved(base));
        }
    }

    fn splice_instructions(
        &mut self,
        template: &Template,
        block: usize,
        base: usize,
        registers: &[Register],
        own: &mut Vec<Value>,
    ) {
        let map = |register: Register| registers.get(register.index()).copied();
        for place in template.blocks[block].instructions.range() {
            let instruction = &template.instructions[place];
            own.clear();
            for value in &template.values[instruction.values.range()] {
                own.push(match *value {
                    Value::Register(register) => map(register).map_or(Value::Unknown, Value::Register),
                    Value::Not(register) => map(register).map_or(Value::Unknown, Value::Not),
                    Value::Symbol(symbol, at) => self.spliced_symbol(template, symbol, at),
                    Value::Param(..) | Value::ReturnSlot(..) => Value::Unknown,
                    other => other,
                });
            }
            for (name, _) in template.undeclared.iter().filter(|(_, at)| at.index() == place) {
                self.undeclared(name);
            }
            let (results, uses) = own.split_at(usize::from(instruction.results));
            let guard = instruction.guard.and_then(|guard| {
                Some(Guard {
                    register: map(guard.register)?,
                    negated: guard.negated,
                })
            });
            let op = match instruction.op {
                Op::Call(_) => self.unknown_call(Slots::default()),
                Op::CallResult(of) => Op::CallResult(InstructionId::new(base + of.index())),
                op => op,
            };
            let id = self.emit_lists(op, results, uses);
            if matches!(op, Op::Collective(..)) {
                self.body.in_assembly.push(id);
            }
            self.body.instructions[id.index()].guard = guard;
        }
    }

    fn spliced_symbol(&mut self, template: &Template, symbol: SymbolId, at: i32) -> Value {
        let known = template
            .symbols
            .get(&symbol)
            .and_then(|name| self.symbols.named(name));
        match known {
            Some(symbol) => {
                self.body.refer(symbol, &self.symbols.all[symbol.index()], false);
                Value::Symbol(symbol, at)
            }
            None => Value::Unknown,
        }
    }

    /// A call of an unknown function, such as one in inline assembly.
    fn unknown_call(&mut self, arguments: Slots) -> Op {
        self.body.calls.push(Call {
            instruction: InstructionId::new(self.body.instructions.len()),
            callee: Callee::Indirect(Value::Unknown),
            arguments,
        });
        Op::Call(CallId::new(self.body.calls.len() - 1))
    }

    /// Records a name that nothing declares. A name that occurs in the module's own assembly may be declared there.
    fn undeclared(&mut self, name: &str) {
        let room = self.body.undeclared.len() < MAX_UNDECLARED;
        let is_known = self.symbols.named(name).is_some()
            || self.body.undeclared.iter().any(|known| known.name == name)
            || self.symbols.module.assembly().contains(name);
        if room && !is_known {
            self.body.undeclared.push(Unresolved {
                name: self.symbols.names.alloc_str(name),
                instruction: InstructionId::new(self.body.instructions.len()),
            });
        }
    }
}

#[cfg(test)]
mod tests;
