//! Objects on the stack that functions fill, read and pass on through pointers: helpers with out-parameters, one or two calls away.

mod helpers;

use super::Generator;
pub(super) use helpers::functions;

/// The objects of a kernel, of 16 words each, and where it keeps addresses.
pub(super) const OBJECTS: &str = "\
.local .align 8 .b8 object[64];
.local .align 8 .b8 second[64];
.local .align 8 .b8 holder[16];
";

/// Numbers that are masks, or decide little.
pub(super) const MASKS: [&str; 10] = [
    "-1",
    "-1",
    "-1",
    "255",
    "65535",
    "0xffff0000",
    "1",
    "0xfffe",
    "16",
    "0",
];

/// Functions of two addresses and a number.
const HELPERS: [&str; 5] = ["leaf0", "leaf1", "leaf2", "outer0", "outer1"];

impl Generator {
    /// Values for all words of the objects.
    pub(super) fn begin_objects(&mut self) {
        for object in ["object", "second"] {
            let number = *self.random.pick(&MASKS);
            if self.random.chance(2) {
                let address = self.begin_of(object);
                self.call_with("init", &address, &address, number);
            } else {
                for word in 0..16 {
                    self.line(&format!("st.local.u32 [{object}+{}], {number};", 4 * word));
                }
            }
        }
    }

    fn address(&mut self) -> String {
        self.addresses += 1;
        format!("%o{}", self.addresses)
    }

    /// The generic address of an object.
    fn begin_of(&mut self, object: &str) -> String {
        let (raw, address) = (self.address(), self.address());
        self.line(&format!("mov.u64 {raw}, {object};"));
        self.line(&format!("cvta.local.u64 {address}, {raw};"));
        address
    }

    /// The generic address of one of the first words of an object, kept on the stack in between or not.
    fn pointer(&mut self) -> String {
        let object = *self.random.pick(&["object", "object", "second"]);
        let address = self.begin_of(object);
        let result = self.address();
        match self.random.below(8) {
            0 => {
                let by = 4 * self.random.below(3);
                self.line(&format!("add.s64 {result}, {address}, {by};"));
            }
            1 | 2 => {
                let at = 8 * self.random.below(2);
                self.line(&format!("st.local.u64 [holder+{at}], {address};"));
                self.line(&format!("ld.local.u64 {result}, [holder+{at}];"));
            }
            3 => {
                // One of the two.
                let (other, predicate) = (self.begin_of("second"), self.condition());
                self.line(&format!("selp.b64 {result}, {address}, {other}, {predicate};"));
            }
            _ => return address,
        }
        result
    }

    fn call_with(&mut self, function: &str, first: &str, second: &str, number: &str) {
        self.line(&format!(
            "{{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 p2;\nst.param.b64 [p0+0], {first};\n\
             st.param.b64 [p1+0], {second};\nst.param.b32 [p2+0], {number};\ncall.uni {function}, (p0, p1, p2);\n}}"
        ));
    }

    /// A number, or a mask.
    fn number_or_mask(&mut self) -> String {
        if self.random.chance(2) {
            self.value()
        } else {
            (*self.random.pick(&MASKS)).to_owned()
        }
    }

    /// A word of an object.
    pub(super) fn field(&mut self) -> String {
        let result = self.temporary();
        let at = 4 * self.random.below(6);
        match self.random.below(6) {
            0 => {
                let address = self.pointer();
                self.line(&format!("ld.u32 {result}, [{address}+{at}];"));
            }
            1 => {
                let (object, width) = (
                    *self.random.pick(&["object", "second"]),
                    *self.random.pick(&["u8", "u16"]),
                );
                self.line(&format!("ld.local.{width} {result}, [{object}+{at}];"));
            }
            2 => {
                let other = self.temporary();
                let at = at / 8 * 8;
                self.line(&format!("ld.local.v2.u32 {{{result}, {other}}}, [object+{at}];"));
            }
            _ => {
                let object = *self.random.pick(&["object", "object", "second"]);
                self.line(&format!("ld.local.u32 {result}, [{object}+{at}];"));
            }
        }
        result
    }

    /// A statement about objects.
    pub(super) fn objects(&mut self) {
        match self.random.below(12) {
            0 | 1 => {
                // A store of its own.
                let (value, at) = (self.number_or_mask(), 4 * self.random.below(6));
                if self.random.chance(2) {
                    let address = self.pointer();
                    self.line(&format!("st.u32 [{address}+{at}], {value};"));
                } else {
                    self.line(&format!("st.local.u32 [object+{at}], {value};"));
                }
            }
            2 => {
                // An address that a function returns.
                let (first, second, got) = (self.pointer(), self.pointer(), self.address());
                let function = *self.random.pick(&["which", "which_if"]);
                let number = self.value();
                self.line(&format!(
                    "{{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 p2;\n.param .b64 q;\nst.param.b64 [p0+0], {first};\n\
                     st.param.b64 [p1+0], {second};\nst.param.b32 [p2+0], {number};\n\
                     call.uni (q), {function}, (p0, p1, p2);\nld.param.b64 {got}, [q+0];\n}}"
                ));
                let value = self.number_or_mask();
                if self.random.chance(2) {
                    self.line(&format!("st.u32 [{got}], {value};"));
                } else {
                    self.call_helper(&got, &first);
                }
            }
            3 => {
                // The address is kept in memory, and used from there.
                let address = self.pointer();
                self.line(&format!(
                    "{{\n.param .b64 p0;\nst.param.b64 [p0+0], {address};\ncall.uni keep, (p0);\n}}"
                ));
                if self.random.chance(2) {
                    let other = self.pointer();
                    self.call_helper(&other, &address);
                }
                let value = self.number_or_mask();
                self.line(&format!(
                    "{{\n.param .b32 p0;\nst.param.b32 [p0+0], {value};\ncall.uni change, (p0);\n}}"
                ));
            }
            _ => {
                let first = self.pointer();
                let second = if self.random.chance(4) {
                    first.clone()
                } else {
                    self.pointer()
                };
                self.call_helper(&first, &second);
            }
        }
        if self.random.chance(2) {
            let (variable, field) = (self.variable(), self.field());
            self.line(&format!("mov.b32 {variable}, {field};"));
        }
    }

    fn call_helper(&mut self, first: &str, second: &str) {
        let helper = *self.random.pick(&HELPERS);
        let number = self.number_or_mask();
        if self.random.chance(6) {
            let (predicate, after) = (self.condition(), self.label());
            self.line(&format!("@{predicate} bra {after};"));
            self.call_with(helper, first, second, &number);
            self.line(&format!("{after}:"));
        } else {
            self.call_with(helper, first, second, &number);
        }
    }
}
