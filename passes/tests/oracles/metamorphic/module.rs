//! PTX text taken apart as far as the changes need it: the bodies of functions as lists of statements.

use ptxcheck_ptx_parser::ast::{Function, Statement, StatementKind, Tree};

/// A module: text between bodies, and bodies.
pub struct Module {
    pub pieces: Vec<Piece>,
}

pub enum Piece {
    Text(String),
    Body(Body),
}

/// The text between the braces of a function.
#[derive(Clone)]
pub struct Body {
    /// Declarations and tables, which stand at the top.
    pub declared: String,
    pub items: Vec<Item>,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// The registers that it declares: name, how many, type.
    pub registers: Vec<(String, Option<u32>, String)>,
    /// A scope has labels or branches in it: what is outside stays where it is.
    pub is_rigid: bool,
}

/// A statement of a body.
#[derive(Clone)]
pub enum Item {
    Label(String),
    Instruction(Instruction),
    /// A scope as a whole, or a directive.
    Other(String),
}

#[derive(Clone)]
pub struct Instruction {
    /// Negated, and the predicate.
    pub guard: Option<(bool, String)>,
    pub opcode: String,
    pub operands: Vec<String>,
}

impl Instruction {
    pub fn new(opcode: &str, operands: &[&str]) -> Self {
        Self {
            guard: None,
            opcode: opcode.to_owned(),
            operands: operands.iter().map(|operand| (*operand).to_owned()).collect(),
        }
    }

    pub fn text(&self) -> String {
        let guard = match &self.guard {
            None => String::new(),
            Some((negated, name)) => format!("@{}{name} ", if *negated { "!" } else { "" }),
        };
        format!("{guard}{} {};", self.opcode, self.operands.join(", "))
    }

    /// True if control never continues after it.
    pub fn ends(&self) -> bool {
        self.guard.is_none() && self.is_jump()
    }

    pub fn is_jump(&self) -> bool {
        let word = self.opcode.split('.').next().unwrap_or("");
        matches!(word, "bra" | "brx" | "ret" | "exit" | "trap")
    }
}

impl Module {
    /// `None` if it has syntax errors.
    pub fn new(text: &str) -> Option<Self> {
        let bare = without_comments(text)?;
        let tree = ptxcheck_ptx_parser::parse(bare.as_bytes()).ok()?;
        let mut pieces = Vec::new();
        let mut done = 0;
        for function in tree.functions().iter().filter(|function| function.has_body) {
            let end = (function.span.end as usize).checked_sub(1)?;
            let statements = &tree.statements()[function.body.range()];
            let head = tree.statements()[function.directives.range()]
                .last()
                .map_or(function.header.end, |last| last.span().end);
            let head = head as usize;
            let start = head + bare.get(head..)?.find('{')? + 1;
            pieces.push(Piece::Text(bare[done..start].to_owned()));
            pieces.push(Piece::Body(body(&tree, &bare, function, statements, end)?));
            done = end;
        }
        pieces.push(Piece::Text(bare[done..].to_owned()));
        Some(Self { pieces })
    }

    /// The text with each body changed; `None` if no change is to be made in any.
    pub fn changed(&self, mut change: impl FnMut(&Body) -> Option<String>) -> Option<String> {
        let mut text = String::new();
        let mut is_changed = false;
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Body(body) => {
                    let changed = change(body);
                    is_changed |= changed.is_some();
                    text.push('\n');
                    text.push_str(&changed.unwrap_or_else(|| body.text()));
                }
            }
        }
        is_changed.then_some(text)
    }
}

fn without_comments(text: &str) -> Option<String> {
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).ok()?;
    if !tree.errors().is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for comment in tree.comments() {
        bytes[comment.start as usize..comment.end as usize].fill(b' ');
    }
    String::from_utf8(bytes).ok()
}

