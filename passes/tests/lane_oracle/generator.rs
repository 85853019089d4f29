//! Small kernels with warp collectives under random control flow, as PTX text. Equal seeds make equal kernels.

use std::fmt::Write as _;

/// Random numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Variables that statements assign.
const VARIABLES: usize = 4;

struct Generator {
    random: Random,
    text: String,
    labels: usize,
    temporaries: usize,
    predicates: usize,
    left: usize,
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> String {
    let mut random = Random::new(seed);
    let target = if random.chance(12) { "sm_60" } else { "sm_90" };
    let left = 3 + random.below(9);
    let mut generator = Generator {
        random,
        text: String::new(),
        labels: 0,
        temporaries: 0,
        predicates: 0,
        left,
    };
    generator.prologue();
    generator.block(0);
    generator.line("ret;");
    let mut text = format!(
        ".version 8.0\n.target {target}\n.address_size 64\n\
         .func meet(.param .b32 meet_param_0)\n{{\n.reg .b32 %m;\nld.param.u32 %m, [meet_param_0];\nbar.warp.sync %m;\nret;\n}}\n\
         .visible .entry kernel(.param .u64 out, .param .u32 n, .param .u32 m)\n{{\n"
    );
    let _ = writeln!(text, ".reg .pred %p<{}>;", generator.predicates + 1);
    let _ = writeln!(text, ".reg .b32 %t<{}>;", generator.temporaries + 1);
    let _ = writeln!(text, ".reg .b32 %v<{VARIABLES}>;\n.reg .b64 %a<4>;");
    text.push_str(&generator.text);
    text.push_str("}\n");
    text
}

impl Generator {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%t{}", self.temporaries)
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%p{}", self.predicates)
    }

    fn variable(&mut self) -> String {
        format!("%v{}", self.random.below(VARIABLES))
    }

    fn prologue(&mut self) {
        self.line("ld.param.u64 %a0, [out];");
        for variable in 0..VARIABLES {
            let value = self.value();
            self.line(&format!("mov.b32 %v{variable}, {value};"));
        }
    }

    /// An operand that holds some number.
    fn value(&mut self) -> String {
        let result = self.temporary();
        match self.random.below(9) {
            0 | 1 => self.line(&format!("mov.u32 {result}, %tid.x;")),
            2 => self.line(&format!("mov.u32 {result}, %laneid;")),
            3 => self.line(&format!("ld.param.u32 {result}, [n];")),
            4 => {
                let (other, third) = (self.temporary(), self.temporary());
                self.line(&format!("mov.u32 {other}, %ctaid.x;"));
                self.line(&format!("mov.u32 {third}, %ntid.x;"));
                let fourth = self.temporary();
                self.line(&format!("mov.u32 {fourth}, %tid.x;"));
                self.line(&format!("mad.lo.s32 {result}, {other}, {third}, {fourth};"));
            }
            5 => {
                // Differs by lane in a way that nobody knows.
                let tid = self.temporary();
                self.line(&format!("mov.u32 {tid}, %tid.x;"));
                self.line(&format!("mad.wide.u32 %a1, {tid}, 4, %a0;"));
                let offset = self.random.below(4) * 128;
                self.line(&format!("ld.global.u32 {result}, [%a1+{offset}];"));
            }
            6 => {
                let number = self.random.below(40);
                self.line(&format!("mov.b32 {result}, {number};"));
            }
            7 => {
                let offset = 4096 + 4 * self.random.below(4);
                self.line(&format!("ld.global.u32 {result}, [%a0+{offset}];"));
            }
            _ => {
                let variable = self.variable();
                self.line(&format!("mov.b32 {result}, {variable};"));
            }
        }
        result
    }

