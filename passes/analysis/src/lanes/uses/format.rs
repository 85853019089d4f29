//! Arguments that a format of `printf` prints, as they lie in the buffer that device code passes to `vprintf`.
//!
//! Each argument follows the one before, at the next multiple of its size (CUDA C++ Programming Guide, Formatted Output):
//!
//! ```text
//! %d %i %o %u %x %X %c, and a `*` for width or precision    4 bytes, 8 with l, ll, j, z or t
//! %f %F %e %E %g %G %a %A %s %p                              8 bytes
//! ```

/// The byte offsets of the printed arguments, in order, up to the first unknown conversion.
pub(super) fn argument_offsets(format: &[u8]) -> Vec<i64> {
    let mut places = Vec::new();
    let mut end = 0_i64;
    let mut take = |bytes: i64| {
        let place = (end + bytes - 1) / bytes * bytes;
        places.push(place);
        end = place + bytes;
    };
    let mut rest = format.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            continue;
        }
        let mut is_long = false;
        loop {
            match rest.next() {
                Some(b'0'..=b'9' | b'-' | b'+' | b' ' | b'#' | b'.' | b'h') => continue,
                Some(b'*') => {
                    take(4);
                    continue;
                }
                Some(b'l' | b'j' | b'z' | b't') => {
                    is_long = true;
                    continue;
                }
                Some(b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c') => take(if is_long { 8 } else { 4 }),
                Some(b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' | b's' | b'p') => take(8),
                Some(b'%') => {}
                _ => return places,
            }
            break;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::argument_offsets;

    #[test]
    fn printed_arguments_are_aligned_to_their_size() {
        assert_eq!(argument_offsets(b"%d %d\n"), [0, 4]);
        assert_eq!(argument_offsets(b"lane %d: %f, %s\n"), [0, 8, 16]);
        assert_eq!(argument_offsets(b"%lld%c%zu"), [0, 8, 16]);
        assert_eq!(argument_offsets(b"100 %% of %-*.*f"), [0, 4, 8]);
        assert_eq!(argument_offsets(b"%08.3f|%#x"), [0, 8]);
    }

    #[test]
    fn arguments_after_unknown_conversions_are_unknown() {
        assert_eq!(argument_offsets(b"%d %q %d"), [0]);
        assert_eq!(argument_offsets(b"%d %"), [0]);
        assert_eq!(argument_offsets(b""), [0_i64; 0]);
    }
}
