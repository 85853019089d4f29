//! A rule without its check.

pub use crate::inventory::ProblemKind;

use crate::finding::Certainty;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Level {
    /// Not reported.
    Allow,
    /// Reported; fails the run only with `--fail-on warning`.
    Warning,
    /// Reported; fails the run.
    Error,
}

impl Level {
    /// The word in documents: `allow`, `warning`, `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Rules that belong together, and can be switched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// 1xx: host symbols in device code.
    Host,
    /// 2xx: address spaces.
    Space,
    /// 3xx: kernel parameters.
    Params,
    /// 4xx: warp collectives.
    Warp,
    /// 5xx: images of fat binaries.
    Image,
    /// 6xx: constructs that device code may not use.
    Device,
    /// 7xx: asynchronous copies, barriers in memory, tensor memory.
    Async,
    /// 9xx: about the run itself.
    Run,
}

impl Family {
    /// All families, in code order.
    pub const ALL: [Self; 8] = [
        Self::Host,
        Self::Space,
        Self::Params,
        Self::Warp,
        Self::Image,
        Self::Device,
        Self::Async,
        Self::Run,
    ];

    /// The word a user writes: `host`, `space`, `params`, `warp`, `image`, `device`, `async`, `run`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Space => "space",
            Self::Params => "params",
            Self::Warp => "warp",
            Self::Image => "image",
            Self::Device => "device",
            Self::Async => "async",
            Self::Run => "run",
        }
    }
}

/// A search for witnesses: what an interpreter looks for when it runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WitnessSearch {
    /// Collectives that lanes execute wrongly.
    Collectives,
    /// Exchanges of lanes through memory that nothing orders.
    Exchanges,
    /// Exchanges of warps through memory without a barrier.
    Barriers,
    /// Updates of global memory that are lost.
    LostUpdates,
    /// Plain accesses to what atomics change.
    BesideAtomics,
    /// Accesses that leave an array.
    Bounds,
    /// Threads that wait for ever.
    Hangs,
    /// Asynchronous copies that fail.
    Copies,
}

impl WitnessSearch {
    /// All searches.
    pub const ALL: [Self; 8] = [
        Self::Collectives,
        Self::Exchanges,
        Self::Barriers,
        Self::LostUpdates,
        Self::BesideAtomics,
        Self::Bounds,
        Self::Hangs,
        Self::Copies,
    ];

    /// True if it is about accesses of several threads that nothing orders.
    pub const fn is_about_accesses(self) -> bool {
        matches!(
            self,
            Self::Exchanges | Self::Barriers | Self::LostUpdates | Self::BesideAtomics
        )
    }
}

/// A question that analyses answer for one rule alone, if the settings ask for its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Which addresses are 0.
    NullAddresses,
    /// Which lanes call a collective whose mask does not name them: findings about the same call that follow from it are left out.
    CallersOutsideMask,
}

/// The certainties that the findings of a rule can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certainties {
    definite: bool,
    conditional: Option<WitnessSearch>,
    potential: bool,
}

impl Certainties {
    /// Definite ones alone.
    pub const DEFINITE: Self = Self {
        definite: true,
        conditional: None,
        potential: false,
    };

    /// Potential ones alone.
    pub const POTENTIAL: Self = Self {
        definite: false,
        conditional: None,
        potential: true,
    };

    /// Conditional ones alone, of which this search finds the witnesses.
    #[must_use]
    pub const fn conditional(search: WitnessSearch) -> Self {
        Self {
            definite: false,
            conditional: Some(search),
            potential: false,
        }
    }

    /// Conditional ones, too.
    #[must_use]
    pub const fn or_conditional(mut self, search: WitnessSearch) -> Self {
        self.conditional = Some(search);
        self
    }

    /// Potential ones, too.
    #[must_use]
    pub const fn or_potential(mut self) -> Self {
        self.potential = true;
        self
    }

    /// The search that finds the witnesses of conditional ones; `None` where there are none.
    #[must_use]
    pub const fn witness_search(self) -> Option<WitnessSearch> {
        self.conditional
    }
}

/// The rule about settings that match nothing.
pub const UNUSED_SETTING: &str = "PTX906";
/// That about assumptions that contradict a kernel.
pub const CONTRADICTING_ASSUMPTION: &str = "PTX908";

/// One rule. A file in `rules/` holds one as `pub static RULE`, and its check as `CHECK`.
#[non_exhaustive]
pub struct Rule {
    /// `PTX407`. Stable for ever.
    pub code: &'static str,
    /// Kebab case; reads after the word "allow".
    pub name: &'static str,
    /// Other names accepted wherever a code is: message keys of the guidelines' reference implementation.
    pub aliases: &'static [&'static str],
    /// Rules of NVIDIA's "CUDA C++ Guidelines for robust and safety-critical programming" 3.0.1 that it stands for.
    pub guidelines: &'static [&'static str],
    /// The family.
    pub family: Family,
    /// One line: what it finds.
    pub summary: &'static str,
    /// Level of its definite findings unless the settings say otherwise.
    pub definite: Level,
    /// The certainties that its findings can have. Those that are not definite are off unless the settings switch them on.
    pub certainties: Certainties,
    /// The question that analyses answer for it alone; `None` if there is none.
    pub question: Option<Question>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({})", self.code, self.name)
    }
}

impl Rule {
    /// The values that most rules share: the file of a rule states its own values and ends with `..Rule::PLAIN`.
    pub(crate) const PLAIN: Self = Self::new("", "", Family::Run, "");

    /// True if it can make findings of this certainty.
    #[must_use]
    pub const fn can_be(&self, certainty: Certainty) -> bool {
        match certainty {
            Certainty::Definite => self.certainties.definite,
            Certainty::Conditional => self.certainties.conditional.is_some(),
            Certainty::Potential => self.certainties.potential,
        }
    }

    /// A rule of one's own: its definite findings are errors, it makes no potential ones, and it has no other names. The functions below
    /// set everything else.
    ///
    /// `code` and `name` are what users select it by; codes that begin with `PTX` are ours. A [`Registry`](crate::registry::Registry) takes it with
    /// its check.
    #[must_use]
    pub const fn new(code: &'static str, name: &'static str, family: Family, summary: &'static str) -> Self {
        Self {
            code,
            name,
            aliases: &[],
            guidelines: &[],
            family,
            summary,
            definite: Level::Error,
            certainties: Certainties::DEFINITE,
            question: None,
        }
    }

    /// With this level for its definite findings.
    #[must_use]
    pub const fn at_level(mut self, level: Level) -> Self {
        self.definite = level;
        self
    }

    /// It can make potential findings, too.
    #[must_use]
    pub const fn with_potential(mut self) -> Self {
        self.certainties = self.certainties.or_potential();
        self
    }

    /// The kind of problems with inputs that it reports; `None` for the rules about other things.
    #[must_use]
    pub fn problem(&self) -> Option<ProblemKind> {
        ProblemKind::ALL.into_iter().find(|kind| kind.code() == self.code)
    }

    /// True if it reports what settings and comments say of findings.
    #[must_use]
    pub fn is_about_configuration(&self) -> bool {
        [UNUSED_SETTING, CONTRADICTING_ASSUMPTION].contains(&self.code)
    }
}
