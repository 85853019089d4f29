//! The forecast as tables of text.

use std::fmt::Write as _;

use ptxcheck_passes::forecast::{Gpu, InputForecast, State};
use ptxcheck_passes::policy::Driver;
use ptxcheck_passes::run::InputReport;

use super::alike::{Shown, grouped};
use crate::amounts::{plural, size};
use crate::table::{shortened, table};

/// Most groups of kernels that deviate and are listed.
const LISTED_GROUPS: usize = 20;

/// Most names of one group.
const LISTED_NAMES: usize = 4;

/// The GPUs that a forecast is for. Without GPUs there is none.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// Their driver, if it is not the newest.
    pub driver: Option<Driver>,
}

impl Columns {
    /// The forecast for an input; `None` if none is asked for.
    #[must_use]
    pub fn of<'a>(&self, input: &'a InputReport) -> Option<InputForecast<'a>> {
        (!self.gpus.is_empty()).then(|| InputForecast::new(input, &self.gpus, self.driver))
    }

    /// The forecast for an input as tables: a line for each GPU, then the kernels that deviate from the others.
    #[must_use]
    pub fn render(&self, input: &InputReport) -> String {
        let Some(forecast) = self.of(input) else {
            return String::new();
        };
        if forecast.kernels.is_empty() {
            return "forecast: no kernel in it is loaded by a driver\n".to_owned();
        }
        let with = match self.driver {
            Some(driver) => format!(" with driver {driver}"),
            None => String::new(),
        };
        let mut text = format!(
            "what each GPU loads{with}, of {}:\n",
            plural(forecast.kernels.len() as u64, "kernel")
        );
        text.push_str(&gpus(&forecast));
        text.push_str(&deviating(&forecast));
        text
    }
}

/// A line for each GPU: the numbers of kernels by state, what the driver compiles, and which driver is the first.
fn gpus(forecast: &InputForecast<'_>) -> String {
    let counts: Vec<_> = forecast.counts().collect();
    let states: Vec<State> = State::ALL
        .into_iter()
        .filter(|state| counts.iter().any(|(_, counts)| counts.contains_key(state)))
        .collect();
    let mut head: Vec<String> = ["GPU", "known as"].map(str::to_owned).to_vec();
    head.extend(states.iter().map(|state| state.as_str().to_owned()));
    head.extend(["compiled", "driver"].map(str::to_owned));
    let mut right = vec![true, false];
    right.resize(states.len() + 3, true);
    right.push(false);
    let mut rows = vec![head];
    for (column, (gpu, counts)) in counts.iter().enumerate() {
        let mut row = vec![gpu.to_string(), gpu.products().to_owned()];
        row.extend(states.iter().map(|state| match counts.get(state) {
            None => "-".to_owned(),
            Some(count) => count.to_string(),
        }));
        row.push(match forecast.jit_bytes[column] {
            0 => "-".to_owned(),
            bytes => size(bytes),
        });
        row.push(match forecast.driver(column) {
            None => "-".to_owned(),
            Some(driver) if driver.is_newer => format!(">{}", driver.branch),
            Some(driver) => driver.branch.to_string(),
        });
        rows.push(row);
    }
    table(&rows, &right)
}

/// The kernels that load otherwise than most: those that do so alike in one line.
fn deviating(forecast: &InputForecast<'_>) -> String {
    let groups = grouped(forecast);
    let Some(((most, _), others)) = groups.split_first() else {
        return String::new();
    };
    let total: usize = others.iter().map(|(_, kernels)| kernels.len()).sum();
    if total == 0 {
        return String::new();
    }
    let mut text = format!("{} unlike the others:\n", plural(total as u64, "kernel"));
    for (row, kernels) in others.iter().take(LISTED_GROUPS) {
        // GPUs with the same word stand together.
        let mut words: Vec<(Shown, Vec<String>)> = Vec::new();
        for (column, (shown, usual)) in row.iter().zip(most).enumerate() {
            if shown == usual {
                continue;
            }
            let gpu = forecast.gpus[column].to_string();
            match words.iter_mut().find(|(word, _)| word == shown) {
                Some((_, gpus)) => gpus.push(gpu),
                None => words.push((*shown, vec![gpu])),
            }
        }
        let words: Vec<String> = words
            .iter()
            .map(|(shown, gpus)| format!("{} on {}", shown.describe(), gpus.join(", ")))
            .collect();
        let _ = writeln!(
            text,
            "  {}: {}",
            words.join("; "),
            plural(kernels.len() as u64, "kernel")
        );
        for kernel in kernels.iter().take(LISTED_NAMES) {
            let _ = writeln!(text, "    {}", shortened(&kernel.kernel.name));
        }
        if let more @ 1.. = kernels.len().saturating_sub(LISTED_NAMES) {
            let _ = writeln!(text, "    and {more} more");
        }
    }
    if let more @ 1.. = others.len().saturating_sub(LISTED_GROUPS) {
        let _ = writeln!(text, "  and {more} more groups (`--format json` lists all)");
    }
    text
}
