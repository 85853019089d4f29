//! Machine code of kernels: those that have no body, and those that wait for other grids.
//!
//! From sm_70 on an instruction is a word of 16 bytes: the operation in bits 0 to 11, the predicate that guards it in bits 12 to
//! 14 (7: always), its negation in bit 15, and the register that it writes, where it writes one, in bits 16 to 23. `EXIT` has a
//! predicate of its own in bits 87 to 90. A compiler leaves of a kernel without a body some instructions that only write
//! registers, then `EXIT`, or `BPT` and an endless loop for a trap.

use ptxcheck_ir::facts::Stub;

use super::super::bytes::u64_at;

/// The first architecture whose instructions have 16 bytes.
const FIRST_ENCODED_SO: u32 = 70;

const WORD_BYTES: usize = 16;

const EXIT: u16 = 0x94d;
const BPT: u16 = 0x95c;
const NOP: u16 = 0x918;
const BRA: u16 = 0x947;

/// Operations that only write registers: `MOV`, `UMOV` and loads of constants (`LDC`, `ULDC`, `LDCU`, and `IMAD.MOV` with a
/// constant), in each of their forms. Without `-G` they set up the stack pointer, `R1`.
const WRITES_REGISTERS: [u16; 9] = [0x202, 0x802, 0xa02, 0xc02, 0x882, 0x624, 0xb82, 0xab9, 0x7ac];

/// Operations that only order accesses, without accesses before them: `MEMBAR`, `ERRBAR` and `CGAERRBAR`, which nvcc puts
/// before each `EXIT` with `-G`.
const ORDERS_ACCESSES: [u16; 3] = [0x992, 0x9ab, 0x5ab];

/// `ACQBULK`, which ptxas 13.5 writes for `griddepcontrol.wait`, for sm_90 to sm_120.
const GRID_WAIT: u16 = 0x82e;

/// The first architecture that has it.
const FIRST_WITH_GRID_WAIT: u32 = 90;

/// The guard of instructions that are executed always, and of those that never are.
const ALWAYS: u64 = 0x7;
const NEVER: u64 = 0xf;

/// The kernel whose machine code for `sm_NN` this is, if it has no body. The code of `-G` that traps is not told from a breakpoint.
pub(super) fn stub(sm: u32, code: &[u8]) -> Option<Stub> {
    if sm < FIRST_ENCODED_SO {
        return None;
    }
    let mut words = code.chunks_exact(WORD_BYTES).filter_map(Word::read);
    let first = words.find(|word| !word.is_idle())?;
    if first.guard != ALWAYS {
        return None;
    }
    match first.operation {
        EXIT if first.exit_condition == ALWAYS => Some(Stub::Returning),
        // After a breakpoint the code goes on, after a trap there is a loop that is never entered.
        BPT if words.all(|word| [BRA, NOP].contains(&word.operation)) => Some(Stub::Trapping),
        _ => None,
    }
}

/// True if machine code for `sm_NN` waits for the grids that its own depends on; `None` for an architecture without that.
pub(super) fn waits_for_grids(sm: u32, code: &[u8]) -> Option<bool> {
    let mut words = code.chunks_exact(WORD_BYTES).filter_map(Word::read);
    (sm >= FIRST_WITH_GRID_WAIT).then(|| words.any(|word| word.operation == GRID_WAIT))
}

/// The parts of an instruction that are analysed.
struct Word {
    operation: u16,
    guard: u64,
    exit_condition: u64,
}

