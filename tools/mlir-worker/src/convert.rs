//! The way of a text or of bytecode to the LLVM bitcode of its kernels.
//!
//! ```text
//! text ─► locations blanked ─► parsed ─► launches outlined ─► each gpu.module alone: lowered, translated
//! bytecode ─► parsed ─► printed with its locations ─► as text
//! ```

use std::ffi::CStr;

use ptxcheck_frontend_mlir::message::{Answer, Content, Converted, Diagnostic};
use ptxcheck_frontend_mlir::{Locations, bytecode};

use crate::launches::Launches;
use crate::mlir::{Context, Module, Operation};
use crate::target::{Target, other};

/// The target triple of the translated module.
const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";

/// Most modules within each other that are looked into.
const MAX_NESTED_MODULES: usize = 8;

/// The operations that may stand in a module that is translated: MLIR crashes on others.
const OF_MODULES: [&[u8]; 9] = [
    b"llvm.func",
    b"llvm.mlir.global",
    b"llvm.mlir.alias",
    b"llvm.mlir.ifunc",
    b"llvm.mlir.global_ctors",
    b"llvm.mlir.global_dtors",
    b"llvm.comdat",
    b"llvm.module_flags",
    b"llvm.linker_flags",
];

/// The attribute of a module that says how wide types are, in the modules within it, too (MLIR, Data Layout).
const DATA_LAYOUT: &str = "dlti.dl_spec";

/// Bodies of `gpu.launch` become kernels.
const OUTLINE: &str = "builtin.module(gpu-kernel-outlining)";

/// The passes that take each `gpu.module` from the dialects that kernels are written in to those that MLIR translates to LLVM IR.
fn lower(has_redux: bool) -> String {
    format!(
        "builtin.module(gpu.module(convert-nvgpu-to-nvvm,convert-vector-to-scf,expand-strided-metadata,lower-affine,\
         convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm{{has-redux={has_redux}}},convert-nvvm-to-llvm,\
         reconcile-unrealized-casts),{SCOPES})"
    )
}

/// Functions get the scope that places need.
const SCOPES: &str = "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}";

/// Converts text or bytecode.
pub(crate) fn convert(context: &Context, bytes: &[u8]) -> Answer {
    if !bytecode::is_bytecode(bytes) {
        return of_text(context, bytes, None);
    }
    let Some(module) = Module::parse(context, bytes) else {
        return malformed(context);
    };
    let text = module.text();
    match of_text(context, &text, Some(&text)) {
        // Printed text does not always parse: then the places are those that the bytecode carries, as far as MLIR keeps them.
        Answer::Malformed(_) => read(context, module, None),
        answer => answer,
    }
}

/// Converts a text, which is a part of the answer if it is `printed`.
fn of_text(context: &Context, text: &[u8], printed: Option<&[u8]>) -> Answer {
    let locations = Locations::of(text);
    // Operations about variables name scopes, which go with the locations. Without them, definitions may be of use elsewhere.
    let first = locations.has_debug_operations();
    let mut failure = None;
    for with_debug in [first, !first] {
        match Module::parse(context, &locations.blanked(with_debug)) {
            Some(module) => return read(context, module, printed),
            None => {
                let said = malformed(context);
                failure.get_or_insert(said);
            }
        }
    }
    failure.unwrap_or(Answer::Malformed(Diagnostic::default()))
}

fn malformed(context: &Context) -> Answer {
    Answer::Malformed(context.take_error().unwrap_or_default())
}

/// Converts what MLIR has read.
fn read(context: &Context, module: Module<'_>, printed: Option<&[u8]>) -> Answer {
    let mut modules = Vec::new();
    add(context, module, MAX_NESTED_MODULES, &mut modules);
    Answer::Read {
        modules,
        text: printed.map(<[u8]>::to_vec),
    }
}

/// Adds what a module holds for GPUs.
fn add(context: &Context, mut module: Module<'_>, depth: usize, found: &mut Vec<Converted>) {
    // An error from reading the text in another way counts no more.
    let _ = context.take_error();
    let nested: Vec<_> = module
        .operations()
        .filter(|_| depth > 0)
        .filter_map(|operation| Module::copy_of(context, operation))
        .collect();
    for module in nested {
        add(context, module, depth - 1, found);
    }
    let operations = module.all();
    let launches = Launches::of(&operations);
    if operations
        .iter()
        .any(|operation| operation.name() == b"gpu.launch")
        && !module.run(OUTLINE)
    {
        found.push(Converted {
            name: "gpu.launch".to_owned(),
            number: number(found),
            line: 0,
            content: failed(context, 0),
            launches: Vec::new(),
        });
        return;
    }
    for operation in module.operations() {
        match operation.name() {
            b"gpu.module" => found.push(gpu_module(context, &module, operation, &launches, number(found))),
            b"gpu.binary" => binary(operation, found),
            b"spirv.module" => found.push(Converted {
                name: named(operation),
                number: number(found),
                line: operation.line(),
                content: Content::OtherTarget(other("spirv")),
                launches: Vec::new(),
            }),
            _ => {}
        }
    }
    found.extend(free_kernels(context, &module, number(found)));
}

/// The number of the next operation.
fn number(found: &[Converted]) -> u32 {
    found.last().map_or(0, |last| last.number.saturating_add(1))
}

/// An operation with its symbol: `gpu.module @kernels`.
fn named(operation: Operation<'_>) -> String {
    let symbol = operation.attribute("sym_name").and_then(|name| name.text());
    let name = String::from_utf8_lossy(operation.name()).into_owned();
    symbol.map_or(name.clone(), |symbol| {
        format!("{name} @{}", String::from_utf8_lossy(symbol))
    })
}

