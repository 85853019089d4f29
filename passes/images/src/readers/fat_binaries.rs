//! Fat binaries that are a file of their own. What lies in them is found as in all files.

use crate::reader::{Found, Reader};

pub(super) struct FatBinaries;

impl Reader for FatBinaries {
    fn noun(&self) -> &'static str {
        "a fat binary"
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"\x50\xed\x55\xba")
    }

    fn read<'a>(&self, _: &'a [u8], _: &mut Found<'a, '_>) {}
}
