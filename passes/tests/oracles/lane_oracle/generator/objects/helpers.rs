//! The functions that kernels pass addresses of objects to, with random bodies.

use std::fmt::Write as _;

use super::super::Random;
use super::MASKS;

/// Functions that all kernels have: a constructor, one that keeps an address, and one that writes where it leads.
const FIXED: &str = "\
.func init(.param .b64 init_param_0, .param .b64 init_param_1, .param .b32 init_param_2)
{
.reg .b64 %p;
.reg .b32 %v;
ld.param.u64 %p, [init_param_0];
ld.param.u32 %v, [init_param_2];
";

const KEEPERS: &str = "\
.func keep(.param .b64 keep_param_0)
{
.reg .b64 %p, %g;
.reg .b32 %t;
ld.param.u64 %p, [keep_param_0];
mov.u32 %t, %tid.x;
mad.wide.u32 %g, %t, 8, 65536;
st.global.u64 [%g], %p;
ret;
}
.func change(.param .b32 change_param_0)
{
.reg .b64 %p, %g;
.reg .b32 %t, %v;
ld.param.u32 %v, [change_param_0];
mov.u32 %t, %tid.x;
mad.wide.u32 %g, %t, 8, 65536;
ld.global.u64 %p, [%g];
st.u32 [%p+4], %v;
ret;
}
";

/// A function of two addresses and a number.
struct Helper<'r> {
    random: &'r mut Random,
    code: String,
    numbers: usize,
    addresses: usize,
    predicates: usize,
    labels: usize,
    /// Functions that it may call.
    callees: &'static [&'static str],
}

/// The functions of a kernel.
pub(in super::super) fn functions(random: &mut Random) -> String {
    let mut text = String::from(FIXED);
    for word in 0..8 {
        let _ = writeln!(text, "st.v2.u32 [%p+{}], {{%v, %v}};", 8 * word);
    }
    text.push_str("ret;\n}\n");
    text.push_str(KEEPERS);
    const LEAVES: &[&str] = &["leaf0", "leaf1", "leaf2"];
    for name in LEAVES {
        text.push_str(&Helper::new(random, &[]).function(name));
    }
    for name in ["outer0", "outer1"] {
        text.push_str(&Helper::new(random, LEAVES).function(name));
    }
    for name in ["which", "which_if"] {
        text.push_str(&Helper::new(random, &[]).returning(name));
    }
    text
}

