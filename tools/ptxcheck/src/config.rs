//! `ptxcheck.toml`: levels, exceptions, exclusions, the blocks of kernels (`[launch]`) and their parameters (`[assume]`), the size of kernel parameters that is near
//! the limit (`[params]`), the policy of audits (`[audit]`).
//!
//! The nearest file above the working directory counts. A key that nobody knows is an error with its place: a policy
//! that is not read is worse than none.

mod assume;
mod audit;
mod file;
mod findings;
mod launch;
pub mod written;

use std::fs;
use std::path::{Path, PathBuf};

use ptxcheck_passes::assumptions::{Assumption, Assumptions};
use ptxcheck_passes::exceptions::{Allow, Exclude, Headers};
use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::patterns::Written;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::{self, LevelSetting, Override, Settings};
use ptxcheck_report::pages::RulePages;

pub use audit::{NO_REGISTERS, block_of, driver_of_cuda, parse_gpus, sorted};
use file::{File, Params};
use findings::PatternReader;
pub use findings::path_pattern;

/// The name of the file.
pub const FILE: &str = "ptxcheck.toml";

/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The schema of the file.
pub const SCHEMA: &str = include_str!("../schema/config.schema.json");

/// The configuration.
#[derive(Debug, Default)]
pub struct Config {
    /// The file, as it is named in messages.
    pub file: Option<PathBuf>,
    /// Its text.
    pub text: String,
    /// `[audit]`
    pub policy: Policy,
    /// `[launch]`
    pub launches: Launches,
    /// `[assume]`
    pub assumptions: Vec<Assumption>,
    /// `[params]`: `near-limit`, in per cent.
    pub near_limit: Option<u8>,
    /// `[rules]`, the narrower selectors last, with their places.
    pub levels: Vec<(LevelSetting, Written)>,
    /// `[[override]]`
    pub overrides: Vec<Override>,
    /// `[exclude]`
    pub exclude: Exclude,
    /// `[headers]`
    pub headers: Headers,
    /// `[[allow]]`
    pub allows: Vec<Allow>,
    /// `baseline`, relative to the folder of the file.
    pub baseline: Option<PathBuf>,
    /// `docs`, else the site that the program was built for.
    pub pages: RulePages,
}

/// The address of the documentation's site, where the program was built for one.
const SITE: Option<&str> = option_env!("PTXCHECK_DOCS");

/// The site that a configuration without `docs` has.
fn default_pages() -> RulePages {
    SITE.and_then(RulePages::at).unwrap_or_default()
}

impl Config {
    /// The settings that it makes, without those of options.
    #[must_use]
    pub fn settings(self) -> Settings {
        let working = std::env::current_dir().ok();
        let folder = self.file.as_ref().and_then(|file| {
            let folder = file.parent().unwrap_or(Path::new(""));
            working.as_ref().map(|working| working.join(folder))
        });
        Settings {
            base_levels: self.levels.into_iter().map(|(setting, _)| setting).collect(),
            overrides: self.overrides,
            allows: self.allows,
            exclude: self.exclude,
            headers: self.headers,
            launches: self.launches,
            assumptions: Assumptions {
                all: self.assumptions,
            },
            near_limit: self.near_limit,
            policy: self.policy,
            root: Root {
                root: folder.or_else(|| working.clone()),
                working,
            },
            file: self.file.map(|file| file.display().to_string()),
            reads_comments: true,
            ..Settings::default()
        }
    }
}

/// Reads `file`, or the nearest configuration file above the working directory; an empty configuration if there is none.
///
/// # Errors
///
/// A sentence with the place in the file.
pub fn read(file: Option<&Path>) -> Result<Config, String> {
    let Some(file) = file.map(Path::to_owned).or_else(nearest) else {
        return Ok(Config {
            pages: default_pages(),
            ..Config::default()
        });
    };
    let name = file.display();
    let size = fs::metadata(&file).map_err(|error| format!("`{name}` can't be read: {error}"))?;
    if size.len() > FILE_BYTES {
        return Err(format!("`{name}` is larger than {FILE_BYTES} bytes"));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("`{name}` can't be read: {error}"))?;
    let config =
        parse(&text).map_err(|(line, column, message)| format!("{name}:{line}:{column}: {message}"))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(Config {
        baseline: config.baseline.map(|baseline| folder.join(baseline)),
        file: Some(file),
        text,
        ..config
    })
}

/// The nearest configuration file above a folder.
pub fn nearest_above(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}

