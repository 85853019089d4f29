//! A container of one's own: `cargo run -p ptxcheck-passes --example own_container -- FILE…` checks the PTX in packs of kernels.
//!
//! ```text
//! 0 "KPAK"   4 u32 number of texts   8 for each: u32 offset in the file, u32 length
//! ```

use std::process::ExitCode;

use ptxcheck_passes::image::kinds::ImageKind;
use ptxcheck_passes::image::{Found, PackedImage, Reader};
use ptxcheck_passes::{Bytes, Input, Outcome, Settings, check};

/// Packs. A container of ptxcheck's own is the same in `passes/images/src/readers`, and a line in `READERS`.
pub struct Packs;

const MAGIC: &[u8] = b"KPAK";

/// Most texts of a pack: a file is not to be believed.
const MAX_TEXTS: usize = 4096;

impl Reader for Packs {
    fn noun(&self) -> &'static str {
        "a pack of kernels"
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn read<'a>(&self, bytes: &'a [u8], found: &mut Found<'a, '_>) {
        let number = |at: usize| {
            let digits = bytes.get(at..)?.first_chunk::<4>()?;
            usize::try_from(u32::from_le_bytes(*digits)).ok()
        };
        let count = number(MAGIC.len()).unwrap_or_default();
        for at in (0..count.min(MAX_TEXTS)).map(|index| 8 + 8 * index) {
            let text = number(at).zip(number(at + 4));
            let text = text.and_then(|(start, length)| bytes.get(start..)?.get(..length).zip(Some(start)));
            match text {
                Some((text, start)) => found.image(PackedImage {
                    offset: start as u64,
                    ..PackedImage::whole(ImageKind::Ptx, text)
                }),
                None => return found.trouble("a text of the pack lies outside of it"),
            }
        }
        found.is_all();
    }
}

/// The outcome for the texts of a pack, called `NAME#0` and so on.
pub fn check_pack(name: &str, bytes: &[u8]) -> Outcome {
    let mut found = Found::new(&|| false);
    Packs.read(bytes, &mut found);
    let texts = found.images().iter().enumerate();
    let inputs = texts.map(|(index, image)| Input {
        name: format!("{name}#{index}"),
        bytes: Bytes::Memory(image.payload.to_vec()),
    });
    check(inputs.collect(), &Settings::default())
}

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what this program is for"
)]
fn main() -> ExitCode {
    let mut exit = ExitCode::SUCCESS;
    for file in std::env::args().skip(1) {
        match std::fs::read(&file) {
            Ok(bytes) if Packs.begins(&bytes) => {
                let outcome = check_pack(&file, &bytes);
                for finding in &outcome.findings {
                    let name = &outcome.inputs[finding.input].name;
                    println!("{name}: {} [{}]", finding.message, finding.rule.code);
                }
            }
            Ok(_) => {
                eprintln!("{file} is not {}", Packs.noun());
                exit = ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("{file}: {error}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}
