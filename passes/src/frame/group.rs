//! Groups: the findings of one cause, which one edit fixes.
//!
//! A loop that is unrolled, a template with many instances, a header that many kernels include, a library for many architectures:
//! one wrong line becomes many wrong instructions, each with a finding. They are one group. Its cause is
//!
//! * the branch that splits the warp, of potential findings about masks and barriers,
//! * else the line of the source: of a helper whose callers give it different masks, objects or sizes, the call,
//! * else, where there is no line, the symbol that the finding is about, or the instruction: findings about equal instructions
//!   (but for registers and labels) of one function, all instances of a template being one.
//!
//! Fingerprints are the group's, and hold no line number, no path and no order: see [`Identity`].

mod cause;
mod identity;

use ptxcheck_common::maps::NameMap;

use crate::finding::{Certainty, Finding, Suppression};
use crate::fingerprint;
use crate::inventory::InputReport;
use crate::rule::{Level, Rule};
use crate::sources::Sources;
pub(crate) use cause::line_to_fix;
use cause::{CauseKeys, Key};
pub use identity::Identity;

/// Findings of one rule that have one cause.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// Indices of its findings in [`Outcome::findings`](crate::Outcome::findings), ascending and never empty. The first is
    /// where the group is shown; the others are its further places.
    pub findings: Vec<usize>,
    /// The rule.
    pub rule: &'static Rule,
    /// The certainty of all of them.
    pub certainty: Certainty,
    /// The highest level among them.
    pub level: Level,
    /// A sentence without a full stop that holds for all of them.
    pub message: String,
    /// The names by which it is known again in a later run.
    pub identity: Identity,
    /// A stable identity, 16 hexadecimal digits: from the rule, the certainty, the kind of message and the line of its [`Identity`], or the
    /// first function and the operation if the line is not available. Groups that are alike in these are numbered.
    pub fingerprint: String,
    /// Set where the group does not count. Findings of one cause that count, and those that do not, are two groups.
    pub suppressed: Option<Suppression>,
}

impl Group {
    /// Its findings, that which it is shown at first.
    pub fn of<'f>(&self, findings: &'f [Finding]) -> impl Iterator<Item = &'f Finding> + use<'f, '_> {
        self.findings.iter().filter_map(|&index| findings.get(index))
    }

    /// Index of the finding that it is shown at.
    #[must_use]
    pub fn first(&self) -> usize {
        self.findings.first().copied().unwrap_or_default()
    }
}

/// The groups of findings, in the order of the first finding of each.
#[must_use]
pub fn groups(inputs: &[InputReport], findings: &[Finding], sources: &mut Sources) -> Vec<Group> {
    let mut keys = CauseKeys::new(inputs, findings, sources);
    let mut known: NameMap<Key<'_>, usize> = NameMap::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (index, finding) in findings.iter().enumerate() {
        let group = *known.entry(keys.key(index, finding)).or_insert(members.len());
        match members.get_mut(group) {
            Some(members) => members.push(index),
            None => members.push(vec![index]),
        }
    }
    let mut groups: Vec<Group> = members
        .into_iter()
        .map(|members| build_group(members, inputs, findings, &mut keys))
        .collect();
    number_groups(&mut groups, findings);
    groups
}

/// One group for each finding, for readers that want each place by itself: with the finding's own message and fingerprint.
#[must_use]
pub fn one_each(findings: &[Finding]) -> Vec<Group> {
    let group = |(index, finding): (usize, &Finding)| Group {
        findings: vec![index],
        rule: finding.rule,
        certainty: finding.certainty,
        level: finding.level,
        message: finding.message.clone(),
        identity: Identity::default(),
        fingerprint: finding.fingerprint.clone(),
        suppressed: finding.suppressed.clone(),
    };
    findings.iter().enumerate().map(group).collect()
}

fn build_group<'f>(
    members: Vec<usize>,
    inputs: &[InputReport],
    findings: &'f [Finding],
    keys: &mut CauseKeys<'f, '_>,
) -> Group {
    let first = &findings[members[0]];
    let all = || members.iter().map(|&index| &findings[index]);
    let identity = Identity::of(all(), inputs, keys);
    Group {
        rule: first.rule,
        certainty: first.certainty,
        level: all().map(|finding| finding.level).max().unwrap_or(first.level),
        message: common_message(all(), first),
        fingerprint: identity.fingerprint(first),
        identity,
        suppressed: first.suppressed.clone(),
        findings: members,
    }
}

