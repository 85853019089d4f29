//! Links between files of the repository, as links between pages of the site.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::code::lines;

/// The pages that files of the repository become.
pub(crate) struct Links<'a> {
    root: &'a Path,
    pages: BTreeMap<String, String>,
}

impl<'a> Links<'a> {
    pub(crate) fn new(root: &'a Path) -> Self {
        Self {
            root,
            pages: BTreeMap::new(),
        }
    }

    /// A file or a folder, relative to the root of the repository, becomes a page, relative to the site.
    pub(crate) fn add(&mut self, file: &str, page: &str) {
        self.pages.insert(file.to_owned(), page.to_owned());
    }

    /// The Markdown of a file as the text of its page. A link to a file that is no page becomes the file's name.
    ///
    /// # Errors
    ///
    /// If a link names nothing in the repository.
    pub(crate) fn of_site(&self, file: &str, page: &str, text: &str) -> Result<String, Error> {
        let mut result = String::new();
        let mut prose = String::new();
        for (line, is_code) in lines(text) {
            if is_code {
                self.prose(file, page, &std::mem::take(&mut prose), &mut result)?;
                result.push_str(line);
            } else {
                prose.push_str(line);
            }
        }
        self.prose(file, page, &prose, &mut result)?;
        Ok(result)
    }

    /// A link may have its text on two lines.
    fn prose(&self, file: &str, page: &str, text: &str, result: &mut String) -> Result<(), Error> {
        let mut rest = text;
        while let Some((before, link, after)) = next(rest) {
            result.push_str(before);
            result.push_str(&self.link(file, page, &link)?);
            rest = after;
        }
        result.push_str(rest);
        Ok(())
    }

    fn link(&self, file: &str, page: &str, link: &Link<'_>) -> Result<String, Error> {
        let Link { text, target } = link;
        if target.contains("://") || target.starts_with('#') {
            return Ok(format!("[{text}]({target})"));
        }
        let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        let named = join(file, path);
        if let Some(to) = self.pages.get(&named) {
            let up = "../".repeat(page.matches('/').count());
            return Ok(format!("[{text}]({up}{to}{anchor})"));
        }
        if self.root.join(&named).exists() {
            return Ok(format!("`{named}`"));
        }
        let message = format!("{file}: the link `{target}` names nothing");
        Err(Error::new(ErrorKind::NotFound, message))
    }
}

/// `[text](target)`
struct Link<'a> {
    text: &'a str,
    target: &'a str,
}

/// The first link of a text, with the text before and after it.
fn next(line: &str) -> Option<(&str, Link<'_>, &str)> {
    let middle = line.find("](")?;
    let start = line[..middle].rfind('[')?;
    let end = middle + line[middle..].find(')')?;
    let link = Link {
        text: &line[start + 1..middle],
        target: &line[middle + 2..end],
    };
    Some((&line[..start], link, &line[end + 1..]))
}

/// The path that a link in a file names, relative to what the file is relative to.
fn join(file: &str, link: &str) -> String {
    let mut path = PathBuf::from(file);
    path.pop();
    for part in link.split('/') {
        match part {
            ".." => {
                path.pop();
            }
            "." | "" => {}
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}
