//! A visitor over the tree, in source order.

use std::ops::{ControlFlow, Range};

use crate::ast::{File, Function, Location, Section, Statement, StatementKind, Tree, Variable};
use crate::operand::OperandRef;
use crate::tree::{Guard, Instruction};

/// The continuation of a walk after a method of a [`Visitor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Visits the parts of the node, then the next node.
    Into,
    /// Skips the parts of the node, and visits the next node.
    Over,
    /// Ends the walk.
    Stop,
}

/// Code that sees the parts of a module in source order. [`Tree::walk`] calls it for all of the module,
/// [`Tree::walk_function`] for one function.
///
/// Every method has a default that does nothing and goes on, so that a visitor has only those it needs. The result of a method says whether
/// the parts of the node are visited: see [`Walk`]. Where there are none, [`Walk::Into`] and [`Walk::Over`] are the same.
///
/// A walk allocates nothing and does not recurse, however deep the source nests. Comments are apart, in
/// [`Tree::comments`], as they may stand between any two tokens; the elements of initialisers and the data of sections
/// are read with [`Tree::initializer`] and [`debug_info::items`](crate::debug_info::items).
///
/// ```
/// use ptxcheck_ptx_parser::ast::{Function, Statement, Tree};
/// use ptxcheck_ptx_parser::{Instruction, Visitor, Walk, parse};
///
/// /// Counts the loads of kernels, not those of other functions.
/// #[derive(Default)]
/// struct Loads {
///     count: usize,
/// }
///
/// impl<'t> Visitor<'t> for Loads {
///     fn function(&mut self, _: &'t Tree<'t>, function: &'t Function) -> Walk {
///         if function.is_kernel() { Walk::Into } else { Walk::Over }
///     }
///
///     fn instruction(&mut self, _: &'t Tree<'t>, _: &'t Statement, instruction: &Instruction<'t>) -> Walk {
///         self.count += usize::from(instruction.opcode.starts_with(b"ld."));
///         Walk::Over
///     }
/// }
///
/// let source = b".func f() { ld.global.b32 a, [b]; } .entry k() { ld.shared.b32 a, [b]; st.shared.b32 [b], a; }";
/// let tree = parse(source)?;
/// let mut loads = Loads::default();
/// assert!(tree.walk(&mut loads).is_continue());
/// assert_eq!(loads.count, 1);
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[allow(unused_variables)]
pub trait Visitor<'t> {
    /// Any statement, before the method of its kind. Its parts are all that the other methods see of it; for a function,
    /// that is its body, too.
    fn statement(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        Walk::Into
    }

    /// A kernel, a function or a call prototype, declarations included. Its parts are results, parameters, directives and
    /// the statements of the body.
    fn function(&mut self, tree: &'t Tree<'t>, function: &'t Function) -> Walk {
        Walk::Into
    }

    /// The end of what [`Visitor::function`] went into.
    fn end_function(&mut self, tree: &'t Tree<'t>, function: &'t Function) -> Walk {
        Walk::Into
    }

    /// A return parameter: a variable like others, unless this method says more.
    fn result(&mut self, tree: &'t Tree<'t>, function: &'t Function, variable: &'t Variable) -> Walk {
        self.variable(tree, variable)
    }

    /// A parameter: a variable like others, unless this method says more.
    fn parameter(&mut self, tree: &'t Tree<'t>, function: &'t Function, variable: &'t Variable) -> Walk {
        self.variable(tree, variable)
    }

    /// A declared variable, register or range of registers, of the module or in a function.
    fn variable(&mut self, tree: &'t Tree<'t>, variable: &'t Variable) -> Walk {
        Walk::Into
    }

    /// A label of an instruction or of a list of targets. [`Tree::name`] gives its name.
    fn label(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        Walk::Into
    }

    /// An instruction. Its parts are the guard and the operands.
    fn instruction(
        &mut self,
        tree: &'t Tree<'t>,
        statement: &'t Statement,
        instruction: &Instruction<'t>,
    ) -> Walk {
        Walk::Into
    }

    /// A directive that is read like an instruction: `.version`, `.pragma`, `.maxntid`, … Its parts are the operands.
    fn directive(
        &mut self,
        tree: &'t Tree<'t>,
        statement: &'t Statement,
        directive: &Instruction<'t>,
    ) -> Walk {
        Walk::Into
    }

    /// The guard of an instruction.
    fn guard(&mut self, tree: &'t Tree<'t>, statement: &'t Statement, guard: Guard<'t>) -> Walk {
        Walk::Into
    }

    /// An operand of an instruction or directive, or a part of one: of `[%rd1+4]` first the address, then the name, then
    /// the offset. Its parts are its [children](OperandRef::children) and theirs.
    fn operand(&mut self, tree: &'t Tree<'t>, statement: &'t Statement, operand: OperandRef<'t>) -> Walk {
        Walk::Into
    }

    /// `{` of a nested scope. Its statements come after it and are not parts of it.
    fn open_block(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        Walk::Into
    }

    /// `}` of a nested scope.
    fn close_block(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        Walk::Into
    }

    /// A `.loc` directive.
    fn location(&mut self, tree: &'t Tree<'t>, location: &'t Location) -> Walk {
        Walk::Into
    }

    /// A `.file` directive.
    fn file(&mut self, tree: &'t Tree<'t>, file: &'t File) -> Walk {
        Walk::Into
    }

    /// A `.section` directive.
    fn section(&mut self, tree: &'t Tree<'t>, section: &'t Section) -> Walk {
        Walk::Into
    }
}

