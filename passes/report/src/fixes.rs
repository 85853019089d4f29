//! Edits that are certain: a literal mask of a warp collective, where the lanes that take part are known.

use std::ops::Range;

use ptxcheck_passes::finding::{Certainty, Finding, Value};
use ptxcheck_passes::sources::Sources;

use crate::causes::Cause;

/// An edit of one line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fix<'a> {
    /// The edit in words.
    pub(crate) description: String,
    /// The file, as the compiler named it.
    pub(crate) file: &'a str,
    /// 1-based line.
    pub(crate) line: u32,
    /// The line's text.
    pub(crate) text: String,
    /// The bytes of it that are replaced.
    pub(crate) span: Range<usize>,
    /// Their replacement.
    pub(crate) replacement: String,
}

impl Fix<'_> {
    /// The 1-based column of an end of the span, in UTF-16 code units.
    pub(crate) fn utf16_column(&self, at: usize) -> u32 {
        let units = self.text[..at].encode_utf16().count();
        u32::try_from(units).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// The edits that mend a cause: none unless all its places ask for the same one. `input`: the name of the first place's input.
pub(crate) fn of<'a>(cause: &Cause<'a>, input: &str, sources: &mut Sources) -> Option<Fix<'a>> {
    let number = |finding: &Finding, key| match finding.data.get(key) {
        Some(Value::Number(number)) => u32::try_from(*number).ok(),
        _ => None,
    };
    let first = cause.first;
    let masks = |finding: &Finding| Some((number(finding, "mask")?, number(finding, "right_mask")?));
    let (mask, right) = masks(first)?;
    let are_alike = cause
        .findings()
        .all(|finding| masks(finding) == Some((mask, right)));
    if cause.group.certainty != Certainty::Definite || !are_alike {
        return None;
    }
    let Some(Value::Text(operation)) = first.data.get("operation") else {
        return None;
    };
    let at = &first.source.as_ref()?.at;
    let text = sources.line(&at.file, input, at.line)?;
    let span = literal_mask(text, operation, mask)?;
    Some(Fix {
        description: format!("name the lanes that take part: {right:#010x}"),
        file: &at.file,
        line: at.line,
        text: text.to_owned(),
        replacement: format!("{right:#010x}"),
        span,
    })
}

/// The bytes of a line with the first argument of the only call of a function there, if it is a literal with this value.
fn literal_mask(line: &str, function: &str, mask: u32) -> Option<Range<usize>> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut calls = line.match_indices(function).filter(|(at, _)| {
        let before = line[..*at].chars().next_back();
        let after = line[at + function.len()..].trim_start();
        !before.is_some_and(is_word) && after.starts_with('(')
    });
    let (at, _) = calls.next()?;
    if calls.next().is_some() || line[..at].contains("//") {
        return None;
    }
    let open = at + function.len() + line[at + function.len()..].find('(')?;
    let rest = &line[open + 1..];
    let argument = &rest[..rest.find([',', ')'])?];
    let literal = argument.trim();
    let start = open + 1 + (argument.len() - argument.trim_start().len());
    (value_of(literal)? == mask).then(|| start..start + literal.len())
}

/// The value of an integer literal of 32 bits: `0xffffffff`, `4294967295u`, `-1`.
fn value_of(literal: &str) -> Option<u32> {
    let digits = literal.trim_end_matches(['u', 'U', 'l', 'L']);
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if digits == "-1" => Some(u32::MAX),
        // A number that begins with 0 is octal.
        None if digits.len() > 1 && digits.starts_with('0') => None,
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::literal_mask;

    #[test]
    fn a_literal_is_found_where_it_is_the_only_call() {
        let all = u32::MAX;
        for (line, found) in [
            ("  x += __shfl_xor_sync(0xffffffff, x, 8);", Some("0xffffffff")),
            ("__shfl_xor_sync ( 0xFFFFFFFFu , x)", Some("0xFFFFFFFFu")),
            ("__shfl_xor_sync(-1, x, 8)", Some("-1")),
            ("__shfl_xor_sync(4294967295, x, 8)", Some("4294967295")),
            ("__shfl_xor_sync(FULL, x, 8)", None),
            ("__shfl_xor_sync(0xffff, x, 8)", None),
            ("__shfl_xor_sync(037777777777, x, 8)", None),
            ("// __shfl_xor_sync(-1, x, 8)", None),
            ("my__shfl_xor_sync(-1, x, 8)", None),
            ("__shfl_xor_sync(-1, __shfl_xor_sync(-1, x, 8), 4)", None),
            ("__shfl_xor_sync(-1", None),
            ("", None),
        ] {
            let span = literal_mask(line, "__shfl_xor_sync", all);
            assert_eq!(span.map(|span| &line[span]), found, "{line}");
        }
    }
}
