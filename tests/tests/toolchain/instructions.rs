//! The instructions that a default check of four inputs takes, compared with those in `instructions.tsv`: a commit that makes the check
//! slower is detected, even on a busy machine.
//!
//! callgrind counts them. A count depends on the compiler, so that it is compared for the version of rustc that it was taken with; without
//! valgrind, or with another rustc, the tests are counted as ignored. `BLESS=1` pins counts anew; the reason is written by hand into the
//! last column.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::{binary, cases, missing, root};

/// Most by which a count may differ from the pinned one, in per cent.
const MARGIN: f64 = 5.0;

/// Kernels of the module that is made here.
const KERNELS: usize = 200;

/// The files of an input.
type Files = fn() -> Vec<PathBuf>;

pub fn trials() -> Vec<Trial> {
    let inputs: [(&str, Files); 4] = [
        ("compiled", compiled),
        ("rules", || one_of(4, cases::files("corpus/rules", "ptx"))),
        ("large", || vec![large()]),
        ("rounds", || vec![rounds()]),
    ];
    let trials = inputs.map(|(name, files)| {
        Trial::ignorable_test(format!("instructions of {name}"), move || held(name, &files()))
    });
    trials.into()
}

/// One of so many files, chosen by their names: a file that is added does not change which of the others are counted.
fn one_of(many: u32, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.retain(|file| {
        let path = file.strip_prefix(root()).unwrap_or(file).to_string_lossy();
        path.bytes().map(u32::from).sum::<u32>() % many == 0
    });
    files
}

/// Optimised code of nvcc, half of the modules.
fn compiled() -> Vec<PathBuf> {
    let mut files = cases::files("corpus/compilers", "ptx");
    files.retain(|file| {
        let path = file.to_string_lossy();
        path.contains("nvcc") && path.ends_with(".O3.ptx")
    });
    one_of(2, files)
}

fn held(name: &str, files: &[PathBuf]) -> Result<Completion, Failed> {
    let table = root().join("tests/tests/toolchain/instructions.tsv");
    let rustc = output("rustc", &["--version"])?;
    let rustc = rustc.split(' ').nth(1).unwrap_or_default().to_owned();
    if output("valgrind", &["--version"]).is_err() {
        return missing::skip("valgrind is not installed");
    }
    let text = std::fs::read_to_string(&table).unwrap_or_default();
    let row = |line: &str| -> Option<(String, u64)> {
        let mut cells = line.split('\t');
        (cells.next()? == name).then_some(())?;
        Some((cells.next()?.to_owned(), cells.next()?.parse().ok()?))
    };
    let pinned = text.lines().find_map(row);
    let bless = std::env::var_os("BLESS").is_some();
    if let Some((of_rustc, _)) = &pinned
        && !bless
        && *of_rustc != rustc
    {
        return Ok(Completion::ignored_with(format!(
            "the count is of rustc {of_rustc}, and this is {rustc}"
        )));
    }
    let taken = count(files)?;
    let Some((_, wanted)) = pinned.filter(|_| !bless) else {
        if bless {
            return Ok(bless_row(&table, name, &rustc, taken)?);
        }
        return Err(format!("instructions.tsv has no row for {name}; it takes {taken}").into());
    };
    let change = (taken as f64 / wanted as f64 - 1.0) * 100.0;
    if change.abs() > MARGIN {
        return Err(format!(
            "{taken} instructions, {wanted} before: {change:+.1} %. If that is meant, `BLESS=1` pins it, with the reason in the table"
        )
        .into());
    }
    Ok(Completion::Completed)
}

fn bless_row(table: &Path, name: &str, rustc: &str, taken: u64) -> Result<Completion, String> {
    let text = std::fs::read_to_string(table).unwrap_or_default();
    let others = text.lines().filter(|line| line.split('\t').next() != Some(name));
    let reason = text
        .lines()
        .find(|line| line.split('\t').next() == Some(name))
        .and_then(|line| line.split('\t').nth(3))
        .unwrap_or_default();
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(format!("{name}\t{rustc}\t{taken}\t{reason}"));
    lines.sort();
    std::fs::write(table, lines.join("\n") + "\n").map_err(|error| error.to_string())?;
    Ok(Completion::Completed)
}

/// The instructions of a check of these files on one thread, without those of a run that checks nothing.
fn count(files: &[PathBuf]) -> Result<u64, Failed> {
    let mut args = vec!["-j".into(), "1".into(), "-q".into()];
    args.extend(files.iter().map(|file| file.clone().into_os_string()));
    let start = collected(&["--version".into()])?;
    Ok(collected(&args)?.saturating_sub(start))
}

fn collected(args: &[std::ffi::OsString]) -> Result<u64, Failed> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary::path())
        .args(args)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&run.stderr);
    let number = said
        .split("Collected :")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("callgrind counts nothing: {said}").into())
}

