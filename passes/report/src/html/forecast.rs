//! The GPUs that load each package, and the forecast as a matrix: a row for kernels that load alike, a column for each GPU.

use maud::{Markup, html};
use ptxcheck_passes::forecast::{InputForecast, State};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::{InputReport, Outcome};

use crate::amounts::{plural, size};
use crate::escape::{line, name};
use crate::forecast::{Columns, Shown, grouped};
use crate::loads::Loads;

/// Inputs with a matrix.
const SHOWN_INPUTS: usize = 200;

/// Rows of a matrix.
const SHOWN_ROWS: usize = 100;

/// Kernels of a row that are named.
const SHOWN_KERNELS: usize = 50;

/// Packages in the list.
const SHOWN_PACKAGES: usize = 200;

/// The section: a sentence for each package, and a matrix for each input where a forecast is asked for.
pub(super) fn section(outcome: &Outcome, columns: &Columns) -> Markup {
    let forecasts = outcome
        .inputs
        .iter()
        .filter_map(|input| Some((input, columns.of(input)?)));
    let forecasts: Vec<_> = forecasts
        .filter(|(_, forecast)| !forecast.kernels.is_empty())
        .collect();
    let loads = Loads::of(outcome);
    let sentences = loads.sentences();
    if sentences.is_empty() {
        return html! {};
    }
    html! {
        section #forecast aria-labelledby="forecast-title" {
            h2 #forecast-title { "What GPUs load" }
            ul { @for (name, sentence) in sentences.iter().take(SHOWN_PACKAGES) { li { code { (line(name)) } ": " (sentence) } } }
            @if let more @ 1.. = sentences.len().saturating_sub(SHOWN_PACKAGES) { p { "and " (plural(more as u64, "more package")) } }
            @if let Some(driver) = columns.driver { p { "With driver " (driver.to_string()) "." } }
            @if !forecasts.is_empty() { (legend()) }
            @for (input, forecast) in forecasts.iter().take(SHOWN_INPUTS) { (matrix(input, forecast)) }
            @if let more @ 1.. = forecasts.len().saturating_sub(SHOWN_INPUTS) { p { "and " (plural(more as u64, "more input")) } }
        }
    }
}

fn matrix(input: &InputReport, forecast: &InputForecast<'_>) -> Markup {
    let mut groups = grouped(forecast);
    // What does not load, or may not, comes first.
    groups.sort_by_key(|(row, _)| row.iter().map(|cell| rank(*cell)).min());
    html! {
        details.input open {
            summary { code { (line(&input.name)) } " " span.places { (plural(forecast.kernels.len() as u64, "kernel")) } }
            div.scroll tabindex="0" role="region" aria-label={ "What GPUs load of " (line(&input.name)) } {
                table.forecast {
                    thead { tr {
                        th scope="col" { "kernels" }
                        @for gpu in &forecast.gpus { th scope="col" { (gpu.to_string()) small { (gpu.products()) } } }
                    } }
                    tbody {
                        @for (row, kernels) in groups.iter().take(SHOWN_ROWS) {
                            tr {
                                th scope="row" {
                                    @if let [kernel] = kernels.as_slice() {
                                        code { (name(&readable(&kernel.kernel.name))) }
                                    } @else {
                                        details {
                                            summary { (plural(kernels.len() as u64, "kernel")) }
                                            ul {
                                                @for kernel in kernels.iter().take(SHOWN_KERNELS) {
                                                    li { code { (name(&readable(&kernel.kernel.name))) } }
                                                }
                                                @if let more @ 1.. = kernels.len().saturating_sub(SHOWN_KERNELS) {
                                                    li { "and " (more) " more" }
                                                }
                                            }
                                        }
                                    }
                                }
                                @for cell in row { td.(class(*cell)) { (cell.describe()) } }
                            }
                        }
                    }
                    tfoot {
                        tr {
                            th scope="row" { "compiled when loaded" }
                            @for bytes in &forecast.jit_bytes { td { @if *bytes > 0 { (size(*bytes)) } @else { "–" } } }
                        }
                        tr {
                            th scope="row" { "first driver" }
                            @for column in 0..forecast.gpus.len() {
                                td { @if let Some(driver) = forecast.driver(column) { (driver.to_string()) } @else { "–" } }
                            }
                        }
                    }
                }
            }
            @if let more @ 1.. = groups.len().saturating_sub(SHOWN_ROWS) { p { "and " (plural(more as u64, "more row")) } }
        }
    }
}

/// The order of rows by their worst cell.
fn rank(cell: Shown) -> usize {
    let order = ["fails", "doubtful", "compiled", "loads"];
    order
        .iter()
        .position(|class| *class == self::class(cell))
        .unwrap_or(order.len())
}

/// The colours of cells.
fn legend() -> Markup {
    html! {
        p.legend {
            span { b.loads { " " } " machine code" }
            span { b.compiled { " " } " PTX, compiled when it is loaded" }
            span { b.doubtful { " " } " depends, or has no body" }
            span { b.fails { " " } " does not load" }
        }
    }
}

/// The class of a cell in the style sheet. Its word says the same.
const fn class(cell: Shown) -> &'static str {
    match (cell.state, cell.stub) {
        (State::None | State::Partly, _) => "fails",
        (_, Some(_)) | (State::Unsure, _) => "doubtful",
        (State::Jit | State::JitLink, None) => "compiled",
        (State::Exact | State::Older, None) => "loads",
    }
}
