//! The definitions of each register, and the registers that are read.

use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{Body, Callee, InstructionId, Register, Value};

use crate::limits::MAX_TRACE_STEPS;

/// The instructions that write each register, in the order of the input.
#[derive(Debug)]
pub struct Definitions {
    /// By register: the instructions that define it.
    written: Vec<Written>,
    /// The definitions of the registers with several.
    several: Groups<InstructionId>,
}

/// The definitions of a register: most have one.
#[derive(Clone, Copy, Debug)]
enum Written {
    Never,
    Once(InstructionId),
    /// The group with this index in [`Definitions::several`].
    Often(u32),
}

impl Definitions {
    /// The definitions in `body`; time and memory are linear in it.
    #[must_use]
    pub fn new(body: &Body<'_>) -> Self {
        let mut written = vec![Written::Never; body.registers.len()];
        let mut several = Vec::new();
        let mut count = 0;
        for (id, instruction) in (0..).map(InstructionId::new).zip(&body.instructions) {
            for register in body.defined(instruction) {
                let known = &mut written[register.index()];
                match *known {
                    Written::Never => *known = Written::Once(id),
                    Written::Once(first) => {
                        several.extend([(count, first), (count, id)]);
                        *known = Written::Often(count as u32);
                        count += 1;
                    }
                    Written::Often(number) => several.push((number as usize, id)),
                }
            }
        }
        Self {
            written,
            several: Groups::new(count, several.iter().copied()),
        }
    }

    /// The instructions that write `register`.
    #[inline]
    #[must_use]
    pub fn writers_of(&self, register: Register) -> &[InstructionId] {
        match &self.written[register.index()] {
            Written::Never => &[],
            Written::Once(id) => std::slice::from_ref(id),
            Written::Often(number) => self.several.of(*number as usize),
        }
    }

    /// The only instruction of `body` that writes `register`, if its guard cannot skip it.
    #[must_use]
    pub fn only_writer(&self, body: &Body<'_>, register: Register) -> Option<InstructionId> {
        match *self.writers_of(register) {
            [one] if body.instruction(one).guard.is_none() => Some(one),
            _ => None,
        }
    }

    /// The instruction of `body` whose result `reader` finds in `register`: the only definition, or the last definition in
    /// the reader's block before it. `None` if several definitions are possible.
    #[must_use]
    pub fn last_writer_before(
        &self,
        body: &Body<'_>,
        register: Register,
        reader: InstructionId,
    ) -> Option<InstructionId> {
        let writers = self.writers_of(register);
        if let [_] = writers {
            return self.only_writer(body, register);
        }
        let end = writers.partition_point(|&writer| writer < reader);
        let last = *writers[..end].last()?;
        let is_certain =
            body.block_of(last) == body.block_of(reader) && body.instruction(last).guard.is_none();
        is_certain.then_some(last)
    }

    /// The value that a value is copied or computed from: follows its only definition to the operand that `step` chooses of
    /// it, and so on. Ends at a register with no or several definitions, at one for which `step` returns `None`, or after 16
    /// steps.
    pub fn trace_value(
        &self,
        body: &Body<'_>,
        mut value: Value,
        mut step: impl FnMut(InstructionId) -> Option<Value>,
    ) -> Value {
        for _ in 0..MAX_TRACE_STEPS {
            let Value::Register(register) = value else { break };
            match self.only_writer(body, register).and_then(&mut step) {
                Some(next) => value = next,
                None => break,
            }
        }
        value
    }
}

/// For each register: true if an instruction, a guard or an argument reads it.
#[must_use]
pub(crate) fn read_registers(body: &Body<'_>) -> Vec<bool> {
    let mut is_read = vec![false; body.registers.len()];
    let mut mark = |register: Register| is_read[register.index()] = true;
    for instruction in &body.instructions {
        let uses = body.uses(instruction).iter().copied();
        uses.filter_map(Value::register).for_each(&mut mark);
        if let Some(guard) = instruction.guard {
            mark(guard.register);
        }
    }
    for call in &body.calls {
        let arguments = body.arguments(call).iter().map(|argument| argument.value);
        arguments.filter_map(Value::register).for_each(&mut mark);
        if let Callee::Indirect(callee) = call.callee {
            callee.register().into_iter().for_each(&mut mark);
        }
    }
    is_read
}

#[cfg(test)]
mod tests {
    use crate::testing::with_ptx;
    use ptxcheck_ir::{InstructionId, Register};

    #[test]
    fn guards_and_arguments_are_read() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.func f(.param .b32 x) { ret; }\n\
            .visible .entry k() {\n.reg .b32 %r<3>;\n.reg .pred %p<3>;\nsetp.eq.u32 %p1|%p2, %r1, 0;\n\
            @%p1 mov.u32 %r0, 1;\n{ .param .b32 a;\nst.param.b32 [a], %r2;\ncall f, (a); }\nret;\n}\n";
        with_ptx(text, |module| {
            let body = module.module.functions[1].body.as_ref().unwrap();
            let read = super::read_registers(body);
            let written = |number: usize| {
                let instruction = &body.instructions[number];
                body.defined(instruction).map(|register| read[register.index()])
            };
            assert_eq!(written(0).collect::<Vec<_>>(), [true, false]);
            assert_eq!(written(1).collect::<Vec<_>>(), [false]);
            let argument = body.arguments(&body.calls[0])[0].value;
            assert_eq!(
                argument.register().map(|register| read[register.index()]),
                Some(true)
            );
        });
    }

    #[test]
    fn the_last_write_in_the_block_is_what_is_read() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n\
            .reg .b32 %r<4>;\n.reg .pred %p<2>;\nmov.u32 %r1, 1;\nmov.u32 %r1, 2;\nmov.u32 %r2, %r1;\n\
            @%p1 mov.u32 %r1, 3;\nmov.u32 %r3, %r1;\nl: mov.u32 %r3, %r2;\nret;\n}\n";
        with_ptx(text, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let definitions = super::Definitions::new(body);
            let read = |reader: usize| {
                let reader = InstructionId::new(reader);
                let register = body.uses(body.instruction(reader))[0].register().unwrap();
                definitions
                    .last_writer_before(body, register, reader)
                    .map(|id| id.index())
            };
            // The second of two; one that a guard may skip; the only one, in another block.
            assert_eq!([read(2), read(4), read(5)], [Some(1), None, Some(2)]);
        });
    }

    #[test]
    fn writes_are_in_the_order_of_the_input() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n\
            .reg .b32 %r<4>;\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r1, %r3;\nmov.u32 %r2, 4;\n\
            mov.u32 %r1, 5;\nmov.u32 %r0, 6;\nret;\n}\n";
        with_ptx(text, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let definitions = super::Definitions::new(body);
            let mut all: Vec<Vec<usize>> = (0..body.registers.len())
                .map(|number| definitions.writers_of(Register::new(number)))
                .map(|ids| ids.iter().map(|id| id.index()).collect())
                .collect();
            all.sort();
            assert_eq!(all, [vec![], vec![0, 2, 4], vec![1, 3], vec![5]]);
        });
    }
}
