//! The head of a module: `.version`, `.target`, `.address_size` (PTX ISA, PTX Module Directives).
//!
//! A version or a target that is newer than this program is none of its business; one that is not a version or target at all
//! is malformed, and so is a module without them, or a text with two modules: the assembler and the driver reject it.

use ptxcheck_ptx_parser::Span;
use ptxcheck_ptx_parser::ast::{Statement, StatementKind, Tree};
use ptxcheck_ptx_parser::operand::OperandRef;

use super::malformed::Malformed;

/// The platform options of `.target`. There has been no other since PTX ISA 3.0; one that begins like these may come.
const OPTIONS: [&[u8]; 3] = [b"debug", b"texmode_", b"map_"];

/// The malformed statements in front of the first variable or function.
pub(super) fn malformed(tree: &Tree<'_>) -> Malformed {
    let mut found = Malformed::default();
    let is_code = |statement: &Statement| {
        matches!(
            statement.kind(),
            StatementKind::Function | StatementKind::Declaration
        )
    };
    let (mut has_version, mut has_target) = (false, false);
    for statement in tree
        .statements()
        .iter()
        .take_while(|statement| !is_code(statement))
    {
        if statement.kind() != StatementKind::Directive {
            continue;
        }
        match tree.name(statement) {
            b".version" => {
                has_version = true;
                one(tree, statement, "a version like 8.5", is_version, &mut found);
            }
            b".address_size" => one(tree, statement, "32 or 64", is_address_size, &mut found),
            b".target" => {
                target(tree, statement, has_target, &mut found);
                has_target = true;
            }
            _ => {}
        }
    }
    // A missing `.version` may be in the text that could not be read.
    let is_blank = tree.source().trim_ascii().is_empty();
    if tree.statements().is_empty() && tree.errors().is_empty() && !is_blank {
        let end = tree.source().len() as u32;
        found.add(Span::new(end, end), "`.version` at the start of the module");
    }
    let is_version = |statement: &&Statement| {
        statement.kind() == StatementKind::Directive && tree.name(statement) == b".version"
    };
    if let Some(second) = tree.statements().iter().filter(is_version).nth(1) {
        found.add(second.span(), "the end of the module, for a text holds one");
    }
    if let (Some(first), true) = (tree.statements().first(), tree.errors().is_empty()) {
        let whole = first.span();
        let word = tree
            .text(whole)
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace());
        let place = Span::new(whole.start, whole.start + word.count() as u32);
        if !has_version {
            found.add(place, "`.version` at the start of the module");
        } else if !has_target {
            found.add(place, "`.target` at the start of the module");
        }
    }
    found
}