/// MLIR's message, at least with its line.
fn failed(context: &Context, line: u32) -> Content {
    let mut said = context.take_error().unwrap_or_default();
    if said.line == 0 {
        said.line = line;
    }
    if said.message.is_empty() {
        "MLIR says nothing about the cause".clone_into(&mut said.message);
    }
    Content::Failed(said)
}

/// A `gpu.module`, lowered in a module of its own: a failure of MLIR in one does not affect the others.
fn gpu_module(
    context: &Context,
    around: &Module<'_>,
    operation: Operation<'_>,
    launches: &Launches,
    number: u32,
) -> Converted {
    let symbol = operation.attribute("sym_name").and_then(|name| name.text());
    let content = match Target::of(operation.attribute("targets")) {
        Err(other) => Content::OtherTarget(other),
        Ok(target) => {
            let mut alone = Module::empty(context);
            alone.operation().take_over(around.operation(), DATA_LAYOUT);
            alone.add(operation);
            lowered(
                context,
                alone,
                &lower(target.has_redux()),
                &target,
                operation.line(),
            )
        }
    };
    Converted {
        name: named(operation),
        number,
        line: operation.line(),
        content,
        launches: launches.of_module(symbol.unwrap_or_default()),
    }
}

/// The bitcode of a module that holds nothing but one `gpu.module`, or functions in the dialect of LLVM.
/// `line`: where it begins.
fn lowered(context: &Context, mut module: Module<'_>, pipeline: &str, target: &Target, line: u32) -> Content {
    if !module.run(pipeline) {
        return failed(context, line);
    }
    for operation in module.all() {
        if operation.name() == b"llvm.func" {
            annotate(context, operation, target);
        }
    }
    let inner = module
        .operations()
        .find(|operation| operation.name() == b"gpu.module");
    let whole = inner.unwrap_or_else(|| module.operation());
    if let Some(stray) = whole
        .inner()
        .find(|operation| !OF_MODULES.contains(&operation.name()))
    {
        let name = String::from_utf8_lossy(stray.name()).into_owned();
        return Content::Failed(Diagnostic {
            message: format!("the operation `{name}` stands outside of all functions"),
            line: stray.line().max(line),
            column: 0,
        });
    }
    match module.bitcode(whole, TRIPLE) {
        Some(bitcode) => Content::Bitcode(bitcode),
        None => failed(context, line),
    }
}

/// Writes on a function what LLVM IR has to say of it and MLIR keeps elsewhere: the target of its module; that the size of its
/// blocks is exact, which LLVM IR has as the most that they may have.
fn annotate(context: &Context, function: Operation<'_>, target: &Target) {
    if let Some(chip) = &target.chip {
        function.set_text(context, "target_cpu", chip.as_bytes());
        if !target.features.is_empty() {
            let features: Vec<String> = target
                .features
                .iter()
                .map(|feature| format!("\"{feature}\""))
                .collect();
            let list = format!("#llvm.target_features<[{}]>", features.join(", "));
            function.set(context, "target_features", &list);
        }
    }
    let block = function
        .attribute("gpu.known_block_size")
        .and_then(|block| block.numbers());
    if let Some(block) =
        block.filter(|block| block.len() == 3 && function.attribute("nvvm.reqntid").is_none())
    {
        function.remove("nvvm.maxntid");
        function.set_numbers(context, "nvvm.reqntid", &block);
    }
}

/// The objects of a `gpu.binary`.
fn binary(operation: Operation<'_>, found: &mut Vec<Converted>) {
    let number = number(found);
    let objects = operation.attribute("objects").map(|objects| objects.elements());
    for object in objects.unwrap_or_default() {
        let Some((target, bytes)) = object.object() else {
            continue;
        };
        let target = target.printed();
        found.push(Converted {
            name: named(operation),
            number,
            line: operation.line(),
            content: if target.starts_with("#nvvm.") {
                Content::Object(bytes.to_vec())
            } else {
                Content::OtherTarget(other(&target))
            },
            launches: Vec::new(),
        });
    }
}

/// The kernels in the dialect of LLVM that lie in no `gpu.module`, with what lies beside them in that dialect.
fn free_kernels(context: &Context, module: &Module<'_>, number: u32) -> Option<Converted> {
    let functions = || {
        module
            .operations()
            .filter(|operation| operation.name() == b"llvm.func")
    };
    let has = |name: &str| functions().any(|function| function.attribute(name).is_some());
    let line = functions().next()?.line();
    let content = if has("nvvm.kernel") {
        let mut alone = Module::empty(context);
        for operation in module
            .operations()
            .filter(|operation| operation.name().starts_with(b"llvm."))
        {
            alone.add(operation);
        }
        let pipeline = format!("builtin.module(convert-nvvm-to-llvm,reconcile-unrealized-casts,{SCOPES})");
        lowered(context, alone, &pipeline, &triton_target(module), line)
    } else if has("rocdl.kernel") {
        Content::OtherTarget(other("rocdl"))
    } else {
        return None;
    };
    Some(Converted {
        name: String::new(),
        number,
        line,
        content,
        launches: Vec::new(),
    })
}

/// The target that Triton writes on its modules: `ttg.target = "cuda:90"`.
fn triton_target(module: &Module<'_>) -> Target {
    let said = module
        .operation()
        .attribute("ttg.target")
        .and_then(|target| target.text());
    let number = said.and_then(|said| {
        str::from_utf8(said)
            .ok()?
            .strip_prefix("cuda:")?
            .parse::<u32>()
            .ok()
    });
    Target {
        chip: number.map(|number| format!("sm_{number}")),
        features: Vec::new(),
    }
}
