//! The messages between a run and the worker that has MLIR, in the format of postcard.
//!
//! Both ends are of one version: a worker says its own, [`VERSION`], before it is asked.

use serde::{Deserialize, Serialize};

/// The program of the worker.
pub const PROGRAM: &str = "ptxcheck-mlir";

/// The version of the messages: that of the packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Threads of a block in x, y and z.
pub type Block = [u32; 3];

/// A message of MLIR, with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// One sentence.
    pub message: String,
    /// 1-based line of the text; 0 where MLIR gives none.
    pub line: u32,
    /// 1-based column, in bytes; 0 where MLIR gives none.
    pub column: u32,
}

/// The launches of a kernel by the host code of the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The name of the kernel.
    pub kernel: String,
    /// The sizes of its blocks, each once, sorted. Empty where those of one launch are not constant.
    pub blocks: Vec<Block>,
}

/// The outcome for a `gpu.module`, an object of a `gpu.binary`, or the kernels that lie in no module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// LLVM bitcode, for NVIDIA's GPUs.
    Bitcode(Vec<u8>),
    /// PTX, machine code or a fat binary.
    Object(Vec<u8>),
    /// It is for other GPUs, which the words name.
    OtherTarget(String),
    /// MLIR could not lower it.
    Failed(Diagnostic),
}

/// A `gpu.module`, an object of a `gpu.binary`, or the kernels that lie in no module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Converted {
    /// The operation and its symbol: `gpu.module @kernels`; empty for kernels in no module.
    pub name: String,
    /// Number of the operation in its text: the objects of one `gpu.binary` share it.
    pub number: u32,
    /// The line of the text where it begins; 0 where MLIR gives none.
    pub line: u32,
    /// Its code.
    pub content: Content,
    /// The launches of its kernels.
    pub launches: Vec<Launched>,
}

/// The answer about a text or bytecode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// MLIR has read it.
    Read {
        /// Its code for GPUs.
        modules: Vec<Converted>,
        /// Of bytecode: its text, with the locations that it carries; the places in `modules` are those of this text.
        text: Option<Vec<u8>>,
    },
    /// MLIR can't read it.
    Malformed(Diagnostic),
    /// The time was over.
    Late,
}

/// An answer as a message.
#[must_use]
pub fn encode(answer: &Answer) -> Vec<u8> {
    // Nothing here can fail to be written: a longer message is a longer list.
    postcard::to_stdvec(answer).unwrap_or_default()
}

/// The answer that a message holds; `None` if it is none.
#[must_use]
pub fn decode(message: &[u8]) -> Option<Answer> {
    postcard::from_bytes(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let answers = [
            Answer::Read {
                modules: vec![Converted {
                    name: "gpu.module @m".to_owned(),
                    number: 3,
                    line: 2,
                    content: Content::Bitcode(vec![1, 2]),
                    launches: vec![Launched {
                        kernel: "k".to_owned(),
                        blocks: vec![[64, 1, 1]],
                    }],
                }],
                text: Some(b"module".to_vec()),
            },
            Answer::Malformed(Diagnostic {
                message: "m".to_owned(),
                line: 3,
                column: 4,
            }),
            Answer::Late,
        ];
        for answer in answers {
            let written = encode(&answer);
            assert_eq!(decode(&written).as_ref(), Some(&answer));
            for length in 0..written.len() {
                assert_eq!(decode(&written[..length]), None, "{length}");
            }
        }
    }
}
