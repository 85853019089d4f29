//! The words of a body of PTX.

/// Words, single signs and line ends. Comments are left out.
pub(super) struct Words<'t>(pub(super) &'t [u8]);

impl<'t> Iterator for Words<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        loop {
            let blank = |byte: &u8| byte.is_ascii_whitespace() && *byte != b'\n';
            let start = self.0.iter().position(|byte| !blank(byte))?;
            self.0 = &self.0[start..];
            let comment = match self.0 {
                [b'/', b'/', ..] => memchr::memchr(b'\n', self.0).unwrap_or(self.0.len()),
                [b'/', b'*', ..] => memchr::memmem::find(self.0, b"*/").map_or(self.0.len(), |end| end + 2),
                _ => 0,
            };
            if comment == 0 {
                break;
            }
            self.0 = &self.0[comment..];
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte);
        let length = self
            .0
            .iter()
            .position(|byte| !is_word(byte))
            .unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(length.max(1));
        self.0 = rest;
        Some(word)
    }
}