/// The message of all findings if they have the same; else the one that they have in general.
fn common_message<'a>(mut all: impl Iterator<Item = &'a Finding>, first: &Finding) -> String {
    if all.all(|finding| finding.message == first.message) {
        return first.message.clone();
    }
    let general = first.cause.general.as_deref().unwrap_or(first.rule.summary);
    match first.certainty {
        Certainty::Potential => format!("it may be that {general}"),
        Certainty::Definite | Certainty::Conditional => general.to_owned(),
    }
}

/// Numbers groups with one fingerprint, so that all differ: those that count come first, then in the order of their lines and functions,
/// independently of the order of the inputs.
fn number_groups(groups: &mut [Group], findings: &[Finding]) {
    let mut alike: NameMap<String, Vec<usize>> = NameMap::default();
    for (index, group) in groups.iter().enumerate() {
        alike.entry(group.fingerprint.clone()).or_default().push(index);
    }
    for mut alike in alike.into_values().filter(|alike| alike.len() > 1) {
        alike.sort_by_cached_key(|&index| {
            let group = &groups[index];
            let first = &findings[group.first()];
            let line = cause::line_to_fix(first).map(|at| (at.file.clone(), at.line));
            (group.suppressed.is_some(), line, group.identity.clone(), index)
        });
        for (ordinal, index) in (0_u32..).zip(alike) {
            let fingerprint = &mut groups[index].fingerprint;
            *fingerprint = fingerprint::with_ordinal(fingerprint, ordinal);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Input, Outcome, Settings, check};

    /// A kernel whose mask is 0 at the lines of `k.cu`; at no line for 0.
    fn kernel(name: &str, lines: &[u32]) -> String {
        let body: String = lines
            .iter()
            .map(|line| match line {
                0 => "bar.warp.sync 0;\n".to_owned(),
                line => format!(".loc 1 {line} 5\nbar.warp.sync 0;\n"),
            })
            .collect();
        format!(".visible .entry {name}()\n{{\n{body}ret;\n}}\n")
    }

    fn run(modules: &[(&str, &[String])]) -> Outcome {
        let input = |(name, kernels): &(&str, &[String])| {
            let head = ".version 9.0\n.target sm_90\n.address_size 64\n";
            let text = format!("{head}{}.file 1 \"/no/such/k.cu\"\n", kernels.concat());
            Input {
                name: (*name).to_owned(),
                bytes: Bytes::Memory(text.into_bytes()),
            }
        };
        check(modules.iter().map(input).collect(), &Settings::default())
    }

    fn sizes(outcome: &Outcome) -> Vec<usize> {
        outcome.groups.iter().map(|group| group.findings.len()).collect()
    }

    #[test]
    fn a_line_is_one_cause_wherever_it_was_compiled_into() {
        let kernels = [kernel("a", &[7, 7]), kernel("b", &[7, 9])];
        let outcome = run(&[("x.ptx", &kernels), ("y.ptx", &kernels[..1])]);
        assert_eq!((outcome.findings.len(), sizes(&outcome)), (6, vec![5, 1]));
        let group = &outcome.groups[0];
        assert_eq!(outcome.findings[group.first()].input, 0);
        assert_eq!(group.identity.functions, ["a", "b"]);
        assert_eq!(group.message, outcome.findings[0].message);
    }

    #[test]
    fn without_lines_instances_of_a_template_are_one_cause() {
        let kernels = ["_Z1kIfEvv", "_Z1kIdEvv", "_Z1lv"].map(|name| kernel(name, &[0, 0]));
        let outcome = run(&[("x.ptx", &kernels)]);
        assert_eq!(sizes(&outcome), [4, 2]);
        assert_eq!(outcome.groups[1].identity.functions, ["l"]);
        assert_eq!(outcome.groups[1].identity.operation, "__syncwarp");
    }

    #[test]
    fn fingerprints_do_not_depend_on_order_or_on_added_instances() {
        let fingerprints = |outcome: Outcome| {
            let mut all: Vec<String> = outcome
                .groups
                .into_iter()
                .map(|group| group.fingerprint)
                .collect();
            all.sort();
            all
        };
        let (a, b) = ([kernel("_Z1kIfEvv", &[0, 4])], [kernel("l", &[4, 5, 6])]);
        let more = [kernel("_Z1kIfEvv", &[0, 4]), kernel("_Z1kIdEvv", &[0, 4])];
        let once = fingerprints(run(&[("a.ptx", &a), ("b.ptx", &b)]));
        assert_eq!(once.len(), 4);
        assert_eq!(once, fingerprints(run(&[("b.ptx", &b), ("a.ptx", &a)])));
        assert_eq!(once, fingerprints(run(&[("a.ptx", &more), ("b.ptx", &b)])));
        let mut distinct = once.clone();
        distinct.dedup();
        assert_eq!(once, distinct);
    }
}
