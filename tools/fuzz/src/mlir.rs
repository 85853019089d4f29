//! Mutants of MLIR, as text and as bytecode. They go the way of inputs: `ptxcheck-mlir` reads them, and `ptxcheck-llvm` the LLVM bitcode
//! that it makes of them, both in processes of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::{IrReader, Settings, WorkerCommand};

use crate::ir::Ir;
use crate::numbers::Numbers;
use crate::ptx::collect;
use crate::verdict::{Levels, of_outcome, outcome, same_definite};

/// The material for mutants, and the programs that read them.
pub struct Mlir {
    material: Ir,
    mlir: WorkerCommand,
    llvm: WorkerCommand,
}

/// Longest that MLIR and LLVM may take for a mutant: MLIR does not end on some bytecode.
const TIME: Duration = Duration::from_secs(5);

/// Words of MLIR that mean something to what reads it.
const WORDS: [&str; 24] = [
    "i1",
    "i128",
    "i16777215",
    "index",
    "f32",
    "vector<4xf32>",
    "memref<?x?xf32>",
    "!llvm.ptr",
    "!llvm.ptr<3>",
    "!llvm.ptr<5>",
    "tensor<4xi32>",
    "loc(unknown)",
    "loc(#loc)",
    "gpu.module",
    "gpu.launch",
    "gpu.barrier",
    "gpu.all_reduce",
    "gpu.shuffle",
    "nvvm.barrier",
    "nvvm.kernel",
    "scf.if",
    "llvm.return",
    "unregistered.op",
    "dense<0>",
];

impl Mlir {
    /// Reads the seeds of the repository at `root`, and makes bytecode of them where MLIR's tools are.
    ///
    /// # Errors
    ///
    /// A sentence, if there are none, or the programs lie not beside this one.
    pub fn new(root: &Path) -> Result<Self, String> {
        let (mut files, mut texts, mut bytecode) = (Vec::new(), Vec::new(), Vec::new());
        collect(&root.join("corpus/mlir"), "mlir", &mut files);
        files.sort();
        for file in files {
            texts.extend(std::fs::read(&file).ok());
            let made = Command::new("mlir-opt-22")
                .args(["--emit-bytecode", "--allow-unregistered-dialect"])
                .arg(&file)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output();
            bytecode.extend(
                made.ok()
                    .filter(|made| made.status.success())
                    .map(|made| made.stdout),
            );
        }
        Ok(Self {
            material: Ir::of(texts, bytecode, &WORDS)?,
            mlir: beside("ptxcheck-mlir")?,
            llvm: beside("ptxcheck-llvm")?,
        })
    }

    /// The mutant of a run with this index.
    pub fn mutant(&self, numbers: &mut Numbers) -> Vec<u8> {
        self.material.mutant(numbers)
    }

    /// Checks the outcome for a mutant. The error is the defect found.
    pub fn check(&self, index: u64, bytes: &[u8]) -> Result<(), String> {
        let levels = Levels::of(index);
        let with = |settings: &Settings| {
            let settings = Settings {
                ir_reader: IrReader::Process(self.llvm.clone()),
                mlir_worker: Some(self.mlir.clone()),
                timeout: Some(TIME),
                ..settings.clone()
            };
            outcome("mutant.mlir", bytes, &settings)
        };
        let definite = with(&levels.definite);
        verdict(&definite)?;
        if index.is_multiple_of(2) {
            return Ok(());
        }
        let potential = with(&levels.potential);
        verdict(&potential)?;
        // A mutant that takes too long has some findings or none, and the message about a death has the time that it came after.
        let is_cut = |outcome| has(outcome, "PTX903") || has(outcome, "PTX904");
        if is_cut(&definite) || is_cut(&potential) {
            return Ok(());
        }
        same_definite(&definite.findings, &potential.findings)
    }
}

fn has(outcome: &Outcome, code: &str) -> bool {
    outcome.findings.iter().any(|finding| finding.rule.code == code)
}

/// A program beside this one.
fn beside(name: &str) -> Result<WorkerCommand, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program: PathBuf = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        return Err(format!("`{}` is not there: build it first", program.display()));
    }
    Ok(WorkerCommand {
        program,
        args: Vec::new(),
    })
}

/// Input that was not read is a finding. MLIR and LLVM may die of input, which is one, too.
fn verdict(outcome: &Outcome) -> Result<(), String> {
    let mut all = outcome.findings.iter();
    let is_death =
        |message: &str| message.starts_with("MLIR failed on it") || message.starts_with("LLVM failed on it");
    if !all.any(|finding| finding.rule.code == "PTX904" && is_death(&finding.message)) {
        of_outcome(outcome)?;
    }
    let is_unread = |status: Status| matches!(status, Status::Failed | Status::Partly);
    let is_told = outcome
        .findings
        .iter()
        .any(|finding| finding.rule.code.starts_with("PTX9"));
    if outcome.inputs.iter().any(|input| is_unread(input.status)) && !is_told {
        return Err("some of it was not read, and no finding says so".to_owned());
    }
    Ok(())
}
