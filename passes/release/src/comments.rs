//! Comments that say why a finding does not count: `// ptxcheck: allow(PTX401) reason`.
//!
//! They stand on the line of the finding, after the code, or on lines of their own above it. `//`, `/* … */`, `#` and `;` begin
//! comments: of CUDA and PTX, of Python, of LLVM IR. In PTX and LLVM IR they come from inline assembly, which is a string in
//! LLVM IR; in sources, text in a string is not a comment.

mod literals;

use literals::{Language, Literals};
use memchr::memmem::Finder;

use crate::limits::{MAX_COMMENTS, MAX_REASON_BYTES};
use crate::patterns::Written;

/// The beginning of such a comment, after the comment marker.
const TAG: &str = "ptxcheck:";

/// The one word that may follow.
const ALLOW: &str = "allow";

/// The marks that begin a comment.
const MARKS: [&str; 4] = ["//", "/*", "#", ";"];

/// A comment of this kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its beginning: 1-based line and column.
    pub written: Written,
    /// Nothing but white space stands before it: it is for the lines below it.
    pub is_alone: bool,
    /// The codes, names, families or guidelines between the brackets, and the reason after them; or the error in the comment.
    pub says: Result<CommentContent, &'static str>,
}

/// The content of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentContent {
    /// The selectors of the findings that it suppresses.
    pub words: Vec<String>,
    /// Why.
    pub reason: String,
}

/// The comments of a source, in order, up to a limit.
pub fn of_source(text: &[u8]) -> Vec<Comment> {
    let mut of_c = Literals::new(text, Language::C);
    let mut of_python = Literals::new(text, Language::Python);
    find_comments(text, |mark, at| match mark {
        "//" | "/*" => !of_c.is_in_literal(at),
        "#" => !of_python.is_in_literal(at),
        _ => true,
    })
}

/// The comments of PTX or LLVM IR, in order, up to a limit.
pub fn of_module(text: &[u8]) -> Vec<Comment> {
    find_comments(text, |_, _| true)
}

/// The comments whose mark, at this byte, counts.
fn find_comments(text: &[u8], mut counts: impl FnMut(&str, usize) -> bool) -> Vec<Comment> {
    let mut comments = Vec::new();
    let finder = Finder::new(TAG);
    // The line counted up to, its beginning, and the offset that the search goes on from.
    let (mut line, mut start, mut from) = (1_u32, 0, 0);
    while let Some(at) = finder.find(&text[from..]).map(|at| from + at) {
        if let Some(last) = memchr::memrchr(b'\n', &text[start..at]) {
            let newlines = memchr::memchr_iter(b'\n', &text[start..at]).count();
            line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
            start += last + 1;
        }
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        if let Some((mark, begin)) = comment_mark_before(&text[start..at])
            && counts(mark, start + begin)
        {
            comments.push(parse_comment(&text[start..end], mark, begin, at - start, line));
        }
        if comments.len() >= MAX_COMMENTS {
            break;
        }
        from = end;
    }
    comments
}

/// The mark that a line before a tag ends with, and where it begins.
fn comment_mark_before(before: &[u8]) -> Option<(&'static str, usize)> {
    let before = before.trim_ascii_end();
    let mark = MARKS.into_iter().find(|mark| before.ends_with(mark.as_bytes()))?;
    Some((mark, before.len() - mark.len()))
}

/// The comment of a line whose mark begins at `begin`, and whose tag stands at `at`.
fn parse_comment(line: &[u8], mark: &str, begin: usize, at: usize, number: u32) -> Comment {
    let rest = String::from_utf8_lossy(&line[at + TAG.len()..]);
    let rest = match mark {
        "/*" => rest.split("*/").next().unwrap_or_default(),
        _ => &rest,
    };
    Comment {
        written: (number, u32::try_from(begin + 1).unwrap_or(u32::MAX)),
        // `///` and `##` are comments, too.
        is_alone: line[..begin]
            .iter()
            .all(|byte| byte.is_ascii_whitespace() || mark.as_bytes().contains(byte)),
        says: said(rest.trim()),
    }
}

fn said(text: &str) -> Result<CommentContent, &'static str> {
    const FORM: &str = "it has to read `ptxcheck: allow(PTX401) reason`";
    let rest = text.strip_prefix(ALLOW).ok_or(FORM)?.trim_start();
    let (words, reason) = rest
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or(FORM)?;
    let words: Vec<String> = words.split(',').map(|word| word.trim().to_owned()).collect();
    if words.iter().any(String::is_empty) {
        return Err("it names no rule between the brackets");
    }
    let reason = reason
        .trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, ':' | '-'))
        .trim_end();
    if reason.is_empty() {
        return Err("it gives no reason behind the bracket");
    }
    Ok(CommentContent {
        words,
        reason: reason[..reason.floor_char_boundary(MAX_REASON_BYTES)].to_owned(),
    })
}

