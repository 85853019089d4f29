//! Objects, executables and libraries of Windows.

use crate::reader::{Found, Reader};
use crate::windows;

pub(super) struct WindowsFiles;

impl Reader for WindowsFiles {
    fn noun(&self) -> &'static str {
        "an object or executable of Windows"
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        windows::is_windows(bytes)
    }

    fn read<'a>(&self, bytes: &'a [u8], found: &mut Found<'a, '_>) {
        if let Err(error) = windows::add(bytes, 0, None, &mut found.sections) {
            found.trouble(error.to_string());
        }
    }
}
