//! Workers as processes: starting them, talking to them, and being one.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Answer, analyse, message};
use crate::deadline::{self, Deadline};
use crate::limits::{MAX_WORKER_BYTES, WORKER_GRACE, WORKER_LAST_WORDS, WORKER_START_SECONDS};
use crate::registry::Registry;
use crate::rule::ProblemKind;
use crate::settings::{Settings, WorkerCommand};

/// Written by a worker whenever it is ready for an input.
const GREETING: &[u8] = b"ptxcheck worker\n";

/// A running worker.
struct Worker {
    child: Arc<Mutex<Child>>,
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
            child: Arc::new(Mutex::new(child)),
            requests,
            answers,
            command: command.clone(),
        };
        worker.wait(Duration::from_secs(WORKER_START_SECONDS))?;
        Ok(worker)
    }

    /// Waits until it says that it is ready, once for each input: after an answer it still gives memory back.
    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let _alarm = Alarm::set(&self.child, longest)?;
        let mut greeting = [0; GREETING.len()];
        self.answers.read_exact(&mut greeting)?;
        if greeting == GREETING {
            Ok(())
        } else {
            Err(io::Error::other("it is no worker"))
        }
    }

    fn ask(&mut self, bytes: &[u8], settings: &Settings, limit: Duration) -> io::Result<Answer> {
        let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        self.requests.write_all(&millis.to_le_bytes())?;
        send(&mut self.requests, &message::task(settings))?;
        send(&mut self.requests, bytes)?;
        let answer = receive(&mut self.answers)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        message::decode(&answer, &settings.registry).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The cause of death of a worker that answers no more.
    fn autopsy(&self) -> String {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have closed its pipes without ending.
        let _ = child.kill();
        match child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.autopsy();
    }
}

/// Ends a worker that does not answer in time, until it is dropped. A worker watches its time itself ([`Watch`]), but not
/// where the process is stopped as a whole.
struct Alarm {
    has_rung: Arc<AtomicBool>,
    _done: Sender<()>,
}

impl Alarm {
    fn set(child: &Arc<Mutex<Child>>, time: Duration) -> io::Result<Self> {
        let (done, waiting) = channel::<()>();
        let has_rung = Arc::new(AtomicBool::new(false));
        let (child, known) = (Arc::clone(child), Arc::clone(&has_rung));
        std::thread::Builder::new().spawn(move || {
            if waiting.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                known.store(true, Ordering::Release);
                // The thread that waits for it reads the end of its pipe.
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        })?;
        Ok(Self {
            has_rung,
            _done: done,
        })
    }

    fn has_rung(&self) -> bool {
        self.has_rung.load(Ordering::Acquire)
    }
}

/// Has a worker analyse IR, within `limit`. One that dies is a failure of this input.
pub(super) fn ask(command: &WorkerCommand, bytes: &[u8], settings: &Settings, limit: Duration) -> Answer {
    // One that died after its last answer has answered all that it was asked.
    let idle = IDLE
        .with_borrow_mut(Option::take)
        .filter(|worker| worker.command == *command)
        .and_then(|mut worker| {
            let longest = limit.min(Duration::from_secs(WORKER_START_SECONDS));
            worker.wait(longest).is_ok().then_some(worker)
        });
    let outcome = idle
        .map_or_else(|| Worker::start(command), Ok)
        .and_then(|worker| {
            let longest = limit.saturating_add(WORKER_GRACE + WORKER_LAST_WORDS);
            Ok((Alarm::set(&worker.child, longest)?, worker))
        });
    let (alarm, mut worker) = match outcome {
        Ok(both) => both,
        Err(error) => {
            let message = format!("the process that reads LLVM IR could not be started: {error}");
            return Answer::Failed(ProblemKind::Internal, message);
        }
    };
    let started = Instant::now();
    match worker.ask(bytes, settings, limit) {
        Ok(answer) => {
            // A worker whose time was over ends itself.
            let goes_on = !matches!(answer, Answer::Failed(ProblemKind::Limit, _));
            if goes_on {
                IDLE.set(Some(worker));
            }
            answer
        }
        Err(_) if alarm.has_rung() => Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)),
        Err(_) => {
            let death = worker.autopsy();
            let seconds = started.elapsed().as_secs_f64();
            Answer::Failed(
                ProblemKind::Internal,
                format!("LLVM failed on it: the process that reads it ended after {seconds:.1} s ({death})"),
            )
        }
    }
}

