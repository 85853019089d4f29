//! The sentence about the GPUs that load a file: `loads on 7.0–8.9 (perhaps not 8.7); no kernel on 9.0, 10.x, 11.0, 12.x`.

use std::fmt;

use super::kernels::{Load, Reach};
use crate::forecast::Gpu;

impl fmt::Display for Reach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kernels == 0 {
            return formatter.write_str("no kernel that a driver loads");
        }
        formatter.write_str(&self.sentence_parts().join("; "))
    }
}

impl Reach {
    fn sentence_parts(&self) -> Vec<String> {
        let mut doubtful = self.with(Load::Unsure);
        let mut parts = Vec::new();
        for (load, words) in [
            (Load::Code, "loads on"),
            (Load::Compiled, "compiled by the driver on"),
        ] {
            let gpus = self.with(load);
            if gpus.is_empty() {
                continue;
            }
            let (ranges, within) = ranges_of_gpus(&gpus, &doubtful);
            doubtful.retain(|gpu| !within.contains(gpu));
            let except = match within.as_slice() {
                [] => String::new(),
                within => format!(" (perhaps not {})", list_gpus(within)),
            };
            parts.push(format!("{words} {ranges}{except}"));
        }
        parts.extend(
            self.counts_of_kernels(Load::Part)
                .map(|(count, gpus)| format!("in part on {gpus} ({count})")),
        );
        parts.extend(
            self.counts_of_kernels(Load::Few)
                .map(|(count, gpus)| format!("only {count} on {gpus}")),
        );
        if !doubtful.is_empty() {
            parts.push(format!("perhaps on {}", generations(&doubtful)));
        }
        let left_out = self.left_out();
        for (load, words) in [
            (Load::Stubs, "kernels without a body on"),
            (Load::Nothing, "no kernel on"),
        ] {
            let gpus: Vec<Gpu> = left_out
                .iter()
                .copied()
                .filter(|gpu| self.load(*gpu) == load)
                .collect();
            if !gpus.is_empty() {
                parts.push(format!("{words} {}", generations(&gpus)));
            }
        }
        if parts.is_empty() {
            parts.push("loads on no GPU from Maxwell on".to_owned());
        }
        parts
    }
}

impl Reach {
    /// The numbers of kernels that GPUs with this load do load, `12 to 40 of 100 kernels`, and these GPUs.
    fn counts_of_kernels(&self, load: Load) -> Option<(String, String)> {
        let those = || self.gpus.iter().filter(|one| one.load == load);
        let fewest = those().map(|one| one.kernels).min()?;
        let most = those().map(|one| one.kernels).max()?;
        let numbers = if fewest == most {
            most.to_string()
        } else {
            format!("{fewest} to {most}")
        };
        let gpus: Vec<Gpu> = those().map(|one| one.gpu).collect();
        Some((
            format!("{numbers} of {} kernels", self.kernels),
            generations(&gpus),
        ))
    }
}

/// `7.0–8.9, 12.0`: GPUs in their order, and those of `doubtful` that lie within a range.
fn ranges_of_gpus(gpus: &[Gpu], doubtful: &[Gpu]) -> (String, Vec<Gpu>) {
    let mut runs: Vec<Vec<Gpu>> = Vec::new();
    let (mut is_open, mut passed, mut within) = (false, Vec::new(), Vec::new());
    for gpu in Gpu::all() {
        if gpus.contains(&gpu) {
            match runs.last_mut().filter(|_| is_open) {
                Some(run) => {
                    run.push(gpu);
                    within.append(&mut passed);
                }
                None => runs.push(vec![gpu]),
            }
            passed.clear();
            is_open = true;
        } else if doubtful.contains(&gpu) && gpu.is_embedded() {
            passed.push(gpu);
        } else {
            is_open = false;
        }
    }
    let texts: Vec<String> = runs
        .iter()
        .map(|run| match run.as_slice() {
            [first, .., last] => format!("{first}–{last}"),
            run => list_gpus(run),
        })
        .collect();
    (texts.join(", "), within)
}

