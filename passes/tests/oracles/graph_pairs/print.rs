//! Programs as PTX: in registers, as optimising compilers write them, and with each variable in a slot of the stack, as debug builds do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::program::{Atomic, Comparison, Condition, Expr, Kernel, Operation, Statement};

/// The arrays in global memory, and the numbers: parameters of each kernel.
pub const ARRAYS: [&str; 12] = [
    "first", "to", "length", "value", "next", "mark", "list", "cell", "count", "lock", "part", "parent",
];
pub const NUMBERS: [&str; 2] = ["n", "m"];

/// The form of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Registers,
    Slots,
}

/// The text of a kernel; with the thing at a site left out.
pub fn print(kernel: &Kernel, form: Form, without: Option<usize>) -> String {
    let mut printer = Printer {
        kernel,
        form,
        without,
        text: String::new(),
        temporaries: 0,
        labels: 0,
        slots: BTreeMap::new(),
    };
    for (number, array) in ARRAYS.iter().enumerate() {
        let wide = printer.wide();
        printer.line(&format!("ld.param.u64 {wide}, [{array}];"));
        match form {
            Form::Registers => printer.line(&format!("cvta.to.global.u64 %a{number}, {wide};")),
            Form::Slots => printer.line(&format!("st.u64 [%SP+{}], {wide};", 8 * number)),
        }
    }
    for (number, name) in NUMBERS.iter().enumerate() {
        let temporary = printer.temporary();
        printer.line(&format!("ld.param.u32 {temporary}, [{name}];"));
        match form {
            Form::Registers => printer.line(&format!("mov.u32 %n{number}, {temporary};")),
            Form::Slots => {
                let slot = 8 * ARRAYS.len() + 4 * number;
                printer.line(&format!("st.u32 [%SP+{slot}], {temporary};"));
            }
        }
    }
    printer.statements(&kernel.body);
    printer.finished()
}

struct Printer<'k> {
    kernel: &'k Kernel,
    form: Form,
    without: Option<usize>,
    text: String,
    temporaries: usize,
    labels: usize,
    /// The variables, with their numbers.
    slots: BTreeMap<&'static str, usize>,
}

