//! The asynchronous operations that a kernel may execute, itself or in functions that it calls.

use ptxcheck_ir::{AsyncKinds, AsyncOp, Asynchronous, Body, Callee, FunctionId, Instruction, Module};

use crate::shared::Shared;

/// An asynchronous operation, and the function that it stands in.
#[derive(Clone, Copy, Debug)]
pub struct AsyncSite {
    /// The function.
    pub function: FunctionId,
    /// The operation.
    pub operation: Asynchronous,
}

/// A kernel with asynchronous operations, in it or in what it calls.
#[derive(Debug)]
pub struct AsyncKernel {
    /// The kernel.
    pub kernel: FunctionId,
    /// The kernel and the functions that it may call, in the order in which they were come to.
    pub functions: Vec<FunctionId>,
    /// There is code that nobody sees: a call of a function without a body or through a pointer, an opcode that is not known, text
    /// that could not be read. What is missing proves nothing.
    pub is_open: bool,
    /// The operations that may be executed, by function and in the order of the input.
    pub operations: Vec<AsyncSite>,
}

impl AsyncKernel {
    /// The first operation for which something holds.
    pub fn first(&self, holds: impl Fn(AsyncOp) -> bool) -> Option<&AsyncSite> {
        self.operations.iter().find(|site| holds(site.operation.op))
    }

    /// True if something holds for an operation.
    pub fn any(&self, holds: impl Fn(AsyncOp) -> bool) -> bool {
        self.first(holds).is_some()
    }
}

/// The kinds that make a kernel one to look at: fences and barriers of the cluster alone are none.
const OF_INTEREST: AsyncKinds = AsyncKinds::COPY
    .union(AsyncKinds::COMMIT)
    .union(AsyncKinds::WAIT)
    .union(AsyncKinds::MBARRIER)
    .union(AsyncKinds::MATRIX)
    .union(AsyncKinds::TENSOR_MEMORY);

/// All kernels of a module with such operations, in the order of the input.
pub(crate) fn kernels(module: &Shared<'_>) -> Vec<AsyncKernel> {
    let mut has_any = vec![false; module.module.functions.len()];
    for (id, _, body) in module.module.bodies() {
        has_any[id.index()] = body.has_async(OF_INTEREST);
    }
    if !has_any.contains(&true) {
        return Vec::new();
    }
    module.call_graph().mark_callers(&mut has_any);
    let mut found = Vec::new();
    for (id, function, _) in module.module.bodies() {
        if function.is_kernel() && has_any[id.index()] && !module.deadline.is_over_at_step() {
            found.push(of_kernel(module, id));
        }
    }
    found
}

fn of_kernel(module: &Shared<'_>, kernel: FunctionId) -> AsyncKernel {
    let mut all = AsyncKernel {
        kernel,
        functions: vec![kernel],
        is_open: false,
        operations: Vec::new(),
    };
    let mut next = 0;
    while let Some(&id) = all.functions.get(next) {
        next += 1;
        let function = module.module.function(id);
        let Some(body) = &function.body else {
            all.is_open = true;
            continue;
        };
        let analyses = module.function(id);
        all.is_open |= function.is_damaged || module.deadline.is_over_after(body.instructions.len());
        for operation in &body.asynchronous {
            if analyses.may_be_reached(operation.instruction) {
                all.is_open |= operation.op == AsyncOp::Unknown;
                all.operations.push(AsyncSite {
                    function: id,
                    operation: *operation,
                });
            }
        }
        for call in &body.calls {
            if !analyses.may_be_reached(call.instruction) {
                continue;
            }
            match callee(module.module, body, body.instruction(call.instruction)) {
                Called::Function(callee) if !all.functions.contains(&callee) => all.functions.push(callee),
                Called::Function(_) | Called::Harmless => {}
                Called::Unknown => all.is_open = true,
            }
        }
    }
    all
}

/// The callee of a call.
enum Called {
    Function(FunctionId),
    /// One that the toolchain provides.
    Harmless,
    Unknown,
}

fn callee(module: &Module<'_>, body: &Body<'_>, instruction: &Instruction) -> Called {
    let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
        return Called::Unknown;
    };
    let called = module.called(symbol);
    match called {
        Some(function) if module.function(function).body.is_some() => Called::Function(function),
        _ if HARMLESS.contains(&module.symbol(symbol).name) => Called::Harmless,
        _ => Called::Unknown,
    }
}

/// Functions of the toolchain that neither copy nor wait.
const HARMLESS: [&str; 6] = [
    "vprintf",
    "__assertfail",
    "malloc",
    "free",
    "__trap",
    "__nanosleep",
];
