//! The functions of a kernel, with what their callers pass and which threads enter them.

use rustc_hash::FxHashMap;

use super::execution::Execution;
use super::facts::{Entry, Facts};
use super::origin::{Origin, SmallSet, Target, number, property};
use crate::call_graph::CallSite;
use crate::lanes::{Launch, Site};
use ptxcheck_ir::{FunctionId, InstructionId, SymbolId};

/// The memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SharedObject {
    /// A variable.
    Variable(SymbolId),
    /// The memory that the kernel parameter with this index points to.
    Parameter(u16),
}

/// The launch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLaunch {
    /// The launch of its blocks: the first one, if there are several.
    pub block: Launch,
    /// The block numbers, x, y and z, that it reads, and by which threads at one place may differ: the grid has several blocks in these
    /// dimensions. Without any, one block has all of these threads.
    pub blocks: [bool; 3],
}

impl KernelLaunch {
    /// The same for threads that these numbers do not distinguish.
    pub(super) fn ignoring_numbers(self, apart: SmallSet) -> Self {
        Self {
            blocks: std::array::from_fn(|side| self.blocks[side] && !apart.contains_all(number::BLOCK[side])),
            ..self
        }
    }
}

/// A function that a kernel executes, for all calls of it.
#[derive(Clone, Default)]
pub(super) struct Context {
    /// The origins of its arguments, by parameter.
    arguments: Vec<Option<Origin>>,
    /// The numbers that its callers fix.
    pins: SmallSet,
    /// An atomic chooses the thread that calls it.
    is_claimed: bool,
    /// The calls that lead to it, innermost first.
    callers: Vec<CallSite>,
}

/// A kernel.
pub(super) struct Kernel<'f> {
    /// The kernel.
    pub id: FunctionId,
    /// The kernel and its callees, each after its callers.
    pub functions: Vec<FunctionId>,
    /// The facts about each function.
    pub facts: &'f FxHashMap<FunctionId, Facts>,
    /// The thread and block numbers that it reads.
    pub numbers: SmallSet,
    pub launch: KernelLaunch,
}

/// A function of a kernel, with its facts.
pub(super) struct Entered<'k, 'f> {
    pub kernel: &'k Kernel<'f>,
    pub function: FunctionId,
    pub facts: &'f Facts,
    context: Context,
}

/// The place that an access goes to, and the threads that make it.
pub(super) struct Reach {
    /// The origin of the address.
    pub address: Origin,
    pub object: SharedObject,
    /// The piece of the parameter.
    pub offset: i32,
    /// The numbers that the comparisons before it fix.
    pub pins: SmallSet,
    /// Those that they compare in other ways.
    pub compared: SmallSet,
}

impl Reach {
    /// The numbers in its address. Blocks may have one row, whatever the kernel reads.
    pub(super) const fn numbers_in_address(&self) -> SmallSet {
        if self.address.numbers.intersects(number::WHOLE_THREAD) {
            self.address.numbers.union(number::WHOLE_THREAD)
        } else {
            self.address.numbers
        }
    }
}

impl Kernel<'_> {
    /// Calls `visit` for each of its functions.
    pub(super) fn for_each_function(&self, mut visit: impl FnMut(&Entered<'_, '_>)) {
        let mut contexts: FxHashMap<FunctionId, Context> = FxHashMap::default();
        contexts.insert(self.id, Context::default());
        for &function in &self.functions {
            let (Some(context), Some(facts)) = (contexts.remove(&function), self.facts.get(&function)) else {
                continue;
            };
            let entered = Entered {
                kernel: self,
                function,
                facts,
                context,
            };
            visit(&entered);
            for call in &facts.calls {
                let of_call = entered.context_of_call(call);
                let joined = match contexts.remove(&call.callee) {
                    Some(known) => join_contexts(known, &of_call),
                    None => of_call,
                };
                contexts.insert(call.callee, joined);
            }
        }
    }

    /// True if these numbers leave one thread of each block.
    pub(super) fn leaves_one_thread(&self, apart: SmallSet) -> bool {
        let whole = self.numbers.intersection(number::WHOLE_THREAD);
        let required = if whole.is_empty() {
            self.numbers.intersection(number::OF_THREAD)
        } else {
            whole
        };
        apart.contains_all(required) || apart.contains_all(number::LOW.union(number::HIGH))
    }

    /// True if these numbers leave one block of the grid.
    pub(super) const fn leaves_one_block(&self, apart: SmallSet) -> bool {
        apart.contains_all(self.numbers.intersection(number::WHOLE_BLOCK))
    }
}

impl Entered<'_, '_> {
    /// An origin, with those of the arguments that callers pass.
    pub(super) fn resolved_origin(&self, origin: &Origin) -> Option<Origin> {
        origin.with_arguments(&self.context.arguments)
    }

    /// The place that an access with this address goes to, and the threads that make it; `None` if the place is not known, or an atomic
    /// chooses the place or the thread.
    pub(super) fn reach_of_access(&self, address: &Origin, execution: &Execution) -> Option<Reach> {
        let address = self.resolved_origin(address)?;
        let (object, offset) = match address.target {
            Target::Variable(symbol) => (SharedObject::Variable(symbol), 0),
            Target::Parameter(number, offset) => (SharedObject::Parameter(number), offset),
            Target::None | Target::Several | Target::ParameterBlock(_) => return None,
        };
        let (pins, compared, is_claimed) = execution.choice.resolve_numbers(&self.context.arguments);
        let is_chosen = is_claimed
            || self.context.is_claimed
            || address.has_property(property::RESERVED.union(property::UNCLEAR));
        (!is_chosen).then(|| Reach {
            address,
            object,
            offset,
            pins: pins.union(self.context.pins),
            compared,
        })
    }

    /// The site of an instruction.
    pub(super) fn site_of(&self, instruction: InstructionId) -> Site {
        Site {
            function: self.function,
            instruction,
            callers: self.context.callers.clone(),
        }
    }

    fn context_of_call(&self, call: &Entry) -> Context {
        let (pins, _, is_claimed) = call.execution.choice.resolve_numbers(&self.context.arguments);
        let arguments = call.arguments.iter();
        let mut callers = vec![CallSite {
            caller: self.function,
            instruction: call.at,
            callee: call.callee,
        }];
        callers.extend(&self.context.callers);
        Context {
            arguments: arguments
                .map(|origin| self.resolved_origin(origin.as_ref()?))
                .collect(),
            pins: pins.union(self.context.pins),
            is_claimed: is_claimed || self.context.is_claimed,
            callers,
        }
    }
}

/// The context of a function that is entered in two.
fn join_contexts(one: Context, other: &Context) -> Context {
    let of = |context: &Context, place: usize| context.arguments.get(place).cloned().flatten();
    let count = one.arguments.len().min(other.arguments.len());
    Context {
        arguments: (0..count)
            .map(|place| Some(of(&one, place)?.join(&of(other, place)?)))
            .collect(),
        pins: one.pins.intersection(other.pins),
        is_claimed: one.is_claimed && other.is_claimed,
        callers: one.callers,
    }
}
