//! The messages between a run and its workers, in the format of postcard.
//!
//! Both ends have the same version, which a worker sends before its first task. A message that does not decode means that the worker died
//! while it wrote. Rules are sent as codes: both ends have the same rules.

use serde::{Deserialize, Serialize};

use crate::assumptions::Assumptions;
use crate::driver::ModuleReport;
use crate::finding::Finding;
use crate::launches::Launches;
use crate::registry::Registry;
use crate::rule::{Level, ProblemKind};
use crate::scope::Scope;
use crate::selector::Selector;
use crate::settings::{Change, LevelSetting, Override, Settings};

/// The outcome for a module.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It was analysed.
    Checked(Box<ModuleReport>),
    /// It is for something other than NVIDIA's GPUs, and was not analysed.
    OtherTarget,
    /// It was not analysed, for the reason in the sentence.
    Failed(ProblemKind, String),
}

/// Selector, level, and its effect.
type LevelMessage = (String, Level, Change);

/// The settings that a worker has to know: all that decide what is found in a module.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// Level settings below the overrides, those of the overrides, and those above them. A worker does not know the places that
    /// overrides are for: it looks for all that is reported somewhere.
    levels: [Vec<LevelMessage>; 3],
    link_set: bool,
    whole_program: bool,
    images_only: bool,
    find_index_limits: bool,
    launches: Launches,
    assumptions: Assumptions,
    near_limit: Option<u8>,
}

/// The settings as a message.
pub(crate) fn encode_settings(settings: &Settings) -> Vec<u8> {
    let level = |setting: &LevelSetting| (setting.selector.to_string(), setting.level, setting.change);
    let overrides = settings.overrides.iter().flat_map(|over| &over.levels);
    bytes(&Task {
        levels: [
            settings.base_levels.iter().map(level).collect(),
            overrides.map(level).collect(),
            settings.levels.iter().map(level).collect(),
        ],
        link_set: settings.link_set,
        whole_program: settings.whole_program,
        images_only: settings.images_only,
        find_index_limits: settings.find_index_limits,
        launches: settings.launches.clone(),
        assumptions: settings.assumptions.clone(),
        near_limit: settings.near_limit,
    })
}

/// The settings that a message holds, for these rules; `None` if it is none.
pub(super) fn settings(message: &[u8], registry: &Registry) -> Option<Settings> {
    let task: Task = postcard::from_bytes(message).ok()?;
    let level = |(selector, level, change): (String, Level, Change)| {
        Some(LevelSetting {
            selector: Selector::parse_in(&selector, registry).ok()?,
            level,
            change,
        })
    };
    let levels = |given: Vec<LevelMessage>| given.into_iter().map(level).collect::<Option<Vec<_>>>();
    let [base, over, run] = task.levels;
    let over = levels(over)?;
    Some(Settings {
        registry: registry.clone(),
        base_levels: levels(base)?,
        overrides: (!over.is_empty())
            .then_some(Override {
                scope: Scope::default(),
                levels: over,
            })
            .into_iter()
            .collect(),
        levels: levels(run)?,
        link_set: task.link_set,
        whole_program: task.whole_program,
        images_only: task.images_only,
        find_index_limits: task.find_index_limits,
        launches: task.launches,
        assumptions: task.assumptions,
        near_limit: task.near_limit,
        ..Settings::default()
    })
}

/// An answer as a message: itself, and the rules of its findings.
pub(super) fn encode(answer: &Answer) -> Vec<u8> {
    let findings = match answer {
        Answer::Checked(report) => report.findings.as_slice(),
        Answer::OtherTarget | Answer::Failed(..) => &[],
    };
    bytes(&(answer, codes_of(findings)))
}

/// A report as a message, likewise.
pub(crate) fn encode_report(report: &ModuleReport) -> Vec<u8> {
    bytes(&(report, codes_of(&report.findings)))
}

