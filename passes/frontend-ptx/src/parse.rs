//! Text to trees, on several threads where that pays.

use ptxcheck_ptx_parser::ast::Tree;
use ptxcheck_ptx_parser::{Piece, SyntaxError, parse_in_pieces};
use rayon::prelude::*;

use crate::limits::PARALLEL_BYTES;

/// Parses a module like [`ptxcheck_ptx_parser::parse`], and a large one in pieces at the same time, as many as there are threads.
///
/// # Errors
///
/// As [`ptxcheck_ptx_parser::parse`].
pub fn parse(source: &[u8]) -> Result<Tree<'_>, SyntaxError> {
    let threads = rayon::current_num_threads();
    if threads == 1 || source.len() < PARALLEL_BYTES {
        return ptxcheck_ptx_parser::parse(source);
    }
    let count = threads.min(source.len() / (PARALLEL_BYTES / 2));
    parse_in_pieces(source, count, |pieces| {
        pieces.par_iter_mut().for_each(Piece::read);
    })
}
