//! The progress of a run, on a terminal, once it takes more than a second.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptxcheck_passes::progress::Progress;

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks.
const STEP: Duration = Duration::from_millis(100);

/// Without colours, regardless of the terminal.
const TEMPLATE: &str = "{spinner} {pos} of {len} inputs, {elapsed}";

/// Shows the progress as long as it lives, and nothing when it is gone.
pub struct Display {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Display {
    /// Watches a run; `None` where nothing is to be shown: standard error is not a terminal, or one that can't move its cursor.
    #[must_use]
    pub fn of(progress: Arc<Progress>, is_quiet: bool) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_quiet || is_dumb || !io::stderr().is_terminal() {
            return None;
        }
        let (end, ended) = mpsc::channel::<()>();
        let watch = move || {
            let mut wait = PATIENCE;
            let mut bar: Option<ProgressBar> = None;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = STEP;
                let (done, all) = progress.get();
                let bar = bar.get_or_insert_with(|| begin(all));
                // Packages add their members.
                bar.set_length(all as u64);
                bar.set_position(done as u64);
                bar.tick();
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        };
        let thread = thread::Builder::new().spawn(watch).ok()?;
        Some(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

fn begin(inputs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(inputs as u64), ProgressDrawTarget::stderr())
        .with_elapsed(PATIENCE);
    match ProgressStyle::with_template(TEMPLATE) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The display is cleared by then.
            let _ = thread.join();
        }
    }
}
