//! The bounds of the work on one package: the bytes that may be unpacked, and the time.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::limits::{CLOCK_BYTES, MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO};
use crate::trouble::Trouble;

/// The bytes of a package that may still be unpacked, and the time. A clone stands for the same bytes.
#[derive(Clone)]
pub(crate) struct Bounds<'a> {
    left: Rc<Cell<u64>>,
    all: u64,
    is_late: &'a dyn Fn() -> bool,
}

impl<'a> Bounds<'a> {
    /// For a package of so many bytes.
    pub(crate) fn of(package_bytes: u64, is_late: &'a dyn Fn() -> bool) -> Self {
        let all = package_bytes
            .saturating_mul(MAX_UNPACKED_RATIO)
            .saturating_add(MAX_UNPACKED_BYTES);
        Self {
            left: Rc::new(Cell::new(all)),
            all,
            is_late,
        }
    }

    /// Takes the bytes of a member off.
    ///
    /// # Errors
    ///
    /// Nothing is taken if there are not as many.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Trouble> {
        let left = self
            .left
            .get()
            .checked_sub(bytes)
            .ok_or_else(|| self.exceeded())?;
        self.left.set(left);
        Ok(())
    }

    /// Says if the time is over.
    pub(crate) fn is_late(&self) -> &'a dyn Fn() -> bool {
        self.is_late
    }

    /// # Errors
    ///
    /// [`Trouble::Late`], if the time is over.
    pub(crate) fn check_time(&self) -> Result<(), Trouble> {
        if (self.is_late)() {
            Err(Trouble::Late)
        } else {
            Ok(())
        }
    }

    fn exceeded(&self) -> Trouble {
        Trouble::Limit(format!(
            "the members of the package unpack to more than {} bytes, which is more than is allowed for its size",
            self.all
        ))
    }

    /// A reader whose bytes are taken off, and which fails where there are no more or the time is over.
    pub(crate) fn metered<R: Read>(&self, inner: R) -> Metered<'a, R> {
        Metered {
            inner,
            bounds: self.clone(),
            until_clock: 0,
        }
    }
}

/// Reads within bounds.
pub(crate) struct Metered<'a, R> {
    inner: R,
    bounds: Bounds<'a>,
    until_clock: u64,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let bytes = count as u64;
        self.bounds.take(bytes).map_err(Trouble::into_io)?;
        match self.until_clock.checked_sub(bytes) {
            Some(left) => self.until_clock = left,
            None => {
                self.bounds.check_time().map_err(Trouble::into_io)?;
                self.until_clock = CLOCK_BYTES;
            }
        }
        Ok(count)
    }
}
