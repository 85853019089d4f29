//! Fat binaries, wherever in a file they lie.
//!
//! A container is `u32 0xBA55ED50, u16 1, u16 16, u64 size`, then entries of `size` bytes in all. Libraries keep
//! containers outside the section meant for them (as byte arrays in `.rodata` and `.data`), and members of archives
//! lie at any even offset: the whole file is searched. The payload of an entry never contains a container header, so an entry that spans
//! one is not an entry: it was cut off, or it was made to hide something.

use memchr::memmem;

use super::bytes::u64_at;
use super::entry::Entry;
use crate::errors::BadContainer;
use crate::limits::SEARCH_STEP_BYTES;

/// The magic number, the version and the size of the header: what every container begins with.
const MAGIC: &[u8] = b"\x50\xed\x55\xba\x01\x00\x10\x00";
const HEADER_BYTES: usize = 16;

/// Something that the search comes across.
pub(super) enum Event<'a> {
    /// An entry at `offset`, in the container with this number, and its payload.
    Entry {
        entry: Entry,
        offset: usize,
        container: u32,
        payload: &'a [u8],
    },
    /// A container at `offset` is broken there.
    Broken { offset: usize, error: BadContainer },
}

/// A part of a host file, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    /// Images, or not known.
    Images,
    /// Data of the host's program.
    Data,
    /// Its code.
    Code,
}

/// Searches `bytes`. Containers inside the payloads of others do not count; those that a broken one claims to hold do.
/// `region`: the part of a host file that an offset lies in. The magic number of a header without an entry after it is a number in an
/// instruction, or the constant of a program that writes or reads fat binaries. Returns true if the search reached the end before
/// `is_late`.
pub(super) fn search<'a>(
    bytes: &'a [u8],
    region: impl Fn(usize) -> Region,
    is_late: &dyn Fn() -> bool,
    mut found: impl FnMut(Event<'a>),
) -> bool {
    let finder = memmem::Finder::new(MAGIC);
    let mut container = 0;
    let mut at = 0;
    // Every round begins past the header that the one before found, and entries are walked once: linear.
    while at < bytes.len() {
        if is_late() {
            return false;
        }
        // A step at a time; a header may stand across the end of one.
        let step = &bytes[at..bytes.len().min(at.saturating_add(SEARCH_STEP_BYTES))];
        let Some(hit) = finder.find(step) else {
            at += step.len();
            if at < bytes.len() {
                at -= MAGIC.len() - 1;
            }
            continue;
        };
        let start = at + hit;
        at = start + MAGIC.len();
        let Some(size) = u64_at(bytes, start + 8) else {
            continue;
        };
        let first = start + HEADER_BYTES;
        let left = (bytes.len() - first) as u64;
        let end = first + size.min(left) as usize;
        let is_number = match region(start) {
            Region::Images => false,
            Region::Data => size > left,
            Region::Code => true,
        };
        if is_number && Entry::parse(&bytes[first..end]).is_err() {
            continue;
        }
        if size > left {
            let error = BadContainer::TooLong { claimed: size, left };
            found(Event::Broken { offset: start, error });
        }
        at = first;
        while at < end {
            match Entry::parse(&bytes[at..end]) {
                Ok(entry) => {
                    let offset = at;
                    at += entry.size();
                    if let Some(inner) = finder.find(&bytes[offset..at]) {
                        at = offset + inner;
                        let error = BadContainer::Nested;
                        found(Event::Broken { offset, error });
                        break;
                    }
                    let payload = entry.payload(&bytes[offset..end]);
                    found(Event::Entry {
                        entry,
                        offset,
                        container,
                        payload,
                    });
                }
                Err(_) if bytes[at..end].iter().take(MAX_PADDING).all(|byte| *byte == 0) => {
                    // Zeros where an entry would begin: padding, unless there is more than anybody pads with.
                    at = end.min(at + MAX_PADDING);
                    break;
                }
                Err(error) => {
                    if size <= left {
                        let error = error.into();
                        found(Event::Broken { offset: at, error });
                    }
                    break;
                }
            }
        }
        container += 1;
    }
    true
}

