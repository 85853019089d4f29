//! A failing mutant with as much left out as goes: first halves, then ever smaller pieces, of its lines or its bytes.

use crate::kind::Kind;

/// The smallest that fails with the same message as `bytes`, its numbers aside; `None` where that one does not fail.
pub fn minimised(kind: &Kind, index: u64, bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let said = kind.check(index, bytes).err()?;
    let wanted = without_numbers(&said);
    let mut pieces: Vec<Vec<u8>> = if bytes.is_ascii() {
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    } else {
        bytes.chunks(1).map(<[u8]>::to_vec).collect()
    };
    let mut size = pieces.len().div_ceil(2);
    loop {
        let (mut at, mut has_shrunk) = (0, false);
        while at < pieces.len() {
            let end = (at + size).min(pieces.len());
            let without = [&pieces[..at], &pieces[end..]].concat();
            let fails = kind.check(index, &without.concat()).err();
            if fails.is_some_and(|message| without_numbers(&message) == wanted) {
                pieces = without;
                has_shrunk = true;
            } else {
                at = end;
            }
        }
        if size <= 1 && !has_shrunk {
            return Some((pieces.concat(), said));
        }
        size = if has_shrunk { size } else { size.div_ceil(2) }.max(1);
    }
}

fn without_numbers(message: &str) -> String {
    message
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .take(60)
        .collect()
}