/// The nearest file above the working directory: by its name alone if it lies in it.
fn nearest() -> Option<PathBuf> {
    if Path::new(FILE).is_file() {
        return Some(PathBuf::from(FILE));
    }
    nearest_above(&std::env::current_dir().ok()?)
}

/// An error with its 1-based line and column.
type FileError = (usize, usize, String);

fn parse(text: &str) -> Result<Config, FileError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let (line, column) = place(text, span.start);
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        let near = text.get(span).and_then(|key| suggestion_in(key, &message));
        match near {
            Some(near) => (line, column, format!("{message}; did you mean `{near}`?")),
            None => (line, column, message),
        }
    })?;
    let mut reader = PatternReader::new(text);
    Ok(Config {
        baseline: baseline(&file, text)?,
        pages: pages(&file, text)?,
        file: None,
        text: String::new(),
        policy: audit::policy(&file.audit, &mut reader)?,
        launches: launch::read(&mut reader)?,
        assumptions: assume::read(&mut reader)?,
        near_limit: near_limit(&file.params, text)?,
        levels: reader.levels(&file.rules)?,
        overrides: file
            .overrides
            .iter()
            .map(|over| reader.level_override(over))
            .collect::<Result<_, _>>()?,
        exclude: reader.exclude(&file.exclude)?,
        headers: reader.headers(&file.headers)?,
        allows: file
            .allow
            .iter()
            .map(|allow| reader.allow(allow))
            .collect::<Result<_, _>>()?,
    })
}

/// The baseline, as it is written.
fn baseline(file: &File, text: &str) -> Result<Option<PathBuf>, FileError> {
    let Some(baseline) = &file.baseline else {
        return Ok(None);
    };
    if baseline.get_ref().is_empty() {
        let (line, column) = place(text, baseline.span().start);
        return Err((
            line,
            column,
            "the name of the baseline's file is empty".to_owned(),
        ));
    }
    Ok(Some(PathBuf::from(baseline.get_ref())))
}

/// The pages about rules.
fn pages(file: &File, text: &str) -> Result<RulePages, FileError> {
    let Some(docs) = &file.docs else {
        return Ok(default_pages());
    };
    let (line, column) = place(text, docs.span().start);
    RulePages::at(docs.get_ref()).ok_or_else(|| {
        let message =
            "an address with `https://`, `http://` or `file:///` is wanted, without blanks and quotes";
        (line, column, message.to_owned())
    })
}

/// Per cent.
fn near_limit(params: &Params, text: &str) -> Result<Option<u8>, FileError> {
    let Some(percent) = &params.near_limit else {
        return Ok(None);
    };
    let (line, column) = place(text, percent.span().start);
    u8::try_from(*percent.get_ref())
        .ok()
        .filter(|percent| (1..=100).contains(percent))
        .map(Some)
        .ok_or_else(|| (line, column, "`near-limit` is per cent: 1 to 100".to_owned()))
}

/// The 1-based line and column, in bytes, of an offset.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, offset - line_start + 1)
}

/// The known key that a key may have meant.
fn suggestion<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let key = key.trim_matches(['"', '\'', '[', ']', ' ']);
    settings::nearest(key, known.iter().copied())
}

/// The key or word nearest to `key` among those that a message of the parser lists.
fn suggestion_in(key: &str, message: &str) -> Option<String> {
    let (_, expected) = message.split_once("expected ")?;
    if !message.starts_with("unknown ") {
        return None;
    }
    // The text between backticks.
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let bare = key.trim_matches(['"', '\'']);
    // `warn` is the beginning of a word.
    let longer = || {
        known
            .iter()
            .copied()
            .find(|word| bare.len() > 2 && word.starts_with(bare))
    };
    suggestion(key, &known).or_else(longer).map(str::to_owned)
}

