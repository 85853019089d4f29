//! Compares the analysis of address spaces with a machine that runs a thread with real addresses.
//!
//! A definite finding of the analysis is wrong each time that a thread gets there by the calls that it names:
//!
//! * no use of an address there is right, be it an access, a conversion or a test;
//! * if a conversion is reported and the thread reaches its end, its result has been used;
//! * what is stored there as an address of local memory may be one.
//!
//! Each run tries a fixed range of modules. With `POINTER_MODULES`, which says how many that are (`make oracle` tries 20,000), as
//! many new ones follow from a seed that it takes from the clock and prints. `POINTER_SEED` says where the fixed range begins;
//! a seed that fails is tried alone with `POINTER_SEED=… POINTER_MODULES=1`.

mod generator;
mod machine;

use machine::{Inputs, Outcome, Place};
use ptxcheck_passes::analysis::provenance::{Violation, ViolationKind};
use ptxcheck_passes::context::ModuleContext;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::{Op, Space};
use rayon::prelude::*;

/// Modules of a run without `POINTER_MODULES`.
const MODULES: u64 = 3_000;
/// Runs of each, with different inputs.
const RUNS: u64 = 12;
/// Most modules that are shown.
const SHOWN: usize = 3;

#[derive(Clone, Copy, Default)]
struct Count {
    definite: u64,
    /// Definite findings that some run reached.
    reached: u64,
    complete: u64,
    runs: u64,
}

impl Count {
    const fn and(self, other: Self) -> Self {
        Self {
            definite: self.definite + other.definite,
            reached: self.reached + other.reached,
            complete: self.complete + other.complete,
            runs: self.runs + other.runs,
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
#[allow(clippy::print_stderr)]
fn the_analysis_agrees_with_the_machine() {
    let (first, modules) = (number("POINTER_SEED", 0), number("POINTER_MODULES", MODULES));
    let mut seeds: Vec<u64> = (first..first.saturating_add(modules)).collect();
    if std::env::var_os("POINTER_MODULES").is_some() && modules > 1 {
        let new = clock();
        eprintln!("new modules from POINTER_SEED={new}");
        seeds.extend(new..new + modules);
    }
    let (count, mut problems) = seeds
        .par_iter()
        .fold(
            <(Count, Vec<(u64, String)>)>::default,
            |(count, mut problems), &seed| match try_one(seed) {
                Ok(more) => (count.and(more), problems),
                Err(problem) => {
                    problems.push((seed, problem));
                    (count, problems)
                }
            },
        )
        .reduce(Default::default, |(a, mut problems), (b, more)| {
            problems.extend(more);
            (a.and(b), problems)
        });
    problems.sort_unstable();
    let wrong = problems.len();
    let shown: Vec<String> = problems
        .into_iter()
        .take(SHOWN)
        .map(|(seed, problem)| format!("seed {seed}: {problem}\n{}", generator::module(seed)))
        .collect();
    assert!(shown.is_empty(), "{wrong} modules\n{}", shown.join("\n"));
    if modules > 1 {
        // A comparison of nothing would agree, too.
        assert!(
            count.reached > modules / 8,
            "{} findings were reached",
            count.reached
        );
        assert!(
            count.complete > count.runs / 20,
            "{} runs came to their end",
            count.complete
        );
    }
    eprintln!(
        "{} modules, {} runs, {} of them to the end, {} definite findings, {} of them reached",
        seeds.len(),
        count.runs,
        count.complete,
        count.definite,
        count.reached
    );
}

/// A seed that no run has had before.
fn clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1 << 40, |now| now.as_nanos() as u64 >> 10 | 1 << 52)
}

fn try_one(seed: u64) -> Result<Count, String> {
    let text = generator::module(seed);
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).map_err(|_| "it does not parse")?;
    if let Some(error) = tree.errors().first() {
        return Err(format!("it has syntax errors: {error:?}"));
    }
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    let settings = crate::common::with_potential();
    let context = ModuleContext::new(&module, settings.for_rules());
    let kernel = module
        .bodies()
        .find(|(_, function, _)| function.is_kernel())
        .map(|(id, ..)| id)
        .ok_or("it has no kernel")?;
    let definite: Vec<&Violation> = context
        .violations()
        .iter()
        .filter(|violation| violation.is_definite && !is_potential_by_rule(violation))
        .collect();
    // Each in both CTAs of a cluster of two.
    let runs: Vec<(Inputs, [Outcome; 2])> = (0..RUNS)
        .map(|number| Inputs::new(seed.wrapping_mul(31).wrapping_add(number)))
        .map(|inputs| {
            (
                inputs,
                [inputs, inputs.in_other_cta()].map(|inputs| machine::run(&module, kernel, inputs)),
            )
        })
        .collect();
    let mut count = Count {
        definite: definite.len() as u64,
        runs: 2 * RUNS,
        complete: runs
            .iter()
            .flat_map(|(_, run)| run)
            .filter(|run| run.is_complete)
            .count() as u64,
        reached: 0,
    };
    for violation in definite {
        let body = module
            .function(violation.function)
            .body
            .as_ref()
            .ok_or("no body")?;
        let op = body.instruction(violation.instruction).op;
        let mut is_reached = false;
        for (inputs, run) in &runs {
            let reached: Vec<&Outcome> = run
                .iter()
                .filter(|run| run.uses.keys().any(|place| is_at(place, violation)))
                .collect();
            is_reached |= !reached.is_empty();
            let problems: Vec<_> = reached
                .iter()
                .filter_map(|run| refuted(violation, op, run))
                .collect();
            // An address in the shared memory of a CTA of given rank is right in that one.
            let is_needed_everywhere = violation.wrong == ViolationKind::ClusterAsCta;
            let is_refuted = !is_needed_everywhere || problems.len() == reached.len();
            if let Some(problem) = problems.first().filter(|_| is_refuted) {
                let line = ptx_line(&text, body.span_of(violation.instruction));
                return Err(format!(
                    "{:?} of {:?} at `{line}` in {:?} is definite, but {problem}, with {inputs:x?}",
                    violation.wrong, violation.element, violation.callers
                ));
            }
        }
        count.reached += u64::from(is_reached);
    }
    Ok(count)
}

