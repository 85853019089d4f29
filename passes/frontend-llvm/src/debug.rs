//! Debug locations, which are read where a finding has to be shown: until then, a location is LLVM's node.
//!
//! A location is a line, a scope and perhaps the location it is inlined at. Scopes lead to their subprogram, whose
//! name is that of the function. Places in the text, where the input is text, are the business of `places.rs`.

use ptxcheck_ptx_parser::{Position, Span};

use super::places::{Places, Tickets};
use super::raw::{Handles, Module, Node, NodeKind, SharedHandles, Value};
use crate::limits::MAX_SCOPE_DEPTH;
use ptxcheck_ir::limits::{MAX_INITIAL_BYTES, MAX_INLINE_DEPTH};
use ptxcheck_ir::places::Frame;
use ptxcheck_ir::{DebugId, Origin, SymbolId};

/// The way from the device IR of a module back to its source, and to its text if it has one.
pub struct LlvmOrigin<'m> {
    llvm: SharedHandles<'m>,
    text: Option<Places<'m>>,
}

/// The locations of a module under lowering.
pub(super) struct Locations<'m> {
    module: Module<'m>,
    pub(super) tickets: Tickets<'m>,
    /// By [`DebugId`]; instructions in a row often have the same.
    nodes: Vec<Node<'m>>,
    /// The instructions that allocate memory on the stack, in the order of its symbols.
    stack: Vec<(SymbolId, Value<'m>)>,
}

/// The operands of metadata with the name of a subprogram and the scope of a lexical block.
const SUBPROGRAM_NAME: u32 = 2;
const BLOCK_SCOPE: u32 = 1;

