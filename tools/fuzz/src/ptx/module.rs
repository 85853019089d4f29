//! Modules from the grammar: variables, device functions that call each other, kernels.

use std::io::Write as _;

use super::grammar::{Class, Grammar, Names, REGISTERS, RuleId};
use super::graph::{BlockEnd, Graph};
use crate::numbers::Numbers;

/// The rules that whole constructs begin with.
pub struct Generator {
    grammar: Grammar,
    heads: [RuleId; 3],
    variable: RuleId,
    guarded: RuleId,
    compare: RuleId,
    special: RuleId,
    reqntid: RuleId,
}

/// The parameters and results of a function.
struct Signature {
    /// Bits of each parameter; 0 for an array of bytes.
    params: Vec<u8>,
    result: Option<u8>,
}

/// One module being written.
struct Writer<'g> {
    generator: &'g Generator,
    numbers: &'g mut Numbers,
    names: Names,
    signatures: Vec<Signature>,
    out: Vec<u8>,
}

impl Generator {
    /// Reads the grammar.
    pub fn new() -> Self {
        let grammar = Grammar::new();
        Self {
            heads: ["version", "target", "addresses"].map(|name| grammar.rule(name)),
            variable: grammar.rule("variable"),
            guarded: grammar.rule("guarded"),
            compare: grammar.rule("compare"),
            special: grammar.rule("special"),
            reqntid: grammar.rule("reqntid"),
            grammar,
        }
    }

    /// Writes a module.
    pub fn module(&self, numbers: &mut Numbers) -> Vec<u8> {
        let mut writer = Writer {
            generator: self,
            numbers,
            names: Names::new(),
            signatures: Vec::new(),
            out: Vec::with_capacity(4_096),
        };
        writer.module();
        writer.out
    }

    /// Writes one instruction, for a function that has these names.
    pub fn instruction(&self, names: &mut Names, numbers: &mut Numbers, out: &mut Vec<u8>) {
        self.grammar.write(self.guarded, names, numbers, out);
    }
}

