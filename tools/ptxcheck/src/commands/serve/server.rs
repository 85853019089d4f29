//! The process between the clients and the one that checks.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use ptxcheck_passes::rule::ProblemKind;

use super::frames::{self, Message};
use super::{WORD, requests};

/// Seconds that a reply may take where the request does not say.
const TIMEOUT_SECONDS: f64 = 600.0;

/// Most seconds that a request may ask for.
const MAX_TIMEOUT_SECONDS: f64 = 86_400.0;

/// Largest reply of the process that checks, in bytes.
const MAX_REPLY: usize = 1 << 30;

/// Checks in a process of its own.
#[derive(Default)]
pub(super) struct Server {
    checker: Option<Checker>,
}

impl Server {
    /// Answers the requests of a stream until it ends.
    ///
    /// # Errors
    ///
    /// Where a stream fails, or holds something else than messages.
    pub(super) fn run(&mut self, stream: &mut impl Read, replies: &mut impl Write) -> io::Result<()> {
        while let Some(message) = frames::read(stream)? {
            let reply = match &message.problem {
                None => self.answer(&message),
                Some(problem) => requests::reply(message.request.id, Err(problem.clone())),
            };
            frames::write(replies, &reply)?;
        }
        Ok(())
    }

    fn answer(&mut self, message: &Message) -> Vec<u8> {
        let request = &message.request;
        let seconds = request.timeout.filter(|seconds| seconds.is_finite());
        let seconds = seconds.unwrap_or(TIMEOUT_SECONDS).clamp(0.0, MAX_TIMEOUT_SECONDS);
        match self.ask(message, Duration::from_secs_f64(seconds)) {
            Ok(reply) => reply,
            Err(Failure::Late) => {
                self.checker = None;
                let problem = format!("the check took longer than the {seconds} s that the request allows");
                requests::gone(request, ProblemKind::Limit, &problem)
            }
            Err(Failure::Gone(how)) => {
                self.checker = None;
                requests::gone(request, ProblemKind::Internal, &how)
            }
        }
    }

    /// Passes a message on, and the reply back.
    fn ask(&mut self, message: &Message, time: Duration) -> Result<Vec<u8>, Failure> {
        let until = Instant::now() + time;
        let mut checker = match self.checker.take() {
            Some(checker) => checker,
            None => {
                Checker::start().map_err(|error| Failure::Gone(format!("no process to check in: {error}")))?
            }
        };
        let written = checker.write(message);
        let reply = checker
            .replies
            .recv_timeout(until.saturating_duration_since(Instant::now()));
        match reply {
            Ok(Ok(Some(reply))) => {
                self.checker = Some(checker);
                Ok(reply)
            }
            Err(RecvTimeoutError::Timeout) => Err(Failure::Late),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                let how = checker.end();
                let what = if written.is_err() {
                    "did not read the request"
                } else {
                    "ended"
                };
                Err(Failure::Gone(format!(
                    "the process that checked it {what}: {how}"
                )))
            }
        }
    }
}

enum Failure {
    /// The time was over.
    Late,
    /// The process that checks has gone, as a sentence says.
    Gone(String),
}

/// The process that checks.
struct Checker {
    child: Child,
    /// Taken to write to it in a thread of its own.
    input: Option<ChildStdin>,
    replies: Receiver<io::Result<Option<Vec<u8>>>>,
}

impl Checker {
    fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let (sender, replies) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            let Some(mut output) = output else { return };
            loop {
                let reply = frames::read_document(&mut output, MAX_REPLY);
                let is_last = !matches!(reply, Ok(Some(_)));
                if sender.send(reply).is_err() || is_last {
                    break;
                }
            }
        })?;
        Ok(Self {
            child,
            input,
            replies,
        })
    }

    fn write(&mut self, message: &Message) -> io::Result<()> {
        let Some(input) = &mut self.input else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        frames::write(input, &message.document)?;
        for bytes in &message.bytes {
            input.write_all(bytes)?;
        }
        input.flush()
    }

    /// The way in which it ended, in words.
    fn end(&mut self) -> String {
        self.input = None;
        // It may hang without having closed its output.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