impl<'m> Locations<'m> {
    pub(super) fn new(module: Module<'m>) -> Self {
        Self {
            module,
            tickets: Tickets::default(),
            nodes: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// The origin, with the text of an input that is text.
    pub(super) fn finish(mut self, text: Option<&'m [u8]>) -> LlvmOrigin<'m> {
        let handles = Handles {
            module: self.module,
            functions: std::mem::take(&mut self.tickets.functions),
            locations: self.nodes,
            stack: self.stack,
        };
        LlvmOrigin {
            llvm: SharedHandles::new(handles),
            text: text.map(|text| Places::new(text, self.tickets)),
        }
    }

    /// The location that a node is.
    pub(super) fn of(&mut self, node: Node<'m>) -> DebugId {
        if self.nodes.last() != Some(&node) {
            self.nodes.push(node);
        }
        DebugId::new(self.nodes.len() - 1)
    }

    /// Notes what made memory on the stack. Each name would be a search through those of all values.
    pub(super) fn on_stack(&mut self, symbol: SymbolId, allocation: Value<'m>) {
        self.stack.push((symbol, allocation));
    }

    /// The place where a function is declared.
    pub(super) fn declaration(&mut self, subprogram: Node<'m>) -> DebugId {
        if subprogram.file().is_some() && subprogram.line() > 0 {
            self.of(subprogram)
        } else {
            DebugId::NONE
        }
    }
}

/// The frames of a location, innermost first, each with its scope. A frame of line 0 is a place that the compiler made
/// up: it is the call around it that counts.
fn chain(node: Node<'_>) -> Vec<(Frame, Node<'_>)> {
    let mut chain = Vec::new();
    let mut current = Some(node);
    for _ in 0..MAX_INLINE_DEPTH {
        let Some(node) = current else { break };
        let (line, column, scope, outer) = match node.kind() {
            NodeKind::Subprogram => (node.line(), 0, Some(node), None),
            _ => match node.location() {
                Some(location) => location,
                None => break,
            },
        };
        if let Some((scope, file)) = scope.and_then(|scope| Some((scope, file(scope)?)))
            && line > 0
        {
            let frame = Frame {
                file,
                line,
                column,
                function: None,
            };
            chain.push((frame, scope));
        }
        current = outer;
    }
    chain
}

fn file(scope: Node<'_>) -> Option<String> {
    let (directory, name) = scope.file()?;
    Some(if directory.is_empty() || name.starts_with('/') {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    })
}

/// The name of the function that a scope lies in, if it has one.
fn function(module: Module<'_>, scope: Node<'_>) -> Option<String> {
    let mut current = scope;
    for _ in 0..MAX_SCOPE_DEPTH {
        if current.kind() == NodeKind::Subprogram {
            let name = module.operand(current, SUBPROGRAM_NAME).and_then(Value::string)?;
            return (!name.is_empty()).then(|| name.to_owned());
        }
        current = module.operand(current, BLOCK_SCOPE).and_then(Value::node)?;
    }
    None
}

/// Deepest nesting of arrays in an initialiser.
const MAX_ARRAY_DEPTH: usize = 4;

/// Appends the bytes of an integer, or of an array of such, up to [`MAX_INITIAL_BYTES`]; `None` for anything else.
fn integers(constant: Value<'_>, depth: usize, bytes: &mut Vec<u8>) -> Option<()> {
    if let Some(bits) = constant.ty().int_bits() {
        let width = bits.is_multiple_of(8).then_some(bits as usize / 8)?;
        bytes.extend(constant.int()?.to_le_bytes().get(..width)?);
        return Some(());
    }
    let (_, count) = constant.ty().sequence().filter(|_| depth > 0)?;
    for number in 0..u32::try_from(count).ok()? {
        if bytes.len() >= MAX_INITIAL_BYTES {
            break;
        }
        integers(constant.element(number)?, depth - 1, bytes)?;
    }
    Some(())
}

impl Origin for LlvmOrigin<'_> {
    fn place(&self, span: Span) -> Option<Span> {
        self.text.as_ref()?.place(&self.llvm, span.start)
    }

    fn position(&self, offset: u32) -> Option<Position> {
        self.text.as_ref()?.position(offset)
    }

    fn line(&self, line: u32) -> &[u8] {
        self.text.as_ref().map_or(&[], |text| text.line(line))
    }

    /// Nothing: one of LLVM's instructions becomes several, and inline assembly is none of them.
    fn name(&self, _: Span) -> Option<String> {
        None
    }

    fn stack_name(&self, symbol: SymbolId) -> Option<String> {
        self.llvm.read(|llvm| {
            let place = llvm.stack.binary_search_by_key(&symbol, |(id, _)| *id).ok()?;
            Some(llvm.stack.get(place)?.1.name().to_owned())
        })
    }

    fn initial_bytes(&self, name: &str, _: Span) -> Option<Vec<u8>> {
        self.llvm.read(|llvm| {
            let variable = llvm.module.globals().find(|global| global.name() == name)?;
            let initializer = variable.initializer()?;
            if let Some(text) = initializer.bytes() {
                return Some(text[..text.len().min(MAX_INITIAL_BYTES)].to_vec());
            }
            let mut bytes = Vec::new();
            integers(initializer, MAX_ARRAY_DEPTH, &mut bytes)?;
            Some(bytes)
        })
    }

    /// Nothing: a fingerprint is the same for text and bitcode.
    fn text(&self, _: Span) -> &[u8] {
        &[]
    }

    fn frames(&self, debug: DebugId) -> Vec<Frame> {
        self.llvm.read(|llvm| {
            let chain = llvm.locations.get(debug.index()).map(|&node| chain(node));
            let chain = chain.unwrap_or_default();
            let last = chain.len().saturating_sub(1);
            let frames = chain.into_iter().enumerate();
            // A name is of use only where the frame is inlined: the others are in the function of the finding.
            frames
                .map(|(number, (frame, scope))| Frame {
                    function: if number < last {
                        function(llvm.module, scope)
                    } else {
                        None
                    },
                    ..frame
                })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_module;
    use ptxcheck_ir::SymbolId;

    #[test]
    fn memory_on_the_stack_is_named_where_that_is_asked() {
        let text = "define void @f(ptr %given) {\n  %first = alloca i32\n  %1 = alloca i32\n  %x = alloca i64\n  ret void\n}\n\
            define ptx_kernel void @k(ptr %passed) {\n  %last = alloca i32\n  ret void\n}\n";
        let names = with_module(text.as_bytes(), |module| {
            let ids = (0..module.symbols.len()).map(SymbolId::new);
            ids.map(|id| module.symbol_name(id).into_owned())
                .collect::<Vec<_>>()
        });
        assert_eq!(names.unwrap(), ["f", "k", "first", "", "x", "last"]);
        let params = with_module(text.as_bytes(), |module| {
            let params = module.functions.iter().flat_map(|function| &function.params);
            params.map(|param| param.name.to_owned()).collect::<Vec<_>>()
        });
        assert_eq!(params.unwrap(), ["", "passed"]);
    }
}