    /// An operand computed from others.
    fn expression(&mut self) -> String {
        let value = self.value();
        let result = self.temporary();
        let number = *self.random.pick(&[1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 64]);
        let operation = self.random.below(12);
        match operation {
            0 => self.line(&format!("add.s32 {result}, {value}, {number};")),
            1 => self.line(&format!("and.b32 {result}, {value}, {number};")),
            2 => self.line(&format!("shr.u32 {result}, {value}, {};", number % 8)),
            3 => self.line(&format!("shl.b32 {result}, {value}, {};", number % 8)),
            4 => self.line(&format!("xor.b32 {result}, {value}, {number};")),
            5 => self.line(&format!("mul.lo.s32 {result}, {value}, {number};")),
            6 => self.line(&format!("sub.s32 {result}, {number}, {value};")),
            7 => self.line(&format!("rem.u32 {result}, {value}, {number};")),
            8 => {
                let other = self.value();
                self.line(&format!("add.s32 {result}, {value}, {other};"));
            }
            9 => {
                let (other, predicate) = (self.value(), self.condition());
                self.line(&format!("selp.b32 {result}, {value}, {other}, {predicate};"));
            }
            10 => self.line(&format!("or.b32 {result}, {value}, {number};")),
            _ => return value,
        }
        result
    }

    fn condition(&mut self) -> String {
        let predicate = self.predicate();
        let value = if self.random.chance(2) {
            self.value()
        } else {
            self.expression()
        };
        let comparison = *self.random.pick(&[
            "lt.u32", "ge.u32", "eq.s32", "ne.s32", "lt.s32", "gt.s32", "le.u32", "gt.u32",
        ]);
        let number = *self.random.pick(&[0, 1, 2, 4, 8, 15, 16, 17, 20, 31, 32, 48, 64]);
        self.line(&format!("setp.{comparison} {predicate}, {value}, {number};"));
        if self.random.chance(8) {
            let (both, other) = (self.predicate(), self.condition());
            let word = *self.random.pick(&["and", "or", "xor"]);
            self.line(&format!("{word}.pred {both}, {predicate}, {other};"));
            return both;
        }
        predicate
    }

    fn mask(&mut self) -> String {
        let constants = [
            "-1",
            "-1",
            "-1",
            "-1",
            "65535",
            "-2",
            "1",
            "0x55555555",
            "0xffff0000",
            "0x80008000",
            "3",
            "255",
            "0x0000fffe",
        ];
        let result = self.temporary();
        match self.random.below(12) {
            0 => {
                let (lane, half) = (self.temporary(), self.temporary());
                self.line(&format!("mov.u32 {lane}, %laneid;"));
                self.line(&format!("and.b32 {half}, {lane}, 16;"));
                self.line(&format!("shl.b32 {result}, 65535, {half};"));
            }
            1 => {
                let predicate = self.condition();
                self.line(&format!("vote.sync.ballot.b32 {result}, {predicate}, -1;"));
            }
            2 => self.line(&format!("activemask.b32 {result};")),
            3 => self.line(&format!("mov.u32 {result}, %lanemask_ge;")),
            4 => {
                let predicate = self.condition();
                let (a, b) = (*self.random.pick(&constants), *self.random.pick(&constants));
                self.line(&format!("selp.b32 {result}, {a}, {b}, {predicate};"));
            }
            5 => self.line(&format!("ld.param.u32 {result}, [m];")),
            _ => return (*self.random.pick(&constants)).to_owned(),
        }
        result
    }

    fn collective(&mut self) {
        let mask = self.mask();
        let result = self.variable();
        match self.random.below(9) {
            0 | 1 => self.line(&format!("bar.warp.sync {mask};")),
            2 => {
                let predicate = self.condition();
                self.line(&format!("vote.sync.ballot.b32 {result}, {predicate}, {mask};"));
            }
            3 => {
                let (value, source) = (self.value(), self.expression());
                self.line(&format!(
                    "shfl.sync.idx.b32 {result}, {value}, {source}, 31, {mask};"
                ));
            }
            4 => {
                let (value, source) = (self.value(), self.random.below(34));
                self.line(&format!(
                    "shfl.sync.idx.b32 {result}, {value}, {source}, 31, {mask};"
                ));
            }
            5 | 6 => {
                let value = self.value();
                let mode = *self.random.pick(&["down", "bfly", "up"]);
                let delta = 1 << self.random.below(5);
                let control = match (mode, self.random.chance(3)) {
                    ("up", false) => 0,
                    ("up", true) => 0x1000,
                    (_, false) => 31,
                    (_, true) => 0x101f,
                };
                self.line(&format!(
                    "shfl.sync.{mode}.b32 {result}, {value}, {delta}, {control}, {mask};"
                ));
            }
            7 => {
                self.line(&format!(
                    "{{\n.param .b32 p0;\nst.param.b32 [p0+0], {mask};\ncall.uni meet, (p0);\n}}"
                ));
            }
            _ => {
                let value = self.value();
                self.line(&format!("redux.sync.add.s32 {result}, {value}, {mask};"));
            }
        }
    }

