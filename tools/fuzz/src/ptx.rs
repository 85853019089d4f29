//! Mutants of PTX: modules from a grammar, and modules of the corpus that are changed a little.

mod grammar;
mod graph;
mod module;
mod mutate;

use std::path::{Path, PathBuf};

use crate::numbers::Numbers;
use module::Generator;
use mutate::Seeds;

/// Largest seed, in bytes: kernels of under 100 lines.
const MAX_SEED_BYTES: u64 = 6_000;

/// The material for mutants of PTX.
pub struct Ptx {
    generator: Generator,
    seeds: Seeds,
}

impl Ptx {
    /// Reads the seeds below `corpus`.
    ///
    /// # Errors
    ///
    /// A sentence, if there are none.
    pub fn new(corpus: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        for folder in ["rules", "syntax"] {
            collect(&corpus.join(folder), "ptx", &mut files);
        }
        files.sort();
        let texts = files.iter().filter_map(|file| std::fs::read(file).ok());
        let seeds = Seeds::new(texts.filter(|text| text.len() as u64 <= MAX_SEED_BYTES));
        if seeds.len() == 0 {
            return Err(format!("there is no PTX below {}", corpus.display()));
        }
        Ok(Self {
            generator: Generator::new(),
            seeds,
        })
    }

    /// The mutant of a run with this index.
    pub fn mutant(&self, numbers: &mut Numbers) -> Vec<u8> {
        match numbers.below(4) {
            0 => self.generator.module(numbers),
            1 => {
                let module = self.generator.module(numbers);
                self.seeds.mutant_of(&module, &self.generator, numbers)
            }
            _ => self.seeds.mutant(&self.generator, numbers),
        }
    }
}

/// The files below a folder with this extension.
pub fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|known| known == extension) {
            found.push(path);
        }
    }
}
