//! IR that nobody would write: kernels of the corpus with lines left out, doubled and exchanged.

use std::path::Path;

use ptxcheck_frontend_ptx::{PtxOrigin, lower};

use super::corpus::{Count, files, run_all};

/// One file of the corpus in so many.
const OF: usize = 6;

/// Mutants of each.
const MUTANTS: u64 = 3;

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }
}

fn mutant(text: &str, seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut lines: Vec<&str> = text.lines().collect();
    for _ in 0..1 + numbers.below(6) {
        let (a, b) = (numbers.below(lines.len()), numbers.below(lines.len()));
        match numbers.below(3) {
            0 if lines.len() > 1 => {
                lines.remove(a);
            }
            1 => lines.insert(a, lines[b]),
            _ => lines.swap(a, b),
        }
    }
    lines.join("\n")
}

#[test]
fn mutants_of_the_corpus_end() {
    let mut found = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"),
        &mut found,
    );
    found.sort();
    let mut count = Count::default();
    for (number, path) in found.iter().enumerate().step_by(OF) {
        // Those that are not text are for the parser.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        for seed in 0..MUTANTS {
            let text = mutant(&text, seed << 32 | number as u64);
            let Ok(tree) = ptxcheck_ptx_parser::parse(text.as_bytes()) else {
                continue;
            };
            let origin = PtxOrigin::new(&tree);
            let module = lower(&tree, &origin);
            for (function, ..) in module.bodies() {
                run_all(&module, function, &mut count);
            }
        }
    }
    assert!(count.kernels > 500, "{} functions", count.kernels);
}
