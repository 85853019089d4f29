//! The forecast as Markdown, for the summary of a job or a comment.

use std::fmt::Write as _;

use ptxcheck_passes::run::Outcome;

use super::alike::grouped;
use super::text::Columns;
use crate::amounts::{plural, size};
use crate::escape::code_span;
use crate::table::shortened;

/// Most inputs with a table.
const LISTED_INPUTS: usize = 50;

/// Most rows of a table.
const LISTED_ROWS: usize = 20;

/// A table for each input: a row for kernels that load alike, a column for each GPU. Empty where no forecast is asked for.
#[must_use]
pub fn render(outcome: &Outcome, columns: &Columns) -> String {
    let mut text = String::new();
    let mut tables = 0;
    for input in &outcome.inputs {
        let Some(forecast) = columns.of(input).filter(|forecast| !forecast.kernels.is_empty()) else {
            continue;
        };
        tables += 1;
        if tables > LISTED_INPUTS {
            continue;
        }
        let _ = writeln!(text, "### What GPUs load of `{}`\n", code_span(&input.name));
        let gpus: Vec<String> = forecast.gpus.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "| kernels | {} |", gpus.join(" | "));
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(gpus.len()));
        let groups = grouped(&forecast);
        for (row, kernels) in groups.iter().take(LISTED_ROWS) {
            let first = kernels
                .first()
                .map(|kernel| code_span(&shortened(&kernel.kernel.name)));
            let names = match (kernels.len(), first) {
                (1, Some(first)) => format!("`{first}`"),
                (count, Some(first)) => format!("{count}, as `{first}`"),
                (_, None) => String::new(),
            };
            let cells: Vec<String> = row.iter().map(|cell| cell.describe()).collect();
            let _ = writeln!(text, "| {} | {} |", names.replace('|', "\\|"), cells.join(" | "));
        }
        let line = |values: Vec<String>, head: &str| format!("| {head} | {} |\n", values.join(" | "));
        let compiled = forecast.jit_bytes.iter().map(|bytes| match bytes {
            0 => "-".to_owned(),
            bytes => size(*bytes),
        });
        text.push_str(&line(compiled.collect(), "*compiled when loaded*"));
        let drivers = (0..forecast.gpus.len()).map(|column| {
            let driver = forecast.driver(column);
            driver.map_or_else(|| "-".to_owned(), |driver| driver.to_string())
        });
        text.push_str(&line(drivers.collect(), "*first driver*"));
        if let more @ 1.. = groups.len().saturating_sub(LISTED_ROWS) {
            let _ = writeln!(text, "\nand {}", plural(more as u64, "more row"));
        }
        text.push('\n');
    }
    if let more @ 1.. = tables.saturating_sub(LISTED_INPUTS) {
        let _ = writeln!(text, "and {}\n", plural(more as u64, "more input"));
    }
    text
}
