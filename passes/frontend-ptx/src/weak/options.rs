//! Options of the compiler that a body shows.
//!
//! | option | with it | without it |
//! | --- | --- | --- |
//! | `-ftz=true` | `add.ftz.f32` | `add.f32` |
//! | `-prec-div=false` | `div.full.f32`, `div.approx.f32` | `div.rn.f32` |
//! | `-prec-sqrt=false` | `sqrt.approx.f32` | `sqrt.rn.f32` |
//! | `-fmad=false` | `add.rn.f32`, `mul.rn.f32`, and no other | `fma.rn.f32`, `add.f32`, `mul.f32` |
//! | `-O0` | kernels access memory by generic addresses | by those that `cvta.to.global` makes |
//! | `-O0` (clang) | parameters are stored to the stack | they stay in registers |
//!
//! As nvcc 13.5 and clang 22 write it. Functions of the libraries use `ex2.approx.ftz` with all options, and sources may request any of
//! these, so a module with instructions of both columns proves nothing.

use super::words::Words;
use ptxcheck_ir::facts::CompilerOptions;

/// True if the kernels of a module, whose bodies these are, show that it was not optimised; `None` where they do not show it.
pub(super) fn is_unoptimised<'t>(kernels: impl Iterator<Item = &'t [u8]>) -> Option<bool> {
    let mut is_generic = false;
    for body in kernels {
        if memchr::memmem::find(body, b"cvta.to.global.").is_some() {
            return Some(false);
        }
        is_generic = is_generic || Words(body).any(is_generic_access);
    }
    is_generic.then_some(true)
}

/// `ld.u32` and `st.v2.f32`, but not `ld.global.u32`.
fn is_generic_access(word: &[u8]) -> bool {
    let operands = word.strip_prefix(b"ld.").or_else(|| word.strip_prefix(b"st."));
    let mut parts = operands.unwrap_or_default().split(|byte| *byte == b'.');
    parts.all(|part| matches!(part, [b'b' | b'u' | b's' | b'f' | b'v', digits @ ..] if digits.iter().all(u8::is_ascii_digit) && !digits.is_empty()))
}

/// The evidence for one option: its effect, and the effect of its absence.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    with: bool,
    without: bool,
}

impl Seen {
    fn note(&mut self, is_with: bool) {
        self.with |= is_with;
        self.without |= !is_with;
    }

    fn answer(self) -> Option<bool> {
        (self.with != self.without).then_some(self.with)
    }
}

/// The evidence for options in the words of a body, so far.
#[derive(Debug, Default)]
pub(super) struct Evidence<'t> {
    flush: Seen,
    divide: Seen,
    root: Seen,
    explicit: Seen,
    fuses: bool,
    /// The registers that parameters were loaded to.
    parameters: Vec<&'t [u8]>,
    /// The number of them that were stored to the stack.
    stored: usize,
    /// The first words of the instruction that is being read.
    statement: Vec<&'t [u8]>,
}

/// Words of an instruction that are compared.
const STATEMENT_WORDS: usize = 16;

/// Most parameters of a function that are compared.
const PARAMETERS: usize = 64;

impl<'t> Evidence<'t> {
    /// The next word.
    pub(super) fn see(&mut self, word: &'t [u8]) {
        if word == b":" {
            self.statement.clear();
        } else if self.statement.len() < STATEMENT_WORDS {
            self.statement.push(word);
        }
    }

    /// The end of an instruction.
    pub(super) fn end(&mut self) {
        let mut statement = std::mem::take(&mut self.statement);
        let is_opcode = |word: &&[u8]| word.first().is_some_and(u8::is_ascii_lowercase);
        if let Some(at) = statement.iter().position(is_opcode) {
            self.arithmetic(statement[at]);
            self.parameter(&statement[at..]);
        }
        statement.clear();
        self.statement = statement;
    }

    fn arithmetic(&mut self, opcode: &[u8]) {
        let mut parts = opcode.split(|byte| *byte == b'.');
        let name = parts.next().unwrap_or_default();
        let has = |part: &[u8]| opcode.split(|byte| *byte == b'.').any(|other| other == part);
        let (is_single, is_double) = (opcode.ends_with(b".f32"), opcode.ends_with(b".f64"));
        match name {
            b"add" | b"sub" | b"mul" if is_single || is_double => {
                let rounds = [&b"rn"[..], b"rz", b"rm", b"rp"].iter().any(|part| has(part));
                self.explicit.note(rounds);
            }
            b"fma" if is_single || is_double => self.fuses = true,
            b"div" if is_single => self.divide.note(has(b"full") || has(b"approx")),
            b"sqrt" if is_single => self.root.note(has(b"approx")),
            _ => {}
        }
        if is_single && [&b"add"[..], b"sub", b"mul", b"fma", b"div", b"sqrt", b"setp"].contains(&name) {
            self.flush.note(has(b"ftz"));
        }
    }

