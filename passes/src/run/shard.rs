//! Shards: a run dealt over several machines, and merged again.
//!
//! Inputs are dealt whole, by their content, so that each machine computes its own inputs without communication, independently of names and
//! order. Members of wheels can be dealt one by one, by their sizes ([`Settings::member_deal`]). A shard's data has all that its part of
//! the outcome holds; merged shards are the outcome of one run over all inputs, but for the findings of rules that compare images of
//! different files, and for the number of findings that the configuration leaves out, which counts copies of one text in several files.

pub mod lines;

use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Suppression};
use crate::fingerprint::ContentHash;
use crate::inventory::InputReport;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::rule::Level;
use crate::run::{Bytes, Decisions, Input, Outcome, Unfinished, dedup};
use crate::selector::Selector;
use crate::settings::{Change, LevelSetting, Settings};
use crate::sources::Sources;
use crate::{locate, run};

pub use crate::shard_assignment::Deal;

/// Bytes of a file that are read at a time.
const PIECE: usize = 1 << 16;

impl Deal {
    /// The inputs of this shard, each with its place among all. Every input is read for it, once.
    #[must_use]
    pub fn pick(self, inputs: Vec<Input>) -> Vec<(usize, Input)> {
        self.pick_where(inputs, |_| false)
    }

    /// The same, with all wheels among them: for runs with [`Settings::member_deal`].
    #[must_use]
    pub fn pick_with_wheels(self, inputs: Vec<Input>) -> Vec<(usize, Input)> {
        self.pick_where(inputs, Input::has_dealt_members)
    }

    fn pick_where(self, inputs: Vec<Input>, is_of_all: impl Fn(&Input) -> bool) -> Vec<(usize, Input)> {
        let numbered = inputs.into_iter().enumerate();
        let is_ours = |(_, input): &(usize, Input)| is_of_all(input) || self.has(content_hash(input));
        numbered.filter(is_ours).collect()
    }
}

/// Analyses the inputs of one shard of a run, as [`check`](crate::check) does. `inputs` come from [`Deal::pick`], each with its place
/// among the `all_inputs` of the whole run. The second result is for [`Shard::merge`].
#[must_use]
pub fn check(
    inputs: Vec<(usize, Input)>,
    settings: &Settings,
    deal: Deal,
    all_inputs: usize,
) -> (Outcome, Shard) {
    let (positions, inputs): (Vec<usize>, Vec<Input>) = inputs.into_iter().unzip();
    run::in_pool(settings, || {
        let unfinished = run::unfinished(inputs, settings);
        let shard = Shard::of(&unfinished, &positions, settings, deal, all_inputs);
        (run::finish(unfinished.outcome, unfinished.sources), shard)
    })
}

/// A number from the content of an input; from its name, where it can't be read.
fn content_hash(input: &Input) -> u64 {
    let mut hash = ContentHash::default();
    let is_read = match &input.bytes {
        Bytes::Memory(bytes) => {
            hash.add(bytes);
            true
        }
        Bytes::File(path) => File::open(path).is_ok_and(|mut file| {
            let mut piece = vec![0; PIECE];
            loop {
                match file.read(&mut piece) {
                    Ok(0) => return true,
                    Ok(count) => hash.add(&piece[..count]),
                    Err(_) => return false,
                }
            }
        }),
        Bytes::Standard | Bytes::Refused(..) => false,
    };
    if !is_read {
        hash = ContentHash::default();
        hash.add(input.name.as_bytes());
    }
    hash.number()
}

/// The place of an input among those that the run was given, and its number among the members if that is a package.
type Place = (usize, usize);

/// The data of one shard.
#[derive(Clone, Debug)]
pub struct Shard {
    head: Head,
    /// Its inputs, each with its place among all, and its number among the members if that is a package.
    inputs: Vec<(Place, InputReport)>,
    findings: Vec<ShardFinding>,
}

/// The line about the whole shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    /// The release that made it: others may give other findings.
    version: String,
    /// Its number, and the number of all.
    deal: Deal,
    /// It is of an audit.
    is_audit: bool,
    policy: Policy,
    /// The level settings of the run but for those of overrides, each with its selector as it is written.
    levels: Vec<(String, Level, Change)>,
    /// Number of the inputs that the whole run was given.
    all_inputs: usize,
    /// Number of its inputs.
    inputs: usize,
    /// Number of its findings.
    findings: usize,
    excluded_inputs: usize,
    /// Members of packages.
    excluded_members: usize,
    excluded: usize,
    expired: Vec<String>,
}

