//! The depth of a text's brackets.

use crate::limits::MAX_DEPTH;
use crate::tokens::{TokenKind, Tokens};

/// The offset of the first bracket that lies deeper than [`MAX_DEPTH`].
#[must_use]
pub fn too_deep(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for token in Tokens::from(text, 0) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(token.start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::too_deep;
    use crate::limits::MAX_DEPTH;

    #[test]
    fn the_first_bracket_beyond_is_named() {
        let nested = |depth: usize| ["(".repeat(depth), ")".repeat(depth)].concat().into_bytes();
        assert_eq!(too_deep(&nested(MAX_DEPTH)), None);
        assert_eq!(too_deep(&nested(MAX_DEPTH + 1)), Some(MAX_DEPTH));
        assert_eq!(too_deep(&b"a(b), ".repeat(2 * MAX_DEPTH)), None);
        assert_eq!(
            too_deep(format!("\"{}\"", "(".repeat(2 * MAX_DEPTH)).as_bytes()),
            None
        );
    }
}
