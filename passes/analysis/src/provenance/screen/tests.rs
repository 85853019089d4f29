//! The screen loses no finding: random modules have the same findings with it and without.

use std::fmt::Write as _;

use super::super::suspects::Suspects;
use super::super::{Violation, ViolationKind, call_levels, find_violations, find_violations_among};
use crate::module::ModuleAnalyses;
use crate::shared::AnalysisOptions;
use crate::testing::with_options;
use ptxcheck_ir::Space;

/// The violations of all functions, each of them solved.
fn without_screen(module: &ModuleAnalyses<'_>) -> Vec<Violation> {
    let all: Vec<Suspects> = module.module.functions.iter().map(|_| Suspects::All).collect();
    find_violations_among(module, &call_levels(module), false, &all)
}

/// Numbers of a linear congruential generator (Knuth's MMIX).
struct Random {
    state: u64,
    /// Most generated statements are correct.
    is_careful: bool,
}

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as usize) % count
    }

    /// One of these, the first of which is the most harmless.
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let place = self.below(from.len());
        from[if self.is_careful && self.below(24) > 0 {
            0
        } else {
            place
        }]
    }
}

const SPACES: [&str; 6] = ["global", "shared", "local", "const", "shared::cluster", "param"];
const VARIABLES: [&str; 4] = ["g", "s", "d", "c"];
const OFFSETS: [&str; 8] = ["0", "4", "8", "24", "32", "64", "-8", "4096"];

fn random_address(random: &mut Random) -> String {
    format!("%a{}", random.below(8))
}

/// A statement of a body; `callee`: the function that it may call.
fn random_statement(random: &mut Random, callee: Option<usize>) -> String {
    let (to, from, other) = (
        random_address(random),
        random_address(random),
        random_address(random),
    );
    let narrow = format!("%r{}", random.below(4));
    let predicate = format!("%p{}", random.below(3));
    let variable = random.pick(&VARIABLES);
    let offset = random.pick(&OFFSETS);
    let space = random.pick(&SPACES);
    let place = match random.below(3) {
        0 => format!("[{variable}+{offset}]"),
        1 => format!("[{from}]"),
        _ => format!("[{from}+{offset}]"),
    };
    let access = random.pick(&["", ".global", ".shared", ".local", ".const"]);
    let writable = random.pick(&["", ".global", ".shared", ".local"]);
    let bits = random.pick(&["u64", "u32"]);
    let data = if bits == "u64" { &to } else { &narrow };
    match random.below(34) {
        0 | 1 => format!("mov.u64 {to}, {variable};"),
        2 => format!("mov.u64 {to}, {from};"),
        3 => format!("mov.u64 {to}, {};", random.pick(&["0", "0", "8", "16", "5000"])),
        4 | 5 if !matches!(space, "param") => format!("cvta.{space}.u64 {to}, {from};"),
        6 | 7 if !matches!(space, "param") => format!("cvta.to.{space}.u64 {to}, {from};"),
        8 => format!("add.s64 {to}, {from}, {offset};"),
        9 => format!("add.s64 {to}, {from}, {other};"),
        10 => format!("sub.s64 {to}, {from}, {other};"),
        11 => format!("and.b64 {to}, {from}, {};", random.pick(&["-16", "15", "%a0"])),
        12 => format!(
            "selp.b64 {to}, {from}, {}, {predicate};",
            random.pick(&["0", "%a1", "%a2"])
        ),
        13 => format!("shl.b64 {to}, {from}, 2;"),
        14 => format!("cvt.u32.u64 {narrow}, {from};\ncvt.u64.u32 {to}, {narrow};"),
        15 if matches!(space, "global" | "shared" | "local") => {
            format!("isspacep.{space} {predicate}, {from};")
        }
        16 => format!("atom{writable}.add.u32 {narrow}, {place}, 1;").replace("atom.local", "atom"),
        17 | 18 => format!("ld{access}.{bits} {data}, {place};"),
        19 | 20 => format!("st{writable}.{bits} {place}, {data};"),
        21 => format!("mapa.shared::cluster.u64 {to}, {from}, 1;"),
        22 | 23 => match callee {
            Some(callee) => format!(
                "{{ .param .b64 x; .param .b64 y; .param .b64 z; st.param.b64 [x], {from}; st.param.b64 [y], {other};\n\
                 call.uni (z), f{callee}, (x, y); ld.param.b64 {to}, [z]; }}"
            ),
            None => format!("setp.eq.u64 {predicate}, {from}, 0;"),
        },
        // Shared memory fits in 32 bits.
        24 => format!("mov.u32 {narrow}, {variable};"),
        25 => format!("add.s32 {narrow}, {narrow}, {offset};"),
        26 => format!("ld{access}.u32 {narrow}, [{narrow}+{offset}];"),
        27 => format!("cvt.u64.u32 {to}, {narrow};\nmul.wide.u32 {from}, {narrow}, 4;"),
        28 => format!(
            "sub.s64 {to}, {from}, {other};\nadd.s64 {to}, {to}, {};",
            random_address(random)
        ),
        29 => format!(
            "xor.b64 {to}, {from}, {other};\nxor.b64 {to}, {to}, {};",
            random_address(random)
        ),
        30 => format!("shr.s64 {to}, {from}, 2;"),
        31 => format!(
            "mad.lo.s64 {to}, {from}, {}, {other};",
            random.pick(&["4", "-1", "%a3"])
        ),
        32 => format!("neg.s64 {to}, {from};"),
        _ => format!("setp.ne.u64 {predicate}, {from}, 0;"),
    }
}