impl Printer<'_> {
    fn finished(self) -> String {
        let mut all = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
        let arrays = ARRAYS.iter().map(|array| format!(".param .u64 {array}"));
        let numbers = NUMBERS.iter().map(|name| format!(".param .u32 {name}"));
        let params: Vec<String> = arrays.chain(numbers).collect();
        let _ = writeln!(all, ".visible .entry kernel({})\n{{", params.join(", "));
        let count = self.temporaries + 1;
        let _ = writeln!(all, ".reg .b64 %SP, %SPL, %a<{}>, %w<{count}>;", ARRAYS.len());
        let _ = writeln!(
            all,
            ".reg .b32 %n<{}>, %t<{count}>, %v<{}>;\n.reg .pred %p<{count}>;",
            NUMBERS.len(),
            self.slots.len() + 1
        );
        for (name, elements) in &self.kernel.shared {
            let _ = writeln!(all, ".shared .align 4 .b8 {name}[{}];", 4 * elements);
        }
        if self.form == Form::Slots {
            let bytes = 8 * ARRAYS.len() + 4 * (NUMBERS.len() + self.slots.len());
            let _ = writeln!(
                all,
                ".local .align 8 .b8 __local_depot0[{bytes}];\nmov.u64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;"
            );
        }
        let _ = writeln!(all, "{}ret;\n}}", self.text);
        all
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn number(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries
    }

    fn temporary(&mut self) -> String {
        format!("%t{}", self.number())
    }

    fn wide(&mut self) -> String {
        format!("%w{}", self.number())
    }

    fn predicate(&mut self) -> String {
        format!("%p{}", self.number())
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn variable(&mut self, name: &'static str) -> usize {
        let next = self.slots.len();
        *self.slots.entry(name).or_insert(next)
    }

    fn slot_of_variable(&mut self, name: &'static str) -> usize {
        8 * ARRAYS.len() + 4 * (NUMBERS.len() + self.variable(name))
    }

    /// The operand that holds the value of an expression.
    fn expression(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Number(number) => number.to_string(),
            Expr::Thread => self.special("%tid.x"),
            Expr::Block => self.special("%ctaid.x"),
            Expr::Threads => self.special("%ntid.x"),
            Expr::Blocks => self.special("%nctaid.x"),
            Expr::Variable(name) => match self.form {
                Form::Registers => format!("%v{}", self.variable(name)),
                Form::Slots => {
                    let slot = self.slot_of_variable(name);
                    self.loaded("ld.u32", &format!("[%SP+{slot}]"))
                }
            },
            Expr::Param(name) => {
                let number = NUMBERS.iter().position(|known| known == name).unwrap_or(0);
                match self.form {
                    Form::Registers => format!("%n{number}"),
                    Form::Slots => {
                        let slot = 8 * ARRAYS.len() + 4 * number;
                        self.loaded("ld.u32", &format!("[%SP+{slot}]"))
                    }
                }
            }
            Expr::Element(array, index) => {
                let (space, place) = self.place(array, index);
                self.loaded(&format!("ld{space}.u32"), &place)
            }
            Expr::Volatile(array, index) => {
                let (space, place) = self.place(array, index);
                self.loaded(&format!("ld.volatile{space}.u32"), &place)
            }
            Expr::Binary(operation, a, b) => {
                let (a, b) = (self.expression(a), self.expression(b));
                self.combined(*operation, &a, &b)
            }
        }
    }

    fn special(&mut self, name: &str) -> String {
        let temporary = self.temporary();
        self.line(&format!("mov.u32 {temporary}, {name};"));
        temporary
    }

    fn loaded(&mut self, opcode: &str, place: &str) -> String {
        let temporary = self.temporary();
        self.line(&format!("{opcode} {temporary}, {place};"));
        temporary
    }

    fn combined(&mut self, operation: Operation, a: &str, b: &str) -> String {
        let opcode = match operation {
            Operation::Add => "add.s32",
            Operation::Mul => "mul.lo.s32",
            Operation::Div => "div.u32",
            Operation::And => "and.b32",
            Operation::Or => "or.b32",
            Operation::Min => "min.s32",
            Operation::Max => "max.s32",
        };
        let temporary = self.temporary();
        self.line(&format!("{opcode} {temporary}, {a}, {b};"));
        temporary
    }

    /// The space of an array as the instructions name it, and the operand of an element.
    fn place(&mut self, array: &'static str, index: &Expr) -> (&'static str, String) {
        let index = self.expression(index);
        if self.kernel.shared.iter().any(|(name, _)| *name == array) {
            let (begin, place) = (self.temporary(), self.temporary());
            self.line(&format!("mov.u32 {begin}, {array};"));
            self.line(&format!("mad.lo.s32 {place}, {index}, 4, {begin};"));
            return (".shared", format!("[{place}]"));
        }
        let number = ARRAYS.iter().position(|known| *known == array).unwrap_or(0);
        let (space, begin) = match self.form {
            Form::Registers => (".global", format!("%a{number}")),
            Form::Slots => {
                let begin = self.wide();
                self.line(&format!("ld.u64 {begin}, [%SP+{}];", 8 * number));
                ("", begin)
            }
        };
        if let Ok(index) = index.parse::<i32>() {
            return (space, format!("[{begin}+{}]", 4 * index));
        }
        let (distance, place) = (self.wide(), self.wide());
        self.line(&format!("mul.wide.s32 {distance}, {index}, 4;"));
        self.line(&format!("add.s64 {place}, {begin}, {distance};"));
        (space, format!("[{place}]"))
    }

    fn set(&mut self, name: &'static str, value: &str) {
        match self.form {
            Form::Registers => {
                let variable = self.variable(name);
                self.line(&format!("mov.u32 %v{variable}, {value};"));
            }
            Form::Slots => {
                let slot = self.slot_of_variable(name);
                self.line(&format!("st.u32 [%SP+{slot}], {value};"));
            }
        }
    }

    fn condition(&mut self, Condition(comparison, a, b): &Condition) -> String {
        let (a, b) = (self.expression(a), self.expression(b));
        self.compared(*comparison, &a, &b)
    }

    fn compared(&mut self, comparison: Comparison, a: &str, b: &str) -> String {
        let name = match comparison {
            Comparison::Eq => "eq",
            Comparison::Ne => "ne",
            Comparison::Lt => "lt",
            Comparison::Ge => "ge",
            Comparison::Gt => "gt",
            Comparison::Le => "le",
        };
        let predicate = self.predicate();
        self.line(&format!("setp.{name}.s32 {predicate}, {a}, {b};"));
        predicate
    }

    fn statements(&mut self, all: &[Statement]) {
        for one in all {
            self.statement(one);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Set(name, value) => {
                let value = self.expression(value);
                self.set(name, &value);
            }
            Statement::Store(array, index, value) => {
                let value = self.expression(value);
                let (space, place) = self.place(array, index);
                self.line(&format!("st{space}.u32 {place}, {value};"));
            }
            Statement::Update(array, index, operation, value) => {
                let value = self.expression(value);
                let (space, place) = self.place(array, index);
                let old = self.loaded(&format!("ld{space}.u32"), &place);
                let new = self.combined(*operation, &old, &value);
                let (space, place) = match self.form {
                    Form::Registers => (space, place),
                    Form::Slots => self.place(array, index),
                };
                self.line(&format!("st{space}.u32 {place}, {new};"));
            }
            Statement::Atomic(atomic, array, index, value, old) => {
                let value = self.expression(value);
                let (space, place) = self.place(array, index);
                let (name, first) = match atomic {
                    Atomic::Add => ("add.u32", None),
                    Atomic::Min => ("min.s32", None),
                    Atomic::Max => ("max.s32", None),
                    Atomic::Or => ("or.b32", None),
                    Atomic::Exch => ("exch.b32", None),
                    Atomic::Cas(compared) => ("cas.b32", Some(*compared)),
                };
                let compared = first.map_or(String::new(), |first| format!("{first}, "));
                let result = self.temporary();
                self.line(&format!(
                    "atom{space}.{name} {result}, {place}, {compared}{value};"
                ));
                if let Some(old) = old {
                    self.set(old, &result);
                }
            }
            Statement::If(condition, body) => self.branch(condition, body),
            Statement::While(condition, body) => {
                let (again, end) = (self.label(), self.label());
                self.line(&format!("{again}:"));
                let opposite = Condition(condition.0.opposite(), condition.1.clone(), condition.2.clone());
                let predicate = self.condition(&opposite);
                self.line(&format!("@{predicate} bra {end};"));
                self.statements(body);
                self.line(&format!("bra {again};"));
                self.line(&format!("{end}:"));
            }
            Statement::Barrier => self.line("bar.sync 0;"),
            Statement::Fence => self.line("membar.gl;"),
            Statement::ShuffleDown(to, from, delta) => {
                let from = self.expression(&Expr::Variable(from));
                let result = self.temporary();
                self.line(&format!("shfl.sync.down.b32 {result}, {from}, {delta}, 31, -1;"));
                self.set(to, &result);
            }
            Statement::Site(number, right, wrong) => {
                if self.without == Some(*number) {
                    self.statements(wrong);
                } else {
                    self.statements(right);
                }
            }
        }
    }

    /// A branch around a body; optimising compilers put a single store under a guard.
    fn branch(&mut self, condition: &Condition, body: &[Statement]) {
        if let (Form::Registers, [Statement::Store(array, index, value)]) = (self.form, body) {
            let predicate = self.condition(condition);
            let value = self.expression(value);
            let (space, place) = self.place(array, index);
            self.line(&format!("@{predicate} st{space}.u32 {place}, {value};"));
            return;
        }
        let end = self.label();
        match self.form {
            Form::Registers => {
                let opposite = Condition(condition.0.opposite(), condition.1.clone(), condition.2.clone());
                let predicate = self.condition(&opposite);
                self.line(&format!("@{predicate} bra {end};"));
            }
            Form::Slots => {
                let predicate = self.condition(condition);
                let opposite = self.predicate();
                self.line(&format!("not.pred {opposite}, {predicate};"));
                self.line(&format!("@{opposite} bra {end};"));
            }
        }
        self.statements(body);
        self.line(&format!("{end}:"));
    }
}
