//! Makes the PTX of objects by compiling again, and remembers where that did not work.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptxcheck_passes::image::MAX_IMAGE_BYTES;
use ptxcheck_passes::recompile::{Architecture, Object, Recompile, Text};

use super::database::Database;
use super::invocation::{Compiler, Invocation};
use super::process;

/// Longest that one compilation may take, unless `--timeout` says something else.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Input and architecture.
type Place = (String, Architecture);

/// Compiles objects again.
#[derive(Debug)]
pub struct Recompiler {
    calls: Calls,
    timeout: Duration,
    failures: Mutex<BTreeMap<Place, String>>,
}

/// The source of the compile commands.
#[derive(Debug)]
enum Calls {
    /// A file with those of a build.
    Database(Database),
    /// One that has just made an object.
    One(Invocation),
}

impl Recompiler {
    /// By the commands in a file.
    #[must_use]
    pub fn by_database(database: Database, timeout: Option<Duration>) -> Self {
        Self::new(Calls::Database(database), timeout)
    }

    /// By the call that makes the object which is checked.
    #[must_use]
    pub fn by_call(call: Invocation, timeout: Option<Duration>) -> Self {
        Self::new(Calls::One(call), timeout)
    }

    fn new(calls: Calls, timeout: Option<Duration>) -> Self {
        Self {
            calls,
            timeout: timeout.unwrap_or(TIMEOUT),
            failures: Mutex::new(BTreeMap::new()),
        }
    }

    /// The architectures of inputs for which no PTX could be made, and why: the end of a sentence.
    #[must_use]
    pub fn failures(&self) -> BTreeMap<Place, String> {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn fail(&self, object: &Object<'_>, architecture: &Architecture, reason: String) {
        let place = (object.name.to_owned(), architecture.clone());
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.insert(place, reason);
    }

    fn invocation(&self, path: Option<&Path>) -> Result<Invocation, String> {
        let Some(path) = path else {
            return Err("it is no file".to_owned());
        };
        match &self.calls {
            Calls::Database(database) => database.find(path),
            Calls::One(call) => Ok(call.clone()),
        }
    }

    /// The PTX for one architecture.
    fn compile(&self, call: &Invocation, architecture: &Architecture) -> Result<Vec<u8>, String> {
        let folder = tempfile::Builder::new().prefix("ptxcheck-").tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder could be made: {error}"))?;
        let output = folder.path().join("made.ptx");
        let words = call.for_ptx(
            architecture.number,
            &architecture.suffix,
            &output.to_string_lossy(),
        );
        let mut command = Command::new(call.program());
        command.current_dir(&call.directory).args(words);
        process::run(command, &folder.path().join("said"), self.timeout)?;
        let mut ptx = Vec::new();
        File::open(&output)
            .and_then(|file| file.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut ptx))
            .map_err(|error| format!("what the compiler wrote can't be read: {error}"))?;
        if ptx.len() as u64 > MAX_IMAGE_BYTES {
            return Err(format!(
                "the compiler wrote more than {MAX_IMAGE_BYTES} bytes of PTX"
            ));
        }
        Ok(ptx)
    }
}

impl Recompile for Recompiler {
    fn recompile(&self, object: &Object<'_>) -> Vec<Text> {
        let call = match self.invocation(object.path) {
            Ok(call) => call,
            Err(reason) => {
                for wanted in object.architectures.iter().filter(|wanted| !wanted.has_ptx) {
                    self.fail(object, &wanted.architecture, reason.clone());
                }
                return Vec::new();
            }
        };
        // The PTX that clang puts into objects has lost the places of inlined code.
        let is_anew = call.compiler == Compiler::Clang;
        let mut texts = Vec::new();
        for wanted in object
            .architectures
            .iter()
            .filter(|wanted| !wanted.has_ptx || is_anew)
        {
            match self.compile(&call, &wanted.architecture) {
                Ok(ptx) => texts.push(Text {
                    architecture: wanted.architecture.clone(),
                    ptx,
                    replaces: wanted.has_ptx,
                }),
                Err(_) if wanted.has_ptx => {}
                Err(reason) => self.fail(object, &wanted.architecture, reason),
            }
        }
        texts
    }
}