    fn parameter(&mut self, words: &[&'t [u8]]) {
        match words {
            [opcode, register, b",", b"[", name, ..]
                if opcode.starts_with(b"ld.param.")
                    && memchr::memmem::find(name, b"_param_").is_some()
                    && self.parameters.len() < PARAMETERS =>
            {
                self.parameters.push(register);
            }
            [opcode, b"[", b"%SP" | b"%SPL", .., register] if opcode.starts_with(b"st.") => {
                self.stored += usize::from(self.parameters.contains(register));
            }
            _ => {}
        }
    }

    /// The conclusion from all of it.
    pub(super) fn options(&self) -> CompilerOptions {
        let loaded = self.parameters.len();
        let is_unoptimised = match self.stored {
            _ if loaded == 0 => None,
            0 => Some(false),
            stored => (2 * stored >= loaded).then_some(true),
        };
        let fuses_nothing = match self.explicit.answer() {
            Some(true) => Some(true),
            Some(false) => Some(false),
            // All was fused.
            None if !self.explicit.with && self.fuses => Some(false),
            None => None,
        };
        CompilerOptions {
            flushes_denormals: self.flush.answer(),
            divides_roughly: self.divide.answer(),
            takes_rough_roots: self.root.answer(),
            fuses_nothing,
            is_unoptimised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use ptxcheck_ir::facts::CompilerOptions;

    fn options(body: &str) -> CompilerOptions {
        read(body.as_bytes()).options
    }

    #[test]
    fn what_shows_both_ways_shows_nothing() {
        let precise =
            options("{ add.f32 %f1, %f2, %f3; ex2.approx.ftz.f32 %f1, %f2; div.rn.f32 %f1, %f1, %f2; }");
        assert_eq!(precise.flushes_denormals, Some(false));
        assert_eq!(precise.divides_roughly, Some(false));
        assert_eq!(precise.takes_rough_roots, None);
        assert_eq!(precise.fuses_nothing, Some(false));
        let fast = options("{ @%p1 add.ftz.f32 %f1, %f2, %f3; L: div.approx.ftz.f32 %f1, %f1, %f2; }");
        assert_eq!(fast.flushes_denormals, Some(true));
        assert_eq!(fast.divides_roughly, Some(true));
        let both = options("{ add.ftz.f32 %f1, %f2, %f3; add.rn.f32 %f1, %f2, %f3; }");
        assert_eq!((both.flushes_denormals, both.fuses_nothing), (None, None));
        assert_eq!(
            options("{ fma.rn.f32 %f1, %f2, %f3, %f4; }").fuses_nothing,
            Some(false)
        );
        let unfused = options("{ mul.rn.f32 %f1, %f2, %f3; add.rn.f32 %f1, %f1, %f4; }");
        assert_eq!(unfused.fuses_nothing, Some(true));
        assert_eq!(options("{ add.s32 %r1, %r2, 1; }"), CompilerOptions::default());
    }

    #[test]
    fn unoptimised_kernels_use_generic_addresses() {
        let of = |bodies: &[&'static str]| super::is_unoptimised(bodies.iter().map(|body| body.as_bytes()));
        let (generic, global) = (
            "{ ld.u32 %r1, [%rd1+4]; }",
            "{ cvta.to.global.u64 %rd2, %rd1; st.v2.f32 [%rd3], {%f1, %f2}; }",
        );
        assert_eq!(of(&[generic]), Some(true));
        assert_eq!(of(&["{ st.v2.f32 [%rd3], {%f1, %f2}; }"]), Some(true));
        assert_eq!(of(&[generic, global]), Some(false));
        assert_eq!(
            of(&["{ ld.param.u64 %rd1, [k_param_0]; st.shared.u32 [%r1], %r2; }"]),
            None
        );
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn unoptimised_code_stores_its_parameters() {
        let load = "ld.param.b32 %r1, [f_param_0]; ld.param.b64 %rd1, [f_param_1];";
        let of = |rest: &str| options(&format!("{{ {load} {rest} }}")).is_unoptimised;
        assert_eq!(of("st.b32 [%SP+8], %r1; st.b64 [%SP], %rd1;"), Some(true));
        assert_eq!(of("st.global.b32 [%rd1], %r1;"), Some(false));
        assert_eq!(options("{ ld.param.b32 %r1, [retval0]; }").is_unoptimised, None);
    }
}
