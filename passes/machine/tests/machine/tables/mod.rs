//! Integer operations against tables of results, written by hand from the PTX ISA: the sections are named in each table.
//!
//! A row has an opcode, its registers (results, then operands; `p` predicate, `h` 16 bits, `r` 32, `d` 64, `i` a number in the
//! text), the values of the operands, and those of the results. `?` stands for a result that is not known: the ISA leaves it
//! open, or the IR does not model the operation. Each row is lowered from PTX and run by the machine, with operands that come
//! from parameters.

mod agreement;
mod arithmetic;
mod bits;
mod moves;

use ptxcheck_frontend_ptx::{PtxOrigin, lower};
use ptxcheck_machine::{End, Given, Kernel, Launch, Schedule, Setup, Unknown, Unobserved};

/// A number in decimal or hexadecimal; negative ones in two's complement.
fn number(text: &str) -> u64 {
    let (digits, is_negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let value = value.unwrap_or_else(|_| panic!("{text} is no number"));
    if is_negative { value.wrapping_neg() } else { value }
}

/// The bytes of a register's parameter, and the type of its loads and comparisons.
fn class(letter: &str) -> (u8, &'static str) {
    match letter {
        "h" => (2, "u16"),
        "d" => (8, "u64"),
        _ => (4, "u32"),
    }
}

/// A kernel being written, with a world of its parameters.
#[derive(Default)]
struct Writer {
    parameters: Vec<String>,
    code: String,
    world: Given,
    offset: u64,
}

impl Writer {
    /// The code that loads a value into a register from a parameter of its own.
    fn load(&mut self, letter: &str, register: &str, value: u64) {
        let (bytes, kind) = class(letter);
        let name = format!("a{}", self.parameters.len());
        self.offset = self.offset.next_multiple_of(u64::from(bytes));
        self.world.parameter(self.offset, bytes, value);
        self.offset += u64::from(bytes);
        self.parameters.push(format!(".param .{kind} {name}"));
        if letter == "p" {
            self.code.push_str(&format!(
                "ld.param.u32 %r31, [{name}];\nsetp.ne.u32 {register}, %r31, 0;\n"
            ));
        } else {
            self.code
                .push_str(&format!("ld.param.{kind} {register}, [{name}];\n"));
        }
    }

    /// The code that traps unless a register has a value, and ends the run where that is not known.
    fn expect(&mut self, letter: &str, register: &str, value: u64) {
        if letter == "p" {
            let sign = if value == 1 { "!" } else { "" };
            self.refuse(&format!("{sign}{register}"));
            return;
        }
        let (_, kind) = class(letter);
        let other = format!("%{letter}30");
        self.load(letter, &other, value);
        self.code
            .push_str(&format!("setp.ne.{kind} %p30, {register}, {other};\n"));
        self.refuse("%p30");
    }

    /// The code that traps where a guard holds. A guard that is not known ends the run at the collective before.
    fn refuse(&mut self, guard: &str) {
        self.code
            .push_str(&format!("@{guard} bar.warp.sync 1;\n@{guard} trap;\n"));
    }

    fn run(&mut self) -> End {
        let text = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k({})\n{{\n.reg .pred %p<32>;\n\
             .reg .b16 %h<32>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n{}ret;\n}}\n",
            self.parameters.join(", "),
            self.code
        );
        let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).expect("it parses");
        assert!(tree.errors().is_empty(), "{text}");
        let origin = PtxOrigin::new(&tree);
        let module = lower(&tree, &origin);
        let (function, ..) = module.bodies().next().expect("it has a kernel");
        let kernel = Kernel::new(&module, function).expect("it can run");
        let setup = Setup::new(Launch::of_block([1, 1, 1]), Schedule::First);
        let outcome = kernel.run(&setup, &mut self.world, &mut Unobserved);
        outcome.expect("it is launched").end
    }
}

/// Runs a row. `write` makes the instruction of the registers.
fn holds(row: &str, write: impl Fn(&str, &[String], &[String]) -> String) {
    let columns: Vec<&str> = row.split('|').map(str::trim).collect();
    let [opcode, letters, values, results] = columns[..] else {
        panic!("{row} has no four columns");
    };
    let letters: Vec<&str> = letters.split_whitespace().collect();
    let values: Vec<&str> = values.split_whitespace().collect();
    let results: Vec<&str> = results.split_whitespace().collect();
    assert_eq!(letters.len(), values.len() + results.len(), "{row}");
    let register = |place: usize| match letters[place] {
        "i" => values[place - results.len()].to_owned(),
        letter => format!("%{letter}{place}"),
    };
    let registers: Vec<String> = (0..letters.len()).map(register).collect();
    let (written, read) = registers.split_at(results.len());
    for (result, expected) in results.iter().enumerate() {
        let mut writer = Writer::default();
        for (place, value) in values.iter().enumerate() {
            let letter = letters[results.len() + place];
            if letter != "i" {
                writer.load(letter, &read[place], number(value));
            }
        }
        writer.code.push_str(&write(opcode, written, read));
        writer.code.push('\n');
        let letter = letters[result];
        let is_open = *expected == "?";
        writer.expect(
            letter,
            &written[result],
            if is_open { 0 } else { number(expected) },
        );
        let end = writer.run();
        let is_as_expected = match &end {
            End::Complete => !is_open,
            End::Unknown(Unknown::Branch(_)) => is_open,
            End::Trap(_) | End::Stopped | End::Unknown(_) => false,
        };
        assert!(is_as_expected, "{row}: result {result} ends with {end:?}");
    }
}

/// Runs the rows of a table.
fn check(table: &str) {
    let rows = table
        .lines()
        .map(str::trim)
        .filter(|row| !row.is_empty() && !row.starts_with('#'));
    let mut count = 0;
    for row in rows {
        holds(row, |opcode, written, read| {
            let read = read.iter().map(|register| format!(", {register}"));
            format!("{opcode} {}{};", written.join("|"), read.collect::<String>())
        });
        count += 1;
    }
    assert!(count > 0, "the table has rows");
}
