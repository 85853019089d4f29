//! The sizes from which on indexes of kernels do not fit in 32 bits: as text, and as a document for programs.

use std::fmt::Write as _;

use ptxcheck_passes::Outcome;
use ptxcheck_passes::inventory::{IndexFactor, IndexLimit, IndexTerm, Located};
use ptxcheck_passes::names::demangle;
use serde::Serialize;

use crate::amounts::plural;
use crate::escape;
use crate::json::Tool;
use crate::paths::Paths;
use crate::styles::BOLD;
use crate::view::View;

/// Raised when a key changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// The indexes of the inputs that do not fit from some size on, by kernel: an index that several images of an input have, once.
pub struct Capacities<'a> {
    kernels: Vec<KernelLimits<'a>>,
    /// Kernels that were read.
    read: u64,
    /// Indexes that were left out, since they depend on computed values.
    computed: u64,
}

/// A kernel with such indexes.
struct KernelLimits<'a> {
    input: &'a str,
    kernel: &'a str,
    limits: Vec<&'a IndexLimit>,
}

impl<'a> Capacities<'a> {
    /// Those of a run that looked for them. Indexes that depend on computed values are counted alone, unless all are wanted.
    #[must_use]
    pub fn of(outcome: &'a Outcome, wants_all: bool) -> Self {
        let mut kernels: Vec<KernelLimits<'a>> = Vec::new();
        let (mut read, mut computed) = (0, 0);
        for input in &outcome.inputs {
            let first = kernels.len();
            for kernel in input.images.iter().flat_map(|image| &image.facts.kernels) {
                read += 1;
                let (others, wanted): (Vec<_>, Vec<_>) = kernel
                    .index_limits
                    .iter()
                    .partition(|limit| !wants_all && has_computed_factor(limit));
                computed += others.len() as u64;
                if wanted.is_empty() {
                    continue;
                }
                let known = kernels[first..]
                    .iter()
                    .position(|known| known.kernel == kernel.name);
                let at = known.map_or_else(
                    || {
                        kernels.push(KernelLimits {
                            input: &input.name,
                            kernel: &kernel.name,
                            limits: Vec::new(),
                        });
                        kernels.len() - 1
                    },
                    |known| first + known,
                );
                let limits = &mut kernels[at].limits;
                for limit in wanted {
                    if !limits.iter().any(|known| is_same_index(known, limit)) {
                        limits.push(limit);
                    }
                }
            }
        }
        for kernel in &mut kernels {
            kernel.limits.sort_by_key(|limit| limit.elements);
        }
        Self {
            kernels,
            read,
            computed,
        }
    }

    /// Number of indexes that do not fit for so many elements.
    #[must_use]
    pub fn below(&self, elements: u64) -> usize {
        let all = self.kernels.iter().flat_map(|kernel| &kernel.limits);
        all.filter(|limit| limit.elements < elements).count()
    }

    /// The indexes, a line each below the name of their kernel, and a line of summary.
    ///
    /// ```text
    /// gather(float*, int const*, float const*)
    ///   gather.cu:12:20: value loaded in gather.cu:11:14 × 8,960 + 8,959 does not fit in 31 bits from 239,674 on
    ///       (2,147,483,648 elements of 4 bytes)
    /// 1 index of 1 kernel does not fit
    /// ```
    #[must_use]
    pub fn text(&self, view: &View) -> String {
        let mut paths = Paths::new(&view.root);
        let mut text = String::new();
        let mut input = None;
        for kernel in &self.kernels {
            if input.replace(kernel.input) != Some(kernel.input) {
                let name = paths.shown(kernel.input, kernel.input);
                let _ = writeln!(text, "{BOLD}{}{BOLD:#}", escape::line(&name));
            }
            let name = demangle(kernel.kernel).unwrap_or_else(|| kernel.kernel.to_owned());
            let _ = writeln!(text, "  {}", view.wrap(&escape::name(&name), 4));
            for limit in &kernel.limits {
                let line = Words {
                    paths: &mut paths,
                    input: kernel.input,
                }
                .line(limit);
                let _ = writeln!(text, "{}", view.wrap(&format!("    {}", escape::line(&line)), 8));
            }
        }
        let indexes = self.kernels.iter().map(|kernel| kernel.limits.len() as u64).sum();
        let summary = match indexes {
            0 => format!("no index of {} wraps in 32 bits", plural(self.read, "kernel")),
            1 => format!("1 index wraps in 32 bits, of {}", plural(self.read, "kernel")),
            _ => format!(
                "{indexes} indexes of {} wrap in 32 bits, of {}",
                plural(self.kernels.len() as u64, "kernel"),
                plural(self.read, "kernel")
            ),
        };
        let _ = writeln!(text, "{summary}");
        if self.computed > 0 {
            let others = match self.computed {
                1 => "1 index that depends".to_owned(),
                count => format!("{count} indexes that depend"),
            };
            let _ = writeln!(text, "{others} on computed values, too: `--all` shows them");
        }
        text
    }

