//! The configuration as it is written: tables and keys, with their types and descriptions. `schema/config.schema.json` is made
//! of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::value::Datetime;

/// Levels by selector.
pub(super) type Levels = BTreeMap<Spanned<String>, Spanned<LevelWord>>;

/// The configuration of ptxcheck
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "ptxcheck.toml"))]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    /// The baseline of `--write-baseline` whose findings are known, relative to the folder of this file; `--baseline` and `--no-baseline`
    /// win over it
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub baseline: Option<Spanned<String>>,
    /// The address of a site of ptxcheck's documentation, which codes of rules are links to
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub docs: Option<Spanned<String>>,
    /// Levels by code, name, message key, family, guideline (`G-2.1`), `all` or `potential`. They are for definite findings, and
    /// `potential:` before one of these for its potential ones; `allow` for a rule is for both. The narrower selector counts,
    /// wherever it stands
    #[cfg_attr(test, schemars(with = "BTreeMap<String, LevelWord>"))]
    pub rules: Levels,
    /// Levels for certain paths and kernels. Of several that hold, the last in the file counts
    #[serde(rename = "override")]
    pub overrides: Vec<Override>,
    /// Inputs and findings that are left out
    pub exclude: Exclude,
    /// The line at which findings from headers are reported
    pub headers: Headers,
    /// Exceptions: findings that do not count, with their reasons
    #[cfg_attr(test, schemars(with = "Vec<Allow>"))]
    pub allow: Vec<Spanned<Allow>>,
    /// The blocks and the dynamic shared memory that kernels are launched with
    // Its keys are names of kernels; `launch.rs` reads it.
    #[serde(rename = "launch")]
    #[cfg_attr(test, schemars(with = "schema::Launch"))]
    pub _launch: Option<IgnoredAny>,
    /// Conditions of integer parameters, by a pattern of kernels and the parameter: its number, from 0, or its name
    // Its keys are names of kernels; `assume.rs` reads it.
    #[serde(rename = "assume")]
    #[cfg_attr(
        test,
        schemars(with = "Option<BTreeMap<String, BTreeMap<String, schema::Conditions>>>")
    )]
    pub _assume: Option<IgnoredAny>,
    /// The parameters of kernels
    pub params: Params,
    /// The policy that `ptxcheck audit` checks images against
    pub audit: Audit,
}

/// A level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum LevelWord {
    /// Not reported
    Allow,
    /// Reported
    Warning,
    /// Reported, and the exit code is 1
    Error,
}

/// Levels in certain places
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    /// Patterns of inputs, or of the sources that findings point to, relative to the folder of this file
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub path: Option<Spanned<StringList>>,
    /// Patterns of kernels, by their names in the module or in C++
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub kernel: Option<Spanned<StringList>>,
    /// The levels there
    #[cfg_attr(test, schemars(with = "BTreeMap<String, LevelWord>"))]
    pub rules: Levels,
}

/// Inputs and findings that are left out; they are counted alone
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Exclude {
    /// Patterns of inputs, which are not looked at, and of the sources that findings point to
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub paths: Option<Spanned<StringList>>,
    /// Patterns of kernels
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub kernels: Option<Spanned<StringList>>,
    /// Findings of which no line lies outside system headers
    pub system_headers: bool,
}

/// System headers: those of the CUDA toolkit, of clang and of the C++ library, and those named here
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Headers {
    /// The line that a finding points to which was inlined from such a header
    pub report_at: ReportAtWord,
    /// Patterns of other headers that are not yours
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub system: Option<Spanned<StringList>>,
}

/// A line of the chain of calls.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum ReportAtWord {
    /// The innermost line outside such headers
    #[default]
    Call,
    /// The innermost line
    Header,
    /// The call, and the line in the header beside it
    Both,
}

/// An exception
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(transform = schema::require_reason))]
#[serde(deny_unknown_fields)]
pub(super) struct Allow {
    /// Rules, by code, name, message key, family or guideline
    #[cfg_attr(test, schemars(with = "schema::OneOrMore"))]
    pub rule: Spanned<StringList>,
    /// The reason why it is all right
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "String"))]
    pub reason: Option<Spanned<String>>,
    /// Patterns of inputs, or of the sources that findings point to
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub path: Option<Spanned<StringList>>,
    /// Patterns of kernels
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub kernel: Option<Spanned<StringList>>,
    /// A pattern of the line that a finding points to, without white space around it
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub line: Option<Spanned<String>>,
    /// The last day on which it counts, in UTC
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::Date>"))]
    pub expires: Option<Spanned<Datetime>>,
}

