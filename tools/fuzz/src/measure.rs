//! Processor time and memory of this process.

use std::fs;
use std::time::Duration;

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