    /// The document, with a line end: `schema/capacity-v1.schema.json` describes it.
    ///
    /// # Errors
    ///
    /// None in practice: the document holds nothing that JSON can't say.
    pub fn json(&self) -> serde_json::Result<String> {
        let kernels = self.kernels.iter().map(|kernel| KernelJson {
            input: kernel.input,
            kernel: kernel.kernel,
            kernel_demangled: demangle(kernel.kernel),
            indexes: kernel.limits.iter().map(|limit| IndexJson::new(limit)).collect(),
        });
        let document = Document {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            kernels_read: self.read,
            computed_left_out: self.computed,
            kernels: kernels.collect(),
        };
        let mut text = serde_json::to_string_pretty(&document)?;
        text.push('\n');
        Ok(text)
    }
}

fn has_computed_factor(limit: &IndexLimit) -> bool {
    let factors = limit.largest.iter().flat_map(|term| &term.factors);
    factors
        .into_iter()
        .any(|factor| matches!(factor, IndexFactor::Computed(_)))
}

/// True for the same index of one source in two images.
fn is_same_index(one: &IndexLimit, other: &IndexLimit) -> bool {
    let place = |limit: &IndexLimit| (limit.index.source.clone(), limit.access.source.clone());
    place(one) == place(other)
        && one.index.source.is_some()
        && (one.limit, one.elements, formula(&one.largest))
            == (other.limit, other.elements, formula(&other.largest))
}

/// The words about the indexes of an input.
struct Words<'a> {
    paths: &'a mut Paths,
    input: &'a str,
}

impl Words<'_> {
    fn line(&mut self, limit: &IndexLimit) -> String {
        let formula = formula(&limit.largest);
        let power = limit.limit.trailing_zeros();
        let when = match &limit.least {
            Some((factor, least)) => {
                let mut when = format!("from {} = {} on", self.factor(factor), grouped(*least));
                if let IndexFactor::BlockIndex(_) = factor {
                    let _ = write!(when, " (a grid of {} blocks)", grouped(least.saturating_add(1)));
                }
                when
            }
            None => format!("where that reaches {}", grouped(limit.limit)),
        };
        let elements = format!(
            "{} elements of {} fit",
            grouped(limit.elements),
            plural(limit.element_bytes.into(), "byte")
        );
        format!(
            "{}: {formula} wraps at 2^{power}: {when}; {elements}",
            self.place(&limit.index)
        )
    }

    fn factor(&mut self, factor: &IndexFactor) -> String {
        match factor {
            IndexFactor::Loaded(place) => format!("the value loaded at {}", self.place(place)),
            IndexFactor::Computed(place) => format!("the value computed at {}", self.place(place)),
            factor => name(factor),
        }
    }

    /// `k.cu:9:3`
    fn place(&mut self, located: &Located) -> String {
        let (file, line, column) = match (&located.source, &located.location) {
            (Some(source), _) => (&source.at.file, source.at.line, source.at.column),
            (None, Some(location)) => (&location.file, location.line, location.column),
            (None, None) => return self.paths.shown(self.input, self.input),
        };
        // A place in an image has no file name of its own.
        let file = if file.is_empty() { self.input } else { file };
        let file = self.paths.shown(file, self.input);
        match column {
            0 => format!("{file}:{line}"),
            column => format!("{file}:{line}:{column}"),
        }
    }
}

/// `2 × blockIdx.x × d + 8,959`: terms with more factors first.
fn formula(terms: &[IndexTerm]) -> String {
    let mut terms: Vec<&IndexTerm> = terms.iter().collect();
    terms.sort_by_key(|term| std::cmp::Reverse(term.factors.len()));
    let mut text = String::new();
    for (number, term) in terms.into_iter().enumerate() {
        let sign = match (number, term.by < 0) {
            (0, false) => "",
            (0, true) => "−",
            (_, false) => " + ",
            (_, true) => " − ",
        };
        text.push_str(sign);
        let by = term.by.unsigned_abs();
        let mut factors: Vec<String> = term.factors.iter().map(name).collect();
        if by != 1 || factors.is_empty() {
            factors.push(grouped(by));
        }
        text.push_str(&factors.join(" × "));
    }
    text
}

