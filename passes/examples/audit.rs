//! A policy for a release: `cargo run -p ptxcheck-passes --example audit -- FILE…`
//!
//! Asks for machine code for sm_90, PTX that driver 550 loads, and no image twice. Exit code 1 if a file has something else.

use std::process::ExitCode;

use ptxcheck_passes::policy::{self, Driver, Policy};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector};
use ptxcheck_passes::{Bytes, Input, Level, Outcome, Settings, check};

/// The requirements, at the level of an error.
pub fn settings() -> Result<Settings, Box<dyn std::error::Error>> {
    let policy = Policy {
        require_sm: vec![policy::target("90")?],
        min_driver: Some("550.54".parse::<Driver>()?),
        forbid_duplicates: true,
        ..Policy::default()
    };
    let levels = Selector::parse("image").map(|selector| LevelSetting {
        selector,
        level: Level::Error,
        change: Change::Set,
    });
    Ok(Settings {
        policy,
        levels: levels.into_iter().collect(),
        // The images are unpacked and what they declare is read; their code is not.
        images_only: true,
        ..Settings::default()
    })
}

/// The images of each file and the findings about them, a line each.
pub fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for input in &outcome.inputs {
        for image in &input.images {
            lines.push(format!(
                "{}: {}, {} bytes",
                input.name,
                image.describe(),
                image.packed
            ));
        }
        for problem in &input.problems {
            lines.push(format!("{}: {}", input.name, problem.message));
        }
    }
    for finding in &outcome.findings {
        let name = &outcome.inputs[finding.input].name;
        lines.push(format!("{name}: {} [{}]", finding.message, finding.rule.code));
    }
    lines
}

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what this program is for"
)]
fn main() -> ExitCode {
    let inputs = std::env::args().skip(1).map(|name| Input {
        bytes: Bytes::File(name.clone().into()),
        name,
    });
    let settings = match settings() {
        Ok(settings) => settings,
        Err(malformed) => {
            eprintln!("{malformed}");
            return ExitCode::from(2);
        }
    };
    let outcome = check(inputs.collect(), &settings);
    for line in lines(&outcome) {
        println!("{line}");
    }
    ExitCode::from(u8::from(!outcome.findings.is_empty()))
}