/// The comments of a file that apply to a line: those after its code, and those on lines of their own directly above it.
pub fn for_line(comments: &[Comment], line: u32) -> impl Iterator<Item = usize> + '_ {
    let end = comments.partition_point(|comment| comment.written.0 <= line);
    let mut wanted = line;
    (0..end).rev().take_while(move |&index| {
        let (at, is_alone) = (comments[index].written.0, comments[index].is_alone);
        if at == line {
            return true;
        }
        let is_next = is_alone && wanted.checked_sub(1) == Some(at);
        wanted = at;
        is_next
    })
}

#[cfg(test)]
mod tests {
    use super::{Comment, CommentContent, for_line, of_module, of_source as of};

    fn said(comment: &Comment) -> (&[String], &str) {
        let CommentContent { words, reason } = comment.says.as_ref().unwrap();
        (words, reason)
    }

    #[test]
    fn comments_are_found_with_their_places() {
        let text = b"int a;\n\tf(); // ptxcheck: allow(PTX401) test pattern\n\n\
            \t/* ptxcheck: allow(zero-mask, warp): ticket 12 */ g();\n# ptxcheck: allow(G-2.1) in Python\r\n\
            ; ptxcheck:allow (PTX403) - in IR";
        let comments = of(text);
        let places: Vec<_> = comments
            .iter()
            .map(|comment| (comment.written, comment.is_alone))
            .collect();
        assert_eq!(
            places,
            [((2, 7), false), ((4, 2), true), ((5, 1), true), ((6, 1), true)]
        );
        assert_eq!(said(&comments[0]), (&["PTX401".to_owned()][..], "test pattern"));
        assert_eq!(
            said(&comments[1]),
            (&["zero-mask".to_owned(), "warp".to_owned()][..], "ticket 12")
        );
        assert_eq!(said(&comments[2]).1, "in Python");
        assert_eq!(said(&comments[3]).1, "in IR");
    }

    #[test]
    fn malformed_comments_have_a_reason() {
        for (text, wrong) in [
            ("// ptxcheck: allow(PTX401)", "no reason"),
            ("// ptxcheck: allow(PTX401) \t", "no reason"),
            ("/* ptxcheck: allow(PTX401) */ f();", "no reason"),
            ("// ptxcheck: allow() why", "no rule"),
            ("// ptxcheck: allow(PTX401 why", "has to read"),
            ("// ptxcheck: alow(PTX401) why", "has to read"),
        ] {
            let comments = of(text.as_bytes());
            let said = comments[0].says.as_ref().unwrap_err();
            assert!(said.contains(wrong), "{text}: {said}");
        }
        for text in [
            "ptxcheck: allow(PTX401) why",
            "\"ptxcheck: \"",
            "// see ptxcheck: x",
        ] {
            assert_eq!(of(text.as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn strings_are_not_comments() {
        for text in [
            r#"puts("// ptxcheck: allow(PTX403) x"); f();"#,
            "R\"(\n// ptxcheck: allow(PTX403) x\n)\"; f();",
            "'''\n# ptxcheck: allow(PTX403) x\n'''",
            r##"print("# ptxcheck: allow(PTX403) x")"##,
        ] {
            assert_eq!(of(text.as_bytes()), [], "{text}");
            assert_eq!(of_module(text.as_bytes()).len(), 1, "{text}");
        }
        for text in [
            r#"puts("a"); // ptxcheck: allow(PTX403) x"#,
            "// \"quoted\n// ptxcheck: allow(PTX403) x",
            "c = '\"'; // ptxcheck: allow(PTX403) x",
            "print('a') # ptxcheck: allow(PTX403) don't",
        ] {
            assert_eq!(of(text.as_bytes()).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_comment_is_for_its_line_or_those_below_it() {
        let text = b"// ptxcheck: allow(PTX401) a\n// ptxcheck: allow(PTX402) b\nf(); // ptxcheck: allow(PTX403) c\ng();\n\
            // ptxcheck: allow(PTX404) d\n\nh();\n";
        let comments = of(text);
        let lines = |line| -> Vec<u32> {
            for_line(&comments, line)
                .map(|index| comments[index].written.0)
                .collect()
        };
        assert_eq!(lines(3), [3, 2, 1]);
        assert!(lines(4).is_empty());
        assert_eq!(lines(6), [5]);
        assert_eq!((lines(7), lines(0)), (vec![], vec![]));
    }
}
