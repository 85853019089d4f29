//! The parser against a plain nom tokeniser over the same bytes, on one core.
//!
//! `cargo bench -p ptxcheck-ptx-parser -- [files or folders]`. Without arguments, over a module made in memory.
//! Prints MB/s (10⁶ bytes) of each, best of several rounds, their ratio, the memory of tree and source relative to
//! the source, and every file that has syntax errors.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nom::branch::alt;
use nom::bytes::complete::{tag, take, take_until, take_while, take_while1};
use nom::character::complete::not_line_ending;
use nom::combinator::{recognize, rest};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

const ROUNDS: u32 = 7;

fn main() {
    let arguments: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    let mut inputs = Vec::new();
    for path in &arguments {
        read(path, &mut inputs);
    }
    if inputs.is_empty() {
        for number in 0..16 {
            inputs.push((format!("(made in memory, {number})"), generated(number, 500_000)));
        }
    }
    let bytes: usize = inputs.iter().map(|(_, source)| source.len()).sum();
    let megabytes = bytes as f64 / 1e6;
    println!("{} inputs, {megabytes:.1} MB", inputs.len());

    let mut errors = 0;
    let mut changed = 0;
    let (mut heap, mut worst) = (0, 0.0_f64);
    for (name, source) in &inputs {
        let tree = ptxcheck_ptx_parser::parse(source).unwrap();
        heap += tree.heap_bytes();
        if source.len() > 100_000 {
            worst = worst.max((tree.heap_bytes() + source.len()) as f64 / source.len() as f64);
        }
        if !tree.errors().is_empty() {
            errors += 1;
            println!(
                "{name}: {} errors",
                tree.errors().len() + tree.errors_left_out() as usize
            );
            let lines = ptxcheck_ptx_parser::LineIndex::new(source);
            for error in tree.errors().iter().take(3) {
                let place = lines.position(error.span.start);
                println!("  {}:{}: {}", place.line, place.column, error.message(source));
            }
        }
    }
    println!("inputs with errors: {errors}");
    for (name, source) in &inputs {
        let tree = ptxcheck_ptx_parser::parse(source).unwrap();
        let printed = ptxcheck_ptx_parser::printer::print(&tree);
        let again = ptxcheck_ptx_parser::parse(&printed).unwrap();
        if !ptxcheck_ptx_parser::printer::same(&tree, &again)
            || ptxcheck_ptx_parser::printer::print(&again) != printed
        {
            changed += 1;
            println!("{name}: printing changes it");
        }
    }
    println!("inputs that printing changes: {changed}");

    let (mut tokenising, mut parsing) = (Duration::MAX, Duration::MAX);
    let mut tokens = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        tokens = inputs.iter().map(|(_, source)| tokenise(black_box(source))).sum();
        tokenising = tokenising.min(start.elapsed());
        let start = Instant::now();
        for (_, source) in &inputs {
            drop(black_box(ptxcheck_ptx_parser::parse(black_box(source))));
        }
        parsing = parsing.min(start.elapsed());
    }
    let rate = |time: Duration| megabytes / time.as_secs_f64();
    println!("tokens     {tokens}");
    println!("tokenise   {:8.1} MB/s", rate(tokenising));
    println!("parse      {:8.1} MB/s", rate(parsing));
    println!("parse / tokenise        {:.2}", rate(parsing) / rate(tokenising));
    let total = (heap + bytes) as f64 / bytes as f64;
    println!("(tree + source) / source {total:.2}, largest of inputs over 100 kB {worst:.2}");
    if let Some(peak) = peak_resident() {
        println!("peak resident {:.1} MB, inputs included", peak as f64 / 1e6);
    }
}

/// Number of tokens: words (names, numbers, opcodes and directives with their dots), strings, punctuation.
/// Blanks and comments are skipped.
fn tokenise(source: &[u8]) -> usize {
    let mut count = 0;
    let mut input = source;
    loop {
        match blanks_and_comments(input) {
            Ok((after, _)) => input = after,
            Err(_) => return count,
        }
        match token(input) {
            Ok((after, _)) => (input, count) = (after, count + 1),
            Err(_) => return count,
        }
    }
}

fn token(input: &[u8]) -> IResult<&[u8], &[u8], ()> {
    alt((
        take_while1(is_word),
        delimited(tag("\""), take_while(|byte| byte != b'"'), tag("\"")),
        take(1_usize),
    ))
    .parse(input)
}

