//! Names of members: paths inside a package.

use ptxcheck_common::shown;

use crate::trouble::Trouble;

/// The name of a member as it is shown: parts separated by `/`, without `.`. A name that leads out of the package keeps the `/` that
/// it begins with, and its `..`.
pub(crate) fn clean(raw: &[u8]) -> String {
    let mut name = String::with_capacity(raw.len());
    if raw.starts_with(b"/") {
        name.push('/');
    }
    let parts = raw.split(|byte| *byte == b'/');
    for (at, part) in parts.filter(|part| !matches!(*part, b"" | b".")).enumerate() {
        if at > 0 {
            name.push('/');
        }
        name.push_str(&shown::name(part));
    }
    name
}

/// The same for a name in a zip archive: some are made on Windows with its own separators.
pub(crate) fn clean_in_zip(raw: &[u8]) -> String {
    let separated = |byte: &u8| if *byte == b'\\' { b'/' } else { *byte };
    clean(&raw.iter().map(separated).collect::<Vec<u8>>())
}

/// An error, if a clean name leads out of the folder that the package is unpacked to.
pub(crate) fn check(name: &str) -> Result<(), Trouble> {
    let is_drive = |part: &str| part.len() == 2 && part.ends_with(':');
    if name.starts_with('/') || name.split('/').next().is_some_and(is_drive) {
        let text = "its name is an absolute path, which leads out of the package: it is not looked at";
        return Err(Trouble::broken(text));
    }
    if name.split('/').any(|part| part == "..") {
        let text = "its name has `..` in it, which leads out of the package: it is not looked at";
        return Err(Trouble::broken(text));
    }
    Ok(())
}

/// The target of a link at `link`, both clean, as a name in the package; `None` if it leads out of it.
pub(crate) fn target(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{check, clean, clean_in_zip, target};

    #[test]
    fn names_are_paths_with_slashes() {
        assert_eq!(clean(b"./a//b/./c.so"), "a/b/c.so");
        assert_eq!(clean_in_zip(b"a\\b\\c.dll"), "a/b/c.dll");
        assert_eq!(clean(b"a\\b"), "a\\b");
        assert_eq!(clean(b"/a/b"), "/a/b");
        assert_eq!(clean_in_zip(b"\\..\\b"), "/../b");
        assert_eq!(clean(b"a\xff"), "a\\xff");
    }

    #[test]
    fn names_that_lead_out_are_refused() {
        for bad in ["/a", "../a", "a/../b", "C:/a", "a/.."] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in ["a", "a/b..c", "a/...", "ab:/c"] {
            assert!(check(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn links_lead_to_members_or_out() {
        assert_eq!(target("lib/a.so", "a.so.1").as_deref(), Some("lib/a.so.1"));
        assert_eq!(target("lib/a.so", "../bin/x").as_deref(), Some("bin/x"));
        assert_eq!(target("lib/a.so", "../../x"), None);
        assert_eq!(target("a.so", "/usr/lib/a.so"), None);
    }
}
