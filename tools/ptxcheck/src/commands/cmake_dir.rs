//! `ptxcheck --cmake-dir`: the folder with the installed CMake files.

use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use ptxcheck_report::escape;

use crate::exit::Exit;
use crate::output;

/// The folder of the files, relative to the folder above the program's.
const FOLDER: [&str; 3] = ["share", "cmake", "ptxcheck"];

/// The file that CMake looks for in it.
const FILE: &str = "ptxcheck-config.cmake";

/// Prints the folder.
#[must_use]
pub fn run() -> Exit {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return output::complain(&format!("this program can't be found: {error}")),
    };
    // It may be called through a link from elsewhere.
    let real = program.canonicalize().ok();
    let folders: Vec<PathBuf> = [Some(program), real]
        .into_iter()
        .flatten()
        .filter_map(|program| folder(&program))
        .collect();
    match folders.iter().find(|folder| folder.join(FILE).is_file()) {
        Some(folder) => output::print(&format!("{}\n", folder.display()), ColorChoice::Never),
        None => {
            let first = folders.first().map(|folder| folder.to_string_lossy());
            output::complain(&format!(
                "the CMake files are not installed with this program: there is no `{}`",
                escape::line(
                    &Path::new(first.as_deref().unwrap_or_default())
                        .join(FILE)
                        .to_string_lossy()
                )
            ))
        }
    }
}

/// `/usr/share/cmake/ptxcheck` for `/usr/bin/ptxcheck`.
fn folder(program: &Path) -> Option<PathBuf> {
    let mut folder = program.parent()?.parent()?.to_owned();
    folder.extend(FOLDER);
    Some(folder)
}
