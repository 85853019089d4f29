//! Holds the lane analysis against a machine that runs the lanes.
//!
//! * What the analysis calls definite goes wrong, in the way that it says, for all inputs for which lanes get there
//!   undisturbed. Whether lanes that others wait for do something before that or after is up to the schedule, so one
//!   of those tried has to show it.
//! * A kernel in which it finds nothing, and knows all it needs, never goes wrong in a warp. That warps of a block come
//!   to different barriers, it sees where the thread's index alone decides; how often it does not is counted.
//! * The same holds under a scenario that fixes the launch and the parameters of a run.
//! * Nor does a collective whose mask comes straight from `activemask`, in a kernel in which it finds nothing.
//!
//! Definite findings are the same, whether potential findings are asked for or not.
//!
//! The machine cannot decide one thing, which few kernels contain. If a branch always goes one way because of the possible values of its
//! operands, the analysis knows that lanes have left the path to a collective before they do something visible, and the machine does not:
//! [`NOT_TOLD`].
//!
//! Each run tries the kernels of [`KNOWN`] and a fixed range. With `LANE_KERNELS`, which says how many that are (`make oracle`
//! tries 100,000), as many new ones follow from a seed that it takes from the clock and prints: the test run alone tries the same
//! each time. `LANE_SEED` says where the fixed range begins; a seed that fails is tried alone with `LANE_SEED=… LANE_KERNELS=1`. Seeds with the bit [`generator::CYCLES`] have cycles that
//! are entered at two places, those with [`generator::ROWS`] blocks of two and three dimensions or below a warp, those with
//! [`generator::MASKS`] masks that are known in part, those with [`generator::ROUNDS`] loops that each lane goes round as often as
//! its number says, those with [`generator::TILES`] loops that all threads go round together, with barriers in them, those with
//! [`generator::EXCHANGES`] lanes that hand values to each other through shared memory, those with [`generator::OBJECTS`] objects on
//! the stack that functions fill through pointers.

mod exchanges;
mod generator;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_machine::{Kernel, Schedule, Site, Wrong};
use ptxcheck_passes::analysis::lanes::{FixedParam, Problem, Root, Scenario};
use ptxcheck_passes::context::ModuleContext;
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::{Body, FunctionId, InstructionId, Op};
use ptxcheck_passes::settings::Settings;
use rayon::prelude::*;
use world::{Inputs, Run};

/// Kernels of a run without `LANE_KERNELS`.
const KERNELS: u64 = 3_000;

/// Seeds that have shown something once.
const KNOWN: [u64; 24] = [
    2_448_165_612_278,
    4_498_760_105_729,
    8_896_806_620_834,
    2_302_291_983_747,
    2_584_570_386_177,
    528_236,
    9_014_892,
    9_031_798,
    221_300_154_882,
    221_300_164_060,
    2_580_393_233_704,
    2_715_914_415_318,
    2_720_419_172_428,
    8_796_093_024_518,
    3_069,
    9_992,
    1_640_366_057_568,
    2_199_023_258_551,
    4_941_320_915_780,
    4_941_320_925_218,
    4_942_422_468_958,
    18_136_561_994_652,
    18_136_561_996_074,
    70_368_744_178_062,
];

/// Of the seeds that are known, those whose definite findings are right, and in which the machine does not see them.
const NOT_TOLD: [u64; 8] = [
    2_584_570_386_177,
    528_236,
    9_014_892,
    221_300_164_060,
    2_580_393_233_704,
    2_715_914_415_318,
    2_720_419_172_428,
    8_796_093_024_518,
];

/// One kernel in so many new ones, and as many beside the fixed range, has cycles that are entered at two places; as many have
/// blocks of more dimensions, masks that are known in part, loops with rounds by lane, loops that all threads go round together,
/// exchanges through shared memory, and objects that functions fill.
const CYCLES_IN: u64 = 8;

/// One kernel in so many beside the fixed range has exchanges.
const EXCHANGES_IN: u64 = 5;