/// Is a worker that knows these rules: answers requests from standard input on standard output. Limits the memory of the process for good.
///
/// # Errors
///
/// Failures of the pipes.
pub fn serve(registry: &Registry) -> io::Result<()> {
    let mut requests = io::stdin().lock();
    // Not locked for good: the thread that watches the time writes to it, too.
    let mut answers = io::stdout();
    // A system without such a limit keeps its own.
    let _ = rlimit::setrlimit(rlimit::Resource::AS, MAX_WORKER_BYTES, MAX_WORKER_BYTES);
    let _ = rlimit::setrlimit(rlimit::Resource::CORE, 0, 0);
    loop {
        answers.write_all(GREETING)?;
        answers.flush()?;
        let mut millis = [0; 8];
        match requests.read_exact(&mut millis) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let limit = Duration::from_millis(u64::from_le_bytes(millis));
        let (Some(task), Some(bytes)) = (receive(&mut requests)?, receive(&mut requests)?) else {
            return Ok(());
        };
        let settings = message::settings(&task, registry).ok_or(io::ErrorKind::InvalidData)?;
        let mut sent = Ok(());
        let deadline = Deadline::after(Some(limit));
        let watch = Watch::start(limit)?;
        analyse::analyse(&bytes, &settings, &deadline, |found| {
            let answer = message::encode(&found);
            watch.begin_answer();
            sent = send(&mut answers, &answer);
        });
        sent?;
    }
}

/// A thread that watches the time of one input, until it is dropped. LLVM can't be interrupted: when the time is over, it
/// says so in an answer, if there was none, and ends the process.
struct Watch {
    /// True once there is an answer. The thread that holds the lock may write one.
    has_answer: Arc<Mutex<bool>>,
    _done: Sender<()>,
}

impl Watch {
    fn start(limit: Duration) -> io::Result<Self> {
        let (done, waiting) = channel();
        let has_answer = Arc::new(Mutex::new(false));
        let known = Arc::clone(&has_answer);
        std::thread::Builder::new().spawn(move || {
            // Analyses end by themselves, with what was found in time.
            if waiting.recv_timeout(limit.saturating_add(WORKER_GRACE)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let has_answer = known.lock().unwrap_or_else(PoisonError::into_inner);
            if *has_answer {
                // LLVM still gives its memory back, for which it gets as much time again.
                drop(has_answer);
                if waiting.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            } else {
                let late = message::encode(&Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)));
                let _ = send(&mut io::stdout(), &late);
            }
            std::process::abort();
        })?;
        Ok(Self {
            has_answer,
            _done: done,
        })
    }

    /// From here on the answer is that of the analysis; does not return where the time was over before.
    fn begin_answer(&self) {
        *self.has_answer.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
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

#[cfg(all(test, unix))]
mod tests {
    use super::{GREETING, ask};
    use std::time::{Duration, Instant};

    use crate::driver::ModuleReport;
    use crate::rule::ProblemKind;
    use crate::settings::{Settings, WorkerCommand};
    use crate::worker::{Answer, message};

    const REQUEST: &[u8] = b"module";
    const LIMIT: Duration = Duration::from_secs(60);

    /// A worker that is ready, takes one request, does `then`, and dies.
    fn mortal(then: &str) -> WorkerCommand {
        let greeting = escaped(GREETING);
        let request = 24 + message::task(&Settings::default()).len() + REQUEST.len();
        let script = format!("printf '{greeting}'; head -c {request} >/dev/null; {then}");
        WorkerCommand {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
        }
    }

    /// Bytes as `printf` of a shell writes them.
    fn escaped(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
    }

    #[test]
    fn who_dies_after_an_answer_has_answered() {
        let answer = message::encode(&Answer::Checked(Box::new(ModuleReport {
            target: "sm_90".to_owned(),
            ..ModuleReport::default()
        })));
        let length = escaped(&(answer.len() as u64).to_le_bytes());
        let worker = mortal(&format!("printf '{length}{}'", escaped(&answer)));
        for _ in 0..3 {
            let answer = ask(&worker, REQUEST, &Settings::default(), LIMIT);
            assert!(matches!(answer, Answer::Checked(report) if report.target == "sm_90"));
        }
    }

    #[test]
    fn who_dies_before_costs_the_input() {
        let answer = ask(&mortal("exit 3"), REQUEST, &Settings::default(), LIMIT);
        assert!(
            matches!(answer, Answer::Failed(ProblemKind::Internal, said) if said.contains("exit status: 3"))
        );
    }

    /// One that is stopped as a whole can't watch its own time.
    #[test]
    fn who_is_stopped_is_ended() {
        let started = Instant::now();
        let limit = Duration::from_millis(10);
        let answer = ask(&mortal("kill -STOP $$"), REQUEST, &Settings::default(), limit);
        assert!(
            matches!(answer, Answer::Failed(ProblemKind::Limit, _)),
            "{answer:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
