//! `file:` URIs and paths.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use ptxcheck_report::paths::uri;

/// The path that a `file:` URI names; `None` for others, such as `untitled:1`.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    rest.starts_with('/').then(|| decoded(rest))
}

/// The path in an encoded text: absolute, or relative as in SARIF.
pub(super) fn decoded(text: &str) -> PathBuf {
    let path = percent_decode_str(text).decode_utf8_lossy();
    // `/C:/x`
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0] == b'/' && bytes[2] == b':' && bytes[1].is_ascii_alphabetic();
    PathBuf::from(if has_drive { &path[1..] } else { &*path })
}

/// The URI of an absolute path.
pub(super) fn uri_of(path: &Path) -> String {
    uri(&path.to_string_lossy().replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{path_of, uri_of};

    #[test]
    fn uris_and_paths_lead_to_each_other() {
        for (uri, path) in [
            ("file:///a/b.cu", "/a/b.cu"),
            ("file:///a%20b/%C3%B6.ptx", "/a b/ö.ptx"),
            ("file:///C:/x.cu", "C:/x.cu"),
        ] {
            assert_eq!(path_of(uri).as_deref(), Some(Path::new(path)));
            assert_eq!(uri_of(Path::new(path)), uri);
        }
        assert_eq!(
            path_of("file:///c%3A/x.cu").as_deref(),
            Some(Path::new("c:/x.cu"))
        );
        assert_eq!(path_of("file://localhost/a").as_deref(), Some(Path::new("/a")));
        for other in ["untitled:1", "file:", "file://host/x", "http://a/b", "", "%"] {
            assert_eq!(path_of(other), None, "{other}");
        }
    }
}