/// `9.0, 10.x, 12.1`: GPUs in their order, all of a generation as one.
#[must_use]
pub fn generations(gpus: &[Gpu]) -> String {
    let of_generation = |generation| Gpu::all().filter(move |gpu| gpu.generation() == generation);
    let mut texts: Vec<String> = Vec::new();
    for gpu in gpus {
        let generation = gpu.generation();
        let is_whole =
            of_generation(generation).count() > 1 && of_generation(generation).all(|one| gpus.contains(&one));
        let text = if is_whole {
            format!("{generation}.x")
        } else {
            gpu.to_string()
        };
        if texts.last() != Some(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}

fn list_gpus(gpus: &[Gpu]) -> String {
    let names: Vec<String> = gpus.iter().map(Gpu::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::GpuLoad;

    fn gpus(numbers: &[u32]) -> Vec<Gpu> {
        numbers
            .iter()
            .filter_map(|number| Gpu::of_number(*number))
            .collect()
    }

    fn reach(loads: &[(Load, &[u32])]) -> Reach {
        let load = |gpu: Gpu| {
            let found = loads.iter().find(|(_, numbers)| numbers.contains(&gpu.number()));
            found.map_or(Load::Nothing, |(load, _)| *load)
        };
        let of_gpu = Gpu::all().map(|gpu| GpuLoad {
            gpu,
            load: load(gpu),
            kernels: 3,
        });
        Reach {
            kernels: 40,
            gpus: of_gpu.collect(),
        }
    }

    #[test]
    fn a_sentence_says_what_loads_and_what_does_not() {
        let faiss = reach(&[(Load::Code, &[70, 75, 80, 86, 88, 89]), (Load::Unsure, &[72, 87])]);
        assert_eq!(
            faiss.to_string(),
            "loads on 7.0–8.9 (perhaps not 7.2, 8.7); no kernel on 9.0, 10.x, 11.0, 12.x"
        );
        let onnx = reach(&[
            (Load::Code, &[75, 80, 86, 88, 89, 90, 120]),
            (Load::Unsure, &[72, 87]),
            (Load::Few, &[70]),
        ]);
        assert_eq!(
            onnx.to_string(),
            "loads on 7.5–9.0, 12.0 (perhaps not 8.7); only 3 of 40 kernels on 7.0; perhaps on 7.2; no kernel on 10.x, 11.0, 12.1"
        );
        let newest = reach(&[
            (Load::Code, &[100, 103, 107, 110, 120, 121]),
            (Load::Stubs, &[90]),
        ]);
        assert_eq!(newest.to_string(), "loads on 10.0–12.1");
        let ptx = reach(&[
            (Load::Code, &[90]),
            (Load::Compiled, &[100, 103, 107, 110, 120, 121]),
        ]);
        assert_eq!(
            ptx.to_string(),
            "loads on 9.0; compiled by the driver on 10.0–12.1"
        );
        let specific = reach(&[(Load::Code, &[90]), (Load::Part, &[80, 100, 103, 107])]);
        assert_eq!(
            specific.to_string(),
            "loads on 9.0; in part on 8.0, 10.x (3 of 40 kernels); no kernel on 8.6, 8.7, 8.8, 8.9, 11.0, 12.x"
        );
        assert_eq!(reach(&[]).to_string(), "loads on no GPU from Maxwell on");
        assert_eq!(Reach::default().to_string(), "no kernel that a driver loads");
    }

    #[test]
    fn generations_are_named_as_one_if_they_are_whole() {
        assert_eq!(generations(&gpus(&[90, 100, 103, 107, 121])), "9.0, 10.x, 12.1");
        assert_eq!(generations(&gpus(&[110])), "11.0");
        assert_eq!(generations(&[]), "");
    }
}
