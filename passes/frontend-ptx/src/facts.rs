//! What a PTX module declares, for the rules that compare images.

use ptxcheck_ptx_parser::Tree;

use super::weak;
use ptxcheck_common::names;
use ptxcheck_ir::facts::{Facts, Kernel, Variable, is_absolute};
use ptxcheck_ir::limits::SHOWN_PATHS;
use ptxcheck_ir::params;
use ptxcheck_ir::{Function, Module};

/// The facts of the module lowered from `tree`. Digests of weak functions cost a walk over their text, so they are
/// made on demand.
#[must_use]
pub fn facts(tree: &Tree<'_>, module: &Module<'_>, with_weak: bool) -> Facts {
    let mut facts = Facts {
        producer: producer(tree.source()),
        paths: paths(tree),
        is_debug: tree.target().any(|word| word == b"debug"),
        is_damaged: module.is_damaged,
        ..Facts::default()
    };
    for function in &module.functions {
        let symbol = module.symbol(function.symbol);
        if symbol.is_undefined() || function.alias_of.is_some() {
            continue;
        }
        if function.is_kernel() {
            facts.kernels.push(kernel(module, function, symbol.name));
        } else {
            facts.functions += 1;
        }
    }
    facts.variables = module
        .symbols
        .iter()
        .filter(|symbol| symbol.owner.is_none() && !symbol.is_undefined())
        .filter(|symbol| {
            matches!(
                symbol.space,
                ptxcheck_ir::Space::Global | ptxcheck_ir::Space::Const
            )
        })
        .filter_map(|symbol| {
            Some(Variable {
                name: symbol.name.to_owned(),
                identity: names::normalised(symbol.name).into_owned(),
                size: symbol.size?,
            })
        })
        .collect();
    if with_weak {
        facts.weak = weak::functions(tree, module);
    }
    facts
}

fn kernel(module: &Module<'_>, function: &Function<'_>, name: &str) -> Kernel {
    let layout = params::layout(&function.params);
    let pair = |(param, offset): (&ptxcheck_ir::Parameter<'_>, &u64)| {
        let size = u32::try_from(param.size).ok().filter(|size| *size > 0)?;
        Some((u32::try_from(*offset).ok()?, size))
    };
    Kernel {
        name: name.to_owned(),
        identity: names::normalised(name).into_owned(),
        params: function.params.iter().zip(&layout.offsets).map(pair).collect(),
        launch: function.launch,
        source: module.origin.frames(function.declared).pop(),
    }
}

/// The `// Compiler …` and `// Based on …` comments that both of NVIDIA's compilers begin with. PTX in fat binaries has
/// none.
fn producer(source: &[u8]) -> Option<String> {
    let head = &source[..source.len().min(1024)];
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines
        .find(|line| line.starts_with(b"// Cuda compilation tools") || line.starts_with(b"// Based on"))?;
    Some(String::from_utf8_lossy(line[2..].trim_ascii()).into_owned())
}

fn paths(tree: &Tree<'_>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for file in tree.files() {
        let name = tree.text(file.name);
        if is_absolute(name) && paths.len() < SHOWN_PATHS {
            paths.push(ptxcheck_common::shown::source(name).into_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
