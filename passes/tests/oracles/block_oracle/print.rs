//! Programs as PTX.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::program::{
    ALL_VARIABLES, Barrier, Comparison, Condition, Expr, Kind, LOCAL, Operation, Place, Program, Shuffle,
    Statement,
};

/// A printed program.
pub struct Printed {
    pub text: String,
    /// By statement: the line of its access, or of its call.
    pub lines: BTreeMap<usize, u32>,
}

/// Prints a program.
pub fn print(program: &Program) -> Printed {
    let mut printed = Printed {
        text: ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned(),
        lines: BTreeMap::new(),
    };
    for (number, array) in program.arrays.iter().enumerate() {
        let line = match array.bytes {
            Some(bytes) => format!(".shared .align 16 .b8 a{number}[{bytes}];"),
            None => format!(".extern .shared .align 16 .b8 a{number}[];"),
        };
        let _ = writeln!(printed.text, "{line}");
    }
    let functions = program.functions.iter().enumerate();
    for (number, function) in functions.filter(|(number, _)| program.calls(*number)) {
        let head = format!(".func (.param .b32 f{number}_return) f{number}(.param .b32 f{number}_argument)");
        let mut printer = Printer::new(program);
        printer.line(&format!("ld.param.u32 %argument, [f{number}_argument];"));
        printer.begin();
        printer.clear(LOCAL);
        printer.statements(&function.body);
        let result = printer.expression(&function.result);
        printer.line(&format!("st.param.b32 [f{number}_return+0], {result};"));
        printed.add(&head, printer);
    }
    let bounds = match (program.block, program.most) {
        (Some([x, y, z]), _) => format!(" .reqntid {x}, {y}, {z}"),
        (None, Some(most)) => format!(" .maxntid {most}, 1, 1"),
        (None, None) => String::new(),
    };
    let head = format!(
        ".visible .entry kernel(.param .u64 out, .param .u64 in, .param .u32 n, .param .u32 m){bounds}"
    );
    let mut printer = Printer::new(program);
    printer.line("ld.param.u64 %out, [out];");
    printer.line("ld.param.u64 %in, [in];");
    printer.begin();
    printer.clear(0..ALL_VARIABLES);
    printer.statements(&program.body);
    printed.add(&head, printer);
    printed
}

impl Printed {
    fn add(&mut self, head: &str, printer: Printer<'_>) {
        let _ = writeln!(self.text, "{head}\n{{");
        let count = printer.temporaries + 1;
        let _ = writeln!(
            self.text,
            ".reg .b32 %t<{count}>, %v<{ALL_VARIABLES}>, %argument, %id, %x, %y;"
        );
        let _ = writeln!(self.text, ".reg .b64 %w<{count}>, %out, %in;");
        let _ = writeln!(self.text, ".reg .pred %p<{count}>;");
        let first = self.text.matches('\n').count() as u32 + 1;
        for (statement, line) in printer.lines {
            self.lines.insert(statement, first + line);
        }
        let _ = writeln!(self.text, "{}ret;\n}}", printer.text);
    }
}

