//! Read access to a finished tree.

use std::mem::size_of;

use crate::ast::{
    File, Function, InlinedAt, Location, OperandKind, Section, Statement, StatementKind, Tag, Tree, Variable,
};
use crate::error::SyntaxError;
use crate::initializer::{Elements, initializer};
use crate::operand::{OperandRef, Operands};
use crate::span::Span;

/// The `@p` or `@!p` of an instruction (PTX ISA, Predicated Execution).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'t> {
    /// `@!p`: executed where the predicate is false.
    pub negated: bool,
    /// The predicate register.
    pub name: &'t [u8],
}

/// An instruction, or a directive that is read like one, as [`Tree::instruction`] gives it.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Instruction<'t> {
    /// The guard, if there is one.
    pub guard: Option<Guard<'t>>,
    /// The dotted opcode, or the directive with its dot.
    pub opcode: &'t [u8],
    /// The operands, without the guard.
    pub operands: Operands<'t>,
}

impl Statement {
    /// Number of operands at the top level, without the guard; 0 for a statement without any.
    #[inline]
    #[must_use]
    pub const fn operand_count(&self) -> usize {
        match self.tag {
            Tag::Instruction | Tag::InstructionIf | Tag::InstructionIfNot => self.operand_count as usize,
            Tag::Directive => self.name as usize,
            _ => 0,
        }
    }

    /// True for an instruction with the guard `@!p`, false for one with `@p`, `None` for one without guard and for other statements. The
    /// predicate's name is the operand node at [`Statement::index`].
    #[inline]
    #[must_use]
    pub const fn guard_is_negated(&self) -> Option<bool> {
        match self.tag {
            Tag::InstructionIf => Some(false),
            Tag::InstructionIfNot => Some(true),
            _ => None,
        }
    }

    #[inline]
    const fn has_guard(&self) -> bool {
        self.guard_is_negated().is_some()
    }
}

