//! Findings: plain data, ready for any renderer.

use std::borrow::Cow;

pub use ptxcheck_analysis::Certainty;
pub use ptxcheck_ir::places::{Frame, LineText, Located, Location, Source};

use serde::{Deserialize, Serialize};

use crate::fingerprint;
use crate::limits::MAX_FINDINGS;
use crate::rule::{Level, Rule};
use crate::sanitizer::Sanitizer;

/// A second place that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// The role of this place in the finding.
    pub message: String,
    /// The place in the input.
    pub location: Option<Location>,
    /// The place in the program's source.
    pub source: Option<Source>,
    /// This is the place to fix: findings that share it have one cause.
    pub is_cause: bool,
    /// Of a step of a run: the lanes that take it.
    pub by: Option<Actor>,
}

/// Lanes of a warp, and what they do in a step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The number of the block in the grid, where several run.
    pub block: Option<u32>,
    /// The warp of the block, where steps of several warps are shown.
    pub warp: Option<u32>,
    /// A bit for each lane.
    pub lanes: u32,
    /// Their act, the end of the step's message: `go on here`.
    pub act: String,
}

impl Finding {
    /// The places that explain it, and those of its steps.
    pub fn other_places(&mut self) -> impl Iterator<Item = &mut Related> {
        self.related.iter_mut().chain(&mut self.steps)
    }
}

impl Related {
    /// A place that explains a finding, and need not be fixed.
    #[must_use]
    pub const fn new(message: String, location: Option<Location>, source: Option<Source>) -> Self {
        Self {
            message,
            location,
            source,
            is_cause: false,
            by: None,
        }
    }

    /// Places without those on the source line `shown`, which the finding shows already.
    pub(crate) fn beside(places: impl Iterator<Item = Self>, shown: Option<&Frame>) -> Vec<Self> {
        let is_shown = |place: &Self| place.source.as_ref().map(|source| &source.at) == shown;
        places
            .filter(|place| shown.is_none() || !is_shown(place))
            .collect()
    }
}

/// A value in a finding's payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A text.
    Text(String),
    /// A count, a size in bytes, a mask.
    Number(u64),
    /// Lane numbers and other lists of numbers.
    Numbers(Vec<u64>),
    /// Names.
    Texts(Vec<String>),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// A finding's payload: values by key, in the order of the keys. Most have two or three, of the hundreds of thousands of
/// findings that a file can have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data(Vec<(Cow<'static, str>, Value)>);

impl Data {
    /// Sets the value of a key.
    pub fn insert(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.binary_search_by_key(&key, |(known, _)| known) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (Cow::Borrowed(key), value));
            }
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let at = self.0.binary_search_by_key(&key, |(known, _)| known).ok()?;
        Some(&self.0[at].1)
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }
}

impl FromIterator<(&'static str, Value)> for Data {
    fn from_iter<I: IntoIterator<Item = (&'static str, Value)>>(values: I) -> Self {
        let mut data = Self::default();
        for (key, value) in values {
            data.insert(key, value);
        }
        data
    }
}

/// Keeps at most as many findings as one input may have, the most certain first, and returns the number of dropped ones.
/// Elements without a certainty are not findings, and stay.
pub fn limit<T>(found: &mut Vec<T>, certainty: impl Fn(&T) -> Option<Certainty>) -> usize {
    let counts =
        Certainty::ALL.map(|wanted| found.iter().filter(|one| certainty(one) == Some(wanted)).count());
    let all: usize = counts.iter().sum();
    if all <= MAX_FINDINGS {
        return 0;
    }
    let mut room = MAX_FINDINGS;
    let mut left = counts.map(|count| {
        let kept = count.min(room);
        room -= kept;
        kept
    });
    found.retain(|one| {
        let Some(certainty) = certainty(one) else {
            return true;
        };
        let left = &mut left[certainty as usize];
        let stays = *left > 0;
        *left = left.saturating_sub(1);
        stays
    });
    found.shrink_to_fit();
    all - MAX_FINDINGS
}

/// The message about so many findings beyond the limit.
pub fn left_out(count: usize) -> String {
    format!("it has {count} findings more than the {MAX_FINDINGS} that are told of one input")
}

/// The cause of a finding, as far as its other fields do not have it: findings of one cause make one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cause {
    /// The kind of message, a word that is the same in all releases; empty where a rule has only one.
    pub kind: Cow<'static, str>,
    /// A message that holds for all findings of the cause; the rule's summary where there is none.
    pub general: Option<Cow<'static, str>>,
    /// The symbol in its payload has to be fixed, not its uses.
    pub is_symbol: bool,
    /// The failing operation, as the input names it without types: `ld.shared`.
    pub operation: Option<String>,
    /// Hash of the text of the instruction to fix, without the numbers of registers and labels; 0 where it is not an
    /// instruction.
    pub instruction: u64,
    /// Hash of the branches, calls, barriers and collectives of the function that holds it, in their order; 0 where they are few.
    pub code: u64,
}

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The source of the suppression: `comment`, `config`, `baseline`.
    pub by: &'static str,
    /// The reason given.
    pub reason: String,
}

