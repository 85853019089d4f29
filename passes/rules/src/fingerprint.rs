//! Fingerprints: they identify a finding across rebuilds, by its code, function and text, without line, register number or path.

/// FNV-1a, 64 bits: stable for ever, and no secret is at stake.
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add_byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    fn add_text(&mut self, text: &[u8]) {
        text.iter().for_each(|&byte| self.add_byte(byte));
        self.add_byte(0);
    }

    /// Adds the text of an instruction.
    fn add_instruction(&mut self, text: &[u8]) {
        let mut in_word = false;
        for &byte in text {
            let is_word = byte.is_ascii_alphanumeric() || b"_%$".contains(&byte);
            let counts = !(byte.is_ascii_whitespace() || byte.is_ascii_digit() && in_word);
            if counts {
                self.add_byte(byte);
            }
            // A number of its own (an immediate) counts; digits after a letter do not.
            in_word = is_word && (in_word || !byte.is_ascii_digit());
        }
    }

    fn hex_digits(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// From the rule's code, the function's name and the text of the place. Digits after a letter, `%` or `$` (numbers of
/// registers, labels, local functions) and white space do not count.
pub fn of_instruction(code: &str, function: &str, text: &[u8]) -> String {
    let mut hash = Hash::new();
    hash.add_text(code.as_bytes());
    hash.add_text(function.as_bytes());
    hash.add_instruction(text);
    hash.hex_digits()
}

/// The hash of an instruction's text alone, under the same rules; never 0.
pub fn of_text(text: &[u8]) -> u64 {
    let mut hash = Hash::new();
    hash.add_instruction(text);
    hash.0.max(1)
}

/// The hash of bytes that come piece by piece.
pub struct ContentHash(Hash);

impl Default for ContentHash {
    fn default() -> Self {
        Self(Hash::new())
    }
}

impl ContentHash {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0.add_byte(byte));
    }

    /// The hash of all bytes that were added.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.0.0
    }
}

/// From several texts, in their order.
pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Hash::new();
    texts.into_iter().for_each(|text| hash.add_text(text.as_bytes()));
    hash.hex_digits()
}

/// A fingerprint made unique by an ordinal.
pub fn with_ordinal(fingerprint: &str, ordinal: u32) -> String {
    if ordinal == 0 {
        return fingerprint.to_owned();
    }
    let mut hash = Hash::new();
    hash.add_text(fingerprint.as_bytes());
    hash.add_text(&ordinal.to_le_bytes());
    hash.hex_digits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_numbers_do_not_count_but_immediates_do() {
        let fingerprint = |text: &str| of_instruction("PTX407", "k", text.as_bytes());
        assert_eq!(
            fingerprint("shfl.sync.idx.b32 %r1, %r2, 0, 31, 0;"),
            fingerprint("shfl.sync.idx.b32 \t%r14,%r7, 0, 31, 0;")
        );
        assert_ne!(fingerprint("bar.warp.sync 0;"), fingerprint("bar.warp.sync 1;"));
        assert_ne!(
            of_instruction("PTX407", "a", b"x"),
            of_instruction("PTX407", "b", b"x")
        );
        assert_ne!(with_ordinal("aa", 1), with_ordinal("aa", 2));
    }
}
