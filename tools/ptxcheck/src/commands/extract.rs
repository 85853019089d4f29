//! `ptxcheck extract`: the images of a file, unpacked, as files.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ptxcheck_passes::image::decompress::{Refusal, unpack};
use ptxcheck_passes::image::{self, Content, Found};
use ptxcheck_passes::inventory::ImageKind;

use crate::args::{ExtractArgs, ExtractKind};
use crate::exit::Exit;
use crate::output;
use crate::render::escape;

/// Writes the images out and lists them.
#[must_use]
pub fn run(args: &ExtractArgs) -> Exit {
    let name = args.file.to_string_lossy();
    let bytes = match Content::open(&args.file) {
        Ok(bytes) => bytes,
        Err(error) => return output::complain(&format!("`{}` can't be read: {error}", escape::line(&name))),
    };
    if let Err(error) = fs::create_dir_all(&args.output) {
        let folder = args.output.to_string_lossy();
        return output::complain(&format!("`{}` can't be made: {error}", escape::line(&folder)));
    }
    let contents = image::scan(&name, &bytes);
    let mut exit = Exit::Clean;
    for trouble in &contents.troubles {
        exit = exit.worst(output::complain(&escape::line(&trouble.message)));
    }
    let mut written = Written::default();
    let mut list = String::new();
    let wanted = (0_usize..)
        .zip(&contents.images)
        .filter(|(_, found)| args.kind.is_none_or(|kind| kind.is(found.kind)));
    let mut is_empty = true;
    for (number, found) in wanted {
        is_empty = false;
        match written.write(number, found, &args.output) {
            Ok(file) => {
                let _ = writeln!(list, "{file}");
            }
            Err(problem) => {
                exit = exit.worst(output::complain(&format!(
                    "image {number}: {}",
                    escape::line(&problem)
                )));
            }
        }
    }
    exit = exit.worst(output::print(&list, anstream::ColorChoice::Never));
    if is_empty {
        exit = exit.worst(output::complain("no such image in the file"));
    }
    exit
}

/// What is written so far: each distinct content once.
#[derive(Default)]
struct Written(HashMap<Vec<u8>, String>);

impl Written {
    /// Writes one image, and returns the name of its file.
    fn write(&mut self, number: usize, found: &Found<'_>, folder: &Path) -> Result<String, String> {
        let content =
            unpack(found.packing, found.payload, found.unpacked).map_err(|refusal| match refusal {
                Refusal::Malformed(message) | Refusal::TooLarge(message) => message,
            })?;
        let mut content = content.to_vec();
        if found.kind == ImageKind::Ptx && found.container.is_some() {
            content.truncate(
                content
                    .iter()
                    .rposition(|byte| *byte != 0)
                    .map_or(0, |last| last + 1),
            );
        }
        if let Some(file) = self.0.get(&content) {
            return Ok(file.clone());
        }
        // The target comes from the file: a number and a letter, but for clang's bundles.
        let target: String = found
            .target
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
            .collect();
        let ending = match found.kind {
            ImageKind::Ptx => "ptx",
            ImageKind::Cubin => "cubin",
            ImageKind::LtoIr => "ltoir",
            ImageKind::LlvmIr => "bc",
            ImageKind::Bundle | ImageKind::Other => "bin",
        };
        let parts = [format!("{number:05}"), target, ending.to_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let file = parts.join(".");
        fs::write(folder.join(&file), &content)
            .map_err(|error| format!("`{file}` could not be written: {error}"))?;
        self.0.insert(content, file.clone());
        Ok(file)
    }
}

impl ExtractKind {
    fn is(self, kind: ImageKind) -> bool {
        match self {
            Self::Ptx => kind == ImageKind::Ptx,
            Self::Cubin => kind == ImageKind::Cubin,
            Self::LtoIr => kind == ImageKind::LtoIr,
            Self::LlvmIr => kind == ImageKind::LlvmIr,
        }
    }
}
