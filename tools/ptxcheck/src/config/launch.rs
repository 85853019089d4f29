//! `[launch]`: the blocks that kernels are launched with.
//!
//! ```toml
//! [launch]
//! block = [256, 1, 1]
//!
//! [launch."_Z3foo*"]
//! block = [[32, 4, 1], [64, 2]]
//! ```
//!
//! Keys are patterns of kernels' names, so the table is read by hand: serde has no places for what is in it.

use ptxcheck_passes::launches::{self, Launches, MAX_BLOCK_THREADS, MAX_LAUNCHED_SHAPES, Shape};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::findings::PatternReader;
use super::{FileError, place, suggestion};

/// The key of a block.
const BLOCK: &str = "block";

/// An error at an offset of the file.
type OffsetError = (usize, String);

/// The table `[launch]` of the file.
///
/// # Errors
///
/// A key that is not known, or a value that is not a block.
pub(super) fn read(reader: &mut PatternReader<'_>) -> Result<Launches, FileError> {
    let text = reader.text;
    let placed = |(offset, message): OffsetError| {
        let (line, column) = place(text, offset);
        (line, column, message)
    };
    let (others, kernels) = blocks(text).map_err(placed)?;
    let mut launches = Launches {
        others,
        ..Launches::default()
    };
    for (offset, pattern, shapes) in kernels {
        launches.kernels.push((reader.name(offset, &pattern)?, shapes));
    }
    Ok(launches)
}

/// The blocks of all kernels, and those of some, with their places, in the order of the file.
type Blocks = (Vec<Shape>, Vec<(usize, String, Vec<Shape>)>);

fn blocks(text: &str) -> Result<Blocks, OffsetError> {
    let file = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        (offset, error.message().to_owned())
    })?;
    let (mut others, mut named) = (Vec::new(), Vec::new());
    let Some(launch) = file.get_ref().get("launch") else {
        return Ok((others, named));
    };
    let table = table(launch, "`launch` is a table: `[launch]`")?;
    let mut kernels = Vec::new();
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            (pattern, DeValue::Table(kernel)) => kernels.push((key.span().start, pattern, kernel)),
            (BLOCK, _) => others = shapes(value)?,
            (other, _) => return Err(unknown(key.span().start, other, "launch")),
        }
    }
    // As they stand in the file: the table is sorted by name.
    kernels.sort_by_key(|(offset, ..)| *offset);
    for (offset, pattern, kernel) in kernels {
        let mut stated = None;
        for (key, value) in kernel {
            if key.get_ref() != BLOCK {
                let table = format!("launch.\"{pattern}\"");
                return Err(unknown(key.span().start, key.get_ref(), &table));
            }
            stated = Some(shapes(value)?);
        }
        let stated = stated.ok_or_else(|| (offset, format!("`{BLOCK}` is missing for `{pattern}`")))?;
        named.push((offset, pattern.to_owned(), stated));
    }
    Ok((others, named))
}

fn table<'t, 'i>(value: &'t Spanned<DeValue<'i>>, wanted: &str) -> Result<&'t DeTable<'i>, OffsetError> {
    let table = value.get_ref().as_table();
    table.ok_or_else(|| (value.span().start, wanted.to_owned()))
}

fn unknown(offset: usize, key: &str, table: &str) -> OffsetError {
    let mut message = format!("unknown field `{key}` in `[{table}]`, expected `{BLOCK}`");
    if table == "launch" {
        message.push_str(" or a table `[launch.\"name of a kernel\"]`");
    }
    if let Some(near) = suggestion(key, &[BLOCK]) {
        message = format!("{message}; did you mean `{near}`?");
    }
    (offset, message)
}

