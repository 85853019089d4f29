//! ## What it does
//!
//! With `max-package-size`: reports packages that are larger. With `max-file-size`: reports files that are larger, unpacked, in packages
//! and by themselves. With `forbidden-files`: reports files in packages whose names match one of the patterns.
//!
//! ## Why is this bad?
//!
//! Package indices refuse files that are too large, after everything was built and tested. Static libraries, test programs, headers of
//! the build and keys get into packages by a pattern that is too wide, and nobody looks.
//!
//! ## Example
//!
//! ```toml
//! [audit]
//! max-package-size = "100M"
//! max-file-size = "400M"
//! forbidden-files = ["*.a", "*.cubin", "**/tests/**"]
//! ```
//!
//! ```text
//! error[PTX531] package-limit: the package has 104857601 bytes, and the policy allows 104857600
//! ```
//!
//! A release of fbgemm-gpu was refused by PyPI at 100 MB (pytorch/FBGEMM, pull request 914).
//!
//! ## Use instead
//!
//! `ptxcheck audit --sizes` says what takes the bytes. Exclude the files where the package is made.
//!
//! ## Limits
//!
//! The size of a package is that of its file. Patterns are those of `paths`: without a `/` they match the name of a file in any folder, else
//! its whole path in the package. An unpacked folder is no package. The first 1,000 files of a package are named.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{InputReport, PolicyViolation, listed};
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX531",
    name: "package-limit",
    family: Family::Image,
    summary: "a package or a file in it is not as the policy allows",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let Some(contents) = &input.contents else {
            continue;
        };
        let mut large: BTreeMap<&str, u64> = BTreeMap::new();
        let mut forbidden: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for file in &contents.files {
            match file.violation {
                PolicyViolation::PackageSize(bytes) => {
                    let limit = context.policy.max_package_bytes.unwrap_or_default();
                    report_package(number, &file.path, bytes, limit, report);
                }
                PolicyViolation::FileSize(bytes) => {
                    large.insert(&file.path, bytes);
                }
                PolicyViolation::Name(pattern) => forbidden.entry(pattern).or_default().push(&file.path),
            }
        }
        report_large_files(number, &large, context, report);
        for (index, paths) in forbidden {
            if let Some(pattern) = context.policy.forbidden_files.get(index) {
                report_forbidden_files(number, pattern.as_str(), &paths, report);
            }
        }
        report_left_out_count(number, input, contents.left_out, report);
    }
}

/// Reports a package that is too large, or one in a package.
fn report_package(number: usize, path: &str, bytes: u64, limit: u64, report: &mut Report<'_, ImagePlace>) {
    let subject = match path {
        "" => "the package".to_owned(),
        inner => format!("the package `{}` in it", in_message(inner)),
    };
    let message = format!("{subject} has {bytes} bytes, and the policy allows {limit}");
    let finding = report.definite(ImagePlace::input(number), message);
    finding.kind("package-size");
    finding.data("bytes", bytes).data("limit", limit);
    finding.help("`audit --sizes` lists the bytes of images by target and use; compile for fewer targets, or with `--compress-mode=size`");
}

fn report_large_files(
    number: usize,
    large: &BTreeMap<&str, u64>,
    context: &ImagesContext<'_>,
    report: &mut Report<'_, ImagePlace>,
) {
    let limit = context.policy.max_file_bytes.unwrap_or_default();
    let mut files: Vec<(&str, u64)> = large.iter().map(|(path, bytes)| (*path, *bytes)).collect();
    files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let message = match files.as_slice() {
        [] => return,
        [("", bytes)] => format!("the file has {bytes} bytes, and the policy allows {limit}"),
        [(path, bytes)] => format!(
            "`{}` has {bytes} bytes, and the policy allows {limit}",
            in_message(path)
        ),
        several => format!(
            "{} files in it have more than the {limit} bytes that the policy allows",
            several.len()
        ),
    };
    let finding = report.definite(ImagePlace::input(number), message);
    finding.kind("file-size");
    if files.len() > 1 {
        let shown = files
            .iter()
            .map(|(path, bytes)| format!("`{}` ({bytes})", in_message(path)));
        finding.note(listed(shown.collect(), files.len()));
    }
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let bytes = files.iter().map(|(_, bytes)| *bytes).collect();
    finding
        .data("files", Value::Texts(paths))
        .data("bytes", Value::Numbers(bytes))
        .data("limit", limit);
}

fn report_forbidden_files(number: usize, pattern: &str, paths: &[&str], report: &mut Report<'_, ImagePlace>) {
    let message = match paths {
        [path] => format!("it holds `{}`, which matches `{pattern}`", in_message(path)),
        several => format!("it holds {} files that match `{pattern}`", several.len()),
    };
    let finding = report.definite(ImagePlace::input(number), message);
    finding.kind("forbidden-file");
    if paths.len() > 1 {
        let shown = paths.iter().map(|path| format!("`{}`", in_message(path)));
        finding.note(listed(shown.collect(), paths.len()));
    }
    finding.data("symbol", pattern);
    finding.caused_by_symbol();
    finding.data(
        "files",
        Value::Texts(paths.iter().map(|path| (*path).to_owned()).collect()),
    );
    finding.help("exclude them where the package is made");
}

/// Reports the number of files that are not named.
fn report_left_out_count(
    number: usize,
    input: &InputReport,
    count: usize,
    report: &mut Report<'_, ImagePlace>,
) {
    if count == 0 {
        return;
    }
    let message = format!(
        "{count} more files in `{}` are not as the policy allows",
        in_message(&input.name)
    );
    let finding = report.definite(ImagePlace::input(number), message);
    finding.kind("more");
    finding.data("count", count as u64);
}