/// A finding, with the fields that it does not serialise itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ShardFinding {
    code: String,
    suppressed: Option<(String, String)>,
    finding: Finding,
}

/// The ways in which shards do not make up a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is none.
    #[error("there are no shards to merge")]
    Empty,
    /// Made by another release.
    #[error("shard {0} was made by ptxcheck {1}, and this is {2}")]
    Version(u32, String, &'static str),
    /// Of another number of shards, another command or other inputs.
    #[error("shard {0} is of another run: of another number of shards, another command or other inputs")]
    OtherRun(u32),
    /// A shard is there twice.
    #[error("shard {0} is there twice")]
    Twice(u32),
    /// A shard is not there.
    #[error("shard {0} of {1} is missing")]
    Missing(u32, u32),
    /// The data contradicts itself.
    #[error("shard {0} is damaged: {1}")]
    Damaged(u32, &'static str),
}

impl Shard {
    /// The data of an outcome that is not finished.
    pub(crate) fn of(
        unfinished: &Unfinished,
        positions: &[usize],
        settings: &Settings,
        deal: Deal,
        all_inputs: usize,
    ) -> Self {
        let outcome = &unfinished.outcome;
        let place = |(index, number): &(usize, usize)| {
            let position = positions.get(*index).copied();
            (position.unwrap_or(usize::MAX), *number)
        };
        let shard_finding = |finding: &Finding| ShardFinding {
            code: finding.rule.code.to_owned(),
            suppressed: finding
                .suppressed
                .as_ref()
                .map(|suppression| (suppression.by.to_owned(), suppression.reason.clone())),
            finding: finding.clone(),
        };
        let levels = settings.base_levels.iter().chain(&settings.levels);
        let levels = levels.map(|setting| (setting.selector.to_string(), setting.level, setting.change));
        let inputs = outcome.inputs.iter().cloned();
        let findings: Vec<ShardFinding> = outcome.findings.iter().map(shard_finding).collect();
        Self {
            head: Head {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                deal,
                is_audit: settings.images_only,
                policy: settings.policy.clone(),
                levels: levels.collect(),
                all_inputs,
                inputs: outcome.inputs.len(),
                findings: findings.len(),
                excluded_inputs: settings.left_out.len(),
                excluded_members: unfinished.left_out,
                excluded: outcome.decisions.excluded,
                expired: outcome.decisions.expired.clone(),
            },
            inputs: unfinished.places.iter().map(place).zip(inputs).collect(),
            findings,
        }
    }

    /// True if it is of an audit.
    #[must_use]
    pub const fn is_audit(&self) -> bool {
        self.head.is_audit
    }

    /// The policy of the audit that it is of.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.head.policy
    }

    /// The settings of the run that it is of, as far as they decide which findings a
    /// [`Baseline`](crate::baseline::Baseline) can have; levels for words that `registry` does not know are left out.
    #[must_use]
    pub fn settings(&self, registry: &Registry) -> Settings {
        let setting = |(selector, level, change): &(String, Level, Change)| {
            let selector = Selector::parse_in(selector, registry).ok()?;
            Some(LevelSetting {
                selector,
                level: *level,
                change: *change,
            })
        };
        Settings {
            registry: registry.clone(),
            levels: self.head.levels.iter().filter_map(setting).collect(),
            images_only: self.head.is_audit,
            ..Settings::default()
        }
    }

    /// The outcome of the run that these are the shards of, in any order. `registry` has the rules of their findings.
    ///
    /// # Errors
    ///
    /// A [`MergeError`], if they are not all the shards of one run.
    pub fn merge(mut shards: Vec<Self>, registry: &Registry) -> Result<Outcome, MergeError> {
        shards.sort_by_key(|shard| shard.head.deal.number);
        let first = shards.first().ok_or(MergeError::Empty)?;
        let (deal, is_audit, all_inputs) = (first.head.deal, first.head.is_audit, first.head.all_inputs);
        for shard in &shards {
            let number = shard.head.deal.number;
            if shard.head.version != env!("CARGO_PKG_VERSION") {
                return Err(MergeError::Version(
                    number,
                    shard.head.version.clone(),
                    env!("CARGO_PKG_VERSION"),
                ));
            }
            if (shard.head.deal.count, shard.head.is_audit, shard.head.all_inputs)
                != (deal.count, is_audit, all_inputs)
            {
                return Err(MergeError::OtherRun(number));
            }
        }
        check_all_shards_present(&shards, deal.count)?;
        let mut outcome = Outcome {
            inputs: Vec::new(),
            findings: Vec::new(),
            groups: Vec::new(),
            decisions: Decisions {
                excluded_inputs: shards
                    .iter()
                    .map(|shard| shard.head.excluded_members)
                    .fold(first.head.excluded_inputs, usize::saturating_add),
                excluded: shards
                    .iter()
                    .map(|shard| shard.head.excluded)
                    .fold(0, usize::saturating_add),
                expired: first.head.expired.clone(),
                gone: Vec::new(),
            },
            bundles: OnceLock::new(),
        };
        if join_shards(shards, registry, &mut outcome)? != all_inputs {
            return Err(MergeError::OtherRun(deal.number));
        }
        if !is_audit {
            dedup::drop_copies(&outcome.inputs, &mut outcome.findings);
        }
        locate::sort_findings(&mut outcome.findings);
        Ok(run::finish(outcome, Sources::default()))
    }
}