fn body(
    tree: &Tree<'_>,
    text: &str,
    function: &Function,
    statements: &[Statement],
    end: usize,
) -> Option<Body> {
    let mut body = Body {
        declared: String::new(),
        items: Vec::new(),
        labels: Vec::new(),
        registers: Vec::new(),
        is_rigid: false,
    };
    let name = |statement: &Statement| String::from_utf8_lossy(tree.name(statement)).into_owned();
    for statement in statements {
        match statement.kind() {
            StatementKind::Label => body.labels.push(name(statement)),
            StatementKind::Declaration => {
                for variable in tree.declared(statement) {
                    let count = variable.registers();
                    let of = |span| String::from_utf8_lossy(tree.text(span)).into_owned();
                    if variable.space == ptxcheck_ptx_parser::ast::StateSpace::Reg {
                        let kind = of(variable.scalar_name);
                        body.registers.push((of(variable.name), count, kind));
                    }
                }
            }
            _ => {}
        }
    }
    let first = function.body.range().start;
    let mut next = 0;
    while let Some(statement) = statements.get(next) {
        let start = statement.span().start as usize;
        let mut last = next;
        match statement.kind() {
            StatementKind::BlockOpen => last = statement.index() - first,
            // A table or a prototype has its name before it.
            StatementKind::Label => {
                let is_named = |statement: &Statement| match statement.kind() {
                    StatementKind::Prototype => true,
                    StatementKind::Directive => {
                        matches!(name(statement).as_str(), ".branchtargets" | ".calltargets")
                    }
                    _ => false,
                };
                if statements.get(next + 1).is_some_and(is_named) {
                    last += 1;
                }
            }
            _ => {}
        }
        let until = statements
            .get(last + 1)
            .map_or(end, |after| after.span().start as usize);
        let whole = text.get(start..until)?.trim().to_owned();
        match statement.kind() {
            StatementKind::Label if last == next => body.items.push(Item::Label(name(statement))),
            StatementKind::Label | StatementKind::Declaration => {
                body.declared.push_str(&whole);
                body.declared.push('\n');
            }
            StatementKind::Instruction => {
                let instruction = tree.instruction(statement);
                let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let opcode = text_of(instruction.opcode);
                let at = whole.find(&opcode)? + opcode.len();
                let rest = whole[at..].trim().trim_end_matches(';');
                body.items.push(Item::Instruction(Instruction {
                    guard: instruction
                        .guard
                        .map(|guard| (guard.negated, text_of(guard.name))),
                    opcode,
                    operands: operands(rest),
                }));
            }
            StatementKind::BlockOpen => {
                let inside = &statements[next..=last];
                let is_jump = |statement: &Statement| {
                    let word = name(statement);
                    matches!(
                        word.split('.').next(),
                        Some("bra" | "brx" | "ret" | "exit" | "trap")
                    )
                };
                body.is_rigid |= inside.iter().any(|statement| match statement.kind() {
                    StatementKind::Label => true,
                    StatementKind::Instruction => is_jump(statement),
                    _ => false,
                });
                body.items.push(Item::Other(whole));
            }
            _ => body.items.push(Item::Other(whole)),
        }
        next = last + 1;
    }
    Some(body)
}

/// The operands of an instruction, at the commas outside of brackets.
fn operands(text: &str) -> Vec<String> {
    let (mut found, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        match found.last_mut() {
            _ if letter == ',' && depth == 0 => found.push(String::new()),
            Some(last) => last.push(letter),
            None => {}
        }
    }
    let trimmed = found.into_iter().map(|operand| operand.trim().to_owned());
    trimmed.filter(|operand| !operand.is_empty()).collect()
}

impl Body {
    pub fn text(&self) -> String {
        let mut text = self.declared.clone();
        for item in &self.items {
            match item {
                Item::Label(name) => text.push_str(&format!("{name}:")),
                Item::Instruction(instruction) => text.push_str(&instruction.text()),
                Item::Other(other) => text.push_str(other),
            }
            text.push('\n');
        }
        text
    }
}
