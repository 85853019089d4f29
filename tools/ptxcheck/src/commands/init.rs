//! `ptxcheck init`: a configuration to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use clap::Args;
use ptxcheck_report::escape;

use crate::exit::Exit;
use crate::{config, output};

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The folder to write `ptxcheck.toml` to; without it, the working directory
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// The file that is written: each setting after `#`, with its effect.
const TEMPLATE: &str = include_str!("init.toml");

/// Writes the file, if there is none.
#[must_use]
pub fn run(args: &InitArgs) -> Exit {
    let file = args.folder.clone().unwrap_or_default().join(config::FILE);
    let name = escape::line(&file.to_string_lossy()).into_owned();
    match write(&file) {
        Ok(()) => output::print(&format!("wrote `{name}`\n"), ColorChoice::Never),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            output::complain(&format!("`{name}` is there already; it is left as it is"))
        }
        Err(error) => output::complain(&format!("`{name}` could not be written: {error}")),
    }
}

fn write(file: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(file)?;
    file.write_all(TEMPLATE.as_bytes())
}
