//! Compiles the CUDA sources of the corpus with the compilers that are installed, and holds the findings against the markers in the
//! sources, and what is committed against what the compilers write now.
//!
//! `LIVE=all` (`make live`) compiles every source with each compiler for all targets in each mode, `LIVE=0` to `LIVE=9` a tenth of
//! that. Without it, nothing is compiled here: the tests of `corpus/` read what is committed.

use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::missing;
use ptxcheck_tests::outputs::{self, Output, Outputs};

/// The parts that take turns.
const PARTS: u32 = 10;

/// What is compiled.
#[derive(Clone, Copy)]
pub enum Part {
    All,
    /// One of [`PARTS`], from 0.
    One(u32),
}

impl Part {
    /// True if an output is in it.
    pub fn has(self, output: &Output) -> bool {
        match self {
            Self::All => true,
            Self::One(part) => output.part(PARTS) == part,
        }
    }
}

/// What `LIVE` asks for; `None` where it is not set.
///
/// # Errors
///
/// A sentence if it is none of the words.
pub fn part() -> Result<Option<Part>, String> {
    let asked = std::env::var("LIVE").unwrap_or_default();
    match (&*asked, asked.parse()) {
        ("", _) => Ok(None),
        ("all", _) => Ok(Some(Part::All)),
        (_, Ok(part)) if part < PARTS => Ok(Some(Part::One(part))),
        _ => Err(format!("LIVE is `all` or 0 to {}, and not `{asked}`", PARTS - 1)),
    }
}

pub fn trials() -> Vec<Trial> {
    let part = match part() {
        Ok(None) => return Vec::new(),
        Ok(Some(part)) => part,
        Err(problem) => return vec![Trial::test("what to compile", || Err(problem.into()))],
    };
    let read = Outputs::read().and_then(|table| Ok((Arc::new(table), outputs::sources()?)));
    let (table, sources) = match read {
        Ok(read) => read,
        Err(problem) => return vec![Trial::test("the sources are read", || Err(problem.into()))],
    };
    let mut trials = Vec::new();
    for output in sources.iter().flat_map(outputs::all_of) {
        if part.has(&output) && (!output.is_ir() || cfg!(feature = "ir")) {
            let table = Arc::clone(&table);
            let name = format!("live {}", output.path);
            trials.push(Trial::ignorable_test(name, move || try_one(&table, &output)));
        }
    }
    trials
}

fn try_one(table: &Outputs, output: &Output) -> Result<Completion, Failed> {
    let Some(content) = output.compile_if_there()? else {
        return missing::skip(&format!("{} is not installed", output.compiler));
    };
    output.hold(&content)?;
    match table.difference(output, &content) {
        Some(problem) if table.other_version(&output.compiler).is_none() => Err(problem.into()),
        _ => Ok(Completion::Completed),
    }
}
