//! Being a worker.

use std::io::{self, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::greeting::Protocol;
use crate::limits::{GRACE, MAX_BYTES};
use crate::pipe::{receive, send};

/// The way to give an answer, once for each input.
pub struct Answer<'a> {
    watch: &'a Watch,
    sent: &'a mut Option<io::Result<()>>,
}

impl Answer<'_> {
    /// Gives the answer. Does not return where the time was over before. Later ones of the same input count for nothing.
    pub fn give(&mut self, answer: &[u8]) {
        if self.sent.is_none() {
            self.watch.begin_answer();
            *self.sent = Some(send(&mut io::stdout(), answer));
        }
    }
}

/// Answers requests from standard input on standard output, until they end: `work` has the task, the bytes and the time of
/// each, and may go on after its answer, to give memory back. `late` is the answer where the time (which it has) is over before
/// that of `work`; the process ends with it. The greeting of the worker names the protocol and the kind of input that it `reads`. Limits
/// the memory of the process for good.
///
/// # Errors
///
/// Failures of the pipes; an input that `work` gave no answer about.
pub fn serve(
    protocol: Protocol,
    reads: &str,
    late: impl Fn(Duration) -> Vec<u8> + Send + Clone + 'static,
    mut work: impl FnMut(&[u8], &[u8], Duration, &mut Answer<'_>),
) -> io::Result<()> {
    let mut requests = io::stdin().lock();
    // Not locked for good: the thread that watches the time writes to it, too.
    let mut answers = io::stdout();
    // A system without such a limit keeps its own.
    let _ = rlimit::setrlimit(rlimit::Resource::AS, MAX_BYTES, MAX_BYTES);
    let _ = rlimit::setrlimit(rlimit::Resource::CORE, 0, 0);
    let greeting = protocol.greeting(reads);
    loop {
        answers.write_all(greeting.as_bytes())?;
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
        let watch = Watch::start(limit, late.clone())?;
        let mut sent = None;
        let mut answer = Answer {
            watch: &watch,
            sent: &mut sent,
        };
        work(&task, &bytes, limit, &mut answer);
        sent.unwrap_or_else(|| Err(io::ErrorKind::InvalidData.into()))?;
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
    fn start(limit: Duration, late: impl Fn(Duration) -> Vec<u8> + Send + 'static) -> io::Result<Self> {
        let (done, waiting) = channel();
        let has_answer = Arc::new(Mutex::new(false));
        let known = Arc::clone(&has_answer);
        std::thread::Builder::new().spawn(move || {
            // Analyses end by themselves, with the findings up to then.
            if waiting.recv_timeout(limit.saturating_add(GRACE)) != Err(RecvTimeoutError::Timeout) {
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
                let _ = send(&mut io::stdout(), &late(limit));
            }
            std::process::abort();
        })?;
        Ok(Self {
            has_answer,
            _done: done,
        })
    }

    /// From here on the answer is that of the work; does not return where the time was over before.
    fn begin_answer(&self) {
        *self.has_answer.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}
