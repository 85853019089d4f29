//! One call of a compiler: the program and its words, without launchers before it.

use std::path::{Path, PathBuf};

use super::rewrite;

/// The compilers whose calls are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// NVIDIA's.
    Nvcc,
    /// LLVM's.
    Clang,
}

impl Compiler {
    /// That of a program, by its name: `nvcc`, `nvcc_wrapper`, `clang++`, `clang++-22`.
    fn of(program: &str) -> Option<Self> {
        let name = program.rsplit(['/', '\\']).next()?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        if name.starts_with("nvcc") {
            return Some(Self::Nvcc);
        }
        let rest = name.strip_prefix("clang")?;
        let rest = rest.strip_prefix("++").unwrap_or(rest);
        let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_clang = rest.is_empty() || rest.strip_prefix('-').is_some_and(is_version);
        is_clang.then_some(Self::Clang)
    }
}

/// A call of a compiler in a folder.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Its language is known.
    pub compiler: Compiler,
    /// The program.
    program: PathBuf,
    /// Its arguments.
    words: Vec<String>,
    /// Where it is called.
    pub directory: PathBuf,
}

impl Invocation {
    /// The call in `words`, in which launchers (ccache, `ptxcheck launch`) may stand before the compiler.
    ///
    /// # Errors
    ///
    /// A sentence, if no compiler is known in it.
    pub fn new(words: Vec<String>, directory: PathBuf) -> Result<Self, String> {
        let known = words
            .iter()
            .enumerate()
            .find_map(|(index, word)| Some((index, Compiler::of(word)?)));
        let Some((index, compiler)) = known else {
            let first = words.first().map_or("", String::as_str);
            return Err(format!("`{first}` is neither nvcc nor clang"));
        };
        let mut words = words;
        let arguments = words.split_off(index + 1);
        let program = words.pop().unwrap_or_default();
        // Relative to the folder of the call; a bare name is looked up as a shell does.
        let program = match Path::new(&program).components().count() {
            0 | 1 => PathBuf::from(program),
            _ => directory.join(program),
        };
        Ok(Self {
            compiler,
            program,
            words: arguments,
            directory,
        })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its arguments.
    #[cfg(test)]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The object that the call makes, as it names it; `None` if it makes none, or something else.
    pub fn object(&self) -> Option<PathBuf> {
        let has = |options: &[&str]| self.words.iter().any(|word| options.contains(&word.as_str()));
        if has(NO_OBJECT) || !has(OBJECT) {
            return None;
        }
        let output = match output(&self.words) {
            Some(output) => PathBuf::from(output),
            None => {
                let source = self.words.iter().rev().find(|word| is_source(word))?;
                PathBuf::from(Path::new(source).file_stem()?).with_extension("o")
            }
        };
        Some(output)
    }

    /// The source that is compiled: the last word that is called like one.
    pub fn source(&self) -> Option<&Path> {
        let source = self.words.iter().rev().find(|word| is_source(word));
        source.map(Path::new)
    }

    /// The arguments that make PTX of the same source for a virtual architecture, in the file `output`.
    pub fn for_ptx(&self, number: u32, suffix: &str, output: &str) -> Vec<String> {
        match self.compiler {
            Compiler::Nvcc => rewrite::nvcc(&self.words, number, suffix, output),
            Compiler::Clang => rewrite::clang(&self.words, number, suffix, output),
        }
    }
}

/// Options with which a compiler makes an object.
const OBJECT: &[&str] = &["-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"];

/// Options with which it makes none, whatever else is asked of it.
const NO_OBJECT: &[&str] = &[
    "-E",
    "--preprocess",
    "-M",
    "-MM",
    "--generate-dependencies",
    "-fsyntax-only",
    "-dryrun",
    "--dryrun",
    "-###",
    "-S",
];

fn is_source(word: &str) -> bool {
    let extension = Path::new(word)
        .extension()
        .and_then(|extension| extension.to_str());
    !word.starts_with('-')
        && matches!(
            extension,
            Some("cu" | "cpp" | "cxx" | "cc" | "c" | "C" | "c++" | "cuh" | "hip")
        )
}

/// The file that a call writes, as it names it: the last one counts.
pub fn output(words: &[String]) -> Option<&str> {
    let mut output = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--output-file" => output = words.next().map(String::as_str).or(output),
            other => {
                let joined = ["-o=", "--output-file="];
                let value = joined.iter().find_map(|option| other.strip_prefix(option));
                output = value.or(output);
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Compiler, Invocation, output};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn invocation(text: &str) -> Result<Invocation, String> {
        Invocation::new(words(text), PathBuf::from("/b"))
    }

    #[test]
    fn launchers_are_left_out() {
        for (text, program, compiler) in [
            ("nvcc -c a.cu", "nvcc", Compiler::Nvcc),
            ("ccache /cuda/bin/nvcc -c a.cu", "/cuda/bin/nvcc", Compiler::Nvcc),
            (
                "/x/ptxcheck launch ccache bin/nvcc -c a.cu",
                "/b/bin/nvcc",
                Compiler::Nvcc,
            ),
            (
                "cmake -E env A=B nvcc_wrapper -c a.cu",
                "nvcc_wrapper",
                Compiler::Nvcc,
            ),
            ("clang++ -c a.cu", "clang++", Compiler::Clang),
            ("/usr/bin/clang-22 -c a.cu", "/usr/bin/clang-22", Compiler::Clang),
            ("clang++-22 -c a.cu", "clang++-22", Compiler::Clang),
        ] {
            let found = invocation(text).unwrap();
            assert_eq!(
                (found.program().to_str(), found.compiler),
                (Some(program), compiler)
            );
            assert_eq!(found.words(), ["-c", "a.cu"]);
        }
        for text in ["g++ -c a.cpp", "clang-format a.cu", ""] {
            assert!(invocation(text).is_err(), "{text}");
        }
    }

    #[test]
    fn calls_that_make_an_object_are_known() {
        for (text, wanted) in [
            ("nvcc -c s/a.cu -o b/a.o", Some("b/a.o")),
            ("nvcc -dc s/a.cu", Some("a.o")),
            ("clang++ -c x.cpp", Some("x.o")),
            ("nvcc s/a.cu -o app", None),
            ("nvcc -E -c s/a.cu", None),
            ("nvcc --version", None),
            ("nvcc -ptx a.cu", None),
            ("nvcc -dlink a.o -o b.o", None),
        ] {
            let object = invocation(text).unwrap().object();
            assert_eq!(object, wanted.map(PathBuf::from), "{text}");
        }
    }

    #[test]
    fn the_last_output_counts() {
        assert_eq!(output(&words("-c a.cu -o a.o -o b.o")), Some("b.o"));
        assert_eq!(output(&words("-c a.cu --output-file=a.o")), Some("a.o"));
        assert_eq!(output(&words("-c a.cu -o")), None);
        assert_eq!(output(&words("-odir x -c a.cu")), None);
    }
}