/// The code of a library with an instruction for each space, in registers and labels of its own, `number` among them.
fn switch_over_spaces(random: &mut Random, number: usize) -> String {
    let n = number;
    let from = random_address(random);
    let space = random.pick(&["local", "shared", "global"]);
    let guard = random.pick(&["@", "@!"]);
    let mut used = || {
        let at = random.pick(&["t", "t", "u", "v"]);
        let offset = random.pick(&OFFSETS);
        match random.below(if random.is_careful { 20 } else { 5 }) {
            0 => format!("atom.add.u32 %r0, [%{at}{n}+{offset}], 1;"),
            1 => format!("cvta.to.shared.u64 %a0, %{at}{n};\nld.shared.u32 %r1, [%a0];"),
            2 => format!("st.global.u64 [%{at}{n}], %{at}{n};"),
            3 => format!("add.s64 %v{n}, %t{n}, {offset};\nld.local.u32 %r2, [%v{n}];"),
            _ => format!("ld.u32 %r3, [%{at}{n}];"),
        }
    };
    let (first, second, last) = (used(), used(), used());
    format!(
        ".reg .b64 %t{n}, %u{n}, %v{n};\n.reg .pred %q{n};\nmov.u64 %t{n}, {from};\nmov.u64 %u{n}, %t{n};\n\
         add.s64 %v{n}, %u{n}, 8;\nisspacep.{space} %q{n}, %t{n};\n{guard}%q{n} bra $M{n};\n{first}\nbra.uni $N{n};\n\
         $M{n}:\n{second}\n$N{n}:\n{last}\n"
    )
}

/// Statements in blocks, which lead on at random.
fn random_body(random: &mut Random, number: usize) -> String {
    let mut code =
        String::from(".reg .b64 %a<8>;\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n.local .align 8 .b8 d[64];\n");
    let blocks = 1 + random.below(5);
    for register in 0..8 {
        // Some functions are not called.
        if random.below(8) > 0 || random.is_careful {
            let piece = random.pick(&["x", "y"]);
            let _ = match random.below(3) {
                0 => writeln!(code, "mov.u64 %a{register}, {};", random.pick(&VARIABLES)),
                1 => writeln!(code, "ld.param.u64 %a{register}, [{piece}{number}];"),
                _ if random.is_careful => writeln!(code, "ld.param.u64 %a{register}, [{piece}{number}];"),
                _ => writeln!(code, "cvta.shared.u64 %a{register}, %a{register};"),
            };
        }
    }
    for block in 0..blocks {
        let _ = writeln!(code, "$L{block}:");
        for _ in 0..1 + random.below(6) {
            let callee = (number > 0).then(|| random.below(number));
            let guard = if random.below(8) == 0 { "@%p0 " } else { "" };
            let statement = random_statement(random, callee);
            let guard = if statement.starts_with('{') { "" } else { guard };
            let _ = writeln!(code, "{guard}{statement}");
        }
        if random.below(4) == 0 {
            code.push_str(&switch_over_spaces(random, block));
        }
        if random.below(3) > 0 {
            let _ = writeln!(code, "@%p{} bra $L{};", random.below(3), random.below(blocks));
        }
    }
    code
}

fn random_module(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.5\n.target sm_90\n.address_size 64\n.global .align 8 .b8 g[64];\n.shared .align 8 .b8 s[32];\n\
         .const .align 8 .b8 c[16];\n",
    );
    let functions = 1 + random.below(4);
    for number in 0..functions {
        let params = format!("(.param .b64 x{number}, .param .b64 y{number})");
        let head = if number + 1 == functions {
            format!(".visible .entry k{params}")
        } else {
            format!(".func (.param .b64 r) f{number}{params}")
        };
        let code = random_body(random, number);
        let back = if number + 1 == functions {
            String::new()
        } else {
            format!("st.param.b64 [r], {};\n", random_address(random))
        };
        let _ = writeln!(text, "{head}\n{{\n{code}{back}ret;\n}}");
    }
    text
}

/// The violations that are reported with potential findings, or without.
fn reported_violations(violations: &[Violation], definite_alone: bool) -> Vec<String> {
    let is_told = |violation: &&Violation| {
        let is_off =
            violation.wrong == ViolationKind::Twice && violation.used.required_space() == Space::Global;
        !definite_alone || violation.is_definite && !is_off
    };
    violations
        .iter()
        .filter(is_told)
        .map(|violation| format!("{violation:?}"))
        .collect()
}

#[test]
fn the_screen_hides_no_violation() {
    let mut random = Random {
        state: 7,
        is_careful: false,
    };
    let (mut wrong, mut definite, mut passed_over) = (0, 0, 0);
    for number in 0..3_000 {
        random.is_careful = number % 2 == 0;
        let text = random_module(&mut random);
        with_options(&text, AnalysisOptions::potential(), |module| {
            let (complete, screened) = (without_screen(module), find_violations(module));
            assert_eq!(
                reported_violations(&screened, false),
                reported_violations(&complete, false),
                "{text}"
            );
            wrong += complete.len();
        });
        with_options(&text, AnalysisOptions::default(), |module| {
            let (complete, screened) = (without_screen(module), find_violations(module));
            assert_eq!(
                reported_violations(&screened, true),
                reported_violations(&complete, true),
                "{text}"
            );
            definite += reported_violations(&complete, true).len();
            let suspects = super::suspects(module, &call_levels(module), false);
            passed_over += suspects
                .iter()
                .filter(|one| matches!(one, Suspects::None))
                .count();
        });
    }
    // Otherwise the test would mean little.
    assert!(
        wrong > 3_000 && definite > 1_000 && passed_over > 800,
        "{wrong} {definite} {passed_over}"
    );
}
