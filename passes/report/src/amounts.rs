//! Counts, sizes and times for reading.

use std::time::Duration;

/// A count with its noun.
#[must_use]
pub(crate) fn plural(count: u64, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}

/// A size in bytes, for reading.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(crate) fn size(bytes: u64) -> String {
    const STEP: f64 = 1024.0;
    let bytes = bytes as f64;
    if bytes < STEP {
        format!("{bytes} B")
    } else if bytes < STEP * STEP {
        format!("{:.1} KiB", bytes / STEP)
    } else if bytes < STEP * STEP * STEP {
        format!("{:.1} MiB", bytes / STEP / STEP)
    } else {
        format!("{:.1} GiB", bytes / STEP / STEP / STEP)
    }
}

/// A time, for reading.
#[must_use]
pub(crate) fn duration(time: Duration) -> String {
    if time.as_secs() > 0 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} ms", time.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, plural, size};
    use std::time::Duration;

    #[test]
    fn numbers_read_well() {
        assert_eq!(plural(1, "kernel"), "1 kernel");
        assert_eq!(plural(0, "kernel"), "0 kernels");
        assert_eq!(
            [size(0), size(1536), size(3 << 20), size(5 << 30)],
            ["0 B", "1.5 KiB", "3.0 MiB", "5.0 GiB"]
        );
        assert_eq!(duration(Duration::from_millis(7)), "7 ms");
        assert_eq!(duration(Duration::from_millis(1_250)), "1.2 s");
    }
}