fn output(program: &str, args: &[&str]) -> Result<String, Failed> {
    let run = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// A file with this text, in the folder of the tests' own files; that of another run of the tests is the same.
fn made(name: &str, text: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::write(&file, text);
    file
}

/// A module of some megabytes: kernels with loops, votes, shared arrays and a table.
fn large() -> PathBuf {
    let mut text =
        ".version 8.4\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[40000] = {".to_owned();
    for number in 0..40_000 {
        let _ = write!(text, "{}{}", if number == 0 { "" } else { ", " }, number % 251);
    }
    text.push_str("};\n");
    for kernel in 0..KERNELS {
        let _ = write!(
            text,
            ".visible .entry kernel_{kernel}(.param .u64 kernel_{kernel}_p, .param .u32 kernel_{kernel}_n)\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<200>;\n.reg .b64 %rd<64>;\n.shared .align 4 .b8 tile_{kernel}[4096];\n\
             ld.param.u64 %rd1, [kernel_{kernel}_p];\nld.param.u32 %r1, [kernel_{kernel}_n];\ncvta.to.global.u64 %rd2, %rd1;\n\
             mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %r2;\nmov.u32 %r5, 0;\n$L_loop:\n\
             setp.ge.u32 %p1, %r4, %r1;\n@%p1 bra $L_done;\n"
        );
        for step in 0..24 {
            let (value, next) = (10 + step, 11 + step);
            let _ = write!(
                text,
                "mul.wide.u32 %rd{}, %r4, 4;\nadd.s64 %rd3, %rd2, %rd{};\nld.global.u32 %r{value}, [%rd3+{}];\n\
                 add.s32 %r{next}, %r{value}, %r5;\nxor.b32 %r5, %r{next}, {step};\n",
                4 + step,
                4 + step,
                4 * step
            );
        }
        let _ = write!(
            text,
            "add.s32 %r4, %r4, %r3;\nbra $L_loop;\n$L_done:\nshl.b32 %r6, %r2, 2;\nand.b32 %r6, %r6, 4092;\n\
             mov.u32 %r7, tile_{kernel};\nadd.s32 %r8, %r7, %r6;\nst.shared.u32 [%r8], %r5;\nbar.sync 0;\n\
             ld.shared.u32 %r9, [tile_{kernel}];\nsetp.eq.u32 %p2, %r2, 0;\n\
             shfl.sync.down.b32 %r40, %r9, 16, 31, -1;\nvote.sync.ballot.b32 %r41, %p2, -1;\n@!%p2 bra $L_end;\n\
             add.s32 %r42, %r40, %r41;\nst.global.u32 [%rd2], %r42;\n$L_end:\nret;\n}}\n"
        );
    }
    made("large.ptx", &text)
}

/// A module of kernels in which nothing is wrong, each with loops that warps go round as often as the numbers of their threads say, a
/// collective in each, and with loops that wait for a flag in shared memory.
fn rounds() -> PathBuf {
    let mut text = ".version 8.4\n.target sm_90\n.address_size 64\n".to_owned();
    for kernel in 0..16 {
        let _ = write!(
            text,
            ".visible .entry kernel_{kernel}(.param .u64 kernel_{kernel}_p)\n{{\n\
             .reg .pred %p<200>;\n.reg .b32 %r<600>;\n.reg .b64 %rd<8>;\n.shared .align 4 .b8 flags_{kernel}[64];\n\
             ld.param.u64 %rd1, [kernel_{kernel}_p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n\
             shr.u32 %r2, %r1, 5;\nand.b32 %r3, %r1, 3;\nmul.wide.u32 %rd3, %r3, 16;\nadd.s64 %rd4, %rd2, %rd3;\n\
             match.any.sync.b64 %r4, %rd4, -1;\nbar.warp.sync %r4;\n"
        );
        for number in 0..8 {
            let (counter, sum) = (10 + number, 30 + number);
            let _ = write!(
                text,
                "mov.u32 %r{counter}, %r2;\nmov.u32 %r{sum}, %r1;\n$L_round_{number}:\n"
            );
            for step in 0..16 {
                let value = 100 + step;
                let _ = write!(
                    text,
                    "ld.global.u32 %r{value}, [%rd2+{}];\nadd.u32 %r{sum}, %r{sum}, %r{value};\nsetp.eq.u32 %p{}, %r{value}, {step};\n\
                     @%p{} add.u32 %r{}, %r{sum}, {step};\n",
                    4 * step,
                    10 + step,
                    10 + step,
                    200 + 16 * number + step
                );
            }
            let _ = write!(
                text,
                "bar.warp.sync -1;\nadd.u32 %r{counter}, %r{counter}, 4;\nsetp.lt.u32 %p1, %r{counter}, 64;\n\
                 @%p1 bra $L_round_{number};\n$L_wait_{number}:\nld.volatile.global.u32 %r50, [%rd2+{}];\n\
                 ld.shared.u32 %r51, [flags_{kernel}+8];\nsetp.eq.u32 %p2, %r50, %r51;\nst.shared.u32 [flags_{kernel}+4], %r50;\n\
                 @%p2 bra $L_wait_{number};\nbar.warp.sync -1;\nst.global.u32 [%rd2], %r{sum};\n",
                4 * number
            );
        }
        text.push_str("ret;\n}\n");
    }
    made("rounds.ptx", &text)
}