fn name(factor: &IndexFactor) -> String {
    let side = |of: &str, dimension: u8| {
        let side = ["x", "y", "z"].get(usize::from(dimension)).unwrap_or(&"w");
        format!("{of}.{side}")
    };
    match factor {
        IndexFactor::BlockIndex(dimension) => side("blockIdx", *dimension),
        IndexFactor::GridSide(dimension) => side("gridDim", *dimension),
        IndexFactor::ThreadIndex(dimension) => side("threadIdx", *dimension),
        IndexFactor::BlockSide(dimension) => side("blockDim", *dimension),
        IndexFactor::Param { number, offset, name } => match (name, offset) {
            (Some(name), 0) => name.clone(),
            (Some(name), offset) => format!("{name} at byte {offset}"),
            (None, 0) => format!("parameter {number}"),
            (None, offset) => format!("parameter {number} at byte {offset}"),
        },
        IndexFactor::Loaded(_) => "loaded value".to_owned(),
        IndexFactor::Computed(_) => "computed value".to_owned(),
    }
}

/// `2,147,483,648`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool: Tool,
    kernels_read: u64,
    computed_left_out: u64,
    kernels: Vec<KernelJson<'a>>,
}

#[derive(Serialize)]
struct KernelJson<'a> {
    input: &'a str,
    kernel: &'a str,
    kernel_demangled: Option<String>,
    indexes: Vec<IndexJson>,
}

#[derive(Serialize)]
struct IndexJson {
    index: PlaceJson,
    access: PlaceJson,
    formula: String,
    terms: Vec<TermJson>,
    limit: u64,
    least: Option<LeastJson>,
    element_bytes: u32,
    elements: u64,
}

impl IndexJson {
    fn new(limit: &IndexLimit) -> Self {
        Self {
            index: PlaceJson::new(&limit.index),
            access: PlaceJson::new(&limit.access),
            formula: formula(&limit.largest),
            terms: limit
                .largest
                .iter()
                .map(|term| TermJson {
                    by: term.by,
                    factors: term.factors.iter().map(FactorJson::new).collect(),
                })
                .collect(),
            limit: limit.limit,
            least: limit.least.as_ref().map(|(factor, value)| LeastJson {
                factor: FactorJson::new(factor),
                value: *value,
            }),
            element_bytes: limit.element_bytes,
            elements: limit.elements,
        }
    }
}

#[derive(Serialize)]
struct TermJson {
    by: i64,
    factors: Vec<FactorJson>,
}

#[derive(Serialize)]
struct LeastJson {
    factor: FactorJson,
    value: u64,
}

#[derive(Serialize)]
struct FactorJson {
    /// `block-index`, `grid-side`, `thread-index`, `block-side`, `parameter`, `loaded`, `computed`
    kind: &'static str,
    /// 0 for x, 1 for y, 2 for z; of a parameter its number.
    number: Option<u16>,
    /// Bytes before the integer in a parameter.
    offset: Option<u32>,
    name: String,
    place: Option<PlaceJson>,
}

impl FactorJson {
    fn new(factor: &IndexFactor) -> Self {
        let (kind, number, offset, place) = match factor {
            IndexFactor::BlockIndex(dimension) => ("block-index", Some((*dimension).into()), None, None),
            IndexFactor::GridSide(dimension) => ("grid-side", Some((*dimension).into()), None, None),
            IndexFactor::ThreadIndex(dimension) => ("thread-index", Some((*dimension).into()), None, None),
            IndexFactor::BlockSide(dimension) => ("block-side", Some((*dimension).into()), None, None),
            IndexFactor::Param { number, offset, .. } => ("parameter", Some(*number), Some(*offset), None),
            IndexFactor::Loaded(place) => ("loaded", None, None, Some(place)),
            IndexFactor::Computed(place) => ("computed", None, None, Some(place)),
        };
        Self {
            kind,
            number,
            offset,
            name: name(factor),
            place: place.map(|place| PlaceJson::new(place)),
        }
    }
}

/// A place in the source, where it is known, and one in the input.
#[derive(Serialize)]
struct PlaceJson {
    source: Option<LineJson>,
    line: Option<u32>,
    column: Option<u32>,
}

#[derive(Serialize)]
struct LineJson {
    file: String,
    line: u32,
    column: u32,
}

impl PlaceJson {
    fn new(located: &Located) -> Self {
        Self {
            source: located.source.as_ref().map(|source| LineJson {
                file: source.at.file.clone(),
                line: source.at.line,
                column: source.at.column,
            }),
            line: located.location.as_ref().map(|location| location.line),
            column: located.location.as_ref().map(|location| location.column),
        }
    }
}