impl<'s> Tree<'s> {
    /// The text that was parsed, as it was given. All [`Span`]s of the tree are ranges of bytes in it.
    #[inline]
    #[must_use]
    pub fn source(&self) -> &'s [u8] {
        self.source
    }

    /// All statements in source order, those inside functions included.
    #[inline]
    #[must_use]
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// True if the code of all functions has been read.
    #[must_use]
    pub fn has_all_code(&self) -> bool {
        self.functions.iter().all(|function| function.unread.is_empty())
    }

    /// All declared variables, registers, parameters and results, in source order. A declaration with several declarators
    /// gives one for each.
    #[inline]
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// All kernels, functions and call prototypes, declarations included, in source order.
    #[inline]
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// All `.loc` directives, in source order.
    #[inline]
    #[must_use]
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// All `.file` directives, in source order.
    #[inline]
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// All `.section` directives, in source order.
    #[inline]
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// All comments (`// …` without the line ending, `/* … */`), in source order.
    #[inline]
    #[must_use]
    pub fn comments(&self) -> &[Span] {
        &self.comments
    }

    /// The syntax errors, in source order: at most [`MAX_ERRORS`](crate::limits::MAX_ERRORS).
    #[inline]
    #[must_use]
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    /// Number of further errors that were counted, but not kept.
    #[inline]
    #[must_use]
    pub fn errors_left_out(&self) -> u32 {
        self.errors_left_out
    }

    /// The parameters of a function.
    #[must_use]
    pub fn params(&self, function: &Function) -> &[Variable] {
        self.variables.get(function.params.range()).unwrap_or_default()
    }

    /// The return parameters of a function.
    #[must_use]
    pub fn results(&self, function: &Function) -> &[Variable] {
        self.variables.get(function.results.range()).unwrap_or_default()
    }

    /// The directives between a function's header and its body: `.maxntid`, `.noreturn` and their like. Read them with
    /// [`Tree::instruction`].
    #[must_use]
    pub fn directives(&self, function: &Function) -> &[Statement] {
        self.statements
            .get(function.directives.range())
            .unwrap_or_default()
    }

    /// The statements between a function's braces, nested scopes included; none where it has no body.
    #[must_use]
    pub fn body(&self, function: &Function) -> &[Statement] {
        self.statements.get(function.body.range()).unwrap_or_default()
    }

    /// The `function_name …, inlined_at …` part of a `.loc`.
    #[must_use]
    pub fn inlined_at(&self, location: &Location) -> Option<&InlinedAt> {
        self.inlined.get(location.inlined as usize)
    }

    /// The elements of a variable's initialiser: none if it has none.
    #[must_use]
    pub fn initializer(&self, variable: &Variable) -> Elements<'s> {
        initializer(self.source, variable.initializer)
    }

    /// The bytes that `span` covers.
    #[inline]
    #[must_use]
    pub fn text(&self, span: Span) -> &'s [u8] {
        span.of(self.source)
    }

    /// The span of a piece of the source that the tree gave, like a [`Guard::name`]: the reverse of [`Tree::text`]. `None`
    /// for text that is not part of [`Tree::source`], even if it reads the same.
    #[must_use]
    pub fn span_of(&self, text: &[u8]) -> Option<Span> {
        let start = text.as_ptr().addr().checked_sub(self.source.as_ptr().addr())?;
        let end = start.checked_add(text.len())?;
        if end > self.source.len() {
            return None;
        }
        Some(Span::new(u32::try_from(start).ok()?, u32::try_from(end).ok()?))
    }

    /// Label: its name. Instruction: its opcode. Directive: its name with the dot. Others: empty.
    #[inline]
    #[must_use]
    pub fn name(&self, statement: &Statement) -> &'s [u8] {
        match statement.kind() {
            StatementKind::Label | StatementKind::Instruction | StatementKind::Directive => {
                self.text(statement.name())
            }
            _ => &[],
        }
    }

    /// Guard, opcode and operands. Other statements than instructions and directives have no operands.
    #[must_use]
    pub fn instruction<'t>(&'t self, statement: &Statement) -> Instruction<'t> {
        let guard = statement.has_guard().then(|| Guard {
            negated: statement.tag == Tag::InstructionIfNot,
            name: self
                .operands
                .get(statement.index as usize)
                .map_or(&[][..], |node| self.text(node.span())),
        });
        Instruction {
            guard,
            opcode: self.name(statement),
            operands: self.operands(statement),
        }
    }

    /// The operands at the top level, without the guard, of an instruction or directive.
    #[inline]
    #[must_use]
    pub fn operands<'t>(&'t self, statement: &Statement) -> Operands<'t> {
        let first = match statement.kind() {
            StatementKind::Instruction | StatementKind::Directive => {
                statement.index + u32::from(statement.has_guard())
            }
            _ => 0,
        };
        Operands::new(self, first, statement.operand_count() as u32)
    }

    /// All operand nodes of the module, in source order: guards too, each node before its descendants.
    pub fn operand_nodes(&self) -> impl ExactSizeIterator<Item = OperandRef<'_>> {
        // Fewer nodes than bytes of the source, whose offsets have 32 bits.
        (0..self.operands.len() as u32).map(|index| OperandRef::new(self, index))
    }

    /// The operand node whose [`OperandRef::index`] is `index`.
    #[inline]
    #[must_use]
    pub fn operand(&self, index: usize) -> Option<OperandRef<'_>> {
        (index < self.operands.len()).then(|| OperandRef::new(self, index as u32))
    }

    /// The variables of a declaration; none for other statements.
    #[must_use]
    pub fn declared(&self, statement: &Statement) -> &[Variable] {
        if statement.tag != Tag::Declaration {
            return &[];
        }
        let first = statement.index as usize;
        self.variables
            .get(first..first.saturating_add(statement.name as usize))
            .unwrap_or_default()
    }

    /// The function or prototype that the statement is.
    #[must_use]
    pub fn function(&self, statement: &Statement) -> Option<&Function> {
        let is_one = matches!(statement.tag, Tag::Function | Tag::Prototype);
        is_one.then(|| self.functions.get(statement.index())).flatten()
    }

    /// The `.loc` that the statement is.
    #[must_use]
    pub fn location(&self, statement: &Statement) -> Option<&Location> {
        (statement.tag == Tag::Location)
            .then(|| self.locations.get(statement.index()))
            .flatten()
    }

    /// The `.file` that the statement is.
    #[must_use]
    pub fn file(&self, statement: &Statement) -> Option<&File> {
        (statement.tag == Tag::File)
            .then(|| self.files.get(statement.index()))
            .flatten()
    }

    /// The `.section` that the statement is.
    #[must_use]
    pub fn section(&self, statement: &Statement) -> Option<&Section> {
        (statement.tag == Tag::Section)
            .then(|| self.sections.get(statement.index()))
            .flatten()
    }

    /// The first directive of that name, with its dot.
    fn first_directive(&self, name: &[u8]) -> Option<Instruction<'_>> {
        let is_it = |statement: &&Statement| {
            statement.kind() == StatementKind::Directive && self.name(statement) == name
        };
        self.statements
            .iter()
            .find(is_it)
            .map(|statement| self.instruction(statement))
    }

    /// The PTX ISA version of `.version`, major and minor: (8, 5).
    #[must_use]
    pub fn version(&self) -> Option<(u32, u32)> {
        let text = self.first_directive(b".version")?.operands.next()?.text();
        let (major, minor) = std::str::from_utf8(text).ok()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// The words of `.target`: the architecture (`sm_90a`) and options (`debug`, `texmode_unified`).
    pub fn target(&self) -> impl Iterator<Item = &[u8]> {
        let words = self
            .first_directive(b".target")
            .map(|directive| directive.operands);
        words.into_iter().flatten().map(OperandRef::text)
    }

    /// The bits of `.address_size`, 32 or 64; `None` where the module has none (the ISA then says 32).
    #[must_use]
    pub fn address_size(&self) -> Option<u32> {
        let operand = self.first_directive(b".address_size")?.operands.next()?;
        (operand.kind() == OperandKind::Integer).then(|| operand.constant()?.try_into().ok())?
    }

    /// Bytes that the tree has allocated, the source not included.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        fn bytes<T>(arena: &Vec<T>) -> usize {
            arena.capacity() * size_of::<T>()
        }
        bytes(&self.statements)
            + bytes(&self.operands)
            + bytes(&self.variables)
            + bytes(&self.functions)
            + bytes(&self.locations)
            + bytes(&self.inlined)
            + bytes(&self.files)
            + bytes(&self.sections)
            + bytes(&self.comments)
            + bytes(&self.errors)
    }

    /// The tree of a source that has not been read.
    pub(crate) const fn empty(source: &'s [u8]) -> Self {
        Self {
            source,
            statements: Vec::new(),
            operands: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
            locations: Vec::new(),
            inlined: Vec::new(),
            files: Vec::new(),
            sections: Vec::new(),
            comments: Vec::new(),
            errors: Vec::new(),
            errors_left_out: 0,
        }
    }

    /// Gives back what the estimates of the arenas' sizes had too much.
    pub(crate) fn shrink(&mut self) {
        fn fit<T>(arena: &mut Vec<T>) {
            if arena.capacity() - arena.len() > arena.len() / 8 {
                arena.shrink_to_fit();
            }
        }
        fit(&mut self.statements);
        fit(&mut self.operands);
        fit(&mut self.variables);
        fit(&mut self.functions);
        fit(&mut self.locations);
        fit(&mut self.inlined);
        fit(&mut self.comments);
    }
}