/// The parameters of kernels
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Params {
    /// Per cent of what can be passed to a kernel: PTX303, where it is on, reports kernels whose parameters take more. 1 to 100; 90 if it
    /// is not given
    #[cfg_attr(test, schemars(with = "Option<u8>", range(min = 1, max = 100)))]
    pub near_limit: Option<Spanned<i64>>,
}

/// A policy for release files
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Audit {
    /// Targets that every kernel needs machine code for
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub require_sm: Vec<Spanned<String>>,
    /// Targets that every kernel needs PTX for
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub require_ptx: Option<Spanned<StringList>>,
    /// The oldest driver that the files are to run with
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub min_driver: Option<Spanned<String>>,
    /// Most bytes that the images for one target may take in a file, as in `50M`
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_target_size: Option<Spanned<String>>,
    /// No image may lie twice in a file
    pub forbid_duplicates: bool,
    /// Most bytes of a package, as in `100M`
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_package_size: Option<Spanned<String>>,
    /// Most bytes of a file, unpacked, in a package or by itself
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_file_size: Option<Spanned<String>>,
    /// Patterns of files that no package may hold
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub forbidden_files: Option<Spanned<StringList>>,
    /// Patterns of symbols that no library may export, as they are in the file or in C++
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub hidden_symbols: Option<Spanned<StringList>>,
    /// GPUs that every kernel has to load on, as in `["7.5", "8.6"]`; `all` for all that CUDA 13 compiles for
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub gpus: Option<Spanned<StringList>>,
    /// The oldest version of CUDA whose driver the files are to run with, as in `12.4`
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub min_cuda: Option<Spanned<String>>,
    /// Those of `gpus` on which the driver may compile kernels when it loads them; without this key, all
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub allow_jit: Option<Spanned<StringList>>,
    /// Most bytes of PTX of a file that the driver may compile for one of `gpus`, as in `20M`
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_jit: Option<Spanned<String>>,
    /// Kernels that have no body in the image that one of `gpus` loads, and have one in another image; without this key,
    /// `allow-trap`
    pub stubs: Option<StubsWord>,
    /// Kernels that are not there for some of `gpus`
    #[cfg_attr(test, schemars(with = "Vec<ByDesignEntry>"))]
    pub by_design: Vec<Spanned<ByDesignEntry>>,
    /// The virtual architecture that machine code is compiled for
    pub virtual_target: Option<VirtualTargetWord>,
    /// The metadata of wheel variants
    pub variants: Option<VariantsWord>,
    /// Budgets for the machine code of kernels
    #[cfg_attr(test, schemars(with = "Vec<BudgetEntry>"))]
    pub budget: Vec<Spanned<BudgetEntry>>,
    /// Threads of a block that kernels have to be launchable with, by a pattern of their names, in the image or in C++
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u32>"))]
    pub require_block: BTreeMap<Spanned<String>, Spanned<u32>>,
}

/// A budget for the machine code of some kernels
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BudgetEntry {
    /// Patterns of kernels, by their names in the image or in C++; without this key, all
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub kernels: Option<Spanned<StringList>>,
    /// The targets that it is about, as in `["90", "100f"]`; without this key, all
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub targets: Option<Spanned<StringList>>,
    /// Most registers of a thread, 1 to 255
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1, max = 255)))]
    pub max_registers: Option<Spanned<u64>>,
    /// Most bytes of the stack of a thread, as in `512` or `1K`
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_stack: Option<Spanned<String>>,
    /// Most bytes of static shared memory of a block, as in `48K`
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_shared: Option<Spanned<String>>,
    /// Most bytes of machine code of a kernel, as in `100K`
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub max_code: Option<Spanned<String>>,
}

/// Kernels without a body
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum StubsWord {
    /// None may be loaded
    Deny,
    /// Those that trap may be loaded
    AllowTrap,
    /// All may be loaded
    Allow,
}

