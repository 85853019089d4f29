//! Equality of trees, regardless of their layout.

use crate::ast::{Function, Statement, StatementKind, Tree, Variable};
use crate::printer::condensed;
use crate::span::Span;

/// True if two trees are equal but for their layout: the same statements, operands, variables and comments with the same texts in the
/// same order and nesting. Blanks inside a text do not count, nor do offsets and errors.
#[must_use]
pub fn same(left: &Tree<'_>, right: &Tree<'_>) -> bool {
    Comparison { left, right }.trees()
}

struct Comparison<'t> {
    left: &'t Tree<'t>,
    right: &'t Tree<'t>,
}

impl Comparison<'_> {
    fn trees(&self) -> bool {
        let (left, right) = (self.left, self.right);
        pairwise(&left.statements, &right.statements, |a, b| self.statements(a, b))
            && pairwise(&left.operands, &right.operands, |a, b| {
                let is_leaf = a.descendants == 0;
                a.kind == b.kind
                    && a.descendants == b.descendants
                    && (!is_leaf || self.texts(a.span(), b.span()))
            })
            && pairwise(&left.variables, &right.variables, |a, b| self.variables(a, b))
            && pairwise(&left.functions, &right.functions, |a, b| self.functions(a, b))
            && pairwise(&left.locations, &right.locations, |a, b| {
                (a.file, a.line, a.column, a.inlined) == (b.file, b.line, b.column, b.inlined)
            })
            && pairwise(&left.inlined, &right.inlined, |a, b| {
                self.texts(a.function, b.function) && (a.file, a.line, a.column) == (b.file, b.line, b.column)
            })
            && pairwise(&left.files, &right.files, |a, b| {
                a.number == b.number && left.text(a.name) == right.text(b.name) && self.texts(a.rest, b.rest)
            })
            && pairwise(&left.sections, &right.sections, |a, b| {
                self.texts(a.name, b.name) && self.texts(a.body, b.body)
            })
            && pairwise(&left.comments, &right.comments, |&a, &b| {
                left.text(a) == right.text(b)
            })
    }

    fn texts(&self, a: Span, b: Span) -> bool {
        condensed(self.left.text(a)).eq(condensed(self.right.text(b)))
    }

    fn statements(&self, a: &Statement, b: &Statement) -> bool {
        a.tag == b.tag
            && a.index() == b.index()
            && a.operand_count() == b.operand_count()
            && (a.kind() != StatementKind::Declaration || a.name == b.name)
            && condensed(self.left.name(a)).eq(condensed(self.right.name(b)))
            && (a.kind() != StatementKind::Directive || self.dwarf(a, b))
    }

    /// `@@DWARF` lines have no operands: their whole text counts.
    fn dwarf(&self, a: &Statement, b: &Statement) -> bool {
        self.left.name(a) != b"@@DWARF" || self.left.text(a.span()) == self.right.text(b.span())
    }

    fn variables(&self, a: &Variable, b: &Variable) -> bool {
        [
            (a.name, b.name),
            (a.dimensions, b.dimensions),
            (a.initializer, b.initializer),
            (a.attribute, b.attribute),
            (a.scalar_name, b.scalar_name),
        ]
        .into_iter()
        .all(|(a, b)| self.texts(a, b))
            && (a.extent, a.range, a.align, a.pointer_align) == (b.extent, b.range, b.align, b.pointer_align)
            && (a.linkage, a.space, a.bank, a.scalar) == (b.linkage, b.space, b.bank, b.scalar)
            && (a.vector, a.is_pointer, a.pointer_space) == (b.vector, b.is_pointer, b.pointer_space)
    }

    fn functions(&self, a: &Function, b: &Function) -> bool {
        self.texts(a.name, b.name)
            && self.texts(a.attribute, b.attribute)
            && (a.linkage, a.kind, a.has_body) == (b.linkage, b.kind, b.has_body)
            && (a.results, a.params) == (b.results, b.params)
            && (a.directives, a.body) == (b.directives, b.body)
    }
}

fn pairwise<T>(left: &[T], right: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| is_same(a, b))
}
