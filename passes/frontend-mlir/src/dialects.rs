//! Dialects that MLIR does not have, of compilers that have their own build of it: the input to give instead of their texts.

/// A compiler with dialects of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its name.
    pub name: &'static str,
    /// The input to give instead, as an order.
    pub instead: &'static str,
    dialects: &'static [&'static str],
}

const COMPILERS: [Compiler; 6] = [
    Compiler {
        name: "Triton",
        instead: "give the `.ptx` or `.llir` file that Triton keeps beside it",
        dialects: &[
            "tt",
            "ttg",
            "ttng",
            "ttgpu",
            "triton",
            "triton_gpu",
            "triton_nvidia_gpu",
            "nvws",
            "gluon",
        ],
    },
    Compiler {
        name: "CuTe DSL",
        instead: "give the PTX that it keeps (`CUTE_DSL_KEEP_PTX=1`)",
        dialects: &["cute", "cute_nvgpu", "cutlass", "lir"],
    },
    Compiler {
        name: "CUDA Tile",
        instead: "its compiler makes machine code, which `audit` looks at",
        dialects: &["cuda_tile"],
    },
    Compiler {
        name: "XLA",
        instead: "give the PTX or LLVM IR that XLA writes (`XLA_FLAGS=--xla_dump_to=DIR`)",
        dialects: &[
            "stablehlo",
            "mhlo",
            "chlo",
            "vhlo",
            "xla",
            "xla_gpu",
            "triton_xla",
            "mosaic_gpu",
        ],
    },
    Compiler {
        name: "IREE",
        instead: "give the PTX that IREE writes (`--iree-hal-dump-executable-files-to=DIR`)",
        dialects: &[
            "hal",
            "flow",
            "stream",
            "iree_codegen",
            "iree_gpu",
            "iree_linalg_ext",
            "vm",
            "util",
        ],
    },
    Compiler {
        name: "PyTorch",
        instead: "give the PTX that its compiler makes",
        dialects: &["torch", "torch_c"],
    },
];

/// Texts before the name of a dialect, or of an operation of one, in the messages of MLIR about those that it does not have.
const BEFORE: [&str; 4] = ["Dialect `", "for dialect for op: ", "for op: ", "dialect '"];

/// The compiler whose dialect MLIR complains about in a message.
#[must_use]
pub fn compiler_of(message: &str) -> Option<&'static Compiler> {
    BEFORE.iter().find_map(|before| {
        let (_, rest) = message.split_once(before)?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let dialect = &rest[..end];
        COMPILERS
            .iter()
            .find(|compiler| compiler.dialects.contains(&dialect))
    })
}

#[cfg(test)]
mod tests {
    use super::compiler_of;

    #[test]
    fn messages_name_dialects() {
        let of = |message| compiler_of(message).map(|compiler| compiler.name);
        assert_eq!(
            of("Dialect `cute' not found for custom op 'cute.foo'"),
            Some("CuTe DSL")
        );
        assert_eq!(
            of(
                "cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface` registration for dialect for op: tt.load"
            ),
            Some("Triton")
        );
        assert_eq!(
            of("Dialect `stablehlo' not found for custom op 'stablehlo.add'"),
            Some("XLA")
        );
        assert_eq!(of("Dialect `mine' not found for custom op 'mine.add'"), None);
        assert_eq!(of("expected non-function type"), None);
        assert_eq!(of(""), None);
    }
}