impl<'s> Tree<'s> {
    /// Shows the module to `visitor`, in source order. `Break` if a method returned [`Walk::Stop`].
    pub fn walk<'t, V: Visitor<'t> + ?Sized>(&'t self, visitor: &mut V) -> ControlFlow<()>
    where
        's: 't,
    {
        walk(self, 0..self.statements.len(), visitor)
    }

    /// Shows one function or prototype to `visitor`, as [`Tree::walk`] does when it reaches it.
    pub fn walk_function<'t, V: Visitor<'t> + ?Sized>(
        &'t self,
        function: &Function,
        visitor: &mut V,
    ) -> ControlFlow<()>
    where
        's: 't,
    {
        let Some(start) = function.directives.range().start.checked_sub(1) else {
            return ControlFlow::Continue(());
        };
        walk(self, start..end(function), visitor)
    }
}

/// One past the last statement of a function. Bodies follow directives; prototypes have an empty body after them.
fn end(function: &Function) -> usize {
    function.body.range().end
}

/// `Continue` with whether the parts are to be visited.
fn entered(walk: Walk) -> ControlFlow<(), bool> {
    match walk {
        Walk::Into => ControlFlow::Continue(true),
        Walk::Over => ControlFlow::Continue(false),
        Walk::Stop => ControlFlow::Break(()),
    }
}

fn walk<'t, V: Visitor<'t> + ?Sized>(
    tree: &'t Tree<'t>,
    range: Range<usize>,
    visitor: &mut V,
) -> ControlFlow<()> {
    let mut at = range.start;
    // Functions do not nest, but prototypes stand in functions.
    let (mut prototype, mut function) = (None, None);
    loop {
        for open in [&mut prototype, &mut function] {
            if let Some(ended) = open.take_if(|one: &mut &'t Function| end(one) <= at) {
                entered(visitor.end_function(tree, ended))?;
            }
        }
        if at >= range.end {
            return ControlFlow::Continue(());
        }
        let Some(statement) = tree.statements.get(at) else {
            return ControlFlow::Continue(());
        };
        at += 1;
        let is_entered = entered(visitor.statement(tree, statement))?;
        if let Some(found) = tree.function(statement) {
            if is_entered && entered(visitor.function(tree, found))? {
                for result in tree.results(found) {
                    entered(visitor.result(tree, found, result))?;
                }
                for parameter in tree.params(found) {
                    entered(visitor.parameter(tree, found, parameter))?;
                }
                let open = match statement.kind() {
                    StatementKind::Prototype => &mut prototype,
                    _ => &mut function,
                };
                *open = Some(found);
            } else {
                at = at.max(end(found));
            }
        } else if is_entered {
            parts(tree, statement, visitor)?;
        }
    }
}

/// Visits the parts of a statement that is not a function.
fn parts<'t, V: Visitor<'t> + ?Sized>(
    tree: &'t Tree<'t>,
    statement: &'t Statement,
    visitor: &mut V,
) -> ControlFlow<()> {
    let last = match statement.kind() {
        StatementKind::Instruction => {
            let instruction = tree.instruction(statement);
            if entered(visitor.instruction(tree, statement, &instruction))? {
                operands(tree, statement, instruction, visitor)?;
            }
            Walk::Into
        }
        StatementKind::Directive => {
            let directive = tree.instruction(statement);
            if entered(visitor.directive(tree, statement, &directive))? {
                operands(tree, statement, directive, visitor)?;
            }
            Walk::Into
        }
        StatementKind::Declaration => {
            for variable in tree.declared(statement) {
                entered(visitor.variable(tree, variable))?;
            }
            Walk::Into
        }
        StatementKind::Label => visitor.label(tree, statement),
        StatementKind::BlockOpen => visitor.open_block(tree, statement),
        StatementKind::BlockClose => visitor.close_block(tree, statement),
        StatementKind::Location => match tree.location(statement) {
            Some(location) => visitor.location(tree, location),
            None => Walk::Into,
        },
        StatementKind::File => match tree.file(statement) {
            Some(file) => visitor.file(tree, file),
            None => Walk::Into,
        },
        StatementKind::Section => match tree.section(statement) {
            Some(section) => visitor.section(tree, section),
            None => Walk::Into,
        },
        StatementKind::Function | StatementKind::Prototype => Walk::Into,
    };
    entered(last).map_continue(|_| ())
}

fn operands<'t, V: Visitor<'t> + ?Sized>(
    tree: &'t Tree<'t>,
    statement: &'t Statement,
    instruction: Instruction<'t>,
    visitor: &mut V,
) -> ControlFlow<()> {
    if let Some(guard) = instruction.guard {
        entered(visitor.guard(tree, statement, guard))?;
    }
    for operand in instruction.operands {
        let mut at = operand.index();
        let end = operand.next_index();
        while at < end
            && let Some(node) = tree.operand(at)
        {
            let is_entered = entered(visitor.operand(tree, statement, node))?;
            at = if is_entered { at + 1 } else { node.next_index() };
        }
    }
    ControlFlow::Continue(())
}
