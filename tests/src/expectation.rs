//! The markers in corpus cases: `//~ PTX407`, as `corpus/README.md` describes them.

use std::collections::BTreeMap;

/// A finding as a marker can say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// 1-based line; 0 for a finding that names no line of the source.
    pub line: u32,
    /// The rule.
    pub code: String,
    /// It is a potential finding.
    pub is_potential: bool,
}

impl std::fmt::Display for Expected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_potential { "?" } else { "" };
        write!(formatter, "line {}: {}{mark}", self.line, self.code)
    }
}

/// The findings that the markers in `text` ask for in a configuration with these tags.
///
/// # Errors
///
/// A sentence about the first marker that is none.
pub fn expected(text: &str, tags: &[String]) -> Result<Vec<Expected>, String> {
    let mut all = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        let Some((_, marker)) = line.split_once("//~") else {
            continue;
        };
        let (marker, up) = carets(marker);
        let (marker, marked) = match marker.strip_prefix('~') {
            Some(marker) => (marker, 0),
            None => (
                marker,
                number
                    .checked_sub(up)
                    .filter(|line| *line > 0)
                    .ok_or_else(|| format!("line {number}: the marker points above the file"))?,
            ),
        };
        let (condition, codes) =
            condition(marker).ok_or_else(|| format!("line {number}: a `]` is missing"))?;
        let before = all.len();
        for word in codes.split_whitespace() {
            let (code, is_potential) = match word.strip_suffix('?') {
                Some(code) => (code, true),
                None => (word, false),
            };
            if !is_code(code) {
                return Err(format!("line {number}: `{word}` is no rule's code"));
            }
            all.push(Expected {
                line: marked,
                code: code.to_owned(),
                is_potential,
            });
        }
        if all.len() == before {
            return Err(format!("line {number}: the marker names no rule"));
        }
        if !holds(condition, tags) {
            all.truncate(before);
        }
    }
    all.sort();
    Ok(all)
}

fn carets(marker: &str) -> (&str, u32) {
    let rest = marker.trim_start_matches('^');
    let up = u32::try_from(marker.len() - rest.len()).unwrap_or(u32::MAX);
    (rest, up)
}

/// The tags between brackets, and the rest; `None` if the bracket is never closed.
fn condition(marker: &str) -> Option<(Option<&str>, &str)> {
    match marker.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(tags, codes)| (Some(tags), codes)),
        None => Some((None, marker)),
    }
}

/// `a,b`: one of these tags; `!a,!b`: none of these.
fn holds(condition: Option<&str>, tags: &[String]) -> bool {
    let Some(condition) = condition else {
        return true;
    };
    let has = |tag: &str| tags.iter().any(|known| known == tag);
    let (forbidden, wanted): (Vec<&str>, Vec<&str>) = condition
        .split(',')
        .map(str::trim)
        .partition(|tag| tag.starts_with('!'));
    let is_wanted = wanted.is_empty() || wanted.iter().any(|tag| has(tag));
    is_wanted && !forbidden.iter().any(|tag| has(&tag[1..]))
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("PTX")
        .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The tags of a configuration: its parts, and each two of them joined.
#[must_use]
pub fn tags(compiler: &str, target: &str, mode: &str) -> Vec<String> {
    vec![
        compiler.to_owned(),
        target.to_owned(),
        mode.to_owned(),
        format!("{compiler}-{target}"),
        format!("{compiler}-{mode}"),
        format!("{target}-{mode}"),
    ]
}

/// The tags of a configuration of clang of which IR is analysed, not PTX.
#[must_use]
pub fn tags_of_ir(target: &str, mode: &str) -> Vec<String> {
    let mut all = tags("clang", target, mode);
    all.extend(["ir".to_owned(), format!("ir-{mode}")]);
    all
}

/// The differences between expected and actual findings, as sentences.
#[must_use]
pub fn difference(expected: &[Expected], found: &[Expected]) -> Vec<String> {
    let mut balance: BTreeMap<&Expected, i64> = BTreeMap::new();
    for one in expected {
        *balance.entry(one).or_default() += 1;
    }
    for one in found {
        *balance.entry(one).or_default() -= 1;
    }
    balance
        .into_iter()
        .filter(|(_, count)| *count != 0)
        .map(|(one, count)| {
            let (what, count) = if count > 0 {
                ("expected but not found", count)
            } else {
                ("found without a marker", -count)
            };
            let times = if count > 1 {
                format!(" ({count} times)")
            } else {
                String::new()
            };
            format!("{one} is {what}{times}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{difference, expected, tags};

    fn read(text: &str, tags: &[String]) -> Vec<String> {
        expected(text, tags)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn markers_point_at_lines() {
        let text = "a //~ PTX407 PTX405?\nb\n//~^ PTX401\n//~^^ PTX403\n";
        assert_eq!(
            read(text, &[]),
            [
                "line 1: PTX405?",
                "line 1: PTX407",
                "line 2: PTX401",
                "line 2: PTX403"
            ]
        );
        assert_eq!(read("a\nb //~~ PTX107\n", &[]), ["line 0: PTX107"]);
    }

    #[test]
    fn conditions_choose_configurations() {
        let text = "a //~[sm_75,clang-O3] PTX407\nb //~[!G] PTX401\n";
        assert_eq!(
            read(text, &tags("nvcc", "sm_75", "O3")),
            ["line 1: PTX407", "line 2: PTX401"]
        );
        assert_eq!(
            read(text, &tags("clang", "sm_90", "O3")),
            ["line 1: PTX407", "line 2: PTX401"]
        );
        assert!(read(text, &tags("clang", "sm_90", "G")).is_empty());
    }

    #[test]
    fn wrong_markers_are_errors() {
        for wrong in [
            "//~ PTX40",
            "//~",
            "//~^ PTX407",
            "x\n//~[G PTX407",
            "//~ zero-mask",
        ] {
            assert!(expected(wrong, &[]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn differences_count() {
        let two = expected("//~ PTX407 PTX407", &[]).unwrap();
        let one = expected("//~ PTX407", &[]).unwrap();
        assert!(difference(&two, &two).is_empty());
        assert_eq!(
            difference(&two, &one),
            ["line 1: PTX407 is expected but not found"]
        );
        assert_eq!(
            difference(&one, &two),
            ["line 1: PTX407 is found without a marker"]
        );
    }
}