const INPUTS: u64 = 6;

/// Of these inputs, those that the kernel is analysed under as scenarios, too.
const SCENARIOS: u64 = 3;

/// Most kernels that are shown.
const SHOWN: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[derive(Default)]
struct Count {
    definite: u64,
    clean: u64,
    runs: u64,
    /// Inputs for which a definite finding went wrong.
    shown: u64,
    /// Inputs for which lanes got to a collective with a mask from `activemask`.
    active: u64,
    /// Inputs for which warps of a clean kernel reached different barriers.
    apart: u64,
    /// Findings that are definite under a scenario, and those of them that went wrong.
    conditional: u64,
    conditional_shown: u64,
    /// Scenarios under which nothing is wrong.
    clean_under: u64,
    exchanges: exchanges::Count,
}

impl Count {
    const fn and(&self, other: &Self) -> Self {
        Self {
            definite: self.definite + other.definite,
            clean: self.clean + other.clean,
            runs: self.runs + other.runs,
            shown: self.shown + other.shown,
            active: self.active + other.active,
            apart: self.apart + other.apart,
            conditional: self.conditional + other.conditional,
            conditional_shown: self.conditional_shown + other.conditional_shown,
            clean_under: self.clean_under + other.clean_under,
            exchanges: self.exchanges.and(&other.exchanges),
        }
    }
}

#[test]
#[allow(clippy::print_stderr)]
fn the_analysis_agrees_with_the_machine() {
    let (first, kernels) = (number("LANE_SEED", 0), number("LANE_KERNELS", KERNELS));
    let fixed = first..first.saturating_add(kernels);
    let is_one = kernels == 1;
    let mut seeds: Vec<u64> = fixed.collect();
    if !is_one {
        for kind in [
            generator::CYCLES,
            generator::ROWS,
            generator::MASKS,
            generator::ROUNDS,
            generator::TILES,
            generator::OBJECTS,
        ] {
            seeds.extend((0..kernels / CYCLES_IN).map(|seed| (first + seed) | kind));
        }
        seeds.extend((0..kernels / EXCHANGES_IN).map(|seed| (first + seed) | generator::EXCHANGES));
        if std::env::var_os("LANE_KERNELS").is_some() {
            let new = clock();
            eprintln!("new kernels from LANE_SEED={new}");
            seeds.extend((0..kernels).map(|number| match number % CYCLES_IN {
                0 => (new + number) | generator::CYCLES,
                1 => (new + number) | generator::ROWS,
                2 => (new + number) | generator::MASKS,
                3 => (new + number) | generator::ROUNDS,
                4 => (new + number) | generator::TILES,
                5 => (new + number) | generator::EXCHANGES,
                6 => (new + number) | generator::OBJECTS,
                _ => new + number,
            }));
        }
        seeds.extend(KNOWN);
    }
    let kernels = seeds.len() as u64;
    let (count, mut problems) = seeds
        .into_par_iter()
        .fold(<(Count, Vec<u64>)>::default, |(mut count, mut problems), seed| {
            let is_told = !NOT_TOLD.contains(&seed);
            if problems.len() < SHOWN && try_one(seed, &mut count, is_told).is_err() {
                problems.push(seed);
            }
            (count, problems)
        })
        .reduce(Default::default, |(a, mut problems), (b, more)| {
            problems.extend(more);
            (a.and(&b), problems)
        });
    problems.sort_unstable();
    let problems: Vec<String> = problems
        .into_iter()
        .take(SHOWN)
        .filter_map(|seed| {
            let is_told = !NOT_TOLD.contains(&seed);
            let problem = try_one(seed, &mut Count::default(), is_told).err()?;
            Some(format!(
                "seed {seed}: {problem}\n{}",
                generator::kernel(seed).code()
            ))
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    if is_one {
        return;
    }
    // A comparison of nothing would agree, too.
    assert!(
        count.definite > kernels / 20,
        "{} definite findings",
        count.definite
    );
    assert!(count.clean > kernels / 20, "{} clean kernels", count.clean);
    assert!(count.active > 0, "no mask from activemask");
    assert!(
        count.conditional > count.definite && count.clean_under > count.clean,
        "{} findings under scenarios, {} clean kernels",
        count.conditional,
        count.clean_under
    );
    count.exchanges.check();
    eprintln!("{}", count.exchanges);
    eprintln!(
        "{kernels} kernels, {} runs, {} definite findings (shown for {} inputs), {} clean kernels, \
         {} inputs with a mask from activemask, {} that part the warps of a clean kernel; {} findings under scenarios (shown {} \
         times), nothing wrong under {}",
        count.runs,
        count.definite,
        count.shown,
        count.clean,
        count.active,
        count.apart,
        count.conditional,
        count.conditional_shown,
        count.clean_under
    );
}

/// A seed that no run has had before.
fn clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |now| now.as_nanos() as u64);
    // Apart from the fixed range, and without the bit that means cycles.
    (nanoseconds >> 10 | 1 << 36) & ((1 << 39) - 1)
}

