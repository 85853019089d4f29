//! Registers for which all definitions reach all readers, found without solving reaching definitions.
//!
//! ```text
//! meets(r) = there is one block b such that each definition of r is the only one in its block, unguarded, reached, and
//!            b is the only successor of that block; and the readers of r are in b, before a definition of r there
//! ```
//!
//! A phi becomes copies in this form: one on each edge, and one at the start of the block where they meet.

use rustc_hash::FxHashMap;

use super::reaching::Definition;
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{BlockId, Body, InstructionId, Register};

/// The region in which all definitions of a register reach its readers: this block, up to this instruction.
#[derive(Clone, Copy)]
struct MeetingPoint {
    block: BlockId,
    end: InstructionId,
}

/// The registers among `asked` whose definitions meet before all their readers.
pub(super) fn registers_meeting_early<'d>(
    body: &Body<'_>,
    cfg: &Cfg,
    asked: impl Iterator<Item = (Register, &'d [Definition])>,
) -> Vec<Register> {
    let mut points: FxHashMap<Register, MeetingPoint> = FxHashMap::default();
    let mut is_asked = vec![false; body.registers.len()];
    for (register, definitions) in asked {
        if let Some(point) = meeting_point(body, cfg, definitions) {
            is_asked[register.index()] = true;
            points.insert(register, point);
        }
    }
    if points.is_empty() {
        return Vec::new();
    }
    let mut read = |register: Register, block: BlockId, at: InstructionId| {
        if is_asked[register.index()]
            && points
                .get(&register)
                .is_some_and(|point| point.block != block || at > point.end)
        {
            is_asked[register.index()] = false;
            points.remove(&register);
        }
    };
    for number in 0..body.blocks.len() {
        let block = BlockId::new(number);
        for (at, instruction) in body.block(block) {
            if let Some(guard) = instruction.guard {
                read(guard.register, block, at);
            }
            for register in body.uses(instruction).iter().filter_map(|value| value.register()) {
                read(register, block, at);
            }
        }
    }
    for call in &body.calls {
        let arguments = body.arguments(call).iter();
        for register in arguments.filter_map(|argument| argument.value.register()) {
            read(register, body.block_of(call.instruction), call.instruction);
        }
    }
    points.into_keys().collect()
}

/// The block where definitions meet, up to the first definition in it.
fn meeting_point(body: &Body<'_>, cfg: &Cfg, definitions: &[Definition]) -> Option<MeetingPoint> {
    let mut met = None;
    let mut last = None;
    for definition in definitions {
        let block = body.block_of(definition.at);
        let &[next] = body.successors(block) else {
            return None;
        };
        let is_first = last != Some(block) && met.is_none_or(|known| known == next);
        if definition.is_partial || !is_first || cfg.rank(block).is_none() {
            return None;
        }
        (met, last) = (Some(next), Some(block));
    }
    let block = met?;
    let own = definitions
        .iter()
        .map(|definition| definition.at)
        .find(|&at| body.block_of(at) == block);
    let end = body.blocks[block.index()].instructions.end as usize;
    Some(MeetingPoint {
        block,
        end: own.unwrap_or(InstructionId::new(end)),
    })
}

#[cfg(test)]
mod tests {
    use super::registers_meeting_early;
    use crate::provenance::reaching::Definition;
    use crate::testing::with_ptx;
    use ptxcheck_ir::{FunctionId, Register};

    /// True if the definitions of `%r0` in this code of a kernel meet before all its readers.
    fn definitions_meet_before_readers(code: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n\
             .reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n{code}\n}}\n"
        );
        with_ptx(&text, |context| {
            let function = context.function(FunctionId::new(0));
            let body = context.module.functions[0].body.as_ref();
            let body = body.unwrap_or_else(|| panic!("{text}"));
            let named = |register: &Register| {
                let name = body.registers.name(*register);
                &text[name.start as usize..name.end as usize] == "%r0"
            };
            let register = (0..body.registers.len()).map(Register::new).find(named);
            let register = register.unwrap_or_else(|| panic!("{text}"));
            let definitions: Vec<Definition> = function
                .definitions()
                .writers_of(register)
                .iter()
                .map(|&at| Definition {
                    at,
                    is_partial: body.instruction(at).guard.is_some(),
                })
                .collect();
            let asked = [(register, definitions.as_slice())];
            registers_meeting_early(body, function.cfg(), asked.into_iter()) == [register]
        })
    }

    #[test]
    fn copies_on_edges_meet_before_readers() {
        assert!(definitions_meet_before_readers(
            "@%p1 bra $B;\nmov.u32 %r0, 1;\nbra $C;\n$B:\nmov.u32 %r0, 2;\n$C:\nmov.u32 %r2, %r0;\nret;"
        ));
    }

    #[test]
    fn definitions_in_a_loop_that_reads_first_do_not_meet() {
        assert!(definitions_meet_before_readers(
            "mov.u32 %r0, 1;\n$L:\nadd.u32 %r2, %r0, 1;\nmov.u32 %r0, %r2;\nbra $L;"
        ));
        assert!(!definitions_meet_before_readers(
            "mov.u32 %r0, 1;\n$L:\nmov.u32 %r0, %r1;\nadd.u32 %r2, %r0, 1;\nbra $L;"
        ));
    }

    #[test]
    fn a_definition_on_one_path_alone_does_not_meet() {
        // Read where only one of the two definitions exists.
        assert!(!definitions_meet_before_readers(
            "@%p1 bra $B;\nmov.u32 %r0, 1;\nbra $C;\n$B:\nmov.u32 %r0, 2;\nmov.u32 %r2, %r0;\n$C:\nret;"
        ));
        // Written again after it has been read.
        assert!(!definitions_meet_before_readers(
            "mov.u32 %r0, 1;\nmov.u32 %r0, 2;\nbra $C;\n$C:\nmov.u32 %r2, %r0;\nret;"
        ));
        // Written under a guard.
        assert!(!definitions_meet_before_readers(
            "mov.u32 %r0, 1;\n@%p1 mov.u32 %r0, 2;\nbra $C;\n$C:\nmov.u32 %r2, %r0;\nret;"
        ));
        // The path from one definition leads elsewhere, too.
        assert!(!definitions_meet_before_readers(
            "mov.u32 %r0, 1;\n@%p1 bra $C;\nmov.u32 %r0, 2;\n$C:\nmov.u32 %r2, %r0;\nret;"
        ));
    }
}