/// Checks that shards, sorted by their numbers, are all that there are, each once.
fn check_all_shards_present(shards: &[Shard], count: u32) -> Result<(), MergeError> {
    let mut wanted = 1;
    for number in shards.iter().map(|shard| shard.head.deal.number) {
        if number < wanted || wanted > count {
            return Err(MergeError::Twice(number));
        }
        if number > wanted {
            return Err(MergeError::Missing(wanted, count));
        }
        wanted += 1;
    }
    if wanted <= count {
        return Err(MergeError::Missing(wanted, count));
    }
    Ok(())
}

/// Puts the inputs of shards into their order, and their findings with them. The number of inputs that the run was given.
fn join_shards(shards: Vec<Shard>, registry: &Registry, outcome: &mut Outcome) -> Result<usize, MergeError> {
    let mut places: Vec<Place> = shards
        .iter()
        .flat_map(|shard| shard.inputs.iter().map(|(place, _)| *place))
        .collect();
    places.sort_unstable();
    let given = input_count_of_positions(&places)
        .ok_or(MergeError::Damaged(1, "an input is missing or there twice"))?;
    let mut inputs: Vec<(Place, InputReport)> = Vec::new();
    for shard in shards {
        let number = shard.head.deal.number;
        let positions: Vec<usize> = shard
            .inputs
            .iter()
            .filter_map(|(place, _)| places.binary_search(place).ok())
            .collect();
        for read in shard.findings {
            let mut finding = read.finding;
            finding.rule = registry
                .find(&read.code)
                .ok_or(MergeError::Damaged(number, "it names a rule that is not there"))?;
            finding.suppressed =
                match read.suppressed {
                    Some((by, reason)) => Some(Suppression {
                        by: SUPPRESSED_BY.into_iter().find(|known| *known == by).ok_or(
                            MergeError::Damaged(number, "it names an unknown kind of suppression"),
                        )?,
                        reason,
                    }),
                    None => None,
                };
            finding.input = *positions.get(finding.input).ok_or(MergeError::Damaged(
                number,
                "a finding is about an input that is not there",
            ))?;
            outcome.findings.push(finding);
        }
        inputs.extend(shard.inputs);
    }
    inputs.sort_by_key(|(place, _)| *place);
    outcome.inputs = inputs.into_iter().map(|(_, input)| input).collect();
    Ok(given)
}

/// The number of inputs that the run was given, if these sorted places are those of all, each once.
fn input_count_of_positions(places: &[Place]) -> Option<usize> {
    let mut next = (0, 0);
    for place in places {
        if *place != next {
            // The places of one input end here: each input has at least one.
            if next.1 == 0 || *place != (next.0 + 1, 0) {
                return None;
            }
            next = *place;
        }
        next.1 += 1;
    }
    Some(if places.is_empty() { 0 } else { next.0 + 1 })
}

/// The sources of suppressions.
const SUPPRESSED_BY: [&str; 3] = ["comment", "config", "baseline"];
