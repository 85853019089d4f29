//! Condition: a bound that a user states for an integer parameter.

use serde::{Deserialize, Serialize};

use super::limits::MAX_ASSUMED_VALUES;

/// A sentence about an assumption that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAssumption(pub(super) String);

/// A condition of an integer parameter, compared as signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// `= 256`, `in [1, 2, 4]`: one of these, at least one.
    OneOf(Vec<i64>),
    /// `!= 0`
    Not(i64),
    /// `% 32`: a multiple of this number, which is at least 1.
    Multiple(i64),
    /// `>= 1`, `> 0`
    AtLeast(i64),
    /// `<= 1024`, `< 1025`
    AtMost(i64),
}

/// The spellings of conditions, for messages.
const SPELLINGS: &str = "`= 256`, `!= 0`, `% 32`, `<= 1024`, `< 1024`, `>= 1`, `> 0` or `in [1, 2, 4]`";

impl Condition {
    /// Reads a condition as users write it: an operator and a number, in decimal or hexadecimal digits, or `in` and a list of them.
    ///
    /// # Errors
    ///
    /// A sentence, if it is none, or if no integer of 64 bits fulfils it.
    pub fn parse(text: &str) -> Result<Self, BadAssumption> {
        let text = text.trim();
        let none = || BadAssumption(format!("`{text}` is no condition: {SPELLINGS} is wanted"));
        if let Some(list) = text.strip_prefix("in") {
            let list = list
                .trim()
                .strip_prefix('[')
                .and_then(|list| list.strip_suffix(']'));
            let list = list.ok_or_else(none)?.trim();
            let list = list.strip_suffix(',').unwrap_or(list);
            let numbers: Option<Vec<i64>> = list.split(',').map(parse_number).collect();
            let numbers = numbers.ok_or_else(none)?;
            if numbers.len() > MAX_ASSUMED_VALUES {
                return Err(BadAssumption(format!(
                    "a list of values has at most {MAX_ASSUMED_VALUES}"
                )));
            }
            return Ok(Self::OneOf(numbers));
        }
        let digits = text.trim_start_matches(['=', '!', '%', '<', '>']);
        let operator = &text[..text.len() - digits.len()];
        let value = parse_number(digits).ok_or_else(none)?;
        let beyond = || BadAssumption(format!("no integer of 64 bits fulfils `{text}`"));
        Ok(match operator {
            "=" | "==" => Self::OneOf(vec![value]),
            "!=" => Self::Not(value),
            "%" if value >= 1 => Self::Multiple(value),
            "%" => {
                let message =
                    format!("`{text}`: behind `%` is a number over 0, of which the parameter is a multiple");
                return Err(BadAssumption(message));
            }
            ">=" => Self::AtLeast(value),
            ">" => Self::AtLeast(value.checked_add(1).ok_or_else(beyond)?),
            "<=" => Self::AtMost(value),
            "<" => Self::AtMost(value.checked_sub(1).ok_or_else(beyond)?),
            _ => return Err(none()),
        })
    }

    /// The numbers in it.
    pub(super) fn numbers(&self) -> &[i64] {
        match self {
            Self::OneOf(numbers) => numbers,
            Self::Not(number) | Self::Multiple(number) | Self::AtLeast(number) | Self::AtMost(number) => {
                std::slice::from_ref(number)
            }
        }
    }
}

/// A number in decimal digits, or in hexadecimal digits after `0x`, with an optional sign.
fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if !digits.starts_with(|digit: char| digit.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(sign * value).ok()
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn conditions_are_an_operator_and_a_number() {
        let cases = [
            ("= 256", Condition::OneOf(vec![256])),
            ("==-0x10", Condition::OneOf(vec![-16])),
            ("!= 0", Condition::Not(0)),
            ("%32", Condition::Multiple(32)),
            (" <= 1024 ", Condition::AtMost(1024)),
            ("< 1024", Condition::AtMost(1023)),
            (">= 1", Condition::AtLeast(1)),
            ("> 0", Condition::AtLeast(1)),
            ("in [1, 2,4]", Condition::OneOf(vec![1, 2, 4])),
            ("in[ 7, ]", Condition::OneOf(vec![7])),
            ("= -9223372036854775808", Condition::OneOf(vec![i64::MIN])),
        ];
        for (text, wanted) in cases {
            assert_eq!(Condition::parse(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn bad_conditions_have_a_reason() {
        let many = format!("in [{}]", ["1"; 65].join(", "));
        let cases = [
            ("", "no condition"),
            ("256", "no condition"),
            ("=", "no condition"),
            ("= x", "no condition"),
            ("= 1.5", "no condition"),
            ("= +1", "no condition"),
            ("= --1", "no condition"),
            ("= 0x", "no condition"),
            ("=< 3", "no condition"),
            ("% 0", "a number over 0"),
            ("% -32", "a number over 0"),
            ("in []", "no condition"),
            ("in [1, x]", "no condition"),
            ("in 1, 2", "no condition"),
            ("inside [1]", "no condition"),
            ("> 9223372036854775807", "no integer of 64 bits"),
            ("< -9223372036854775808", "no integer of 64 bits"),
            ("= 9223372036854775808", "no condition"),
            ("= 99999999999999999999999999999999999999999999", "no condition"),
            (&many, "at most 64"),
        ];
        for (text, wanted) in cases {
            let error = Condition::parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
