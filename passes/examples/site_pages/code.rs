//! Blocks of code in Markdown.

/// Languages of our texts that mdBook's highlighter does not know by these names, and names that it knows.
const LANGUAGES: [(&str, &str); 4] = [
    ("cuda", "cpp"),
    ("ptx", "text"),
    ("cmake", "text"),
    ("make", "makefile"),
];

/// The lines of a text, each with its end. True: a line of a block of code, or of its border.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut is_inside = false;
    text.split_inclusive('\n').map(move |line| {
        let is_border = line.trim_start().starts_with("```");
        let is_code = is_inside || is_border;
        is_inside ^= is_border;
        (line, is_code)
    })
}

/// Names the languages of blocks as mdBook's highlighter does.
pub(crate) fn highlighted(text: &str) -> String {
    let renamed = |line: &str| {
        let language = line.trim().strip_prefix("```")?;
        let (_, known) = LANGUAGES.iter().find(|(name, _)| *name == language)?;
        Some(line.replace(language, known))
    };
    text.split_inclusive('\n')
        .map(|line| renamed(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}
