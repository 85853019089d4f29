//! The minimum cost of an audit: reads files, finds their images, unpacks each once in parallel, and analyses nothing.
//!
//! `cargo run --release -p ptxcheck-passes --example unpack_only -- [--read] FILE…`: `--read` copies files into memory
//! instead of mapping them.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::path::Path;

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::image::decompress::unpack;
use ptxcheck_passes::image::{Content, map_large_files, scan};
use rayon::prelude::*;

fn main() -> std::io::Result<()> {
    let mut is_read = false;
    map_large_files()?;
    for argument in std::env::args().skip(1) {
        if argument == "--read" {
            is_read = true;
            continue;
        }
        let path = Path::new(&argument);
        let content = if is_read {
            std::fs::read(path)?.into()
        } else {
            Content::open(path, Deadline::NEVER)
                .map_err(|unread| std::io::Error::other(unread.to_string()))?
        };
        let contents = scan(&argument, &content, &|| false);
        let unpacked = contents.images.par_iter().map(|image| {
            unpack(image.compression, image.payload, image.unpacked).map_or(0, |bytes| bytes.len() as u64)
        });
        let bytes: u64 = unpacked.sum();
        println!("{argument}: {} images, {bytes} bytes", contents.images.len());
    }
    Ok(())
}