fn blanks_and_comments(mut input: &[u8]) -> IResult<&[u8], (), ()> {
    loop {
        let (after, _) = take_while(is_blank).parse(input)?;
        if after.first() != Some(&b'/') {
            return Ok((after, ()));
        }
        match comment(after) {
            Ok((after, _)) => input = after,
            Err(_) => return Ok((after, ())),
        }
    }
}

fn comment(input: &[u8]) -> IResult<&[u8], &[u8], ()> {
    alt((
        preceded(tag("//"), not_line_ending),
        recognize((tag("/*"), alt((recognize((take_until("*/"), tag("*/"))), rest)))),
    ))
    .parse(input)
}

fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | b'%' | b'.');
        byte += 1;
    }
    table
};

/// All files below `path`, in a stable order.
fn read(path: &Path, inputs: &mut Vec<(String, Vec<u8>)>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for entry in entries {
            read(&entry, inputs);
        }
    } else {
        inputs.push((path.display().to_string(), std::fs::read(path).unwrap()));
    }
}

/// The peak memory of this process, in bytes, if the system reports it.
fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// A module of about `size` bytes with a mix of statements as compilers emit it, in an order that `seed` draws.
fn generated(seed: u32, size: usize) -> Vec<u8> {
    let mut text = String::from(".version 8.5\n.target sm_90\n.address_size 64\n\n");
    write!(text, ".global .align 4 .b8 table[4000] = {{0").unwrap();
    for value in 1..4_000 {
        write!(text, ", {}", value * 7 % 256).unwrap();
    }
    text.push_str("};\n");
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    let mut kernel = 0;
    while text.len() < size {
        let name = format!("_Z11kernel_{seed}_{kernel}PKfPfi");
        write!(
            text,
            "\n\t// .globl\t{name}\n.visible .entry {name}(\n\t.param .u64 .ptr .align 1 {name}_param_0,\n\t.param \
             .align 4 .b8 {name}_param_1[12]\n)\n.maxntid 256, 1, 1\n{{\n\t.reg .pred \t%p<12>;\n\t.reg .b32 \
             \t%r<400>;\n\t.reg .b64 \t%rd<400>;\n\n\tld.param.u64 \t%rd1, [{name}_param_0];\n\tcvta.to.global.u64 \
             \t%rd2, %rd1;\n\tmov.u32 \t%r1, %tid.x;\n"
        )
        .unwrap();
        for block in 0..24 {
            writeln!(text, "$L__BB{kernel}_{block}:").unwrap();
            for _ in 0..12 {
                let (a, b, p) = (random(400), random(400), random(12));
                let immediate = random(5_000);
                match random(12) {
                    0 => writeln!(text, "\tmul.wide.s32 \t%rd{a}, %r{b}, 4;"),
                    1 | 2 => writeln!(text, "\tadd.s64 \t%rd{b}, %rd2, %rd{a};"),
                    3 => writeln!(text, "\tld.global.f32 \t%f{a}, [%rd{b}+{immediate}];"),
                    4 => writeln!(text, "\tfma.rn.f32 \t%f{b}, %f{a}, 0f3F800000, %f{a};"),
                    5 => writeln!(text, "\tand.b32 \t%r{a}, %r{b}, -{immediate};"),
                    6 => writeln!(text, "\tsetp.lt.s32 \t%p{p}, %r{a}, %r{b};"),
                    7 => writeln!(text, "\tst.global.v2.u32 \t[%rd{a}], {{%r{a}, %r{b}}};"),
                    8 => writeln!(text, "\tselp.b32 \t%r{b}, 1, 0, %p{p};"),
                    9 => writeln!(text, "\tshl.b32 \t%r{a}, %r{b}, 3;"),
                    10 => writeln!(text, "\tshfl.sync.down.b32 \t%r{b}|%p{p}, %r{a}, 1, 31, -1;"),
                    _ => writeln!(text, "\tmov.u32 \t%r{a}, %ctaid.x;"),
                }
                .unwrap();
            }
            write!(text, "\t@%p{} bra \t$L__BB{kernel}_{block};\n\n", random(12)).unwrap();
        }
        text.push_str("\tbar.sync \t0;\n\tret;\n\n}\n");
        kernel += 1;
    }
    text.into_bytes()
}
