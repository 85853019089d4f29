//! Kernels and the sizes of their parameters, for any kind of input: `cargo run -p ptxcheck-passes --example kernels -- FILE…`
#![allow(clippy::print_stdout, reason = "what this program is for")]

use ptxcheck_passes::{Bytes, Input, Settings};

fn main() {
    let inputs = std::env::args().skip(1).map(|name| Input {
        bytes: Bytes::File(name.clone().into()),
        name,
    });
    // The declarations of images are read, their code is not.
    let settings = Settings {
        images_only: true,
        ..Settings::default()
    };
    let outcome = ptxcheck_passes::check(inputs.collect(), &settings);
    for input in &outcome.inputs {
        for problem in &input.problems {
            println!("{}: {}", input.name, problem.message);
        }
        for image in &input.images {
            println!("{}: {}", input.name, image.describe());
            for kernel in &image.facts.kernels {
                match kernel.params.as_deref() {
                    Some(params) => {
                        let bytes = params.last().map_or(0, |(offset, size)| offset + size);
                        println!("  {}: {} parameters, {bytes} bytes", kernel.name, params.len());
                    }
                    None => println!("  {}: its parameters are not known", kernel.name),
                }
            }
        }
    }
}
