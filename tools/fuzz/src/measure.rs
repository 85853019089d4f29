//! Processor time and memory of this process.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

static START: Mutex<Duration> = Mutex::new(Duration::ZERO);

/// From here on the time of a mutant counts.
pub fn start() {
    *START.lock().unwrap_or_else(PoisonError::into_inner) = processor_time();
}

/// The processor time since the last [`start`].
pub fn elapsed() -> Duration {
    let start = *START.lock().unwrap_or_else(PoisonError::into_inner);
    processor_time().saturating_sub(start)
}

/// Processor time of all threads so far.
pub fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Begins a new measurement of the peak; nothing where the system has none.
pub fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Bytes of memory in use, and the most since the last [`reset_peak`]; 0 where the system does not say.
pub fn memory() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let bytes = |name| field(name).unwrap_or_default() << 10;
    (bytes("VmRSS:"), bytes("VmHWM:"))
}

/// Leaves this process so many bytes of address space: a larger request ends the process, not the machine.
pub fn limit_memory(bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // A system without such a limit keeps its own.
    let _ = setrlimit(Resource::As, limit);
}
