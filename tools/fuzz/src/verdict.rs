//! The properties that every mutant of PTX must have.

use std::fmt::Write as _;

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::finding::{Certainty, Finding};
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::{self, Bytes, Input, Outcome};
#[cfg(feature = "ir")]
use ptxcheck_passes::settings::IrReader;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_ptx_parser as parser;

use crate::panics;

/// One mutant in so many is analysed twice, and both results are compared.
const REPEATED: u64 = 32;

/// The settings that mutants are analysed with.
pub struct Levels {
    /// As users have them.
    pub definite: Settings,
    /// With potential findings.
    pub potential: Settings,
    declarations: Settings,
}

impl Levels {
    /// The settings for the mutant with this index: a few are whole programs, or have a launch.
    pub fn of(index: u64) -> Self {
        let definite = Settings {
            threads: 1,
            whole_program: index % 8 == 6,
            launches: Launches {
                others: match index % 8 {
                    6 if index % 16 == 6 => vec![[8, 8, 1]],
                    6 => vec![[64, 1, 1], [8, 8, 1], [48, 1, 1]],
                    7 => vec![[48, 1, 1]],
                    _ => Vec::new(),
                },
                ..Launches::default()
            },
            ..reading_ir()
        };
        Self {
            potential: Settings {
                levels: vec![LevelSetting {
                    selector: Selector::POTENTIAL,
                    level: Level::Warning,
                    change: Change::Raise,
                }],
                ..definite.clone()
            },
            declarations: Settings {
                images_only: true,
                ..definite.clone()
            },
            definite,
        }
    }
}

/// Settings with which LLVM IR in other inputs is read, in this process.
pub fn reading_ir() -> Settings {
    Settings {
        #[cfg(feature = "ir")]
        ir_reader: IrReader::Here(ptxcheck_frontend_llvm::read_device_code),
        ..Settings::default()
    }
}

/// Looks at bytes as the program would.
pub fn outcome(name: &str, bytes: &[u8], settings: &Settings) -> Outcome {
    let input = Input {
        name: name.to_owned(),
        bytes: Bytes::Memory(bytes.to_vec()),
    };
    run::check_here(vec![input], settings)
}

/// Checks an outcome, for any input. The error is the defect found.
pub fn of_outcome(outcome: &Outcome) -> Result<(), String> {
    for finding in &outcome.findings {
        if finding.rule.code == "PTX904" {
            return Err(format!("PTX904: {}{}", finding.message, panics::place()));
        }
    }
    let keys = |finding: &Finding| (finding.input, finding.image, finding.offset, finding.rule.code);
    if outcome.findings.is_sorted_by_key(keys) {
        Ok(())
    } else {
        Err("the findings are not sorted".to_owned())
    }
}

/// Checks the outcomes for a module of PTX. The error is the defect found.
pub fn of_ptx(index: u64, text: &[u8]) -> Result<(), String> {
    printed(text)?;
    same_in_one_pass(text)?;
    let levels = Levels::of(index);
    let definite = outcome("mutant.ptx", text, &levels.definite);
    of_outcome(&definite)?;
    let potential = outcome("mutant.ptx", text, &levels.potential);
    of_outcome(&potential)?;
    same_definite(&definite.findings, &potential.findings)?;
    if index.is_multiple_of(4) {
        of_outcome(&outcome("mutant.ptx", text, &levels.declarations))?;
    }
    if index.is_multiple_of(REPEATED) {
        let again = outcome("mutant.ptx", text, &levels.potential);
        if format!("{:?}", again.findings) != format!("{:?}", potential.findings) {
            return Err("a second analysis finds something else".to_owned());
        }
    }
    Ok(())
}

/// Reading a module in one pass gives the device IR that its tree is lowered to.
fn same_in_one_pass(text: &[u8]) -> Result<(), String> {
    let (Ok((part, code)), Ok(whole)) = (ptx::read(text, Deadline::NEVER), parser::parse(text)) else {
        return Ok(());
    };
    let (found_origin, wanted_origin) = (PtxOrigin::new(&part), PtxOrigin::new(&whole));
    let found = code.module(&part, &found_origin, Deadline::NEVER);
    let wanted = ptx::lower(&whole, &wanted_origin);
    if part.errors() != whole.errors() {
        return Err("in one pass other syntax errors are found".to_owned());
    }
    let (found, wanted) = (format!("{found:?}"), format!("{wanted:?}"));
    if found == wanted {
        return Ok(());
    }
    let differs = |(found, wanted): &(&str, &str)| found != wanted;
    let mut words = found.split(' ').zip(wanted.split(' '));
    let (found, wanted) = words.find(differs).unwrap_or_default();
    Err(format!(
        "in one pass the device IR is another: {found}, not {wanted}"
    ))
}

/// Printing a module that has no error, and parsing it again, gives the same tree.
fn printed(text: &[u8]) -> Result<(), String> {
    let Ok(tree) = parser::parse(text) else {
        return Ok(());
    };
    if !tree.errors().is_empty() {
        return Ok(());
    }
    let printed = parser::printer::print(&tree);
    match parser::parse(&printed) {
        Ok(again) if again.errors().is_empty() && parser::printer::same(&tree, &again) => Ok(()),
        Ok(again) => Err(format!(
            "printed and parsed again it is another tree{}",
            if again.errors().is_empty() {
                ""
            } else {
                ", with errors"
            }
        )),
        Err(error) => Err(format!("what is printed is refused: {}", error.message(&printed))),
    }
}

/// Definite findings are the same set at every level.
pub fn same_definite(at_default: &[Finding], with_potential: &[Finding]) -> Result<(), String> {
    let keys = |findings: &[Finding]| {
        let definite = findings
            .iter()
            .filter(|finding| finding.certainty == Certainty::Definite);
        let mut keys: Vec<_> = definite
            .map(|finding| {
                let function = finding.function.clone().unwrap_or_default();
                (
                    finding.offset,
                    finding.rule.code,
                    function,
                    finding.message.clone(),
                )
            })
            .collect();
        keys.sort();
        keys
    };
    let (left, right) = (keys(at_default), keys(with_potential));
    if left == right {
        return Ok(());
    }
    let mut said = String::from("definite findings depend on the level:");
    for (list, other, word) in [(&left, &right, "default"), (&right, &left, "potential")] {
        for (offset, code, _, message) in list.iter().filter(|key| !other.contains(key)) {
            let _ = write!(said, " {code} at {offset} only at {word} ({message})");
        }
    }
    Err(said)
}
