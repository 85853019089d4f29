//! A rule of one's own, which runs beside ours: `cargo run -p ptxcheck-passes --example own_rule -- FILE…`

use std::process::ExitCode;

use ptxcheck_passes::context::Place;
use ptxcheck_passes::ir::{Callee, Op};
use ptxcheck_passes::registry::Refused;
use ptxcheck_passes::{
    Bytes, Check, Family, FunctionContext, Input, Level, Registry, Report, Rule, Settings,
};

/// The rule: no `printf` in what is released.
pub static NO_PRINTF: Rule = Rule::new(
    "ACME001",
    "printf-in-release",
    Family::Device,
    "device code prints",
)
.at_level(Level::Warning);

/// The check of the rule.
pub const CHECK: Check = Check::Function(check);

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    for (id, instruction) in function.body.iter() {
        let Op::Call(call) = instruction.op else { continue };
        let Callee::Direct(symbol) = function.body.call(call).callee else {
            continue;
        };
        if function.module.module.symbol(symbol).name == "vprintf" && function.analyses().is_reached(id) {
            let place = Place::of_instruction(function.id, id);
            report
                .definite(place, format!("`{}` prints", function.name()))
                .help("print behind a macro that a release leaves out");
        }
    }
}

/// Our rules and this one.
pub fn settings() -> Result<Settings, Refused> {
    Ok(Settings {
        registry: Registry::default().with(&NO_PRINTF, CHECK)?,
        ..Settings::default()
    })
}

fn main() -> ExitCode {
    let inputs = std::env::args().skip(1).map(|name| Input {
        bytes: Bytes::File(name.clone().into()),
        name,
    });
    let settings = match settings() {
        Ok(settings) => settings,
        Err(refused) => return complain(&refused),
    };
    let outcome = ptxcheck_passes::check(inputs.collect(), &settings);
    for finding in &outcome.findings {
        let line = finding.location.as_ref().map_or(0, |place| place.line);
        let input = &outcome.inputs[finding.input].name;
        say(&format!(
            "{input}:{line}: {} [{}]",
            finding.message, finding.rule.code
        ));
    }
    ExitCode::from(u8::from(!outcome.findings.is_empty()))
}

#[allow(clippy::print_stdout, reason = "what this program is for")]
fn say(line: &str) {
    println!("{line}");
}

#[allow(clippy::print_stderr, reason = "what this program is for")]
fn complain(refused: &Refused) -> ExitCode {
    eprintln!("{refused}");
    ExitCode::from(2)
}