/// The virtual architecture of machine code
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum VirtualTargetWord {
    /// Any
    Any,
    /// Its own: `compute_86` for `sm_86`
    Same,
}

/// The metadata of wheel variants
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum VariantsWord {
    /// Not looked at
    Ignore,
    /// Held against the images of the wheel
    Check,
}

/// Kernels that are not there for some GPUs
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ByDesignEntry {
    /// Patterns of kernels, by their names in the image or in C++
    #[cfg_attr(test, schemars(with = "schema::OneOrMore"))]
    pub kernel: Spanned<StringList>,
    /// The GPUs; without this key, all
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<schema::OneOrMore>"))]
    pub gpu: Option<Spanned<StringList>>,
    /// The reason why it is all right
    #[cfg_attr(test, schemars(with = "String"))]
    pub reason: Spanned<String>,
}

/// A string, or a list of strings with their places in the file.
#[derive(Debug)]
pub(super) struct StringList(Vec<(Option<Range<usize>>, String)>);

impl StringList {
    /// Each string with the offset that it begins at.
    pub(super) fn with_offsets(spanned: &Spanned<Self>) -> impl Iterator<Item = (usize, &str)> {
        let alone = spanned.span().start;
        let texts = spanned.get_ref().0.iter();
        texts.map(move |(span, text)| (span.as_ref().map_or(alone, |span| span.start), text.as_str()))
    }
}

impl<'de> Deserialize<'de> for StringList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;

        impl<'de> Visitor<'de> for OneOrMore {
            type Value = StringList;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<StringList, E> {
                Ok(StringList(vec![(None, text.to_owned())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<StringList, A::Error> {
                let mut list = Vec::new();
                while let Some(text) = texts.next_element::<Spanned<String>>()? {
                    list.push((Some(text.span()), text.into_inner()));
                }
                Ok(StringList(list))
            }
        }

        deserializer.deserialize_any(OneOrMore)
    }
}

/// Shapes that only the schema names.
#[cfg(test)]
pub(super) mod schema {
    use std::collections::BTreeMap;

    #[derive(schemars::JsonSchema)]
    #[schemars(untagged)]
    #[expect(dead_code, reason = "a shape")]
    pub enum OneOrMore {
        One(String),
        More(Vec<String>),
    }

    /// A day, as in `2027-01-31`
    #[derive(schemars::JsonSchema)]
    #[schemars(extend("format" = "date"))]
    #[expect(dead_code, reason = "a shape")]
    pub struct Date(String);

    /// Threads of a block in x, y and z; y and z may be left out
    #[derive(schemars::JsonSchema)]
    #[schemars(extend("minItems" = 1, "maxItems" = 3))]
    #[expect(dead_code, reason = "a shape")]
    pub struct Block(Vec<u32>);

    /// A block, or the blocks that a kernel is launched with
    #[derive(schemars::JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "a shape")]
    pub enum Blocks {
        One(Block),
        #[schemars(extend("minItems" = 1))]
        Several(Vec<Block>),
    }

    /// A condition of a parameter, as in `% 32`, those that all hold, or the number that it is
    #[derive(schemars::JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "a shape")]
    pub enum Conditions {
        Value(i64),
        One(String),
        #[schemars(extend("minItems" = 1))]
        All(Vec<String>),
    }

    #[derive(schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "a shape")]
    #[schemars(extend("minProperties" = 1))]
    pub struct KernelLaunch {
        block: Option<Blocks>,
        shared: Option<Shared>,
    }

    /// Bytes of dynamic shared memory for a block; of several launches, the most
    #[derive(schemars::JsonSchema)]
    #[schemars(extend("minimum" = 0, "maximum" = 232_448))]
    #[expect(dead_code, reason = "a shape")]
    pub struct Shared(u32);

    /// Launches of all kernels, and of those that patterns name
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "a shape")]
    pub struct Launch {
        block: Option<Blocks>,
        shared: Option<Shared>,
        #[serde(flatten)]
        kernels: BTreeMap<String, KernelLaunch>,
    }

    /// The program asks for a reason in its own words.
    pub fn require_reason(schema: &mut schemars::Schema) {
        schema.insert("required".to_owned(), serde_json::json!(["rule", "reason"]));
    }
}