/// A definite finding.
#[derive(Debug)]
struct Definite {
    site: Site,
    problem: Problem,
    lanes: u32,
    told: String,
    /// The number of threads up to which nothing is wrong: nothing is claimed of the runs of such blocks.
    above: u32,
}

/// A solution under a scenario says the same of a finding, but for its threshold.
impl PartialEq for Definite {
    fn eq(&self, other: &Self) -> bool {
        (&self.site, self.problem, self.lanes, &self.told)
            == (&other.site, other.problem, other.lanes, &other.told)
    }
}

/// The claims about a kernel that are checked against its runs.
struct Claims {
    /// The definite findings, with their words.
    definite: Vec<Definite>,
    /// Nothing is wrong.
    is_clean: bool,
    /// The collectives whose mask comes straight from `activemask`, if nothing was found.
    active: BTreeSet<Site>,
}

fn definite_of(root: &Root) -> Vec<Definite> {
    root.findings
        .iter()
        .filter(|found| found.issue.certainty == Certainty::Definite)
        .map(|found| Definite {
            site: found.issue.site.clone(),
            problem: found.issue.problem,
            lanes: found.issue.lanes,
            told: format!(
                "{:?} {:#x} in {:?}",
                found.issue.problem, found.issue.lanes, found.warps
            ),
            above: found.above.map_or(0, |above| above.threads),
        })
        .collect()
}