impl Word {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (low, high) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
        Some(Self {
            operation: (low & 0xfff) as u16,
            guard: low >> 12 & 0xf,
            exit_condition: high >> (87 - 64) & 0xf,
        })
    }

    /// True if nothing but registers is different after it.
    fn is_idle(&self) -> bool {
        self.guard == NEVER
            || self.operation == NOP
            || WRITES_REGISTERS.contains(&self.operation)
            || ORDERS_ACCESSES.contains(&self.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instruction that is guarded by `guard`; the predicate of `EXIT` is the one that is always true.
    fn word(operation: u64, guard: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(operation | guard << 12).to_le_bytes());
        bytes[8..].copy_from_slice(&(ALWAYS << 23).to_le_bytes());
        bytes
    }

    fn code(words: &[(u64, u64)]) -> Vec<u8> {
        words
            .iter()
            .flat_map(|(operation, guard)| word(*operation, *guard))
            .collect()
    }

    /// Operations and their guards.
    type Words<'a> = &'a [(u64, u64)];

    const MOV: (u64, u64) = (0xa02, ALWAYS);
    const LDC: (u64, u64) = (0xb82, ALWAYS);
    const SHFL: u64 = 0x389;
    const STG: (u64, u64) = (0x986, ALWAYS);
    const TRAP: (u64, u64) = (BPT as u64, ALWAYS);
    const RETURN: (u64, u64) = (EXIT as u64, ALWAYS);
    const LOOP: (u64, u64) = (BRA as u64, ALWAYS);
    const PADDING: (u64, u64) = (NOP as u64, ALWAYS);

    #[test]
    fn waits_for_grids_are_found_where_there_can_be_some() {
        let waiting = code(&[LDC, (GRID_WAIT.into(), ALWAYS), STG, RETURN]);
        let other = code(&[LDC, STG, RETURN]);
        assert_eq!(waits_for_grids(90, &waiting), Some(true));
        assert_eq!(waits_for_grids(120, &waiting), Some(true));
        assert_eq!(waits_for_grids(90, &other), Some(false));
        assert_eq!(waits_for_grids(80, &other), None);
    }

    #[test]
    fn what_is_executed_first_says_what_a_kernel_is() {
        let cases: &[(Words<'_>, Option<Stub>)] = &[
            (&[MOV, RETURN, LOOP, PADDING], Some(Stub::Returning)),
            (&[LDC, RETURN, LOOP, PADDING], Some(Stub::Returning)),
            (&[RETURN], Some(Stub::Returning)),
            (&[(SHFL, NEVER), MOV, RETURN], Some(Stub::Returning)),
            (
                &[MOV, (0x992, ALWAYS), (0x9ab, ALWAYS), RETURN],
                Some(Stub::Returning),
            ),
            (&[LDC, TRAP, LOOP, PADDING], Some(Stub::Trapping)),
            // A breakpoint, after which the kernel goes on.
            (&[LDC, TRAP, STG, RETURN, LOOP], None),
            (&[LDC, TRAP, RETURN, LOOP], None),
            // Some threads return.
            (&[MOV, (EXIT.into(), 0), STG, RETURN], None),
            (&[MOV, (EXIT.into(), 8), STG, RETURN], None),
            (&[MOV, (BPT.into(), 0), LOOP], None),
            (&[MOV, STG, RETURN], None),
            (&[MOV, LOOP, RETURN], None),
            (&[(SHFL, ALWAYS), RETURN], None),
            (&[], None),
            (&[MOV, MOV], None),
        ];
        for (words, expected) in cases {
            assert_eq!(stub(90, &code(words)), *expected, "{words:x?}");
            assert_eq!(stub(61, &code(words)), None);
        }
    }

    #[test]
    fn an_exit_with_a_condition_is_none() {
        let mut bytes = code(&[MOV, RETURN, STG, RETURN]);
        assert_eq!(stub(80, &bytes), Some(Stub::Returning));
        bytes[24..32].copy_from_slice(&(2_u64 << 23).to_le_bytes());
        assert_eq!(stub(80, &bytes), None);
    }

    #[test]
    fn half_a_word_is_no_instruction() {
        let bytes = code(&[MOV, RETURN]);
        for length in 0..32 {
            assert_eq!(stub(80, &bytes[..length]), None, "{length}");
        }
        assert_eq!(stub(80, &bytes), Some(Stub::Returning));
    }
}
