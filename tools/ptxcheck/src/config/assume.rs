//! `[assume]`: what integer parameters of kernels are.
//!
//! ```toml
//! [assume."forces*"]
//! n = ["% 128", ">= 128"]
//! 2 = "in [1, 2, 4]"
//! "3+8" = 7
//! ```
//!
//! Keys are patterns of kernels' names, and parameters by number or name.

use ptxcheck_passes::assumptions::{Assumption, MAX_ASSUMPTIONS};
use ptxcheck_passes::patterns::Pattern;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::FileError;
use super::findings::PatternReader;

/// The table `[assume]` of the file, in its order.
///
/// # Errors
///
/// A parameter or a condition that is none, or too many of them.
pub(super) fn read(reader: &mut PatternReader<'_>) -> Result<Vec<Assumption>, FileError> {
    let text = reader.text;
    let file = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        reader.error(offset, error.message())
    })?;
    let Some(assume) = file.get_ref().get("assume") else {
        return Ok(Vec::new());
    };
    let kernels = table(
        reader,
        assume,
        "`assume` is a table: `[assume.\"name of a kernel\"]`",
    )?;
    let mut found: Vec<(usize, Assumption)> = Vec::new();
    for (pattern, kernel) in kernels {
        let wanted = format!(
            "a table is wanted: `[assume.\"{}\"]`, with parameters and their conditions",
            pattern.get_ref()
        );
        let parameters = table(reader, kernel, &wanted)?;
        let kernels = reader.name(pattern.span().start, pattern.get_ref())?;
        for (parameter, conditions) in parameters {
            add(reader, &kernels, parameter, conditions, &mut found)?;
        }
    }
    found.sort_by_key(|(offset, _)| *offset);
    if let Some((offset, _)) = found.get(MAX_ASSUMPTIONS) {
        return Err(reader.error(
            *offset,
            format!("there are more than {MAX_ASSUMPTIONS} assumptions"),
        ));
    }
    Ok(found.into_iter().map(|(_, assumption)| assumption).collect())
}

/// Adds the conditions of a parameter: a text, a list of texts, or a number that it is.
fn add(
    reader: &PatternReader<'_>,
    kernels: &Pattern,
    parameter: &Spanned<impl AsRef<str>>,
    conditions: &Spanned<DeValue<'_>>,
    found: &mut Vec<(usize, Assumption)>,
) -> Result<(), FileError> {
    let one = std::slice::from_ref(conditions);
    let listed: Vec<&Spanned<DeValue<'_>>> = match conditions.get_ref() {
        DeValue::Array(list) if !list.is_empty() => list.iter().collect(),
        _ => one.iter().collect(),
    };
    for condition in listed {
        let offset = condition.span().start;
        let text = match condition.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if std::ptr::eq(condition, conditions) => {
                let value = i64::from_str_radix(number.as_str(), number.radix()).ok();
                let value = value.ok_or_else(|| reader.error(offset, "a number of 64 bits is wanted"))?;
                format!("= {value}")
            }
            _ => {
                return Err(reader.error(
                    offset,
                    "a condition is wanted, as in `\"% 32\"`, or a list of those that all hold",
                ));
            }
        };
        let made = Assumption::new(kernels.clone(), parameter.get_ref().as_ref(), &text);
        let assumption = made.map_err(|bad| reader.error(offset, bad.to_string()))?;
        let (line, column) = reader.written(offset);
        found.push((offset, assumption.at(line, column)));
    }
    Ok(())
}

fn table<'t, 'i>(
    reader: &PatternReader<'_>,
    value: &'t Spanned<DeValue<'i>>,
    wanted: &str,
) -> Result<&'t DeTable<'i>, FileError> {
    let table = value.get_ref().as_table();
    table.ok_or_else(|| reader.error(value.span().start, wanted))
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn conditions_are_read_in_the_order_of_the_file() {
        let text = "[assume.\"forces*\"]\nn = [\"% 128\", \">= 128\"]\n1 = 0x40\n[assume.\"ns::k<int>\"]\n\
                    \"2+8\" = \"in [1, 2]\"\n[assume.bar]\nx = -3\n";
        let read: Vec<_> = parse(text)
            .unwrap()
            .assumptions
            .into_iter()
            .map(|one| (one.kernels.as_str().to_owned(), one.text, one.written))
            .collect();
        let wanted = [
            ("forces*", "n % 128", (2, 6)),
            ("forces*", "n >= 128", (2, 15)),
            ("forces*", "1 = 64", (3, 5)),
            ("ns::k<int>", "2+8 in [1, 2]", (5, 9)),
            ("bar", "x = -3", (7, 5)),
        ];
        let wanted = wanted.map(|(kernel, text, at)| (kernel.to_owned(), text.to_owned(), Some(at)));
        assert_eq!(read, wanted);
    }

    #[test]
    fn errors_have_a_place() {
        let many: String = (0..1_001).map(|number| format!("{number} = 1\n")).collect();
        let many = format!("[assume.k]\n{many}");
        let cases = [
            ("assume = 3\n", (1, 10), "`[assume."),
            (
                "[assume]\nn = \"% 32\"\n",
                (2, 5),
                "a table is wanted: `[assume.\"n\"]`",
            ),
            ("[assume.k]\nn = \"32\"\n", (2, 5), "`32` is no condition"),
            ("[assume.k]\nn = \"% 0\"\n", (2, 5), "a number over 0"),
            (
                "[assume.k]\nn = [\"% 2\", \"< x\"]\n",
                (2, 13),
                "`< x` is no condition",
            ),
            ("[assume.k]\nn = []\n", (2, 5), "a condition is wanted"),
            ("[assume.k]\nn = [1, 2]\n", (2, 6), "a condition is wanted"),
            ("[assume.k]\nn = 1.5\n", (2, 5), "a condition is wanted"),
            ("[assume.k]\nn = true\n", (2, 5), "a condition is wanted"),
            ("[assume.k.n]\nx = 1\n", (1, 1), "a condition is wanted"),
            ("[assume.k]\n\"n m\" = 1\n", (2, 9), "`n m` is no parameter"),
            ("[assume.k]\n\"\" = 1\n", (2, 6), "is no parameter"),
            ("[assume.k]\n99999 = 1\n", (2, 9), "is no parameter"),
            ("[assume.\"re:(\"]\nn = 1\n", (1, 9), "no regular expression"),
            ("[assume.\"\"]\nn = 1\n", (1, 9), "at least one character"),
            ("[asume.k]\nn = 1\n", (1, 2), "did you mean `assume`?"),
            (&many, (1_002, 8), "more than 1000 assumptions"),
        ];
        for (text, at, wanted) in cases {
            let shown = &text[..text.len().min(80)];
            let (line, column, message) = parse(text).unwrap_err();
            assert!(message.contains(wanted), "{shown}: {message}");
            assert_eq!((line, column), at, "{shown}: {message}");
        }
    }
}