/// True for a second conversion of an address in global memory, which PTX205 reports as potential: the number is right.
fn is_potential_by_rule(violation: &Violation) -> bool {
    violation.wrong == ViolationKind::Twice && violation.used.required_space() == Space::Global
}

fn ptx_line(text: &str, span: ptxcheck_ptx_parser::Span) -> String {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or("?")
        .to_owned()
}

/// True if a place is that of a violation, reached by the calls that it names.
fn is_at(place: &Place, violation: &Violation) -> bool {
    let (calls, function, instruction) = place;
    let is_there = (*function, *instruction) == (violation.function.index(), violation.instruction.index());
    let mut innermost = calls.iter().rev();
    is_there
        && violation
            .callers
            .iter()
            .all(|call| innermost.next() == Some(&(call.caller.index(), call.instruction.index())))
}

/// Why a run shows that a definite violation is none, if it does.
fn refuted(violation: &Violation, op: Op, run: &Outcome) -> Option<&'static str> {
    let mut places = run.uses.keys().filter(|place| is_at(place, violation)).peekable();
    places.peek()?;
    if violation.wrong == ViolationKind::Escape {
        let is_harmless = places.any(|place| run.harmless_stores.get(place) == Some(&true));
        return is_harmless.then_some("what is stored is no address of local memory");
    }
    let is_conversion = matches!(op, Op::ToGeneric(..) | Op::FromGeneric(..));
    for place in places {
        if run.uses[place] {
            return Some("it is right");
        }
        if is_conversion && run.is_complete && !run.used_casts.contains(place) {
            return Some("nothing uses what it makes");
        }
    }
    None
}