struct Printer<'p> {
    program: &'p Program,
    text: String,
    count: u32,
    lines: BTreeMap<usize, u32>,
    temporaries: usize,
    labels: usize,
    /// What stands before the instruction of a statement that has a guard.
    guard: String,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program) -> Self {
        Self {
            program,
            text: String::new(),
            count: 0,
            lines: BTreeMap::new(),
            temporaries: 0,
            labels: 0,
            guard: String::new(),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.count += 1;
    }

    /// The instruction of a statement that is asked for by its line.
    fn marked(&mut self, statement: usize, line: &str) {
        self.lines.insert(statement, self.count);
        self.line(&format!("{}{line}", self.guard.clone()));
    }

    fn temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn clear(&mut self, variables: std::ops::Range<usize>) {
        for variable in variables {
            self.line(&format!("mov.u32 %v{variable}, 0;"));
        }
    }

    /// The coordinates of the thread.
    fn begin(&mut self) {
        match self.program.block {
            Some([width, height, _]) if height > 1 => {
                self.line("mov.u32 %x, %tid.x;");
                self.line("mov.u32 %y, %tid.y;");
                self.line(&format!("mad.lo.u32 %id, %y, {width}, %x;"));
            }
            _ => {
                self.line("mov.u32 %id, %tid.x;");
                self.line("mov.u32 %x, %id;");
                self.line("mov.u32 %y, 0;");
            }
        }
    }

    fn expression(&mut self, expr: &Expr) -> String {
        let read = |printer: &mut Self, from: &str| {
            let result = format!("%t{}", printer.temporary());
            printer.line(&format!("mov.u32 {result}, {from};"));
            result
        };
        match expr {
            Expr::Number(number) => number.to_string(),
            Expr::Thread => "%id".to_owned(),
            Expr::X => "%x".to_owned(),
            Expr::Y => "%y".to_owned(),
            Expr::Lane => read(self, "%laneid"),
            Expr::Block => read(self, "%ctaid.x"),
            Expr::Width => read(self, "%ntid.x"),
            Expr::Param(number) => {
                let result = format!("%t{}", self.temporary());
                let name = ["n", "m"][*number];
                self.line(&format!("ld.param.u32 {result}, [{name}];"));
                result
            }
            Expr::Variable(variable) => format!("%v{variable}"),
            Expr::Argument => "%argument".to_owned(),
            Expr::Binary(operation, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                let result = format!("%t{}", self.temporary());
                let word = match operation {
                    Operation::Add => "add.s32",
                    Operation::Subtract => "sub.s32",
                    Operation::Multiply => "mul.lo.s32",
                    Operation::And => "and.b32",
                    Operation::Xor => "xor.b32",
                    Operation::ShiftLeft => "shl.b32",
                    Operation::ShiftRight => "shr.u32",
                    Operation::Remainder => "rem.u32",
                };
                self.line(&format!("{word} {result}, {left}, {right};"));
                result
            }
            Expr::Select(condition, left, right) => {
                let predicate = self.condition(condition);
                let (left, right) = (self.expression(left), self.expression(right));
                let result = format!("%t{}", self.temporary());
                self.line(&format!("selp.b32 {result}, {left}, {right}, {predicate};"));
                result
            }
        }
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(comparison, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                let result = format!("%p{}", self.temporary());
                let word = match comparison {
                    Comparison::Equal => "eq.s32",
                    Comparison::NotEqual => "ne.s32",
                    Comparison::Less => "lt.u32",
                    Comparison::GreaterOrEqual => "ge.u32",
                    Comparison::SignedLess => "lt.s32",
                };
                self.line(&format!("setp.{word} {result}, {left}, {right};"));
                result
            }
            Condition::Both(one, other) => {
                let (one, other) = (self.condition(one), self.condition(other));
                let result = format!("%p{}", self.temporary());
                self.line(&format!("and.pred {result}, {one}, {other};"));
                result
            }
            Condition::Not(inner) => {
                let inner = self.condition(inner);
                let result = format!("%p{}", self.temporary());
                self.line(&format!("not.pred {result}, {inner};"));
                result
            }
        }
    }

    /// The address of a place, and the words between the operation and the type.
    fn place(&mut self, place: &Place) -> (String, String) {
        let offset = place.offset * place.width;
        let array = place.array;
        let mut words = String::new();
        if place.is_volatile {
            words.push_str(".volatile");
        }
        if place.is_generic {
            let index = self.expression(&place.index);
            let [base, generic, address] = [(); 3].map(|()| format!("%w{}", self.temporary()));
            self.line(&format!("mov.u64 {base}, a{array};"));
            self.line(&format!("cvta.shared.u64 {generic}, {base};"));
            if index.starts_with('%') {
                self.line(&format!(
                    "mad.wide.u32 {address}, {index}, {}, {generic};",
                    place.width
                ));
            } else {
                let register = format!("%t{}", self.temporary());
                self.line(&format!("mov.u32 {register}, {index};"));
                self.line(&format!(
                    "mad.wide.u32 {address}, {register}, {}, {generic};",
                    place.width
                ));
            }
            return (format!("[{address}+{offset}]"), words);
        }
        words.push_str(".shared");
        if let Expr::Number(number) = place.index {
            return (format!("[a{array}+{}]", number * place.width + offset), words);
        }
        let index = self.expression(&place.index);
        let [base, address] = [(); 2].map(|()| format!("%t{}", self.temporary()));
        self.line(&format!("mov.u32 {base}, a{array};"));
        self.line(&format!(
            "mad.lo.u32 {address}, {index}, {}, {base};",
            place.width
        ));
        (format!("[{address}+{offset}]"), words)
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let id = statement.id;
        match &statement.kind {
            Kind::Assign(variable, value) => {
                let value = self.expression(value);
                self.marked(id, &format!("mov.u32 %v{variable}, {value};"));
            }
            Kind::Load(into, place) => self.load(id, *into, place),
            Kind::Store(place, value) => {
                let value = self.expression(value);
                let (address, words) = self.place(place);
                match place.width {
                    8 => {
                        let both = format!("%w{}", self.temporary());
                        let register = format!("%t{}", self.temporary());
                        self.line(&format!("mov.u32 {register}, {value};"));
                        self.line(&format!("mov.b64 {both}, {{{register}, {register}}};"));
                        self.marked(id, &format!("st{words}.u64 {address}, {both};"));
                    }
                    width => self.marked(id, &format!("st{words}.u{} {address}, {value};", 8 * width)),
                }
            }
            Kind::Atomic(into, place, value) => {
                let value = self.expression(value);
                let (address, words) = self.place(place);
                match into {
                    Some(into) => {
                        self.marked(id, &format!("atom{words}.add.u32 %v{into}, {address}, {value};"));
                    }
                    None => self.marked(id, &format!("red{words}.add.u32 {address}, {value};")),
                }
            }
            Kind::LoadData(into, index) => {
                let address = self.global(index, "%in");
                self.marked(id, &format!("ld.global.u32 %v{into}, [{address}];"));
            }
            Kind::StoreOut(index, value) => {
                let value = self.expression(value);
                let address = self.global(index, "%out");
                self.marked(id, &format!("st.global.u32 [{address}], {value};"));
            }
            Kind::If {
                condition,
                is_guard,
                then,
                otherwise,
            } => {
                let predicate = self.condition(condition);
                if *is_guard {
                    self.guard = format!("@{predicate} ");
                    self.statements(then);
                    self.guard.clear();
                    return;
                }
                let (or, end) = (self.label(), self.label());
                self.line(&format!("@!{predicate} bra {or};"));
                self.statements(then);
                if !otherwise.is_empty() {
                    self.line(&format!("bra.uni {end};"));
                }
                self.line(&format!("{or}:"));
                if !otherwise.is_empty() {
                    self.statements(otherwise);
                    self.line(&format!("{end}:"));
                }
            }
            Kind::Repeat {
                counter,
                bound,
                is_tested_last,
                body,
            } => self.repeat(*counter, bound, *is_tested_last, body),
            Kind::Barrier(barrier) => self.barrier(barrier),
            Kind::Named {
                barrier,
                threads,
                waits,
            } => {
                let word = if *waits { "sync" } else { "arrive" };
                self.line(&format!("bar.{word} {barrier}, {threads};"));
            }
            Kind::WarpSync => self.line("bar.warp.sync 0xffffffff;"),
            Kind::Shuffle(into, shuffle, value) => {
                let value = self.expression(value);
                let (word, number, clamp) = match shuffle {
                    Shuffle::From(lane) => ("idx", lane, 31),
                    Shuffle::Xor(lanes) => ("bfly", lanes, 31),
                    Shuffle::Down(lanes) => ("down", lanes, 31),
                };
                let register = format!("%t{}", self.temporary());
                self.line(&format!("mov.u32 {register}, {value};"));
                self.line(&format!(
                    "shfl.sync.{word}.b32 %v{into}, {register}, {number}, {clamp}, 0xffffffff;"
                ));
            }
            Kind::Fence(is_old) => self.line(if *is_old {
                "membar.cta;"
            } else {
                "fence.acq_rel.cta;"
            }),
            Kind::End => self.line("ret;"),
            Kind::Call(into, function, argument) => {
                let argument = self.expression(argument);
                self.line("{");
                self.line(".param .b32 argument;");
                self.line(".param .b32 back;");
                self.line(&format!("st.param.b32 [argument+0], {argument};"));
                self.marked(id, &format!("call.uni (back), f{function}, (argument);"));
                self.line(&format!("ld.param.b32 %v{into}, [back+0];"));
                self.line("}");
            }
        }
    }

    fn load(&mut self, id: usize, into: usize, place: &Place) {
        let (address, words) = self.place(place);
        if place.width < 8 {
            self.marked(
                id,
                &format!("ld{words}.u{} %v{into}, {address};", 8 * place.width),
            );
            return;
        }
        let both = format!("%w{}", self.temporary());
        let [low, high] = [(); 2].map(|()| format!("%t{}", self.temporary()));
        self.marked(id, &format!("ld{words}.u64 {both}, {address};"));
        self.line(&format!("mov.b64 {{{low}, {high}}}, {both};"));
        self.line(&format!("add.s32 %v{into}, {low}, {high};"));
    }

    fn global(&mut self, index: &Expr, base: &str) -> String {
        let index = self.expression(index);
        let (register, address) = (
            format!("%t{}", self.temporary()),
            format!("%w{}", self.temporary()),
        );
        self.line(&format!("and.b32 {register}, {index}, 1023;"));
        self.line(&format!("mad.wide.u32 {address}, {register}, 4, {base};"));
        address
    }

    fn repeat(&mut self, counter: usize, bound: &Expr, is_tested_last: bool, body: &[Statement]) {
        let (head, end) = (self.label(), self.label());
        let limit = match bound {
            Expr::Number(number) => number.to_string(),
            bound => {
                let value = self.expression(bound);
                self.line(&format!("mov.u32 %v{}, {value};", counter + 1));
                format!("%v{}", counter + 1)
            }
        };
        self.line(&format!("mov.u32 %v{counter}, 0;"));
        self.line(&format!("{head}:"));
        let predicate = format!("%p{}", self.temporary());
        if !is_tested_last {
            self.line(&format!("setp.ge.u32 {predicate}, %v{counter}, {limit};"));
            self.line(&format!("@{predicate} bra {end};"));
        }
        self.statements(body);
        self.line(&format!("add.s32 %v{counter}, %v{counter}, 1;"));
        if is_tested_last {
            self.line(&format!("setp.lt.u32 {predicate}, %v{counter}, {limit};"));
            self.line(&format!("@{predicate} bra {head};"));
        } else {
            self.line(&format!("bra.uni {head};"));
            self.line(&format!("{end}:"));
        }
    }

    fn barrier(&mut self, barrier: &Barrier) {
        match barrier {
            Barrier::Sync(number) => self.line(&format!("bar.sync {number};")),
            Barrier::Counted(threads) => self.line(&format!("bar.sync 0, {threads};")),
            Barrier::Unaligned => self.line("barrier.sync 0;"),
            Barrier::Count(into, condition) => {
                let predicate = self.condition(condition);
                self.line(&format!("bar.red.popc.u32 %v{into}, 0, {predicate};"));
            }
        }
    }
}