/// Most zeros after the last entry, in bytes: the smallest header.
const MAX_PADDING: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(size: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(size.to_le_bytes());
        bytes
    }

    fn entry(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&[1, 1]);
        bytes[4] = 64;
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn events(bytes: &[u8]) -> (Vec<(u32, Vec<u8>)>, Vec<String>) {
        events_in(Region::Images, bytes)
    }

    fn events_in(region: Region, bytes: &[u8]) -> (Vec<(u32, Vec<u8>)>, Vec<String>) {
        let (mut entries, mut broken) = (Vec::new(), Vec::new());
        search(
            bytes,
            |_| region,
            &|| false,
            |event| match event {
                Event::Entry {
                    container, payload, ..
                } => entries.push((container, payload.to_vec())),
                Event::Broken { error, .. } => broken.push(error.to_string()),
            },
        );
        (entries, broken)
    }

    #[test]
    fn a_number_in_machine_code_is_no_container() {
        // mov rax, 0x1000_01ba_55ed_50; mov qword [r12 + 0x2b0], 0; and a container in the same section.
        let number =
            b"\x48\xb8\x50\xed\x55\xba\x01\x00\x10\x00\x49\xc7\x84\x24\xb0\x02\x00\x00\x00\x00\x00\x00";
        let file = [number.to_vec(), header(67), entry(1, b"abc")].concat();
        let (entries, broken) = events_in(Region::Code, &file);
        assert_eq!(entries, [(0, b"abc".to_vec())]);
        assert!(broken.is_empty(), "{broken:?}");
        let (_, broken) = events(&file);
        assert_eq!(broken.len(), 1, "{broken:?}");
    }

    #[test]
    fn a_constant_of_a_program_is_no_container() {
        let constant = [MAGIC, b"\x7fELF in the archive: "].concat();
        let (_, broken) = events_in(Region::Data, &constant);
        assert!(broken.is_empty(), "{broken:?}");
        let (_, broken) = events(&constant);
        assert_eq!(broken.len(), 1);
        // A header that may well be that of a broken container is reported.
        let cut = [header(20), vec![1; 32]].concat();
        let (_, broken) = events_in(Region::Data, &cut);
        assert_eq!(broken.len(), 1);
    }

    #[test]
    fn containers_lie_at_any_offset() {
        let one = [entry(1, b"abc"), entry(2, b"de")].concat();
        let file = [
            b"xyz".to_vec(),
            header(one.len() as u64),
            one.clone(),
            header(66),
            entry(1, b"fg"),
        ]
        .concat();
        let (entries, broken) = events(&file);
        assert_eq!(
            entries,
            [(0, b"abc".to_vec()), (0, b"de".to_vec()), (1, b"fg".to_vec())]
        );
        assert!(broken.is_empty(), "{broken:?}");
    }

    #[test]
    fn what_a_broken_container_hides_is_found() {
        let inner = [header(66), entry(1, b"in")].concat();
        let file = [header(u64::MAX), inner.clone(), header(66), entry(1, b"on")].concat();
        let (entries, broken) = events(&file);
        assert_eq!(entries.len(), 2);
        assert_eq!(broken.len(), 1);
        let file = [header(inner.len() as u64), inner].concat();
        let (entries, broken) = events(&file);
        assert_eq!((entries.len(), broken.len()), (1, 1));
    }

    #[test]
    fn hostile_headers_end() {
        let many = header(u64::MAX).repeat(20_000);
        let (entries, broken) = events(&many);
        assert_eq!((entries.len(), broken.len()), (0, 20_000));
        let mut cut = [header(80), entry(1, b"abcdefgh")].concat();
        cut.truncate(40);
        assert_eq!(events(&cut).0.len(), 0);
    }
}