/// A block, or a list of blocks: each once.
fn shapes(value: &Spanned<DeValue<'_>>) -> Result<Vec<Shape>, OffsetError> {
    let listed = value.get_ref().as_array().filter(|array| {
        let mut entries = array.iter();
        entries
            .next()
            .is_some_and(|entry| entry.get_ref().as_array().is_some())
    });
    let Some(listed) = listed else {
        return Ok(vec![block(value)?]);
    };
    let mut shapes = Vec::new();
    for entry in listed {
        let shape = block(entry)?;
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    if shapes.len() > MAX_LAUNCHED_SHAPES {
        let message = format!("a kernel has at most {MAX_LAUNCHED_SHAPES} blocks");
        return Err((value.span().start, message));
    }
    Ok(shapes)
}

/// `[32, 4, 1]`; y and z may be missing.
fn block(value: &Spanned<DeValue<'_>>) -> Result<Shape, OffsetError> {
    let wrong = || {
        let message = format!(
            "a block is one to three numbers over 0, as in `[32, 4, 1]`, for at most {MAX_BLOCK_THREADS} threads; of several, a list: \
             `[[256], [32, 8]]`"
        );
        (value.span().start, message)
    };
    let sides: Option<Vec<u32>> = value
        .get_ref()
        .as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(side)
        .collect();
    sides
        .and_then(|sides| launches::shape_with_sides(&sides))
        .ok_or_else(wrong)
}

fn side(value: &Spanned<DeValue<'_>>) -> Option<u32> {
    let number = value.get_ref().as_integer()?;
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn blocks_are_read_in_the_order_of_the_file() {
        let text = "[launch]\nblock = [256, 1, 1]\n[launch.\"_Z3foo*\"]\nblock = [32, 4, 1]\n\
                    [launch.'*']\nblock = [0x40]\n[launch.block]\nblock = [[8, 8], [8, 8, 1], [64]]\n";
        let error = parse(text).unwrap_err();
        assert!(error.2.contains("duplicate"), "{error:?}");
        let text = text.replace("[launch.block]", "[launch.bar]");
        let launches = parse(&text).unwrap().launches;
        assert!(launches.run.is_empty());
        assert_eq!(launches.others, [[256, 1, 1]]);
        let kernels: Vec<_> = launches
            .kernels
            .iter()
            .map(|(name, shapes)| (name.as_str(), &shapes[..]))
            .collect();
        assert_eq!(
            kernels,
            [
                ("_Z3foo*", &[[32, 4, 1]][..]),
                ("*", &[[64, 1, 1]]),
                ("bar", &[[8, 8, 1], [64, 1, 1]]),
            ]
        );
    }

    #[test]
    fn errors_have_a_place_and_a_suggestion() {
        let many: Vec<String> = (1..18).map(|x| format!("[{x}]")).collect();
        let many = format!("[launch]\nblock = [{}]\n", many.join(", "));
        let cases = [
            ("[launch]\nblok = [32]\n", (2, 1), "did you mean `block`?"),
            ("[launch]\nfoo = 1\n", (2, 1), "unknown field `foo`"),
            ("[launch.foo]\nbloc = [32]\n", (2, 1), "did you mean `block`?"),
            ("[launch.foo]\n", (1, 9), "`block` is missing for `foo`"),
            ("[launch]\nblock = 256\n", (2, 9), "one to three numbers"),
            ("[launch]\nblock = [32, -1]\n", (2, 9), "one to three numbers"),
            ("[launch]\nblock = [64, 32]\n", (2, 9), "at most 1024 threads"),
            ("[launch]\nblock = []\n", (2, 9), "one to three numbers"),
            ("[launch]\nblock = [1, 1, 1, 1]\n", (2, 9), "one to three numbers"),
            (
                "[launch]\nblock = [[32], [64, 32]]\n",
                (2, 16),
                "at most 1024 threads",
            ),
            ("[launch]\nblock = [[32], 64]\n", (2, 16), "one to three numbers"),
            ("[launch]\nblock = [32, [64]]\n", (2, 9), "one to three numbers"),
            ("[launch]\nblock = [[]]\n", (2, 10), "one to three numbers"),
            ("[launch]\nblock = [[[32]]]\n", (2, 10), "one to three numbers"),
            (&many, (2, 9), "at most 16 blocks"),
            ("launch = 3\n", (1, 10), "`[launch]`"),
            ("[lunch]\n", (1, 2), "did you mean `launch`?"),
        ];
        for (text, at, wanted) in cases {
            let (line, column, message) = parse(text).unwrap_err();
            assert_eq!((line, column), at, "{text}: {message}");
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }
}
