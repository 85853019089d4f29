//! Runs the analyses and rules over one module, of any language.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::checks::Check;
use crate::context::{Draft, FunctionContext, ModuleContext, Place, Report, limit_drafts};
use crate::deadline::Deadline;
use crate::empty_kernels;
use crate::finding::Finding;
use crate::index_limits;
use crate::inventory::Facts;
use crate::ir::{Function, FunctionId, Module};
use crate::limits::MAX_FINDINGS;
use crate::locate::Locator;
use crate::open_symbols;
use crate::registry::Registry;
use crate::rule::{Family, Rule};
use crate::rule_settings::RuleSettings;
use ptxcheck_common::limits::PARALLEL_STATEMENTS;

/// The facts about a module, and the findings in it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModuleReport {
    /// `sm_90`; empty if the module does not say.
    pub target: String,
    /// PTX ISA version, `8.8`; empty if the module does not say.
    pub isa: String,
    /// Its declarations.
    pub facts: Facts,
    /// Findings, of input 0 and image 0, in a file without a name.
    pub findings: Vec<Finding>,
    /// Number of findings beyond the limit for an input.
    pub left_out: usize,
    /// The time was over before all of it was analysed.
    pub is_cut_short: bool,
    /// A sentence about code that was not analysed because it exceeds a limit.
    pub limit: Option<String>,
    /// Number of kernels in which the search for witnesses ended at a limit.
    pub unsearched: u32,
}

impl ModuleReport {
    /// The report about a module with these facts, before any rule has run.
    #[must_use]
    pub fn of(module: &Module<'_>, facts: Facts) -> Self {
        Self {
            target: module.target.name.to_owned(),
            isa: module.isa.map(|version| version.to_string()).unwrap_or_default(),
            facts,
            ..Self::default()
        }
    }
}

/// `facts`, with what a module shows to a linker and its kernels without code.
#[must_use]
pub fn with_declarations(module: &Module<'_>, facts: Facts) -> Facts {
    Facts {
        symbols: open_symbols::symbols_of_module(module),
        bare: empty_kernels::kernels(module),
        ..facts
    }
}

/// Runs the rules over a module whose `facts` are those of [`with_declarations`], until the deadline. Functions of other modules have
/// findings only by calls of this one.
#[must_use]
pub fn check_module(
    module: &Module<'_>,
    facts: Facts,
    settings: RuleSettings<'_>,
    registry: &Registry,
    deadline: &Deadline,
) -> ModuleReport {
    let mut report = ModuleReport::of(module, facts);
    if settings.assumptions.have_names() {
        name_parameters(module, &mut report.facts);
    }
    let context = ModuleContext::with_deadline(module, settings, deadline);
    let (drafts, left_out) = drafts_of_rules(&context, registry);
    let locator = Locator::unplaced(module);
    if context.settings.find_index_limits {
        index_limits::add(&context, &locator, &mut report.facts);
    }
    report.findings = drafts
        .into_iter()
        .filter_map(|draft| locator.finding(draft, &context.settings))
        .collect();
    report.left_out = left_out;
    report.is_cut_short = deadline.has_cut();
    report.limit = context.limit_notice();
    report.unsearched = context.unsearched();
    report
}

/// Adds the names of the parameters of kernels.
fn name_parameters(module: &Module<'_>, facts: &mut Facts) {
    let functions = (0..).map(FunctionId::new).zip(&module.functions);
    let kernels = functions.filter(|(_, function)| function.is_kernel());
    let ids: HashMap<&str, FunctionId> = kernels.map(|(id, _)| (module.function_name(id), id)).collect();
    for kernel in &mut facts.kernels {
        if let Some(id) = ids.get(kernel.name.as_str()) {
            kernel.parameter_names = module.parameter_names(*id);
        }
    }
}

/// The drafts of all enabled rules that were found before the deadline, and the number of drafts beyond the limit
/// for an input.
fn drafts_of_rules(context: &ModuleContext<'_>, registry: &Registry) -> (Vec<Draft>, usize) {
    analyse_ahead(context, registry);
    let mut drafts = Vec::new();
    let mut left_out = 0;
    for (rule, check) in registry.checks().filter(|(rule, _)| context.settings.wants(rule)) {
        // Kernels whose lanes were done with in time have their findings, by several rules.
        if !context.deadline.is_over() || rule.family == Family::Warp {
            left_out += apply_rule(rule, check, context, &mut drafts);
            if drafts.len() > MAX_FINDINGS {
                left_out += limit_drafts(&mut drafts, &context.settings);
            }
        }
    }
    (drafts, left_out)
}

/// Makes the analyses of a large module at the same time, where there are threads for it and rules will ask for them.
fn analyse_ahead(context: &ModuleContext<'_>, registry: &Registry) {
    let wants = |family| {
        let mut rules = registry.rules();
        rules.any(|rule| rule.family == family && context.settings.wants(rule))
    };
    if context.is_for_several_threads() && wants(Family::Warp) && wants(Family::Space) {
        context.compute_in_advance();
    }
}

/// Runs one rule over a module; returns the number of its drafts that are not kept. Drafts made while the time runs out may rest
/// on work that was cut short, and are dropped.
fn apply_rule(
    rule: &'static Rule,
    check: Check,
    context: &ModuleContext<'_>,
    drafts: &mut Vec<Draft>,
) -> usize {
    let mut left_out = 0;
    match check {
        Check::Module(check) | Check::Linked(check, _) => {
            let mut found = Vec::new();
            let mut report = Report::limited(rule, &mut found, &context.settings);
            check(context, &mut report);
            left_out = report.left_out();
            if context.deadline.is_over() {
                found.retain(|draft| draft.is_finished);
            }
            found.retain(|draft| is_in_own_code(context.module, &draft.place));
            drafts.append(&mut found);
        }
        Check::Function(check) => {
            let of_one = |(id, function, body)| {
                let mut drafts = Vec::new();
                if context.deadline.is_over_at_step() {
                    return drafts;
                }
                let function = FunctionContext {
                    module: context,
                    id,
                    function,
                    body,
                };
                check(&function, &mut Report::new(rule, &mut drafts));
                if !drafts.is_empty() && context.deadline.is_over() {
                    drafts.clear();
                }
                drafts
            };
            let is_own = |(_, function, _): &(_, &Function<'_>, _)| !function.is_imported;
            let bodies: Vec<_> = context.module.bodies().filter(is_own).collect();
            let size: usize = bodies.iter().map(|(_, _, body)| body.instructions.len()).sum();
            if size < PARALLEL_STATEMENTS {
                drafts.extend(bodies.into_iter().flat_map(of_one));
            } else {
                drafts.par_extend(bodies.into_par_iter().flat_map_iter(of_one));
            }
        }
        Check::Images(_) => {}
    }
    left_out
}

/// True if a place is not in a function, or about a symbol, that another module declares; also if calls lead there from this module, and
/// the failure depends on them.
fn is_in_own_code(module: &Module<'_>, place: &Place) -> bool {
    let is_defined_here = |function| !module.function(function).is_imported;
    match place {
        Place::Module => true,
        Place::Symbol(symbol) => symbol.index() < module.symbols.len() - module.imported_symbols,
        Place::Function(function) | Place::Text(function, ..) => is_defined_here(*function),
        Place::Instruction(function, _, callers) => {
            let outermost = callers.last().map_or(*function, |call| call.caller);
            is_defined_here(outermost)
        }
    }
}
