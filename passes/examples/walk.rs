//! A walk over the device IR of a PTX file, and two analyses of it:
//! `cargo run -p ptxcheck-passes --example walk -- FILE`
#![allow(clippy::print_stdout, reason = "what this program is for")]

use std::error::Error;

use ptxcheck_passes::analysis::{AnalysisOptions, ModuleAnalyses};
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::Op;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read(path)?;
    let tree = ptxcheck_ptx_parser::parse(&text)?;
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    let analyses = ModuleAnalyses::new(&module, AnalysisOptions::default());
    for (id, function, body) in module.bodies() {
        let known = body
            .instructions
            .iter()
            .filter(|one| !matches!(one.op, Op::Opaque))
            .count();
        println!(
            "{}: {} blocks, {} instructions, {known} of them interpreted",
            module.function_name(id),
            body.blocks.len(),
            body.instructions.len(),
        );
        let dominators = analyses.function(id).dominators();
        let entry = ptxcheck_passes::ir::BlockId::new(0);
        let reached = (0..body.blocks.len())
            .filter(|&block| dominators.dominates(entry, ptxcheck_passes::ir::BlockId::new(block)))
            .count();
        println!(
            "  {reached} blocks behind the entry; calls {} functions",
            analyses.call_graph().calls_of(id).len()
        );
        for &collective in &body.collectives {
            let line = module
                .origin
                .position(body.span_of(collective).start)
                .map_or(0, |position| position.line);
            let whose = if function.is_kernel() {
                "kernel"
            } else {
                "function"
            };
            println!("  a collective at line {line}, in a {whose}");
        }
    }
    Ok(())
}
