//! `[launch]`: the blocks and the dynamic shared memory that kernels are launched with.
//!
//! ```toml
//! [launch]
//! block = [256, 1, 1]
//!
//! [launch."_Z3foo*"]
//! block = [[32, 4, 1], [64, 2]]
//! shared = 49152
//! ```
//!
//! Keys are patterns of kernels' names, so the table is read by hand: serde has no places for what is in it.

use ptxcheck_passes::launches::{
    self, Launches, MAX_BLOCK_THREADS, MAX_DYNAMIC_SHARED, MAX_LAUNCHED_SHAPES, Shape,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::findings::PatternReader;
use super::{FileError, place, suggestion};

/// The keys of a block, and of the size of dynamic shared memory.
const BLOCK: &str = "block";
const SHARED: &str = "shared";

/// An error at an offset of the file.
type OffsetError = (usize, String);

/// The table `[launch]` of the file.
///
/// # Errors
///
/// A key that is not known, or a value that is not a block or a size.
pub(super) fn read(reader: &mut PatternReader<'_>) -> Result<Launches, FileError> {
    let text = reader.text;
    let placed = |(offset, message): OffsetError| {
        let (line, column) = place(text, offset);
        (line, column, message)
    };
    let (others, kernels) = stated_launches(text).map_err(placed)?;
    let mut launches = Launches {
        others: others.shapes,
        ..Launches::default()
    };
    launches.shared.others = others.shared;
    for (offset, pattern, stated) in kernels {
        let pattern = reader.name(offset, &pattern)?;
        if let Some(bytes) = stated.shared {
            launches.shared.kernels.push((pattern.clone(), bytes));
        }
        if !stated.shapes.is_empty() {
            launches.kernels.push((pattern, stated.shapes));
        }
    }
    Ok(launches)
}

/// The launches of some kernels.
#[derive(Default)]
struct Stated {
    shapes: Vec<Shape>,
    /// Bytes of dynamic shared memory.
    shared: Option<u32>,
}

/// The launches of all kernels, and those of some, with their places, in the order of the file.
type AllStated = (Stated, Vec<(usize, String, Stated)>);

fn stated_launches(text: &str) -> Result<AllStated, OffsetError> {
    let file = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        (offset, error.message().to_owned())
    })?;
    let (mut others, mut named) = (Stated::default(), Vec::new());
    let Some(launch) = file.get_ref().get("launch") else {
        return Ok((others, named));
    };
    let table = table(launch, "`launch` is a table: `[launch]`")?;
    let mut kernels = Vec::new();
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            (pattern, DeValue::Table(kernel)) => kernels.push((key.span().start, pattern, kernel)),
            (BLOCK, _) => others.shapes = shapes(value)?,
            (SHARED, _) => others.shared = Some(shared_size(value)?),
            (other, _) => return Err(unknown(key.span().start, other, "launch")),
        }
    }
    // As they stand in the file: the table is sorted by name.
    kernels.sort_by_key(|(offset, ..)| *offset);
    for (offset, pattern, kernel) in kernels {
        let mut stated = Stated::default();
        for (key, value) in kernel {
            match key.get_ref().as_ref() {
                BLOCK => stated.shapes = shapes(value)?,
                SHARED => stated.shared = Some(shared_size(value)?),
                other => {
                    let table = format!("launch.\"{pattern}\"");
                    return Err(unknown(key.span().start, other, &table));
                }
            }
        }
        if kernel.is_empty() {
            let message = format!("`{BLOCK}` or `{SHARED}` is missing for `{pattern}`");
            return Err((offset, message));
        }
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
    message.push_str(match table {
        "launch" => ", `shared` or a table `[launch.\"name of a kernel\"]`",
        _ => " or `shared`",
    });
    if let Some(near) = suggestion(key, &[BLOCK, SHARED]) {
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

/// Bytes of dynamic shared memory.
fn shared_size(value: &Spanned<DeValue<'_>>) -> Result<u32, OffsetError> {
    let bytes = side(value).filter(|bytes| *bytes <= MAX_DYNAMIC_SHARED);
    bytes.ok_or_else(|| {
        let message = format!(
            "dynamic shared memory is a number of bytes from 0 to {MAX_DYNAMIC_SHARED} (227 KB, the most that any GPU has), as in 49152"
        );
        (value.span().start, message)
    })
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
    fn sizes_of_dynamic_shared_memory_stand_beside_blocks() {
        let text = "[launch]\nshared = 49_152\n[launch.\"_Z3foo*\"]\nshared = 0\n[launch.bar]\nblock = [64]\nshared = 0x400\n\
                    [launch.shared]\nblock = [32]\n";
        let error = parse(text).unwrap_err();
        assert!(error.2.contains("duplicate"), "{error:?}");
        let text = text.replace("[launch.shared]", "[launch.baz]");
        let launches = parse(&text).unwrap().launches;
        assert_eq!(
            (launches.shared.run, launches.shared.others),
            (None, Some(49_152))
        );
        let sizes: Vec<(&str, u32)> = launches
            .shared
            .kernels
            .iter()
            .map(|(name, bytes)| (name.as_str(), *bytes))
            .collect();
        assert_eq!(sizes, [("_Z3foo*", 0), ("bar", 1_024)]);
        let blocks: Vec<&str> = launches.kernels.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(blocks, ["bar", "baz"]);
    }

    #[test]
    fn errors_have_a_place_and_a_suggestion() {
        let many: Vec<String> = (1..18).map(|x| format!("[{x}]")).collect();
        let many = format!("[launch]\nblock = [{}]\n", many.join(", "));
        let cases = [
            ("[launch]\nblok = [32]\n", (2, 1), "did you mean `block`?"),
            ("[launch]\nfoo = 1\n", (2, 1), "unknown field `foo`"),
            ("[launch.foo]\nbloc = [32]\n", (2, 1), "did you mean `block`?"),
            (
                "[launch.foo]\n",
                (1, 9),
                "`block` or `shared` is missing for `foo`",
            ),
            ("[launch]\nshared = -1\n", (2, 10), "from 0 to 232448"),
            ("[launch]\nshared = 232449\n", (2, 10), "from 0 to 232448"),
            (
                "[launch]\nshared = 99999999999999999999\n",
                (2, 10),
                "from 0 to 232448",
            ),
            ("[launch]\nshared = \"48K\"\n", (2, 10), "from 0 to 232448"),
            ("[launch.foo]\nshared = [16]\n", (2, 10), "from 0 to 232448"),
            ("[launch]\nshred = 1\n", (2, 1), "did you mean `shared`?"),
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