/// The rule of a finding that was read and has not been given its own.
fn placeholder_rule() -> &'static Rule {
    static NAMELESS: Rule = Rule::PLAIN;
    &NAMELESS
}

/// One finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that made it. Serialised findings do not contain it; the reader sets it.
    #[serde(skip, default = "placeholder_rule")]
    pub rule: &'static Rule,
    /// Definite or potential.
    pub certainty: Certainty,
    /// Its severity under the settings of the run.
    pub level: Level,
    /// Its severity before any setting.
    pub own_level: Level,
    /// One sentence without a full stop: the problem at this place.
    pub message: String,
    /// Causes, then assumptions.
    pub notes: Vec<String>,
    /// It rests on an assumption about the blocks of the kernel, since nothing states them.
    pub assumes_block: bool,
    /// Advice.
    pub help: Vec<String>,
    /// Index of the input in the run.
    pub input: usize,
    /// Index of the image in the input; `None` where the finding is about the whole input.
    pub image: Option<u32>,
    /// Byte offset in the image, for sorting.
    pub offset: u32,
    /// The function it lies in, as the input names it.
    pub function: Option<String>,
    /// Another input defines that function, and a call of this input makes its code wrong: the place in the input is that of the
    /// call.
    pub is_imported: bool,
    /// The kernel through which it is reached, where the rule knows one.
    pub kernel: Option<String>,
    /// The place in the input.
    pub location: Option<Location>,
    /// The line of the input that `location` begins on, for renderers that show it (cut to
    /// 240 bytes around the place, so its first column is `line_from`).
    pub line_text: Option<LineText>,
    /// The place in the program's source.
    pub source: Option<Source>,
    /// Other places that explain it, in the order to read them.
    pub related: Vec<Related>,
    /// It is about two instructions: its own and that of the first related place.
    pub has_two_places: bool,
    /// The tool that sees it happen in a run on a GPU, if one does.
    pub sanitizer: Option<Sanitizer>,
    /// The steps of a run that goes wrong here, in their order: of conditional findings.
    pub steps: Vec<Related>,
    /// The payload of the rule's family.
    pub data: Data,
    /// The part of its cause that no other field has.
    pub cause: Cause,
    /// A stable identity: from the code, the normalised function and instruction, and an ordinal. 16 hex digits.
    pub fingerprint: String,
    /// Set when it is suppressed. Not serialised.
    #[serde(skip)]
    pub suppressed: Option<Suppression>,
}

impl Finding {
    /// A finding of a rule at the level that the rule has, of input 0, about no place, with neither a cause nor a fingerprint.
    #[must_use]
    pub fn new(rule: &'static Rule, certainty: Certainty, message: String) -> Self {
        Self {
            rule,
            certainty,
            level: rule.definite,
            own_level: rule.definite,
            message,
            notes: Vec::new(),
            assumes_block: false,
            help: Vec::new(),
            input: 0,
            image: None,
            offset: 0,
            function: None,
            is_imported: false,
            kernel: None,
            location: None,
            line_text: None,
            source: None,
            related: Vec::new(),
            has_two_places: false,
            sanitizer: None,
            steps: Vec::new(),
            data: Data::default(),
            cause: Cause::default(),
            fingerprint: String::new(),
            suppressed: None,
        }
    }

    /// A definite finding about a whole input, of input 0, which only its message distinguishes from others of its rule.
    #[must_use]
    pub fn of_input(rule: &'static Rule, level: Level, message: String) -> Self {
        Self {
            level,
            fingerprint: fingerprint::of_instruction(rule.code, "", message.as_bytes()),
            ..Self::new(rule, Certainty::Definite, message)
        }
    }

    /// Sets its place.
    pub(crate) fn set_place(&mut self, at: Located) {
        self.function = at.function;
        self.kernel = at.kernel;
        self.offset = at.offset;
        self.location = at.location;
        self.line_text = at.line_text;
        self.source = at.source;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definite_findings_come_first() {
        let mut found: Vec<_> = (0..MAX_FINDINGS + 10)
            .flat_map(|number| [(number, Some(Certainty::Potential)), (number, None)])
            .collect();
        found.push((7, Some(Certainty::Definite)));
        assert_eq!(limit(&mut found, |one| one.1), 11);
        let count = |wanted| found.iter().filter(|one| one.1 == wanted).count();
        assert_eq!(count(Some(Certainty::Definite)), 1);
        assert_eq!(count(Some(Certainty::Potential)), MAX_FINDINGS - 1);
        assert_eq!(count(None), MAX_FINDINGS + 10);
        assert_eq!(limit(&mut found, |one| one.1), 0);
    }

    #[test]
    fn data_is_in_the_order_of_its_keys() {
        let mut data: Data = [("b", Value::Number(1)), ("a", Value::Number(2))]
            .into_iter()
            .collect();
        data.insert("b", 3_u64);
        assert_eq!(data.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((data.get("b"), data.get("c")), (Some(&Value::Number(3)), None));
    }
}