impl Writer<'_> {
    fn module(&mut self) {
        let heads = self.generator.heads;
        if self.numbers.one_in(8) {
            for head in heads {
                self.rule(head);
                self.text("\n");
            }
        } else {
            self.text(".version 9.2\n.target sm_90\n.address_size 64\n");
        }
        let variables = self.numbers.below(4);
        // A name that nothing declares is used now and then.
        self.names.symbols = 1;
        for _ in 0..variables {
            self.rule(self.generator.variable);
            self.text("\n");
        }
        let functions = [0, 0, 0, 1, 1, 2, 3][self.numbers.below(7)];
        for _ in 0..functions {
            let params = (0..self.numbers.below(4)).map(|_| *self.numbers.pick(&[32, 32, 64, 64, 8, 0]));
            let params = params.collect();
            let result = *self.numbers.pick(&[None, Some(32), Some(64), Some(0)]);
            self.signatures.push(Signature { params, result });
        }
        self.names.functions = functions + usize::from(self.numbers.one_in(6));
        if functions > 0 && self.numbers.one_in(2) {
            for function in 0..functions {
                self.function_head(function);
                self.text(";\n");
            }
        }
        for function in 0..functions {
            // Some are only declared.
            self.function_head(function);
            if self.numbers.one_in(8) {
                self.text(";\n");
            } else {
                self.body(Some(function));
            }
        }
        let kernels = [1, 1, 1, 2, 3][self.numbers.below(5)];
        for kernel in 0..kernels {
            self.kernel(kernel);
        }
        if functions > 1 && self.numbers.one_in(8) {
            self.text(".alias f0, f1;\n");
        }
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn print(&mut self, text: std::fmt::Arguments<'_>) {
        // A vector of bytes takes all that is written to it.
        let _ = self.out.write_fmt(text);
    }

    fn rule(&mut self, rule: RuleId) {
        let grammar = &self.generator.grammar;
        grammar.write(rule, &mut self.names, self.numbers, &mut self.out);
    }

    fn param(&mut self, bits: u8, name: &str, number: usize) {
        match bits {
            0 => self.print(format_args!(".param .align 8 .b8 {name}{number}[16]")),
            bits => self.print(format_args!(".param .b{bits} {name}{number}")),
        }
    }

    fn function_head(&mut self, function: usize) {
        let Signature { params, result } = &self.signatures[function];
        let (params, result) = (params.clone(), *result);
        let head = *self.numbers.pick(&[".func ", ".visible .func ", ".weak .func "]);
        self.text(head);
        if let Some(bits) = result {
            self.text("(");
            self.param(bits, "res", 0);
            self.text(") ");
        }
        self.print(format_args!("f{function}("));
        for (number, bits) in params.iter().enumerate() {
            self.text(if number == 0 { "" } else { ", " });
            self.param(*bits, "a", number);
        }
        self.text(")");
    }

    fn kernel(&mut self, kernel: usize) {
        self.print(format_args!(".visible .entry k{kernel}("));
        let params = self.numbers.below(4);
        for number in 0..params {
            self.text(if number == 0 { "" } else { ", " });
            let bits = *self.numbers.pick(&[64, 64, 32, 0]);
            self.param(bits, "a", number);
        }
        self.text(") ");
        self.names.params = params + 1;
        self.rule(self.generator.reqntid);
        self.body(None);
    }

    fn body(&mut self, function: Option<usize>) {
        self.text("\n{\n");
        for class in [
            Class::Predicate,
            Class::B16,
            Class::B32,
            Class::B64,
            Class::Float,
            Class::B128,
        ] {
            let scalar = match class {
                Class::Predicate => "pred",
                Class::B16 => "b16",
                Class::B32 => "b32",
                Class::B64 => "b64",
                Class::Float => "f32",
                Class::B128 => "b128",
            };
            self.print(format_args!(".reg .{scalar} {}<{REGISTERS}>;\n", class.prefix()));
        }
        if self.numbers.one_in(2) {
            self.text(".reg .b64 %SP, %SPL;\n.local .align 8 .b8 __local_depot0[32];\n");
            self.text("mov.u64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\n");
        }
        if let Some(function) = function {
            self.names.params = self.signatures[function].params.len();
        }
        for _ in 0..self.numbers.below(4) {
            self.rule(self.generator.special);
            self.text("\n");
        }
        let graph = Graph::new(self.numbers);
        self.names.labels = graph.blocks.len();
        let wrapped = self.numbers.one_in(8);
        for place in 0..graph.order.len() {
            let block = graph.order[place];
            let next = graph.order.get(place + 1).copied();
            self.print(format_args!("L{block}:\n"));
            if wrapped {
                self.text("{\n.reg .b32 %r<4>;\n");
            }
            for _ in 0..graph.blocks[block].size {
                if self.numbers.one_in(14) {
                    self.call();
                } else {
                    self.rule(self.generator.guarded);
                }
                self.text("\n");
            }
            self.end(&graph.blocks[block].end, next);
            if wrapped {
                self.text("}\n");
            }
        }
        if let Some(Some(bits)) = function.map(|function| self.signatures[function].result)
            && bits > 8
        {
            let class = if bits == 64 { Class::B64 } else { Class::B32 };
            let register = self.names.read(class, self.numbers);
            self.print(format_args!(
                "st.param.b{bits} [res0], {}{register};\n",
                class.prefix()
            ));
        }
        self.text("ret;\n}\n");
    }

    /// The end of a block whose successor in the text is `next`.
    fn end(&mut self, end: &BlockEnd, next: Option<usize>) {
        match *end {
            BlockEnd::Jump(to) if next == Some(to) && !self.numbers.one_in(8) => {}
            BlockEnd::Jump(to) => self.print(format_args!("bra L{to};\n")),
            BlockEnd::Choice(yes, no) => {
                if self.numbers.one_in(2) {
                    self.rule(self.generator.compare);
                    self.text("\n");
                }
                let guard = self.names.read(Class::Predicate, self.numbers);
                let bang = if self.numbers.one_in(3) { "!" } else { "" };
                let uniform = if self.numbers.one_in(10) { ".uni" } else { "" };
                self.print(format_args!("@{bang}%p{guard} bra{uniform} L{yes};\n"));
                if next != Some(no) {
                    self.print(format_args!("bra L{no};\n"));
                }
            }
            BlockEnd::Table(ref targets) => {
                let index = self.names.read(Class::B32, self.numbers);
                let number = self.out.len();
                self.print(format_args!("T{number}: .branchtargets "));
                for (place, target) in targets.iter().enumerate() {
                    self.text(if place == 0 { "" } else { ", " });
                    self.print(format_args!("L{target}"));
                }
                self.print(format_args!(";\nbrx.idx %r{index}, T{number};\n"));
            }
            BlockEnd::Leave => {
                let end = *self.numbers.pick(&["ret;\n", "ret;\n", "exit;\n", "trap;\n"]);
                self.text(end);
            }
            BlockEnd::Maybe(to) => {
                let guard = self.names.read(Class::Predicate, self.numbers);
                let end = *self.numbers.pick(&["ret", "exit", "exit"]);
                self.print(format_args!("@%p{guard} {end};\n"));
                if next != Some(to) {
                    self.print(format_args!("bra L{to};\n"));
                }
            }
        }
    }

    /// A call, in one of the ways compilers write them, and now and then with other operands than the callee has.
    fn call(&mut self) {
        if self.names.functions == 0 {
            return self.text("call.uni vprintf, (%rd1);");
        }
        let function = self.numbers.below(self.names.functions);
        let known = self.signatures.get(function);
        let mut params = known.map_or_else(|| vec![32], |signature| signature.params.clone());
        let result = known.and_then(|signature| signature.result);
        match self.numbers.below(24) {
            0 => params.push(64),
            1 => {
                params.pop();
            }
            _ => {}
        }
        let is_indirect = self.numbers.one_in(8);
        let registers: Vec<(Class, usize)> = params
            .iter()
            .map(|bits| {
                let class = if *bits == 64 { Class::B64 } else { Class::B32 };
                (class, self.names.read(class, self.numbers))
            })
            .collect();
        if self.numbers.one_in(5) {
            self.text("call");
            if let Some(bits) = result {
                let class = if bits == 64 { Class::B64 } else { Class::B32 };
                let to = self.names.written(class, self.numbers);
                self.print(format_args!(" ({}{to}),", class.prefix()));
            }
            self.print(format_args!(" f{function}, ("));
            for (number, (class, register)) in registers.iter().enumerate() {
                self.text(if number == 0 { "" } else { ", " });
                self.print(format_args!("{}{register}", class.prefix()));
            }
            return self.text(");");
        }
        self.text("{\n");
        for (number, bits) in params.iter().enumerate() {
            self.param(*bits, "param", number);
            self.text(";\n");
        }
        if let Some(bits) = result {
            self.param(bits, "retval", 0);
            self.text(";\n");
        }
        for (number, (class, register)) in registers.iter().enumerate() {
            let bits = if *class == Class::B64 { 64 } else { 32 };
            self.print(format_args!(
                "st.param.b{bits} [param{number}+0], {}{register};\n",
                class.prefix()
            ));
        }
        if is_indirect {
            let number = self.out.len();
            self.print(format_args!("P{number}: .callprototype "));
            if let Some(bits) = result {
                self.text("(");
                self.param(bits, "_", 0);
                self.text(") ");
            }
            self.text("_ (");
            for (number, bits) in params.iter().enumerate() {
                self.text(if number == 0 { "" } else { ", " });
                self.param(*bits, "_", number);
            }
            self.text(");\n");
            let target = self.names.read(Class::B64, self.numbers);
            if self.numbers.one_in(2) {
                self.print(format_args!("mov.u64 %rd{target}, f{function};\n"));
            }
            self.call_line(
                &format!("%rd{target}"),
                params.len(),
                result.is_some(),
                &format!(", P{number}"),
            );
        } else {
            self.call_line(&format!("f{function}"), params.len(), result.is_some(), "");
        }
        if let Some(bits) = result {
            let class = if bits == 64 { Class::B64 } else { Class::B32 };
            let to = self.names.written(class, self.numbers);
            let bits = if bits == 64 { 64 } else { 32 };
            self.print(format_args!(
                "ld.param.b{bits} {}{to}, [retval0+0];\n",
                class.prefix()
            ));
        }
        self.text("}");
    }

    fn call_line(&mut self, target: &str, params: usize, has_result: bool, prototype: &str) {
        let guard = if self.numbers.one_in(12) { "@%p1 " } else { "" };
        let result = if has_result { "(retval0), " } else { "" };
        self.print(format_args!("{guard}call.uni {result}{target}, ("));
        for number in 0..params {
            self.text(if number == 0 { "" } else { ", " });
            self.print(format_args!("param{number}"));
        }
        self.print(format_args!("){prototype};\n"));
    }
}
