//! Keys of causes: findings with equal keys have one cause.

use std::path::{Path, PathBuf};

use ptxcheck_common::maps::NameMap;
use rustc_hash::FxHashMap;

use crate::finding::{Certainty, Finding, Frame, Suppression, Value};
use crate::inventory::InputReport;
use crate::names;
use crate::sources::Sources;

/// The key of a cause.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key<'f> {
    code: &'static str,
    is_definite: bool,
    kind: &'f str,
    suppressed: Option<(&'static str, &'f str)>,
    /// The symbol to fix, if it is used in a function.
    symbol: Option<&'f str>,
    fault: Fault,
}

/// The place that has to be fixed.
#[derive(PartialEq, Eq, Hash)]
enum Fault {
    /// A line of a file.
    Line(u32, u32),
    /// A line of a file that is not available and has no absolute path: others may have one of the same name, so the function
    /// belongs to the key.
    LineOf(u32, u32, u32),
    /// The symbol alone.
    Symbol,
    /// An instruction in a function: the hash of its text.
    Instruction(u32, u64),
    /// A function as a whole.
    Function(u32),
    /// An input or its images.
    Input(usize),
    /// The finding is the only one of its cause.
    Alone(usize),
}

/// Makes the keys of a run's findings.
pub(super) struct CauseKeys<'f, 's> {
    inputs: &'f [InputReport],
    pub(super) sources: &'s mut Sources,
    /// Numbers of paths.
    paths: NameMap<PathBuf, u32>,
    /// For a file that an input names: the number of its path, and true if that can't be another file.
    files: NameMap<(&'f str, usize), (u32, bool)>,
    /// Base names of functions, and their numbers.
    bases: NameMap<&'f str, u32>,
    numbers: NameMap<String, u32>,
    names: Vec<String>,
    /// For the [`Cause::code`](crate::finding::Cause::code) of functions: the number that stands for all of them.
    instances: FxHashMap<u64, u32>,
}

impl<'f, 's> CauseKeys<'f, 's> {
    pub(super) fn new(inputs: &'f [InputReport], findings: &'f [Finding], sources: &'s mut Sources) -> Self {
        let mut keys = Self {
            inputs,
            sources,
            paths: NameMap::default(),
            files: NameMap::default(),
            bases: NameMap::default(),
            numbers: NameMap::default(),
            names: Vec::new(),
            instances: FxHashMap::default(),
        };
        keys.find_instances(findings);
        keys
    }

    /// Finds the functions that are instances of one source under different names, by their code.
    fn find_instances(&mut self, findings: &'f [Finding]) {
        for finding in findings.iter().filter(|finding| may_be_instance(finding)) {
            let base = self.base_name_number_of(finding.function.as_deref().unwrap_or_default());
            let known = self.instances.entry(finding.cause.code).or_insert(base);
            if self.names[base as usize] < self.names[*known as usize] {
                *known = base;
            }
        }
    }

    /// The key of the finding with this index.
    pub(super) fn key(&mut self, index: usize, finding: &'f Finding) -> Key<'f> {
        // The initialiser of a table names many symbols, and is one cause.
        let is_table = finding.function.is_none() && finding.cause.instruction != 0;
        let is_by_symbol = finding.cause.is_symbol && !is_table;
        let symbol = match finding.data.get("symbol") {
            Some(Value::Text(symbol)) if is_by_symbol => Some(symbol.as_str()),
            _ => None,
        };
        let suppressed = finding.suppressed.as_ref();
        let suppressed = suppressed.map(|Suppression { by, reason }| (*by, reason.as_str()));
        Key {
            code: finding.rule.code,
            is_definite: finding.certainty == Certainty::Definite,
            kind: &finding.cause.kind,
            suppressed,
            symbol,
            fault: self.fault_of(index, finding, symbol.is_some()),
        }
    }

    fn fault_of(&mut self, index: usize, finding: &'f Finding, has_symbol: bool) -> Fault {
        if finding.rule.problem().is_some() || finding.rule.is_about_configuration() {
            return Fault::Alone(index);
        }
        if let Some(at) = line_to_fix(finding) {
            let (file, is_certain) = self.file_number_of(&at.file, finding.input);
            return match &finding.function {
                Some(function) if !is_certain => {
                    Fault::LineOf(file, at.line, self.base_name_number_of(function))
                }
                _ => Fault::Line(file, at.line),
            };
        }
        let function = finding.function.as_deref();
        match (function, finding.cause.instruction) {
            _ if has_symbol => Fault::Symbol,
            (None, 0) => Fault::Input(finding.input),
            (Some(function), 0) => Fault::Function(self.base_name_number_of(function)),
            (None, text) => Fault::Instruction(u32::MAX, text),
            (Some(function), text) => {
                let base = self.base_name_number_of(function);
                let instances = may_be_instance(finding)
                    .then(|| self.instances.get(&finding.cause.code))
                    .flatten();
                Fault::Instruction(instances.copied().unwrap_or(base), text)
            }
        }
    }

    /// The number of a file that an input names, and true if no other file can be meant.
    fn file_number_of(&mut self, file: &'f str, input: usize) -> (u32, bool) {
        if let Some(known) = self.files.get(&(file, input)) {
            return *known;
        }
        let name = self.inputs.get(input).map_or("", |input| &input.name);
        let found = self.sources.find(file, name);
        let is_certain = found.is_some() || Path::new(file).is_absolute();
        let path = found.unwrap_or_else(|| PathBuf::from(file));
        let next = self.paths.len() as u32;
        let number = *self.paths.entry(path).or_insert(next);
        self.files.insert((file, input), (number, is_certain));
        (number, is_certain)
    }

    /// The number of a function's base name.
    fn base_name_number_of(&mut self, function: &'f str) -> u32 {
        if let Some(&known) = self.bases.get(function) {
            return known;
        }
        let base = names::base(function);
        let number = *self.numbers.entry(base.clone()).or_insert_with(|| {
            self.names.push(base);
            self.names.len() as u32 - 1
        });
        self.bases.insert(function, number);
        number
    }

    /// The base name of a function.
    pub(super) fn base_name(&mut self, function: &'f str) -> &str {
        let number = self.base_name_number_of(function);
        &self.names[number as usize]
    }
}

/// True if the function of a finding may be another instance of a source that other functions come from: its name does not say so, but the
/// operations at which its threads meet do. Definite findings are reported for each function.
fn may_be_instance(finding: &Finding) -> bool {
    finding.certainty == Certainty::Potential
        && finding.cause.code != 0
        && finding.function.is_some()
        && line_to_fix(finding).is_none()
}

/// The line to fix, if it is known.
pub(crate) fn line_to_fix(finding: &Finding) -> Option<&Frame> {
    let to_mend = finding.related.iter().find(|related| related.is_cause);
    let source = match to_mend {
        Some(related) => related.source.as_ref(),
        None => finding.source.as_ref(),
    };
    source.map(|source| &source.at)
}
