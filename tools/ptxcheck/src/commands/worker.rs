//! The programs that read LLVM IR and MLIR: a variable names each, or it lies beside this program. What they need of the settings
//! comes with each input.

use std::path::PathBuf;

use ptxcheck_passes::candidates::Readable;
use ptxcheck_passes::settings::{IrReader, WorkerCommand};
use ptxcheck_passes::worker;

/// What names the program that reads LLVM IR.
const LLVM_VARIABLE: &str = "PTXCHECK_LLVM";

/// What names the program that reads MLIR.
const MLIR_VARIABLE: &str = "PTXCHECK_MLIR";

/// The program that reads LLVM IR.
pub fn ir_reader() -> IrReader {
    command(LLVM_VARIABLE, worker::PROTOCOL.program).map_or(IrReader::Missing, IrReader::Process)
}

/// The command that starts the program that reads MLIR; `None` where there is none.
pub fn mlir_command() -> Option<WorkerCommand> {
    command(MLIR_VARIABLE, worker::mlir::PROTOCOL.program)
}

/// The languages that programs are there for. MLIR goes through LLVM IR.
pub fn readable() -> Readable {
    let ir = !matches!(ir_reader(), IrReader::Missing);
    Readable {
        ir,
        mlir: ir && mlir_command().is_some(),
    }
}

fn command(variable: &str, name: &str) -> Option<WorkerCommand> {
    let beside = || {
        let folder = std::env::current_exe().ok()?.parent()?.to_owned();
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        program.is_file().then_some(program)
    };
    let named = std::env::var_os(variable).filter(|path| !path.is_empty());
    let program = named.map(PathBuf::from).or_else(beside)?;
    Some(WorkerCommand {
        program,
        args: Vec::new(),
    })
}