/// A directive with one operand.
fn one(
    tree: &Tree<'_>,
    statement: &Statement,
    expected: &'static str,
    is_it: fn(OperandRef<'_>) -> bool,
    found: &mut Malformed,
) {
    let mut operands = tree.operands(statement);
    let first = operands.next();
    let odd = match first {
        Some(first) if is_it(first) => operands.next().map(OperandRef::span),
        Some(first) => Some(first.span()),
        None => Some(statement.span()),
    };
    if let Some(span) = odd {
        found.add(span, expected);
    }
}

fn is_version(operand: OperandRef<'_>) -> bool {
    let is_number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_ok();
    std::str::from_utf8(operand.text())
        .ok()
        .and_then(|text| text.split_once('.'))
        .is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

fn is_address_size(operand: OperandRef<'_>) -> bool {
    matches!(operand.constant(), Some(32 | 64))
}

/// Words: an architecture, at the first time at least, and options.
fn target(tree: &Tree<'_>, statement: &Statement, is_again: bool, found: &mut Malformed) {
    let mut has_architecture = is_again;
    for word in tree.operands(statement) {
        if is_architecture(word.text()) {
            has_architecture = true;
        } else if !OPTIONS.iter().any(|option| word.text().starts_with(option)) {
            return found.add(
                word.span(),
                "an architecture like sm_90a, or an option of `.target`",
            );
        }
    }
    if !has_architecture {
        let span = tree
            .operands(statement)
            .next()
            .map_or(statement.span(), OperandRef::span);
        found.add(span, "an architecture like sm_90a");
    }
}

/// `sm_90`, `sm_90a`, `compute_90`: a number, and a letter where the features of others are not all there.
fn is_architecture(word: &[u8]) -> bool {
    let number = word
        .strip_prefix(b"sm_")
        .or_else(|| word.strip_prefix(b"compute_"));
    let number = number.map(|number| match number {
        [digits @ .., b'a'..=b'z'] => digits,
        digits => digits,
    });
    number.is_some_and(|digits| {
        (1..=MAX_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
    })
}

/// Most digits of an architecture's number.
const MAX_DIGITS: usize = 4;

#[cfg(test)]
mod tests {
    use ptxcheck_ptx_parser::parse;

    use super::*;

    /// The malformed statements, as text.
    fn odd(text: &str) -> Vec<String> {
        let tree = parse(text.as_bytes()).unwrap();
        let errors = malformed(&tree).errors;
        assert!(tree.errors().is_empty(), "{text}: {:?}", tree.errors());
        errors
            .iter()
            .map(|error| String::from_utf8_lossy(tree.text(error.span)).into_owned())
            .collect()
    }

    #[test]
    fn what_is_only_newer_is_no_error() {
        for head in [
            ".version 8.5\n.target sm_90\n.address_size 64\n",
            ".version 12.7\n.target sm_250a, debug\n",
            ".version 1.4\n.target sm_10, map_f64_to_f32\n",
            ".version 9.0\n.target sm_100f, texmode_independent\n.address_size 32\n",
            ".version 9.0\n.target compute_90, texmode_unified\n.address_size 0x40\n",
            ".version 8.0\n.target sm_80\n.target sm_75\n.target debug\n",
            "// c\n.version 8.0 // c\n.target sm_80 // c\n.file 1 \"a\"\n",
            "",
        ] {
            assert_eq!(odd(head), [""; 0], "{head}");
            let with_code = format!("{head}.visible .entry k() {{ ret; }}\n");
            if !head.is_empty() {
                assert_eq!(odd(&with_code), [""; 0], "{head}");
            }
        }
    }

    #[test]
    fn what_is_no_head_is_an_error() {
        for (head, wanted) in [
            (
                ".version 99999999999999999999.-3\n.target sm_90\n",
                vec!["99999999999999999999.-3"],
            ),
            (".version 8\n.target sm_90\n", vec!["8"]),
            (".version 8.5, 9\n.target sm_90\n", vec!["9"]),
            (".version\n.target sm_90\n", vec![".version"]),
            (".version 8.5\n.target sm_999zz, quux\n", vec!["sm_999zz"]),
            (".version 8.5\n.target sm_90, quux\n", vec!["quux"]),
            (".version 8.5\n.target debug\n", vec!["debug"]),
            (".version 8.5\n.target\n", vec![".target"]),
            (".version 8.5\n.target \"sm_90\"\n", vec!["\"sm_90\""]),
            (".version 8.5\n.target sm_99999\n", vec!["sm_99999"]),
            (".version 8.5\n.target sm_\n", vec!["sm_"]),
            (".version 8.5\n.target sm_90\n.address_size 77\n", vec!["77"]),
            (
                ".version 8.5\n.target sm_90\n.address_size\n",
                vec![".address_size"],
            ),
            (".version 8.5\n.target sm_90\n.address_size x\n", vec!["x"]),
            (".target sm_90\n", vec![".target"]),
            (".version 8.5\n", vec![".version"]),
            ("// a comment\n", vec![""]),
            (
                ".version 8.5\n.target sm_90\n.entry k() { ret; }\n.version 8.5\n.target sm_90\n.version 8.5\n",
                vec![".version 8.5"],
            ),
        ] {
            assert_eq!(odd(head), wanted, "{head}");
        }
    }
}