impl<'r> Helper<'r> {
    const fn new(random: &'r mut Random, callees: &'static [&'static str]) -> Self {
        Self {
            random,
            code: String::new(),
            numbers: 0,
            addresses: 0,
            predicates: 0,
            labels: 0,
            callees,
        }
    }

    fn line(&mut self, line: &str) {
        self.code.push_str(line);
        self.code.push('\n');
    }

    fn number(&mut self) -> String {
        self.numbers += 1;
        format!("%x{}", self.numbers)
    }

    fn address(&mut self) -> String {
        self.addresses += 1;
        format!("%y{}", self.addresses)
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%c{}", self.predicates)
    }

    /// A function that does some of what helpers do.
    fn function(mut self, name: &str) -> String {
        for _ in 0..1 + self.random.below(4) {
            self.statement(0);
        }
        self.finished("", name)
    }

    /// A function that returns one of its addresses.
    fn returning(mut self, name: &str) -> String {
        let (address, result) = (self.any(), self.address());
        if name == "which_if" {
            let (other, test) = (self.any(), self.test());
            self.line(&format!("selp.b64 {result}, {address}, {other}, {test};"));
        } else {
            let by = 4 * self.random.below(3);
            self.line(&format!("add.s64 {result}, {address}, {by};"));
        }
        self.line(&format!("st.param.b64 [{name}_return+0], {result};"));
        self.finished(&format!("(.param .b64 {name}_return) "), name)
    }

    fn finished(self, result: &str, name: &str) -> String {
        let (numbers, addresses, predicates) = (self.numbers + 1, self.addresses + 1, self.predicates + 1);
        format!(
            ".func {result}{name}(.param .b64 {name}_param_0, .param .b64 {name}_param_1, .param .b32 {name}_param_2)\n{{\n\
             .local .align 8 .b8 own[32];\n.reg .b64 %p, %q, %y<{addresses}>;\n.reg .b32 %v, %x<{numbers}>;\n\
             .reg .pred %c<{predicates}>;\nld.param.u64 %p, [{name}_param_0];\nld.param.u64 %q, [{name}_param_1];\n\
             ld.param.u32 %v, [{name}_param_2];\n{}ret;\n}}\n",
            self.code
        )
    }

    /// An address that it is passed.
    fn any(&mut self) -> String {
        (*self.random.pick(&["%p", "%p", "%q"])).to_owned()
    }

    /// The address of one of the first words of an object.
    fn pointer(&mut self) -> String {
        let (from, result) = (self.any(), self.address());
        match self.random.below(10) {
            0 | 1 => {
                let by = 4 * self.random.below(3);
                self.line(&format!("add.s64 {result}, {from}, {by};"));
            }
            2 | 3 => {
                let at = 8 * self.random.below(3);
                self.line(&format!("st.local.u64 [own+{at}], {from};"));
                if self.random.chance(6) {
                    // Another one, for some.
                    let (other, test) = (self.any(), self.test());
                    self.line(&format!("@{test} st.local.u64 [own+{at}], {other};"));
                }
                self.line(&format!("ld.local.u64 {result}, [own+{at}];"));
            }
            4 => {
                let (number, by) = (self.number(), self.address());
                self.line(&format!("and.b32 {number}, %v, 3;"));
                self.line(&format!("mul.wide.u32 {by}, {number}, 4;"));
                self.line(&format!("add.s64 {result}, {from}, {by};"));
            }
            5 => {
                let inner = self.address();
                self.line(&format!("cvta.to.local.u64 {inner}, {from};"));
                self.line(&format!("cvta.local.u64 {result}, {inner};"));
            }
            6 => {
                // Written twice.
                self.line(&format!("mov.b64 {result}, {from};"));
                let (other, test) = (self.any(), self.test());
                self.line(&format!("@{test} mov.b64 {result}, {other};"));
            }
            _ => return from,
        }
        result
    }

    fn test(&mut self) -> String {
        let (value, test) = (self.value(), self.predicate());
        let comparison = *self.random.pick(&["lt.u32", "ge.u32", "eq.s32", "ne.s32"]);
        let number = *self.random.pick(&[0, 1, 8, 16, 24]);
        self.line(&format!("setp.{comparison} {test}, {value}, {number};"));
        test
    }

    /// A number, or a mask.
    fn value(&mut self) -> String {
        let result = self.number();
        match self.random.below(9) {
            0 | 1 => return "%v".to_owned(),
            2 => self.line(&format!("mov.u32 {result}, %laneid;")),
            3 => {
                let number = *self.random.pick(&[24, 16, 31, 7]);
                self.line(&format!("and.b32 {result}, %v, {number};"));
            }
            4 => {
                let lane = self.number();
                self.line(&format!("mov.u32 {lane}, %laneid;"));
                self.line(&format!("and.b32 {lane}, {lane}, 24;"));
                self.line(&format!("shl.b32 {result}, 255, {lane};"));
            }
            5 => {
                let (address, at) = (self.pointer(), 4 * self.random.below(3));
                self.line(&format!("ld.u32 {result}, [{address}+{at}];"));
            }
            6 => self.line(&format!("activemask.b32 {result};")),
            _ => {
                let number = *self.random.pick(&MASKS);
                self.line(&format!("mov.b32 {result}, {number};"));
            }
        }
        result
    }

    fn statement(&mut self, depth: usize) {
        if !self.callees.is_empty() && self.random.chance(2) {
            let callee = *self.random.pick(self.callees);
            let (first, second, value) = (self.pointer(), self.pointer(), self.value());
            self.line(&format!(
                "{{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 p2;\nst.param.b64 [p0+0], {first};\n\
                 st.param.b64 [p1+0], {second};\nst.param.b32 [p2+0], {value};\ncall.uni {callee}, (p0, p1, p2);\n}}"
            ));
            return;
        }
        match self.random.below(12) {
            0 => {
                // Some of it is skipped, or all that follows.
                let test = self.test();
                if depth > 0 || self.random.chance(3) {
                    self.line(&format!("@{test} ret;"));
                    return;
                }
                self.labels += 1;
                let after = format!("AFTER{}", self.labels);
                self.line(&format!("@{test} bra {after};"));
                self.statement(depth + 1);
                self.line(&format!("{after}:"));
            }
            1 => {
                // An array, or its start.
                let (at, round, done) = (self.address(), self.number(), self.predicate());
                let (from, value) = (self.any(), self.value());
                self.labels += 1;
                let head = format!("HEAD{}", self.labels);
                let rounds = 1 + self.random.below(4);
                self.line(&format!("mov.b64 {at}, {from};\nmov.b32 {round}, 0;\n{head}:"));
                self.line(&format!("st.u32 [{at}], {value};\nadd.s64 {at}, {at}, 4;"));
                self.line(&format!("add.u32 {round}, {round}, 1;"));
                self.line(&format!(
                    "setp.lt.u32 {done}, {round}, {rounds};\n@{done} bra {head};"
                ));
            }
            2 if self.random.chance(2) => {
                // It meets the others itself.
                let (address, mask) = (self.pointer(), self.number());
                self.line(&format!("ld.u32 {mask}, [{address}];\nbar.warp.sync {mask};"));
            }
            _ => self.store(),
        }
    }

    fn store(&mut self) {
        let (address, value) = (self.pointer(), self.value());
        let at = 4 * self.random.below(4);
        let guard = if self.random.chance(6) {
            format!("@{} ", self.test())
        } else {
            String::new()
        };
        let line = match self.random.below(12) {
            0 => format!("st.u8 [{address}+{}], {value};", at + 1),
            1 => format!("st.u16 [{address}+{at}], {value};"),
            2 => format!("st.v2.u32 [{address}+{at}], {{{value}, {value}}};"),
            3 => {
                let wide = self.address();
                self.line(&format!("cvt.u64.u32 {wide}, {value};"));
                format!("st.u64 [{address}+{at}], {wide};")
            }
            _ => format!("st.u32 [{address}+{at}], {value};"),
        };
        self.line(&format!("{guard}{line}"));
    }
}
