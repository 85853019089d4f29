//! Starting workers, and asking them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::greeting::{self, Greeting, NoGreeting, Protocol};
use crate::limits::{GRACE, LAST_WORDS, START};
use crate::pipe::{receive, send};

/// The command that starts a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Lost {
    /// The process did not start, for this reason.
    NotStarted(io::Error),
    /// The time was over, and the process did not say so.
    Late,
    /// The process ended after this time; the text is its exit status.
    Died(Duration, String),
}

/// A running worker.
struct Worker {
    child: Arc<Mutex<Child>>,
    requests: ChildStdin,
    answers: ChildStdout,
    command: Command,
    greeting: Greeting,
}

thread_local! {
    /// The workers of this thread, between two inputs: one of each command.
    static IDLE: RefCell<Vec<Worker>> = const { RefCell::new(Vec::new()) };
}

impl Worker {
    /// Starts the process, which has to greet with this protocol.
    fn start(command: &Command, protocol: Protocol) -> io::Result<Self> {
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
            greeting: Greeting::default(),
        };
        let alarm = Alarm::set(&worker.child, START)?;
        let error = match greeting::read(&mut worker.answers, protocol) {
            Ok(greeting) => {
                worker.greeting = greeting;
                return Ok(worker);
            }
            Err(NoGreeting::Other(why)) => why,
            Err(NoGreeting::Silent) if alarm.has_rung() => {
                format!("it does not say within {} s that it is ready", START.as_secs())
            }
            Err(NoGreeting::Silent) => {
                format!("it ends before it says that it is ready ({})", worker.autopsy())
            }
        };
        Err(io::Error::other(error))
    }

    /// Waits until it says again that it is ready: after an answer it still gives memory back.
    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let _alarm = Alarm::set(&self.child, longest)?;
        let mut line = vec![0; self.greeting.line.len()];
        self.answers.read_exact(&mut line)?;
        if line == self.greeting.line {
            Ok(())
        } else {
            Err(io::Error::other("it says something else"))
        }
    }

    fn ask(&mut self, task: &[u8], bytes: &[u8], limit: Duration) -> io::Result<Vec<u8>> {
        let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        self.requests.write_all(&millis.to_le_bytes())?;
        send(&mut self.requests, task)?;
        send(&mut self.requests, bytes)?;
        receive(&mut self.answers)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
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

/// Ends a worker that does not answer in time, until it is dropped. A worker watches its time itself, but not where the process
/// is stopped as a whole.
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

/// Starts a worker of this protocol and ends it. Returns the kind of input that it announces: `LLVM 22`.
///
/// # Errors
///
/// It does not start, or is not a worker of this protocol.
pub fn start(command: &Command, protocol: Protocol) -> io::Result<String> {
    Worker::start(command, protocol).map(|worker| worker.greeting.reads.clone())
}

/// Has a worker answer, within `limit`: this thread's worker of the command, or a new one. `read` makes sense of the bytes that it
/// answers with, and says whether the process goes on; one that answers what makes none has died while it wrote.
///
/// # Errors
///
/// [`Lost`], if there is no answer. The next input gets a new worker.
pub fn ask<A>(
    command: &Command,
    protocol: Protocol,
    task: &[u8],
    bytes: &[u8],
    limit: Duration,
    read: impl FnOnce(&[u8]) -> Option<(A, bool)>,
) -> Result<A, Lost> {
    // One that died after its last answer has answered all that it was asked.
    let idle = IDLE
        .with_borrow_mut(|idle| {
            let known = idle.iter().position(|worker| worker.command == *command)?;
            Some(idle.swap_remove(known))
        })
        .and_then(|mut worker| worker.wait(limit.min(START)).is_ok().then_some(worker));
    let (alarm, mut worker) = idle
        .map_or_else(|| Worker::start(command, protocol), Ok)
        .and_then(|worker| {
            let longest = limit.saturating_add(GRACE + LAST_WORDS);
            Ok((Alarm::set(&worker.child, longest)?, worker))
        })
        .map_err(Lost::NotStarted)?;
    let started = Instant::now();
    let answer = worker.ask(task, bytes, limit);
    if let Some((answer, goes_on)) = answer.ok().and_then(|answer| read(&answer)) {
        if goes_on {
            IDLE.with_borrow_mut(|idle| idle.push(worker));
        }
        return Ok(answer);
    }
    if alarm.has_rung() {
        return Err(Lost::Late);
    }
    let death = worker.autopsy();
    Err(Lost::Died(started.elapsed(), death))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Command, Lost, Protocol, ask, start};
    use std::time::{Duration, Instant};

    const REQUEST: &[u8] = b"module";
    const LIMIT: Duration = Duration::from_secs(60);
    const PROTOCOL: Protocol = Protocol {
        program: "reader",
        version: "1.0",
    };

    /// A worker that is ready, takes one request with an empty task, does `then`, and dies.
    fn mortal(then: &str) -> Command {
        let greeting = escaped(PROTOCOL.greeting("all").as_bytes());
        let request = 24 + REQUEST.len();
        shell(&format!(
            "printf '{greeting}'; head -c {request} >/dev/null; {then}"
        ))
    }

    fn shell(script: &str) -> Command {
        Command {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
        }
    }

    /// Bytes as `printf` of a shell writes them.
    fn escaped(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
    }

    fn asked(command: &Command, limit: Duration) -> Result<Vec<u8>, Lost> {
        ask(command, PROTOCOL, &[], REQUEST, limit, |answer| {
            Some((answer.to_vec(), true))
        })
    }

    #[test]
    fn who_dies_after_an_answer_has_answered() {
        let answer = b"found";
        let length = escaped(&(answer.len() as u64).to_le_bytes());
        let worker = mortal(&format!("printf '{length}{}'", escaped(answer)));
        for _ in 0..3 {
            assert_eq!(asked(&worker, LIMIT).unwrap(), answer);
        }
    }

    #[test]
    fn who_dies_before_costs_the_input() {
        let lost = asked(&mortal("exit 3"), LIMIT).unwrap_err();
        assert!(
            matches!(&lost, Lost::Died(_, said) if said.contains("exit status: 3")),
            "{lost:?}"
        );
    }

    #[test]
    fn who_never_greets_was_not_started() {
        let lost = asked(&shell("exit 127"), LIMIT).unwrap_err();
        assert!(
            matches!(&lost, Lost::NotStarted(error) if error.to_string().contains("127")),
            "{lost:?}"
        );
    }

    /// An older or newer program may have other messages, and so may another worker.
    #[test]
    fn who_greets_with_another_protocol_is_not_asked() {
        for (line, wanted) in [
            ("reader 0.9: all", "it is `reader` 0.9, and 1.0 is needed"),
            ("writer 1.0: all", "it is not `reader`"),
            ("usage: reader FILE", "it is not `reader`"),
        ] {
            let lost = asked(&shell(&format!("echo '{line}'; cat")), LIMIT).unwrap_err();
            assert!(
                matches!(&lost, Lost::NotStarted(error) if error.to_string().starts_with(wanted)),
                "{lost:?}"
            );
        }
    }

    #[test]
    fn a_worker_says_what_it_reads() {
        assert_eq!(start(&mortal("exit"), PROTOCOL).unwrap(), "all");
        assert!(start(&shell("exit 1"), PROTOCOL).is_err());
    }

    /// One that is stopped as a whole can't watch its own time.
    #[test]
    fn who_is_stopped_is_ended() {
        let started = Instant::now();
        let lost = asked(&mortal("kill -STOP $$"), Duration::from_millis(10));
        assert!(matches!(lost, Err(Lost::Late)), "{lost:?}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
