//! `ptxcheck.toml`: the policy of audits, in the table `[audit]`, the blocks of kernels, in the table `[launch]`, and what
//! counts as near the limit of kernel parameters, in the table `[params]`.
//!
//! The nearest file above the working directory counts. A key that nobody knows is an error with its place: a policy
//! that is not read is worse than none.

mod launch;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::policy::{self, Driver, Policy};
use ptxcheck_passes::settings;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The name of the file.
const FILE: &str = "ptxcheck.toml";

/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// What the file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `[audit]`
    pub policy: Policy,
    /// `[launch]`
    pub launches: Launches,
    /// `[params]`: `near-limit`, in per cent.
    pub near_limit: Option<u8>,
}

/// The file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    audit: Audit,
    params: Params,
    // Its keys are names of kernels; `launch.rs` reads it.
    #[serde(rename = "launch")]
    _launch: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Audit {
    require_sm: Vec<String>,
    require_ptx: OneOrMore,
    min_driver: Option<String>,
    max_target_size: Option<String>,
    forbid_duplicates: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Params {
    near_limit: Option<u8>,
}

/// The tables, and the keys of those that are read here, for suggestions.
const KEYS: [&str; 9] = [
    "audit",
    "launch",
    "params",
    "near-limit",
    "require-sm",
    "require-ptx",
    "min-driver",
    "max-target-size",
    "forbid-duplicates",
];

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a target such as \"90\", or a list of them")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

/// What `file` says, or the nearest configuration file above the working directory, or nothing.
///
/// # Errors
///
/// A sentence with the place in the file.
pub fn read(file: Option<&Path>) -> Result<Config, String> {
    let Some(file) = file.map(Path::to_owned).or_else(nearest) else {
        return Ok(Config::default());
    };
    let name = file.display();
    let size = fs::metadata(&file).map_err(|error| format!("`{name}` can't be read: {error}"))?;
    if size.len() > FILE_BYTES {
        return Err(format!("`{name}` is larger than {FILE_BYTES} bytes"));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("`{name}` can't be read: {error}"))?;
    parse(&text).map_err(|(line, column, message)| format!("{name}:{line}:{column}: {message}"))
}

/// The nearest file above the working directory.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}

/// An error with its 1-based line and column.
type Placed = (usize, usize, String);

fn parse(text: &str) -> Result<Config, Placed> {
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let (line, column) = place(text, span.start);
        let mut message = error.message().lines().collect::<Vec<_>>().join(" ");
        if let Some(near) = text
            .get(span)
            .and_then(|key| suggestion(key, &KEYS))
            .filter(|_| message.contains("unknown field"))
        {
            message = format!("{message}; did you mean `{near}`?");
        }
        (line, column, message)
    })?;
    let near_limit = file.params.near_limit;
    if near_limit.is_some_and(|percent| !(1..=100).contains(&percent)) {
        let (line, column) = place(text, text.find("near-limit").unwrap_or(0));
        return Err((line, column, "`near-limit` is per cent: 1 to 100".to_owned()));
    }
    Ok(Config {
        near_limit,
        policy: policy(file.audit, text)?,
        launches: launch::read(text).map_err(|(offset, message)| {
            let (line, column) = place(text, offset);
            (line, column, message)
        })?,
    })
}

fn policy(audit: Audit, text: &str) -> Result<Policy, Placed> {
    let Audit {
        require_sm,
        require_ptx,
        min_driver,
        max_target_size,
        forbid_duplicates,
    } = audit;
    // Values have no spans of their own: the place is that of the key.
    let at = |key: &str| {
        let (line, column) = place(text, text.find(key).unwrap_or(0));
        move |message: String| (line, column, message)
    };
    let targets = |key, texts: Vec<String>| -> Result<Vec<String>, Placed> {
        texts
            .iter()
            .map(|text| {
                let target = policy::target(text).map_err(|malformed| malformed.to_string());
                target.map_err(at(key))
            })
            .collect()
    };
    let require_ptx = match require_ptx {
        OneOrMore::One(target) => vec![target],
        OneOrMore::More(targets) => targets,
    };
    Ok(Policy {
        require_sm: targets("require-sm", require_sm)?,
        require_ptx: targets("require-ptx", require_ptx)?,
        min_driver: min_driver
            .map(|text| {
                let driver = Driver::from_str(&text).map_err(|malformed| malformed.to_string());
                driver.map_err(at("min-driver"))
            })
            .transpose()?,
        max_target_bytes: max_target_size
            .map(|text| parse_size(&text).map_err(at("max-target-size")))
            .transpose()?,
        forbid_duplicates,
    })
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
        assert_eq!(parse("").unwrap(), super::Config::default());
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
    fn sizes_have_units() {
        assert_eq!(parse_size("64K"), Ok(65_536));
        for wrong in ["", "K", "1T", "99999999999G", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
