//! Which instructions write a register.

use crate::groups::Groups;
use crate::ir::{Body, InstructionId, Register};

/// The instructions that write each register, in the order of the input.
#[derive(Debug)]
pub struct Definitions {
    /// By register.
    written: Vec<Written>,
    /// What writes those that several write.
    several: Groups<InstructionId>,
}

/// What writes a register: most are written once.
#[derive(Clone, Copy, Debug)]
enum Written {
    Never,
    Once(InstructionId),
    /// Those with this number in [`Definitions::several`].
    Often(u32),
}

impl Definitions {
    /// Of `body`; time and memory are linear in it.
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
    #[must_use]
    pub fn of(&self, register: Register) -> &[InstructionId] {
        match &self.written[register.index()] {
            Written::Never => &[],
            Written::Once(id) => std::slice::from_ref(id),
            Written::Often(number) => self.several.of(*number as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Register;
    use crate::testing::with_ptx;

    #[test]
    fn writes_are_in_the_order_of_the_input() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n\
            .reg .b32 %r<4>;\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r1, %r3;\nmov.u32 %r2, 4;\n\
            mov.u32 %r1, 5;\nmov.u32 %r0, 6;\nret;\n}\n";
        with_ptx(text, |module| {
            let body = module.module.functions[0].body.as_ref().unwrap();
            let definitions = super::Definitions::new(body);
            let mut all: Vec<Vec<usize>> = (0..body.registers.len())
                .map(|number| definitions.of(Register::new(number)))
                .map(|ids| ids.iter().map(|id| id.index()).collect())
                .collect();
            all.sort();
            assert_eq!(all, [vec![], vec![0, 2, 4], vec![1, 3], vec![5]]);
        });
    }
}
