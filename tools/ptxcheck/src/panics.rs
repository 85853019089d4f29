//! Panics of this program, reported in one line on standard error, without the folders of the machine that built it. The finding
//! PTX904 says what a panic means for an input.

use std::panic::{PanicHookInfo, set_hook};

use ptxcheck_report::escape;

use crate::output;

/// Reports panics by this module, in place of the standard library.
pub fn report_briefly() {
    set_hook(Box::new(|info| {
        output::complain(&escape::line(&sentence(info)));
    }));
}

fn sentence(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(place) => format!(
            "internal error at {}:{}: {said}",
            crate_path(place.file()),
            place.line()
        ),
        None => format!("internal error: {said}"),
    }
}

/// The path of a source file from its crate on: `object-0.40.0/src/read/elf.rs`.
fn crate_path(file: &str) -> &str {
    let is_separator = |letter: char| letter == '/' || letter == '\\';
    let is_absolute = file.starts_with(is_separator) || file.get(1..2) == Some(":");
    if !is_absolute {
        return file;
    }
    let name = file.rfind(is_separator).map_or(0, |at| at + 1);
    let Some(source) = file.rfind("/src/").or_else(|| file.rfind("\\src\\")) else {
        return &file[name..];
    };
    file[..source]
        .rfind(is_separator)
        .map_or(file, |at| &file[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::crate_path;

    #[test]
    fn folders_of_the_builder_are_left_out() {
        for (file, shown) in [
            ("passes/src/run.rs", "passes/src/run.rs"),
            (
                "/home/somebody/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/object-0.40.0/src/read/elf.rs",
                "object-0.40.0/src/read/elf.rs",
            ),
            (
                "/rustc/0123456789abcdef/library/core/src/slice/mod.rs",
                "core/src/slice/mod.rs",
            ),
            ("/home/somebody/build/rules.rs", "rules.rs"),
            (
                "C:\\Users\\x\\object-0.40.0\\src\\lib.rs",
                "object-0.40.0\\src\\lib.rs",
            ),
        ] {
            assert_eq!(crate_path(file), shown);
        }
    }
}