/// The report that a message holds, with these rules; `None` if it is none.
pub(crate) fn decode_report(message: &[u8], registry: &Registry) -> Option<ModuleReport> {
    let (mut report, codes): (ModuleReport, Vec<&str>) = postcard::from_bytes(message).ok()?;
    set_rules(&mut report, &codes, registry)?;
    Some(report)
}

fn codes_of(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.code).collect()
}

/// Sets the rules of the findings of a report; `None` if one is unknown.
fn set_rules(report: &mut ModuleReport, codes: &[&str], registry: &Registry) -> Option<()> {
    if report.findings.len() != codes.len() {
        return None;
    }
    for (finding, code) in report.findings.iter_mut().zip(codes) {
        finding.rule = registry.find(code)?;
    }
    Some(())
}

/// The answer that a message holds, with these rules; `None` if it is none.
pub(super) fn decode(message: &[u8], registry: &Registry) -> Option<Answer> {
    let (mut answer, codes): (Answer, Vec<&str>) = postcard::from_bytes(message).ok()?;
    if let Answer::Checked(report) = &mut answer {
        set_rules(report, &codes, registry)?;
    }
    Some(answer)
}

/// Nothing here can fail to be written: a longer message is a longer list.
fn bytes(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::Sanitizer;
    use std::sync::Arc;

    use super::*;
    use crate::assumptions::Assumption;
    use crate::finding::{Certainty, Frame, LineText, Located, Location, Related, Source, Value};
    use crate::inventory::{Facts, Kernel};
    use crate::ir::LaunchBounds;
    use crate::launches::{ShownKernel, StatedShared};
    use crate::patterns::Pattern;
    use ptxcheck_release::link::{Open, Shape, SymbolClass, Symbols};

    /// Symbols with one that is defined, and one that is used at `source` and not defined.
    fn symbols(source: &Source) -> Symbols {
        Symbols {
            defined: vec!["table".to_owned()],
            open: vec![Open {
                name: "__cxa_throw".to_owned(),
                what: SymbolClass::Function,
                runtime: ptxcheck_common::externs::host_runtime("__cxa_throw").map(Into::into),
                uses: vec![Located {
                    function: Some("k".to_owned()),
                    offset: 3,
                    source: Some(source.clone()),
                    ..Located::default()
                }],
                more: 2,
                needed_through: Some(vec!["f".to_owned()]),
            }],
            shapes: vec![Shape {
                name: "table".to_owned(),
                text: ".global .b8[16]".to_owned(),
                is_defined: true,
            }],
        }
    }

    fn sample(registry: &Registry) -> Answer {
        let frame = |line| Frame {
            file: "a.cu".to_owned(),
            line,
            column: 7,
            function: Some("f".to_owned()),
        };
        let source = Source {
            at: frame(3),
            inside: vec![frame(1)],
            inlined_at: vec![frame(9), frame(10)],
        };
        let location = Location {
            file: String::new(),
            line: 3,
            column: 5,
            end_line: 3,
            end_column: 9,
        };
        let kernel = Kernel {
            name: "k".to_owned(),
            identity: "k".to_owned(),
            params: Some(vec![(0, 8), (8, 4)]),
            parameter_names: Vec::new(),
            launch: LaunchBounds {
                max_threads: Some([128, 1, 1]),
                ..LaunchBounds::default()
            },
            code_bytes: None,
            stub: None,
            resources: None,
            body: None,
            index_limits: Vec::new(),
            waits_for_grids: Some(true),
            source: Some(frame(2)),
        };
        let rule = registry.find("PTX407").unwrap();
        let mut finding = Finding::new(rule, Certainty::Definite, "m".to_owned());
        finding.notes = vec!["n".to_owned()];
        finding.assumes_block = true;
        finding.image = Some(0);
        finding.offset = 5;
        finding.function = Some("k".to_owned());
        finding.location = Some(location.clone());
        finding.line_text = Some(LineText {
            text: "call void @f()".to_owned(),
            from: 1,
        });
        finding.source = Some(source.clone());
        finding.related = vec![Related {
            message: "r".to_owned(),
            location: Some(location),
            source: Some(source.clone()),
            is_cause: true,
            by: None,
        }];
        finding.sanitizer = Some(Sanitizer::Racecheck);
        finding.data = [
            ("mask", Value::Number(0)),
            ("lanes", Value::Numbers(vec![1, 2])),
            ("operation", Value::Text("__shfl_sync".to_owned())),
            ("names", Value::Texts(vec!["a".to_owned()])),
        ]
        .into_iter()
        .collect();
        finding.cause.kind = "k".into();
        finding.cause.general = Some("g".into());
        finding.cause.is_symbol = true;
        finding.cause.operation = Some("bar.warp.sync".to_owned());
        (finding.cause.instruction, finding.cause.code) = (1, 2);
        finding.fingerprint = "0123456789abcdef".to_owned();
        let mut report = ModuleReport::default();
        report.target = "sm_90".to_owned();
        report.isa = "8.8".to_owned();
        report.facts = Facts {
            kernels: vec![kernel],
            functions: 1,
            bare: vec![Located::default()],
            symbols: Some(symbols(&source)),
            ..Facts::default()
        };
        report.findings = vec![finding];
        report.left_out = 3;
        report.is_cut_short = true;
        report.limit = Some("too large".to_owned());
        report.unsearched = 2;
        Answer::Checked(Box::new(report))
    }

    #[test]
    fn what_is_written_is_read() {
        let registry = Registry::default();
        for answer in [
            sample(&registry),
            Answer::OtherTarget,
            Answer::Failed(ProblemKind::Limit, "late".to_owned()),
        ] {
            let read = decode(&encode(&answer), &registry).unwrap();
            assert_eq!(format!("{read:?}"), format!("{answer:?}"));
        }
    }

    #[test]
    fn half_a_message_is_none() {
        let registry = Registry::default();
        let written = encode(&sample(&registry));
        for length in 0..written.len() {
            assert!(decode(&written[..length], &registry).is_none(), "{length}");
        }
    }

    #[test]
    fn settings_arrive() {
        let level = |selector: &str| LevelSetting {
            selector: Selector::parse(selector).unwrap(),
            level: Level::Warning,
            change: Change::Forbid,
        };
        let settings_there = Settings {
            base_levels: vec![level("G-2.1")],
            overrides: vec![Override {
                scope: Scope::default(),
                levels: vec![level("warp")],
            }],
            levels: vec![level("potential:PTX404")],
            whole_program: true,
            launches: Launches {
                run: vec![[64, 1, 1], [32, 1, 1]],
                kernels: vec![(Pattern::name("k*").unwrap(), vec![[32, 2, 1]])],
                launched: vec![("k".to_owned(), vec![[64, 1, 1], [48, 1, 1]])],
                shown: Arc::new(vec![ShownKernel {
                    kernel: "k".to_owned(),
                    shapes: vec![[64, 1, 1]],
                    places: vec!["`run` in k.o".to_owned()],
                    shared: Some(1_024),
                    shared_place: "`run` in k.o".to_owned(),
                    is_all: true,
                }]),
                others: vec![[128, 1, 1]],
                shared: StatedShared {
                    run: Some(64),
                    kernels: vec![(Pattern::name("k*").unwrap(), 128)],
                    others: Some(256),
                },
            },
            assumptions: Assumptions {
                all: ["k:1 % 32", "k*:n in [1, 2]"]
                    .map(|text| Assumption::parse(text).unwrap().at(3, 1))
                    .to_vec(),
            },
            ..Settings::default()
        };
        let message = encode_settings(&settings_there);
        let here = settings(&message, &Registry::default()).unwrap();
        assert_eq!(format!("{here:?}"), format!("{settings_there:?}"));
        assert!(settings(&message[..message.len() - 1], &Registry::default()).is_none());
    }
}
