//! `--files-from FILE`: names of inputs, separated by NULs, as `find -print0` and `git ls-files -z` write them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest list, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// `paths`, followed by the paths in the file `list`; if it is `-`, in standard input.
///
/// # Errors
///
/// A sentence about what is wrong with the list.
pub fn with_listed(paths: &[PathBuf], list: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let mut all = paths.to_vec();
    let Some(list) = list else { return Ok(all) };
    let is_standard = list.as_os_str() == "-";
    if is_standard && paths.iter().any(|path| path.as_os_str() == "-") {
        return Err("standard input can't be both an input and the list of --files-from".to_owned());
    }
    let bytes = if is_standard {
        read(io::stdin().lock())
    } else {
        File::open(list).and_then(read)
    };
    let shown = list.display();
    let bytes = bytes.map_err(|error| format!("the list `{shown}` can't be read: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("the list `{shown}` has more than {MAX_BYTES} bytes"));
    }
    if bytes.contains(&b'\n') && !bytes.contains(&0) {
        return Err(format!(
            "the names in the list `{shown}` are to be separated by NULs, as `find -print0` does"
        ));
    }
    for name in bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        all.push(path(name).ok_or_else(|| format!("a name in the list `{shown}` is not UTF-8"))?);
    }
    Ok(all)
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A name as it stands; `-` is a file here.
fn path(name: &[u8]) -> Option<PathBuf> {
    let name = os_name(name)?;
    Some(if name == "-" { "./-".into() } else { name.into() })
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere names are text")]
fn os_name(name: &[u8]) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn os_name(name: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(name).ok().map(OsStr::new)
}