    fn store(&mut self) {
        let value = self.variable();
        let offset = 4 * self.random.below(16);
        self.line(&format!("st.global.u32 [%a0+{offset}], {value};"));
    }

    fn block(&mut self, depth: usize) {
        let count = 1 + self.random.below(4);
        for _ in 0..count {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let nested = depth < 3;
        match self.random.below(14) {
            0..=3 => self.collective(),
            4 | 5 => self.store(),
            6 | 7 => {
                let (variable, value) = (self.variable(), self.expression());
                self.line(&format!("mov.b32 {variable}, {value};"));
            }
            8..=10 if nested => self.branch(depth),
            11 if nested => self.repeat(depth),
            12 if depth > 0 || self.random.chance(2) => {
                // An early end.
                let (predicate, after) = (self.condition(), self.label());
                self.line(&format!("@!{predicate} bra {after};"));
                if self.random.chance(3) {
                    self.store();
                }
                self.line("ret;");
                self.line(&format!("{after}:"));
            }
            13 => {
                let (predicate, mask) = (self.condition(), self.mask());
                self.line(&format!("@{predicate} bar.warp.sync {mask};"));
            }
            _ => self.collective(),
        }
    }

    fn branch(&mut self, depth: usize) {
        let (predicate, otherwise, end) = (self.condition(), self.label(), self.label());
        let has_else = self.random.chance(2);
        let sign = if self.random.chance(2) { "!" } else { "" };
        self.line(&format!("@{sign}{predicate} bra {otherwise};"));
        self.block(depth + 1);
        if has_else {
            self.line(&format!("bra.uni {end};"));
        }
        self.line(&format!("{otherwise}:"));
        if has_else {
            self.block(depth + 1);
            self.line(&format!("{end}:"));
        }
    }

    fn repeat(&mut self, depth: usize) {
        let (counter, head, end, predicate) =
            (self.temporary(), self.label(), self.label(), self.predicate());
        let start = if self.random.chance(2) {
            "0".to_owned()
        } else {
            self.value()
        };
        let step = *self.random.pick(&[1, 2, 8, 16, 32]);
        let bound = if self.random.chance(3) {
            self.value()
        } else {
            (*self.random.pick(&["2", "3", "16", "32", "64", "40"])).to_owned()
        };
        self.line(&format!("mov.b32 {counter}, {start};"));
        // No kernel runs long: a counter of its own bounds the rounds.
        let (fuel, spent) = (self.temporary(), self.predicate());
        self.line(&format!("mov.b32 {fuel}, 0;"));
        self.line(&format!("{head}:"));
        self.line(&format!("setp.ge.s32 {predicate}, {counter}, {bound};"));
        self.line(&format!("@{predicate} bra {end};"));
        self.line(&format!("setp.ge.u32 {spent}, {fuel}, 4;"));
        self.line(&format!("@{spent} bra {end};"));
        self.block(depth + 1);
        if self.random.chance(4) {
            let leave = self.condition();
            self.line(&format!("@{leave} bra {end};"));
        }
        self.line(&format!("add.s32 {counter}, {counter}, {step};"));
        self.line(&format!("add.s32 {fuel}, {fuel}, 1;"));
        self.line(&format!("bra.uni {head};"));
        self.line(&format!("{end}:"));
    }
}
