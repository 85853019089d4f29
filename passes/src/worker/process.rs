//! Workers as processes: starting them, talking to them, and being one.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::{Checked, analyse, codec};
use crate::limits::{MAX_WORKER_BYTES, MAX_WORKER_SECONDS};
use crate::rule::ProblemKind;
use crate::settings::{Settings, WorkerCommand};

/// What a worker says once it is ready.
const GREETING: &[u8] = b"ptxcheck worker\n";

/// A running worker.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: ChildStdout,
    command: WorkerCommand,
}

thread_local! {
    /// The worker of this thread, between two inputs.
    static IDLE: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

impl Worker {
    fn start(command: &WorkerCommand) -> io::Result<Self> {
        let mut child = std::process::Command::new(&command.program)
            .args(&command.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let mut worker = Self {
            child,
            requests,
            answers,
            command: command.clone(),
        };
        let mut greeting = [0; GREETING.len()];
        worker.answers.read_exact(&mut greeting)?;
        if greeting == GREETING {
            Ok(worker)
        } else {
            Err(io::Error::other("it is no worker"))
        }
    }

    fn ask(&mut self, bytes: &[u8]) -> io::Result<Checked> {
        self.requests.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.requests.write_all(bytes)?;
        self.requests.flush()?;
        let answer = receive(&mut self.answers)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        codec::decode(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// What a worker that answers no more died of.
    fn autopsy(&mut self) -> String {
        // It may have closed its pipes without ending.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has a worker analyse IR. One that dies is a failure of this input.
pub(super) fn ask(command: &WorkerCommand, bytes: &[u8]) -> Checked {
    let idle = IDLE
        .with_borrow_mut(Option::take)
        .filter(|worker| worker.command == *command);
    let mut worker = match idle.map_or_else(|| Worker::start(command), Ok) {
        Ok(worker) => worker,
        Err(error) => {
            let message = format!("the process that reads LLVM IR could not be started: {error}");
            return Checked::failed(ProblemKind::Internal, message);
        }
    };
    let started = Instant::now();
    match worker.ask(bytes) {
        Ok(checked) => {
            // A worker whose time was over ends itself.
            let goes_on = !matches!(checked.failure, Some((ProblemKind::Limit, _)));
            if goes_on {
                IDLE.set(Some(worker));
            }
            checked
        }
        Err(_) => {
            let death = worker.autopsy();
            let seconds = started.elapsed().as_secs_f64();
            Checked::failed(
                ProblemKind::Internal,
                format!("LLVM failed on it: the process that reads it ended after {seconds:.1} s ({death})"),
            )
        }
    }
}

/// Is a worker: answers requests from standard input on standard output. Limits the memory of the process for good.
///
/// # Errors
///
/// What goes wrong with the pipes.
pub fn serve(settings: &Settings) -> io::Result<()> {
    let mut requests = io::stdin().lock();
    // Not locked for good: the thread that watches the time writes to it, too.
    let mut answers = io::stdout();
    // Where there is no such limit, the machine's own is left.
    let _ = rlimit::setrlimit(rlimit::Resource::AS, MAX_WORKER_BYTES, MAX_WORKER_BYTES);
    let _ = rlimit::setrlimit(rlimit::Resource::CORE, 0, 0);
    let own = Settings {
        worker: None,
        ..settings.clone()
    };
    let limit = settings
        .timeout
        .unwrap_or(Duration::MAX)
        .min(Duration::from_secs(MAX_WORKER_SECONDS));
    answers.write_all(GREETING)?;
    answers.flush()?;
    while let Some(bytes) = receive(&mut requests)? {
        let answer = within(limit, || codec::encode(&analyse::analyse(&bytes, &own)))?;
        send(&mut answers, &answer)?;
    }
    Ok(())
}

/// Runs `work` on this thread. When the time is over, another thread says so in an answer and ends the process: LLVM
/// can't be interrupted.
fn within(limit: Duration, work: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
    let (done, waiting): (Sender<()>, _) = channel();
    let late = codec::encode(&Checked::failed(
        ProblemKind::Limit,
        format!(
            "the analysis took longer than {} s and was cut short",
            limit.as_secs_f64()
        ),
    ));
    let watch = std::thread::Builder::new().spawn(move || {
        if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let _ = send(&mut io::stdout(), &late);
            std::process::abort();
        }
    })?;
    let answer = work();
    drop(done);
    // Over, or about to end the process.
    let _ = watch.join();
    Ok(answer)
}

fn send(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// A message; `None` where they end.
fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    if let Err(error) = from.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof {
            Ok(None)
        } else {
            Err(error)
        };
    }
    let length = u64::from_le_bytes(length);
    let mut message = Vec::new();
    if from.take(length).read_to_end(&mut message)? as u64 == length {
        Ok(Some(message))
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