/// A size in bytes: `1000000`, `50M` (mebibytes), `2G`, `64K`.
///
/// # Errors
///
/// A sentence, if it is none.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err(format!("`{text}` is no size such as `50M`")),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("`{text}` is no size such as `50M`"))
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_size};
    use ptxcheck_passes::policy::Driver;

    #[test]
    fn a_policy_is_read() {
        let text = "[audit]\nrequire-sm = [\"80\", \"sm_90a\"]\nrequire-ptx = \"90\"\nmin-driver = \"550.54\"\n\
                    max-target-size = \"50M\"\nforbid-duplicates = true\n";
        let policy = parse(text).unwrap().policy;
        assert_eq!(policy.require_sm, ["80", "90a"]);
        assert_eq!(policy.require_ptx, ["90"]);
        assert_eq!(policy.min_driver, Some(Driver(550, 54, 0)));
        assert_eq!(policy.max_target_bytes, Some(50 << 20));
        assert!(policy.forbid_duplicates);
        assert_eq!(parse("").unwrap().policy, super::Config::default().policy);
    }

    #[test]
    fn errors_have_a_place_and_a_suggestion() {
        let (line, column, message) = parse("[audit]\nrequire-ms = [\"80\"]\n").unwrap_err();
        assert_eq!((line, column), (2, 1));
        assert!(message.contains("did you mean `require-sm`?"), "{message}");
        let (line, _, message) = parse("[audit]\n\nmin-driver = \"new\"\n").unwrap_err();
        assert_eq!(line, 3);
        assert!(message.contains("no driver version"), "{message}");
        assert!(
            parse("[audits]\n")
                .unwrap_err()
                .2
                .contains("did you mean `audit`?")
        );
        assert!(parse("[audit]\nrequire-sm = 80\n").is_err());
        assert!(parse("audit = [").is_err());
    }

    #[test]
    fn docs_is_an_address_and_a_baseline_has_a_name() {
        let config = parse("docs = \"https://docs.example/x/\"\nbaseline = \"known.json\"\n").unwrap();
        assert_eq!(config.pages.site(), Some("https://docs.example/x"));
        assert_eq!(config.baseline, Some("known.json".into()));
        for wrong in [
            "docs = \"docs.example\"",
            "docs = \"https://x/a b\"",
            "baseline = \"\"",
        ] {
            let (line, column, _) = parse(&format!("\n{wrong}\n")).unwrap_err();
            assert_eq!(line, 2, "{wrong}");
            assert!(column > 7, "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("64K"), Ok(65_536));
        for wrong in ["", "K", "1T", "99999999999G", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    /// The schema, made of the types that the file is read into. `BLESS=1` writes it.
    #[test]
    fn the_schema_is_that_of_what_is_read() {
        let schema = schemars::schema_for!(super::File);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/config.schema.json");
            std::fs::write(path, text).unwrap();
        } else {
            assert_eq!(super::SCHEMA, text, "BLESS=1 writes it anew");
        }
    }

    /// As editors read a configuration: days are texts.
    fn as_json(text: &str) -> serde_json::Value {
        fn json(value: &toml::Value) -> serde_json::Value {
            match value {
                toml::Value::String(text) => text.clone().into(),
                toml::Value::Integer(number) => (*number).into(),
                toml::Value::Float(number) => (*number).into(),
                toml::Value::Boolean(is) => (*is).into(),
                toml::Value::Datetime(day) => day.to_string().into(),
                toml::Value::Array(all) => all.iter().map(json).collect(),
                toml::Value::Table(table) => table
                    .iter()
                    .map(|(key, value)| (key.clone(), json(value)))
                    .collect::<serde_json::Map<_, _>>()
                    .into(),
            }
        }
        json(&toml::Value::Table(toml::from_str(text).unwrap()))
    }

    #[test]
    fn the_schema_and_the_program_agree() {
        let schema = serde_json::from_str(super::SCHEMA).unwrap();
        let schema = jsonschema::draft202012::new(&schema).unwrap();
        for (text, is_right) in [
            ("", true),
            (EVERYTHING, true),
            ("baseline = 3\n", false),
            ("docs = [\"https://docs.example\"]\n", false),
            ("[rules]\nwarp = \"warn\"\n", false),
            ("[override]\nrules = {}\n", false),
            ("[[override]]\npath = \"x\"\n", false),
            ("[[override]]\npath = 3\nrules = {}\n", false),
            ("[exclude]\npath = \"x\"\n", false),
            ("[headers]\nreport-at = \"user\"\n", false),
            ("[[allow]]\nrule = \"PTX401\"\n", false),
            ("[[allow]]\nreason = \"x\"\n", false),
            ("[launch.x]\nblok = [1]\n", false),
            ("[assume]\nn = \"% 2\"\n", false),
            ("[assume.k]\nn = [1]\n", false),
            ("[assume.k]\nn = []\n", false),
            ("[assume.k]\n1 = 3\n", true),
            ("[launch]\nblock = [[1], [2]]\n", true),
            ("[launch]\nblock = [[1], 2]\n", false),
            ("[launch]\nblock = [[]]\n", false),
            ("[launch]\nshared = 232448\n", true),
            ("[launch]\nshared = 232449\n", false),
            ("[launch]\nshared = -1\n", false),
            ("[launch]\nshared = [64]\n", false),
            ("[launch.x]\nshared = 64\n", true),
            ("[launch.x]\n", false),
            ("[params]\nnear-limit = 100\n", true),
            ("[params]\nnear-limit = 0\n", false),
            ("[params]\nnear-limit = 101\n", false),
            ("[params]\nnear-limit = \"90\"\n", false),
            ("[params]\nlimit = 90\n", false),
            ("[audit]\nrequire-sm = 80\n", false),
        ] {
            assert_eq!(parse(text).is_ok(), is_right, "the program: {text}");
            assert_eq!(schema.is_valid(&as_json(text)), is_right, "the schema: {text}");
        }
    }

    const EVERYTHING: &str = r#"
baseline = "known.json"
docs = "https://docs.example/ptxcheck/"
[rules]
all = "warning"
PTX401 = "error"
extra_lane_in_mask = "error"
"G-2.1" = "allow"
"potential:warp" = "warning"
[[override]]
path = ["third_party/", "re:gen"]
kernel = "k*"
rules = { PTX206 = "allow" }
[exclude]
paths = "build/**"
kernels = ["test_*"]
system-headers = true
[headers]
report-at = "both"
system = ["vendor/**"]
[[allow]]
rule = ["PTX403", "warp"]
path = "src/*.cu"
kernel = "legacy_*"
line = "*__shfl*"
reason = "ticket 12"
expires = 2999-12-31
[launch]
block = [256]
shared = 49152
[launch."_Z*"]
block = [[32, 4, 1], [128]]
shared = 0
[assume."forces*"]
n = ["% 128", ">= 128"]
2 = 7
"3+8" = "in [1, 2]"
[params]
near-limit = 75
[audit]
require-sm = ["80"]
require-ptx = "90"
min-driver = "550.54"
max-target-size = "50M"
forbid-duplicates = true
max-package-size = "100M"
max-file-size = "400M"
forbidden-files = ["*.a", "**/tests/**"]
gpus = ["7.5", "12.0"]
hidden-symbols = "cub::*"
min-cuda = "12.4"
allow-jit = ["12.0"]
max-jit = "20M"
stubs = "deny"
virtual-target = "same"
variants = "check"
[[audit.by-design]]
kernel = "tma_*"
gpu = "7.5"
reason = "needs TMA"
[[audit.budget]]
kernels = "gemm*"
targets = ["sm_90", "100f"]
max-registers = 168
max-stack = "0"
max-shared = "48K"
max-code = "1M"
[audit.require-block]
"reduce*" = 512
"#;

    #[test]
    fn everything_is_read() {
        let config = parse(EVERYTHING).unwrap();
        let levels: Vec<String> = config
            .levels
            .iter()
            .map(|(setting, _)| format!("{}={}", setting.selector, setting.level.as_str()))
            .collect();
        // The narrower ones come later.
        assert_eq!(
            levels,
            [
                "all=warning",
                "potential:warp=warning",
                "G-2.1=allow",
                "PTX401=error",
                "PTX401=error"
            ]
        );
        assert!(config.overrides[0].scope.paths[0].fits("third_party/a/b.cu"));
        assert!(config.exclude.system_headers && config.exclude.kernels[0].fits("test_1"));
        let allow = &config.allows[0];
        assert!(allow.codes.contains(&"PTX401") && allow.codes.contains(&"PTX403"));
        assert_eq!((&*allow.reason, &allow.expired), ("ticket 12", &None));
        assert_eq!(allow.written.0, 21);
        assert_eq!(config.headers.report_at.as_str(), "both");
        assert_eq!(config.near_limit, Some(75));
        assert_eq!(config.settings().near_limit, Some(75));
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_suggestion() {
        let long = format!("[exclude]\npaths = [\"{}\"]\n", "x".repeat(1025));
        let many = format!("[exclude]\nkernels = [{}]\n", "\"x\", ".repeat(4097));
        let cases = [
            ("[rule]\n", (1, 2), "did you mean `rules`?"),
            ("[rules]\nPTX4O1 = \"allow\"\n", (2, 1), "did you mean `PTX401`?"),
            ("[rules]\nwarp = \"warn\"\n", (2, 8), "did you mean `warning`?"),
            ("[rules]\n\"G-2.9\" = \"allow\"\n", (2, 1), "no guideline"),
            (
                "[[override]]\nrules = { zero-mask = \"of\" }\n",
                (2, 23),
                "unknown variant",
            ),
            (
                "[[override]]\npaths = \"x\"\nrules = {}\n",
                (2, 1),
                "did you mean `path`?",
            ),
            (
                "[exclude]\npaths = [\"a\", \"[b\"]\n",
                (2, 15),
                "`[b` is no pattern",
            ),
            (
                "[exclude]\npaths = \"re:(\"\n",
                (2, 9),
                "no regular expression: unclosed group",
            ),
            ("[exclude]\npaths = \"\"\n", (2, 9), "at least one character"),
            (&long, (2, 10), "at most 1024 bytes"),
            (&many, (2, 12 + 5 * 4096), "more than 4096 patterns"),
            (
                "[headers]\nreport-at = \"cal\"\n",
                (2, 13),
                "did you mean `call`?",
            ),
            (
                "[params]\n\nnear-limit = 101\n",
                (3, 14),
                "`near-limit` is per cent: 1 to 100",
            ),
            ("[params]\nnear-limit = -1\n", (2, 14), "1 to 100"),
            ("[params]\nnear-limit = 300\n", (2, 14), "1 to 100"),
            ("[params]\nnear-limt = 80\n", (2, 1), "did you mean `near-limit`?"),
            ("[param]\n", (1, 2), "did you mean `params`?"),
            (
                "[audit]\nmax-package-size = \"100 apples\"\n",
                (2, 20),
                "100 apples",
            ),
            (
                "[audit]\nmax-file-sise = \"1M\"\n",
                (2, 1),
                "did you mean `max-file-size`?",
            ),
            (
                "[audit]\nforbidden-files = [\"*.a\", \"[b\"]\n",
                (2, 27),
                "`[b` is no pattern",
            ),
            ("[[allow]]\nrule = \"PTX401\"\n", (1, 1), "needs a reason"),
            (
                "[[allow]]\nrule = \"PTX401\"\nreason = \" \"\n",
                (3, 10),
                "needs a reason",
            ),
            (
                "[[allow]]\nrule = \"all\"\nreason = \"x\"\n",
                (2, 8),
                "`all` is no rule's code",
            ),
            (
                "[[allow]]\nrule = []\nreason = \"x\"\n",
                (2, 8),
                "at least one rule",
            ),
            (
                "[[allow]]\nrule = \"PTX401\"\nreason = \"x\"\nexpires = 07:32:00\n",
                (4, 11),
                "a day is wanted",
            ),
            (
                "[[allow]]\nrule = \"PTX401\"\nreson = \"x\"\n",
                (3, 1),
                "did you mean `reason`?",
            ),
        ];
        for (text, at, wanted) in cases {
            let shown = &text[..text.len().min(80)];
            let (line, column, message) = parse(text).unwrap_err();
            assert!(message.contains(wanted), "{shown}: {message}");
            assert_eq!((line, column), at, "{shown}: {message}");
        }
    }

    #[test]
    fn examples_of_the_documents_are_read() {
        let documents = [
            include_str!("../CONFIGURATION.md"),
            include_str!("../../../docs/src/audit.md"),
            include_str!("../../../docs/src/launches.md"),
            include_str!("../../../docs/src/conditional.md"),
        ];
        let mut count = 0;
        for document in documents {
            for example in document.split("```toml\n").skip(1) {
                let (example, _) = example.split_once("```").unwrap();
                parse(example).unwrap_or_else(|error| panic!("{error:?}:\n{example}"));
                count += 1;
            }
        }
        assert!(count >= 7, "{count}");
    }

    #[test]
    fn the_first_file_of_a_project_names_all_there_is() {
        let template = include_str!("commands/init.toml");
        assert_eq!(super::written::settings(template), []);
        parse(template).unwrap();
        let settings: String = template
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| line.starts_with('[') || line.contains(" = "))
            .flat_map(|line| [line, "\n"])
            .collect();
        parse(&settings).unwrap();
        let keys: Vec<String> = super::written::settings(&settings)
            .into_iter()
            .map(|setting| setting.key)
            .collect();
        for known in super::written::settings(EVERYTHING) {
            let table = known.key.split(['.', '[']).next().unwrap_or_default().to_owned();
            let last = known.key.rsplit('.').next().unwrap_or_default().to_owned();
            let is_named = |key: &String| {
                key.starts_with(&table) && (table == "rules" || key.contains("rules") || key.ends_with(&last))
            };
            assert!(keys.iter().any(is_named), "{}", known.key);
        }
    }
}
