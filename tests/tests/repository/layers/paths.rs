//! The paths that a source file names: those that it imports, and those in the code.

use super::words::{Piece, pieces};

/// A path as it is written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPath {
    /// The modules within the file that it is written in.
    pub inside: Vec<String>,
    /// Its segments.
    pub path: Vec<String>,
    /// The name that an import gives it; none for a path in the code.
    pub known_as: Option<String>,
}

/// The paths of a source file with two segments or more, and all imports.
pub fn named(source: &str) -> Vec<WrittenPath> {
    let pieces = pieces(source);
    let mut reader = Reader {
        pieces: &pieces,
        at: 0,
        inside: Vec::new(),
        depth: 0,
        found: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'s> {
    pieces: &'s [Piece<'s>],
    at: usize,
    /// The modules that are open, each with the number of open braces outside of it.
    inside: Vec<(String, usize)>,
    depth: usize,
    found: Vec<WrittenPath>,
}

impl<'s> Reader<'s> {
    fn read(&mut self) {
        while let Some(piece) = self.next() {
            match piece {
                Piece::Word("use") => self.tree(&[]),
                Piece::Word("mod") => {
                    if let (Some(Piece::Word(name)), Some(Piece::Sign(b'{'))) = (self.peek(0), self.peek(1)) {
                        self.inside.push((name.to_owned(), self.depth));
                    }
                }
                Piece::Word(first) => {
                    let path = self.segments(vec![first.to_owned()]);
                    if path.len() > 1 {
                        self.keep(path, None);
                    }
                }
                // The rest of `<T as Trait>::name` and of `.name::<T>()` is no path of its own.
                Piece::Colons => {
                    if let Some(Piece::Word(_)) = self.peek(0) {
                        self.at += 1;
                        self.segments(Vec::new());
                    }
                }
                Piece::Sign(b'{') => self.depth += 1,
                Piece::Sign(b'}') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inside.pop_if(|(_, outside)| *outside == self.depth);
                }
                Piece::Sign(_) => {}
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<Piece<'s>> {
        self.pieces.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<Piece<'s>> {
        let piece = self.peek(0);
        self.at += 1;
        piece
    }

    /// Reads `::name` as often as it stands there.
    fn segments(&mut self, mut path: Vec<String>) -> Vec<String> {
        while let (Some(Piece::Colons), Some(Piece::Word(name))) = (self.peek(0), self.peek(1)) {
            path.push(name.to_owned());
            self.at += 2;
        }
        path
    }

    /// Reads the tree after `use`, or one of the parts in its braces.
    fn tree(&mut self, before: &[String]) {
        let mut path = before.to_vec();
        loop {
            match self.peek(0) {
                Some(Piece::Word("as")) => {
                    if let Some(Piece::Word(name)) = self.peek(1) {
                        self.keep(path, Some(name.to_owned()));
                    }
                    self.at += 2;
                    return;
                }
                Some(Piece::Word("self")) if !path.is_empty() => {}
                Some(Piece::Word(name)) => path.push(name.to_owned()),
                Some(Piece::Colons) => {}
                Some(Piece::Sign(b'*')) => {
                    self.at += 1;
                    self.keep(path, Some("*".to_owned()));
                    return;
                }
                Some(Piece::Sign(b'{')) => {
                    self.at += 1;
                    self.parts(&path);
                    return;
                }
                _ => break,
            }
            self.at += 1;
        }
        if let Some(name) = path
            .last()
            .cloned()
            .filter(|_| path.len() > before.len() || !path.is_empty())
        {
            self.keep(path, Some(name));
        }
    }

    /// Reads the parts in braces, to the closing one.
    fn parts(&mut self, before: &[String]) {
        while let Some(piece) = self.peek(0) {
            match piece {
                Piece::Sign(b'}') => {
                    self.at += 1;
                    return;
                }
                Piece::Sign(b',') => self.at += 1,
                Piece::Sign(b';') => return,
                _ => {
                    let at = self.at;
                    self.tree(before);
                    self.at += usize::from(self.at == at);
                }
            }
        }
    }

    fn keep(&mut self, path: Vec<String>, known_as: Option<String>) {
        let inside = self.inside.iter().map(|(name, _)| name.clone()).collect();
        self.found.push(WrittenPath {
            inside,
            path,
            known_as,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    /// `path`, `path as name` for imports, with `in` and the modules around it.
    fn shown(source: &str) -> Vec<String> {
        named(source)
            .into_iter()
            .map(|one| {
                let mut text = one.path.join("::");
                if let Some(name) = one.known_as {
                    text = format!("{text} as {name}");
                }
                if !one.inside.is_empty() {
                    text = format!("{text} in {}", one.inside.join("::"));
                }
                text
            })
            .collect()
    }

    #[test]
    fn imports_are_taken_apart() {
        assert_eq!(
            shown("pub(crate) use crate::{a::{self, B as C}, d::*};\nuse super::e;\nuse f;"),
            [
                "crate::a as a",
                "crate::a::B as C",
                "crate::d as *",
                "super::e as e",
                "f as f"
            ]
        );
    }

    #[test]
    fn paths_in_the_code_are_found() {
        assert_eq!(
            shown("fn f(x: &super::T) -> U { crate::a::b(x).c::<D>(); <E as F>::g(); h::<I>::j(); k(l) }"),
            ["super::T", "crate::a::b"]
        );
    }

    #[test]
    fn modules_within_the_file_are_kept() {
        assert_eq!(
            shown("mod m { use super::a; fn f() {} } mod n; fn g() { b::c() }"),
            ["super::a as a in m", "b::c"]
        );
    }
}
