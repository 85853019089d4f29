//! One call of a compiler: the program and its words, without launchers before it.

use std::path::{Path, PathBuf};

use super::{options_file, rewrite};

/// The compilers whose calls are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// NVIDIA's.
    Nvcc,
    /// LLVM's.
    Clang,
}

impl Compiler {
    /// The kind of a compiler, by the name of its program: `nvcc`, `nvcc_wrapper`, `clang++`, `clang++-22`.
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

    /// The first one that is called in a command, and where.
    fn among(words: &[String]) -> Option<(usize, Self)> {
        let mut words = words.iter().enumerate();
        words.find_map(|(index, word)| Some((index, Self::of(word)?)))
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
    /// The directory that it runs in.
    pub directory: PathBuf,
}

impl Invocation {
    /// The call in `words`, in which launchers (ccache, `ptxcheck launch`) may stand before the compiler.
    ///
    /// # Errors
    ///
    /// A sentence, if no compiler is known in it.
    pub fn new(words: Vec<String>, directory: PathBuf) -> Result<Self, String> {
        let Some((index, compiler)) = Compiler::among(&words) else {
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

    /// The call with the words of files of options in the place of the files' names.
    ///
    /// # Errors
    ///
    /// A sentence about the file that can't be read.
    pub fn expanded(mut self) -> Result<Self, String> {
        self.words = options_file::expand(self.compiler, self.words, &self.directory)?;
        Ok(self)
    }

    /// The objects that the call makes, as it names them, each with the call that makes it alone; none if it makes something else.
    pub fn objects(&self) -> Vec<(PathBuf, Self)> {
        let has = |options: &[&str]| self.words.iter().any(|word| options.contains(&word.as_str()));
        if has(NO_OBJECT) || !has(OBJECT) {
            return Vec::new();
        }
        if let Some(output) = value(Some(self.compiler), &self.words, OUTPUT) {
            return vec![(PathBuf::from(output), self.clone())];
        }
        let folder = match self.compiler {
            Compiler::Nvcc => value(None, &self.words, OUTPUT_FOLDER).unwrap_or_default(),
            Compiler::Clang => "",
        };
        let object = |source: &Path| {
            let name = PathBuf::from(source.file_stem()?).with_extension("o");
            Some((Path::new(folder).join(name), self.of_source(source)))
        };
        self.sources().filter_map(object).collect()
    }

    /// The call without its other sources.
    fn of_source(&self, source: &Path) -> Self {
        let others: Vec<&Path> = self.sources().filter(|other| *other != source).collect();
        let is_other = |word: &String| others.contains(&Path::new(word));
        let mut call = self.clone();
        call.words.retain(|word| !is_other(word));
        call
    }

    /// The sources that are compiled: the words that are called like some, and are not values of options.
    pub fn sources(&self) -> impl Iterator<Item = &Path> {
        rewrite::operands(self.compiler, &self.words)
            .into_iter()
            .map(Path::new)
            .filter(|word| is_source(word))
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

/// Options with which it makes none, regardless of other options.
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

/// Options for the file that is written.
const OUTPUT: &[&str] = &["-o", "--output-file"];

/// Options of nvcc's for the folder that objects without such a name are written to.
const OUTPUT_FOLDER: &[&str] = &["-odir", "--output-directory"];

fn is_source(word: &Path) -> bool {
    let extension = word.extension().and_then(|extension| extension.to_str());
    matches!(
        extension,
        Some("cu" | "cpp" | "cxx" | "cc" | "c" | "C" | "c++" | "cuh" | "hip")
    )
}

/// The file that a command writes, as it names it: the last one counts.
pub fn output(command: &[String]) -> Option<&str> {
    let compiler = Compiler::among(command).map(|(_, compiler)| compiler);
    value(compiler, command, OUTPUT)
}

/// The value of the last of some options: in the next word, after `=`, or, for clang, directly after `-o`.
fn value<'a>(compiler: Option<Compiler>, words: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut found = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        for option in options {
            let Some(rest) = word.strip_prefix(option) else {
                continue;
            };
            let value = match rest.strip_prefix('=') {
                _ if rest.is_empty() => words.next().map(String::as_str),
                Some(value) => Some(value),
                None if compiler == Some(Compiler::Clang) && *option == "-o" => Some(rest),
                None => None,
            };
            found = value.or(found);
            break;
        }
    }
    found
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
            ("nvcc -c s/a.cu -o b/a.o", &["b/a.o"][..]),
            ("nvcc -dc s/a.cu", &["a.o"]),
            ("nvcc -c s/a.cu -include x.cuh -I b.c t/b.cu", &["a.o", "b.o"]),
            ("nvcc -c s/a.cu -odir=o --keep-dir k.c", &["o/a.o"]),
            ("clang++ -c x.cpp", &["x.o"]),
            ("clang++ -ob/y.o -c x.cu", &["b/y.o"]),
            ("nvcc s/a.cu -o app", &[]),
            ("nvcc -E -c s/a.cu", &[]),
            ("nvcc --version", &[]),
            ("nvcc -ptx a.cu", &[]),
            ("nvcc -dlink a.o -o b.o", &[]),
        ] {
            let objects = invocation(text).unwrap().objects();
            let objects: Vec<PathBuf> = objects.into_iter().map(|(object, _)| object).collect();
            let wanted: Vec<PathBuf> = wanted.iter().map(PathBuf::from).collect();
            assert_eq!(objects, wanted, "{text}");
        }
        let objects = invocation("nvcc -c s/a.cu -DX b.cu").unwrap().objects();
        assert_eq!(objects[0].1.words(), ["-c", "s/a.cu", "-DX"]);
        assert_eq!(objects[1].1.words(), ["-c", "-DX", "b.cu"]);
    }

    #[test]
    fn the_last_output_counts() {
        assert_eq!(output(&words("-c a.cu -o a.o -o b.o")), Some("b.o"));
        assert_eq!(output(&words("-c a.cu --output-file=a.o")), Some("a.o"));
        assert_eq!(output(&words("-c a.cu -o")), None);
        assert_eq!(output(&words("nvcc -odir x -c a.cu")), None);
        assert_eq!(output(&words("clang -c a.cu -ob.o")), Some("b.o"));
    }
}