/// Tries one kernel. `is_told`: the machine sees what is definite.
fn try_one(seed: u64, count: &mut Count, is_told: bool) -> Result<(), String> {
    let made = generator::kernel(seed);
    let tree = ptxcheck_ptx_parser::parse(made.text.as_bytes()).map_err(|_| "it does not parse")?;
    if !tree.errors().is_empty() {
        return Err("it has syntax errors".to_owned());
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
    let Some(root) = context.lanes().iter().find(|root| root.function == kernel) else {
        return Ok(());
    };
    let body = module.function(kernel).body.as_ref().ok_or("it has no body")?;
    let is_silent = root.findings.is_empty() && !root.is_unknown;
    let claims = Claims {
        definite: definite_of(root),
        is_clean: is_silent && !root.has_unknown,
        active: if is_silent {
            straight_from_activemask(body, kernel)
        } else {
            BTreeSet::new()
        },
    };
    // Without potential findings, most kernels are not analysed lane by lane: that must not lose a definite finding.
    let settings = Settings::default();
    let quick = ModuleContext::new(&module, settings.for_rules());
    let same = quick
        .lanes()
        .iter()
        .find(|root| root.function == kernel)
        .map_or_else(Vec::new, definite_of);
    if same != claims.definite {
        return Err(format!(
            "{:?} with potential findings, {same:?} without",
            claims.definite
        ));
    }
    exchanges::check(
        &made,
        &module,
        kernel,
        context.exchanges(),
        seed,
        &mut count.exchanges,
    )?;
    count.definite += claims.definite.len() as u64;
    count.clean += u64::from(claims.is_clean);
    let machine = Kernel::new(&module, kernel).map_err(|refused| refused.to_string())?;
    let layouts = context.lane_layouts();
    let layout = layouts.layout_of(kernel);
    // A kernel that the screen leaves out is not solved, and has no definite finding: nor may it have any where it is solved. What is
    // found beyond that is found in single rounds of loops.
    let solved = layout
        .as_ref()
        .and_then(|layout| layout.findings_under(&Scenario::default()));
    if let Some(solved) = solved.as_ref().map(definite_of)
        && !solved.iter().all(|found| claims.definite.contains(found))
    {
        return Err(format!(
            "{:?} with the screen, {solved:?} without",
            claims.definite
        ));
    }
    let mut problem = None;
    for number in 0..INPUTS {
        let inputs = Inputs::new(&made, seed, number);
        let schedules = [
            Schedule::First,
            Schedule::Last,
            Schedule::Random(1),
            Schedule::Split(3),
            Schedule::Ranked(seed),
            Schedule::Ranked(seed ^ 0xffff),
        ];
        let run = |schedule| world::run(&machine, inputs, schedule);
        let runs = schedules.into_iter().map(run).collect::<Result<Vec<_>, _>>()?;
        count.runs += runs.len() as u64;
        let checked = check(&claims, (&machine, inputs.block), &runs, &run, count);
        problem = problem.or(checked.err().map(|problem| format!("{problem}, with {inputs:?}")));
        if number < SCENARIOS
            && let Some(root) = layout
                .as_ref()
                .and_then(|layout| layout.findings_under(&scenario(inputs)))
        {
            let claims = Claims {
                definite: definite_of(&root),
                is_clean: root.findings.is_empty() && !root.is_unknown && !root.has_unknown,
                active: BTreeSet::new(),
            };
            let mut under = Count::default();
            let checked = check(&claims, (&machine, inputs.block), &runs, &run, &mut under);
            count.conditional += claims.definite.len() as u64;
            count.conditional_shown += under.shown;
            count.clean_under += u64::from(claims.is_clean);
            problem = problem.or(checked
                .err()
                .map(|problem| format!("{problem}, under the scenario {inputs:?}")));
        }
    }
    match problem {
        Some(problem) if is_told => Err(problem),
        None if !is_told => Err("the machine sees it now".to_owned()),
        _ => Ok(()),
    }
}

/// The scenario that fixes the launch and the parameters of a run.
fn scenario(inputs: Inputs) -> Scenario {
    let param = |number, bytes, value| FixedParam {
        number,
        offset: 0,
        bytes,
        value,
    };
    Scenario {
        block: Some(inputs.block),
        grid: Some(world::GRID),
        block_index: Some([inputs.ctaid, 0, 0]),
        params: vec![
            param(0, 8, world::OUT),
            param(1, 4, inputs.n),
            param(2, 4, inputs.mask),
        ],
        ..Scenario::default()
    }
}

/// The collectives of a body whose mask is a register that one `activemask` writes and nothing else.
fn straight_from_activemask(body: &Body<'_>, function: FunctionId) -> BTreeSet<Site> {
    let mut writers = BTreeMap::new();
    for instruction in &body.instructions {
        for register in body.defined(instruction) {
            let entry = writers.entry(register).or_insert((0, false));
            *entry = (entry.0 + 1, instruction.op == Op::ActiveMask);
        }
    }
    (0..body.instructions.len())
        .filter(|&number| {
            let instruction = body.instruction(InstructionId::new(number));
            matches!(instruction.op, Op::Collective(..))
                && body.uses(instruction).first().is_some_and(|mask| {
                    matches!(mask, ptxcheck_passes::ir::Value::Register(register)
                        if writers.get(register) == Some(&(1, true)))
                })
        })
        .map(|number| Site::of_kernel(function, InstructionId::new(number)))
        .collect()
}

/// True if the failure is of the kind that the problem claims.
const fn is_meant(problem: Problem, wrong: Wrong) -> bool {
    match problem {
        Problem::Missing | Problem::DifferentMasks | Problem::Unconverged | Problem::SkippedBarrier => {
            matches!(wrong, Wrong::Missing | Wrong::Deadlock)
        }
        Problem::NotNamed | Problem::ZeroMask => matches!(wrong, Wrong::NotNamed),
        Problem::AbsentSource => matches!(wrong, Wrong::AbsentSource),
        Problem::BeyondBlock => matches!(wrong, Wrong::BeyondBlock),
        Problem::Stale => false,
    }
}

/// Holds what happened for one input, under all schedules, against what was found.
fn check(
    claims: &Claims,
    (kernel, block): (&Kernel<'_>, [u32; 3]),
    runs: &[Run],
    run_again: &dyn Fn(Schedule) -> Result<Run, String>,
    count: &mut Count,
) -> Result<(), String> {
    if runs.iter().any(|run| run.is_cut) {
        return Ok(());
    }
    if claims.is_clean {
        let all = || runs.iter().flat_map(|run| run.violated.values().flatten());
        if all().any(|wrong| *wrong != Wrong::OtherWarp) {
            let violated: Vec<_> = runs.iter().map(|run| &run.violated).collect();
            return Err(format!("nothing was found, but {violated:?}"));
        }
        count.apart += u64::from(all().next().is_some());
    }
    let threads: u32 = block.iter().product();
    for definite in claims.definite.iter().filter(|definite| threads > definite.above) {
        let site = &definite.site;
        // If lanes wait in vain before this place, only lanes whose partners have ended in time get here. If they wait in vain here, for
        // lanes that are held elsewhere, they never read anything.
        let is_disturbed = runs.iter().filter(|run| run.is_broken).any(|run| {
            run.violated.iter().any(|(other, wrong)| {
                let is_kept = other == site && wrong.contains(&Wrong::Deadlock);
                is_kept || other != site && kernel.may_follow(other.in_kernel(), site.in_kernel())
            })
        });
        let is_reached = runs.iter().any(|run| run.reached.contains(site));
        let is_shown = |run: &Run| {
            let wrong = run.violated.get(site);
            wrong.is_some_and(|wrong| wrong.iter().any(|&wrong| is_meant(definite.problem, wrong)))
        };
        // Whoever does not come may come too early to be waited for, unless it is held back.
        let is_violated = runs.iter().any(is_shown)
            || is_reached && !is_disturbed && is_shown(&run_again(Schedule::Holding(definite.lanes))?);
        count.shown += u64::from(is_violated);
        if is_reached && !is_violated && !is_disturbed {
            return Err(format!(
                "{} at {site:?} is definite, but it went well",
                definite.told
            ));
        }
    }
    for site in &claims.active {
        count.active += u64::from(runs.iter().any(|run| run.reached.contains(site)));
        for run in runs {
            // Lanes that wait elsewhere, for a mask that is not known, may be the ones that are waited for here.
            let is_active = |other: &Site| claims.active.contains(other);
            let is_alone = run.violated.keys().all(is_active);
            // So may those that do not come.
            let mut kept = run
                .violated
                .iter()
                .filter(|(_, wrong)| wrong.contains(&Wrong::Deadlock));
            let is_kept = kept.any(|(other, _)| !is_active(other));
            let is_wrong = run.violated.get(site).is_some_and(|wrong| {
                wrong.iter().any(|wrong| match wrong {
                    Wrong::NotNamed => true,
                    Wrong::Missing => !is_kept,
                    Wrong::Deadlock => is_alone,
                    _ => false,
                })
            });
            if is_wrong {
                return Err(format!("nothing was found at {site:?}, but {:?}", run.violated));
            }
        }
    }
    Ok(())
}
