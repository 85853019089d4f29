//! Small modules that pass pointers about, as PTX text. Equal seeds make equal modules.
//!
//! A kernel and up to three functions keep pointers in `%a`, numbers in `%n` and predicates in `%p`. Pointers come with
//! numbers that say what they are, as a tag or a count does; accesses stand after tests of numbers, of pointers and of spaces; loops copy a
//! pointer into another for the next round.

use std::fmt::Write as _;

/// Random numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `bound`.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub const fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub const fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const POINTERS: usize = 6;
const NUMBERS: usize = 4;
const PREDICATES: usize = 3;

/// Variables and their spaces.
const VARIABLES: [(&str, &str); 4] = [("g", "global"), ("s", "shared"), ("d", "local"), ("c", "const")];
const SPACES: [&str; 3] = ["global", "shared", "local"];
const OFFSETS: [&str; 6] = ["0", "0", "8", "16", "24", "40"];

/// A body that is being written.
struct Writer {
    random: Random,
    text: String,
    labels: usize,
    /// Functions that may be called: those with lower numbers.
    callees: usize,
    /// Statements that may still be written.
    left: usize,
}

/// The text of a module with a kernel `k`.
pub fn module(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .global .align 8 .b8 g[64];\n\
         .visible .global .align 8 .b64 slot;\n.shared .align 8 .b8 s[64];\n.visible .const .align 8 .b8 c[64];\n",
    );
    let functions = random.below(4);
    for number in 0..=functions {
        let is_kernel = number == functions;
        let params = format!("(.param .b64 x{number}, .param .b64 y{number}, .param .b32 z{number})");
        let head = if is_kernel {
            format!(".visible .entry k{params}")
        } else {
            format!(".func (.param .b64 r) f{number}{params}")
        };
        let mut writer = Writer {
            random: Random::new(random.next()),
            text: String::new(),
            labels: 0,
            callees: number,
            left: if is_kernel { 14 } else { 8 },
        };
        writer.start(number);
        writer.block(3);
        let back = if is_kernel {
            String::new()
        } else {
            format!("st.param.b64 [r], {};\n", writer.pointer())
        };
        let _ = writeln!(text, "{head}\n{{\n{}{back}ret;\n}}", writer.text);
    }
    text
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn pointer(&mut self) -> String {
        format!("%a{}", self.random.below(POINTERS))
    }

    fn number(&mut self) -> String {
        format!("%n{}", self.random.below(NUMBERS))
    }

    fn predicate(&mut self) -> String {
        format!("%p{}", self.random.below(PREDICATES))
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    /// Declarations, and something in each register. Now and then one is left without.
    fn start(&mut self, number: usize) {
        self.line(&format!(
            ".reg .b64 %a<{POINTERS}>, %t;\n.reg .b32 %n<{NUMBERS}>, %h;\n.reg .pred %p<{PREDICATES}>, %q;\n\
             .local .align 8 .b8 d[64];\n.local .align 8 .b64 kept;"
        ));
        self.line(&format!(
            "ld.param.u64 %a0, [x{number}];\nld.param.u64 %a1, [y{number}];"
        ));
        for register in 2..POINTERS {
            if !self.random.chance(40) {
                self.assign_pointer(&format!("%a{register}"));
            }
        }
        self.line(&format!("ld.param.u32 %n0, [z{number}];"));
        for register in 1..NUMBERS {
            self.assign_number(&format!("%n{register}"));
        }
        for register in 0..PREDICATES {
            self.test(&format!("%p{register}"));
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 13 } else { 18 }) {
            0 | 1 => {
                let to = self.pointer();
                self.assign_pointer(&to);
            }
            2 => {
                let to = self.number();
                self.assign_number(&to);
            }
            3 => {
                let to = self.predicate();
                self.test(&to);
            }
            4 => self.arithmetic(),
            5 | 6 => self.access(),
            7 | 8 => self.cast_and_access(),
            9 => self.keep(),
            10 | 11 if self.callees > 0 => self.call(),
            10 | 11 => self.cast_and_access(),
            12 => self.by_argument(),
            13..=15 => self.choice(depth),
            16 => self.round(depth),
            _ => self.told(depth),
        }
    }

    /// The address of a variable, as it is or generic; what is passed; null; a copy.
    fn assign_pointer(&mut self, to: &str) {
        let (variable, space) = self.random.pick(&VARIABLES);
        let line = match self.random.below(10) {
            0 => format!("mov.u64 {to}, {variable};"),
            1..=5 => format!("mov.u64 {to}, {variable};\ncvta.{space}.u64 {to}, {to};"),
            6 => format!("mov.u64 {to}, 0;"),
            7 => format!("mov.u64 {to}, %a{};", self.random.below(2)),
            8 => format!("mov.u64 {to}, {};", self.pointer()),
            _ => {
                let (one, other, predicate) = (self.pointer(), self.pointer(), self.predicate());
                if self.random.chance(2) {
                    format!("selp.b64 {to}, {one}, {other}, {predicate};")
                } else {
                    format!("@{predicate} mov.u64 {to}, {one};")
                }
            }
        };
        self.line(&line);
    }

    fn assign_number(&mut self, to: &str) {
        let line = match self.random.below(6) {
            0 | 1 => format!("mov.u32 {to}, {};", self.random.below(4)),
            2 => format!(
                "mov.u32 {to}, {};",
                self.random.pick(&["%tid.x", "%ctaid.x", "%cluster_ctarank"])
            ),
            3 => format!("ld.global.u32 {to}, [g+{}];", self.random.pick(&OFFSETS)),
            4 => format!("and.b32 {to}, {}, {};", self.number(), self.random.below(4)),
            _ => format!("add.s32 {to}, {}, {};", self.number(), self.random.below(3)),
        };
        self.line(&line);
    }

    /// Writes a predicate.
    fn test(&mut self, to: &str) {
        let (number, pointer) = (self.number(), self.pointer());
        let relation = self.random.pick(&["eq", "ne", "lt", "ge", "gt"]);
        let line = match self.random.below(8) {
            0..=2 => format!("setp.{relation}.s32 {to}, {number}, {};", self.random.below(3)),
            3 => format!(
                "and.b32 %h, {number}, {};\nsetp.ne.s32 {to}, %h, 0;",
                1 + self.random.below(2)
            ),
            4 => format!("setp.{}.u64 {to}, {pointer}, 0;", self.random.pick(&["eq", "ne"])),
            5 => format!(
                "setp.{}.u64 {to}, {pointer}, {};",
                self.random.pick(&["eq", "ne", "lt"]),
                self.pointer()
            ),
            _ => format!("isspacep.{}.u64 {to}, {pointer};", self.random.pick(&SPACES)).replace(".u64", ""),
        };
        self.line(&line);
    }

    fn arithmetic(&mut self) {
        let (to, from, other) = (self.pointer(), self.pointer(), self.pointer());
        let offset = self.random.pick(&OFFSETS);
        let line = match self.random.below(9) {
            0..=2 => format!("add.s64 {to}, {from}, {offset};"),
            3 => format!(
                "sub.s64 %t, {from}, {other};\nadd.s64 {to}, %t, {};",
                self.pointer()
            ),
            4 => format!(
                "xor.b64 %t, {from}, {other};\nxor.b64 {to}, %t, {};",
                self.pointer()
            ),
            5 => format!(
                "sub.s64 %t, {from}, {other};\nshr.s64 %t, %t, 3;\nst.global.u64 [slot], %t;\n\
                 ld.global.u64 %t, [slot];\nshl.b64 %t, %t, 3;\nadd.s64 {to}, %t, {other};"
            ),
            6 => format!("or.b64 {to}, {from}, 1;\nand.b64 {to}, {to}, -2;"),
            7 => format!("cvt.u32.u64 %h, {from};\ncvt.u64.u32 {to}, %h;"),
            _ => {
                let rank = self.random.below(2);
                format!("mapa.u64 {to}, {from}, {rank};")
            }
        };
        self.line(&line);
    }

    /// An access through `at`, of some kind.
    fn accessed(&mut self, at: &str, space: &str) -> String {
        let offset = self.random.pick(&OFFSETS);
        let other = self.number();
        match self.random.below(6) {
            0 | 1 if space != ".const" => format!("st{space}.u32 [{at}+{offset}], {other};"),
            2 if space != ".const" && space != ".local" => {
                format!("atom{space}.add.u32 %h, [{at}+{offset}], 1;")
            }
            3 => format!("ld{space}.u64 %t, [{at}+{offset}];"),
            _ => format!("ld{space}.u32 {other}, [{at}+{offset}];"),
        }
    }

    fn access(&mut self) {
        let at = self.pointer();
        let space = self
            .random
            .pick(&["", "", "", ".global", ".shared", ".local", ".const"]);
        let access = self.accessed(&at, space);
        let guard = match self.random.below(5) {
            0 => format!("@{} ", self.predicate()),
            1 => format!("@!{} ", self.predicate()),
            _ => String::new(),
        };
        self.line(&format!("{guard}{access}"));
    }

    /// A cast to a space, and mostly an access through it, perhaps after a test between the two.
    fn cast_and_access(&mut self) {
        let (to, from) = (self.pointer(), self.pointer());
        let space = self.random.pick(&SPACES);
        let access = self.accessed(&to, &format!(".{space}"));
        let cast = format!("cvta.to.{space}.u64 {to}, {from};");
        match self.random.below(5) {
            0 => self.line(&cast),
            1 => {
                let (over, predicate) = (self.label(), self.predicate());
                self.line(&format!("{cast}\n@{predicate} bra {over};\n{access}\n{over}:"));
            }
            2 => {
                let over = self.label();
                self.line(&cast);
                self.test("%q");
                self.line(&format!("@%q bra {over};\n{access}\n{over}:"));
            }
            _ => self.line(&format!("{cast}\n{access}")),
        }
    }

    /// A pointer is kept in memory, or comes from there.
    fn keep(&mut self) {
        let pointer = self.pointer();
        let (space, name) = self.random.pick(&[
            ("local", "kept"),
            ("local", "kept"),
            ("global", "slot"),
            ("shared", "s"),
        ]);
        let line = if self.random.chance(2) {
            format!("st.{space}.u64 [{name}], {pointer};")
        } else {
            format!("ld.{space}.u64 {pointer}, [{name}];")
        };
        self.line(&line);
    }

    fn call(&mut self) {
        let callee = self.random.below(self.callees);
        let (one, other, to) = (self.pointer(), self.pointer(), self.pointer());
        let number = if self.random.chance(2) {
            self.number()
        } else {
            self.random.below(3).to_string()
        };
        // A pointer of its own, as often as not.
        let one = if self.random.chance(2) {
            let (variable, space) = self.random.pick(&VARIABLES);
            let null = if self.random.chance(4) {
                "mov.u64 %t, 0;\n"
            } else {
                ""
            };
            self.line(&format!(
                "mov.u64 %t, {variable};\ncvta.{space}.u64 %t, %t;\n{null}"
            ));
            "%t".to_owned()
        } else {
            one
        };
        self.line(&format!(
            "{{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 back;\nst.param.b64 [x], {one};\n\
             st.param.b64 [y], {other};\nst.param.b32 [z], {number};\ncall.uni (back), f{callee}, (x, y, z);\n\
             ld.param.b64 {to}, [back]; }}"
        ));
    }

    /// An access to what is passed, as the number says that is passed beside it.
    fn by_argument(&mut self) {
        let over = self.label();
        let space = self.random.pick(&SPACES);
        let access = match self.random.below(3) {
            0 => self.accessed("%a0", ""),
            _ => format!(
                "cvta.to.{space}.u64 %t, %a0;\n{}",
                self.accessed("%t", &format!(".{space}"))
            ),
        };
        let test = match self.random.below(3) {
            0 => format!(
                "and.b32 %h, %n0, {};\nsetp.eq.s32 %q, %h, 0;",
                1 + self.random.below(2)
            ),
            _ => {
                let relation = self.random.pick(&["eq", "ne", "lt", "ge", "gt"]);
                format!("setp.{relation}.s32 %q, %n0, {};", self.random.below(3))
            }
        };
        self.line(&format!("{test}\n@%q bra {over};\n{access}\n{over}:"));
    }

    fn choice(&mut self, depth: usize) {
        let predicate = if self.random.chance(3) {
            self.predicate()
        } else {
            self.test("%q");
            "%q".to_owned()
        };
        let (no, end) = (self.label(), self.label());
        let negated = self.random.pick(&["", "!"]);
        self.line(&format!("@{negated}{predicate} bra {no};"));
        self.block(depth - 1);
        if self.random.chance(2) {
            self.line(&format!("bra.uni {end};\n{no}:"));
            self.block(depth - 1);
            self.line(&format!("{end}:"));
        } else {
            self.line(&format!("{no}:"));
        }
        if self.random.chance(12) {
            self.line(
                &format!("@{predicate} ret;").replace("ret", if self.callees > 0 { "exit" } else { "ret" }),
            );
        }
    }

    /// A loop of at most three rounds, which ends with copies for the next.
    fn round(&mut self, depth: usize) {
        let (head, end) = (self.label(), self.label());
        let count = format!("%i{}", self.labels);
        let bound = self.number();
        let rounds = 1 + self.random.below(3);
        self.line(&format!(".reg .b32 {count};\nmov.u32 {count}, 0;\n{head}:"));
        let is_bounded = self.random.chance(2);
        if is_bounded {
            self.line(&format!("setp.ge.s32 %q, {count}, {bound};\n@%q bra {end};"));
        }
        self.block(depth - 1);
        for _ in 0..self.random.below(3) {
            let (to, from) = (self.pointer(), self.pointer());
            self.line(&format!("mov.u64 {to}, {from};"));
        }
        self.line(&format!(
            "add.s32 {count}, {count}, 1;\nsetp.lt.s32 %q, {count}, {rounds};\n@%q bra {head};\n{end}:"
        ));
    }

    /// A pointer and a number that says which space it points into, then an access by what the number says.
    fn told(&mut self, depth: usize) {
        let (pointer, number, predicate) = (self.pointer(), self.number(), self.predicate());
        let (yes, end) = (self.label(), self.label());
        let (first, second) = (self.random.pick(&VARIABLES), self.random.pick(&VARIABLES));
        self.line(&format!(
            "@{predicate} bra {yes};\nmov.u64 {pointer}, {0};\ncvta.{1}.u64 {pointer}, {pointer};\nmov.u32 {number}, 0;\n\
             bra.uni {end};\n{yes}:\nmov.u64 {pointer}, {2};\ncvta.{3}.u64 {pointer}, {pointer};\nmov.u32 {number}, 1;\n{end}:",
            first.0, first.1, second.0, second.1
        ));
        if depth > 1 && self.random.chance(2) {
            self.block(depth - 1);
        }
        let over = self.label();
        let space = second.1;
        let access = self.accessed("%t", &format!(".{space}"));
        let relation = self.random.pick(&["eq", "lt"]);
        self.line(&format!(
            "setp.{relation}.s32 %q, {number}, 1;\n@%q bra {over};\ncvta.to.{space}.u64 %t, {pointer};\n{access}\n{over}:"
        ));
    }
}
