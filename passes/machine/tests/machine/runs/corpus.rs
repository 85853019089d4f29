//! Every kernel of the corpus runs, in several worlds, and ends within the limits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptxcheck_frontend_ptx::{PtxOrigin, lower};
use ptxcheck_ir::{FunctionId, Module, SymbolId};
use ptxcheck_machine::{
    At, End, Kernel, Launch, Outcome, Outside, Read, Schedule, Setup, Unknown, Unmodelled, Unobserved, World,
};

/// Steps of a run.
const STEPS: u64 = 100_000;

/// A world that has a value for all that it is asked for: small numbers, or the largest ones, or any.
struct Hash {
    seed: u64,
    most: u64,
}

impl Hash {
    fn number(&self, of: u64) -> Option<u64> {
        let mixed = (of ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = mixed ^ mixed >> 32;
        Some(match self.most {
            0 => u64::MAX - number % 3,
            most => number % most,
        })
    }
}

impl World for Hash {
    fn read(&mut self, read: &Read<'_>) -> Option<u64> {
        self.number(read.address)
    }

    fn unmodelled(&mut self, at: &At<'_>, _: Unmodelled) -> Option<u64> {
        self.number(at.instruction.index() as u64)
    }

    fn outside(&mut self, _: &At<'_>, callee: SymbolId) -> Outside {
        match callee.index() % 3 {
            0 => Outside::Returns,
            1 => Outside::Writes,
            _ => Outside::Ends,
        }
    }
}

/// A world of parameters alone: pointers far from each other, and small numbers.
struct Parameters;

impl World for Parameters {
    fn read(&mut self, read: &Read<'_>) -> Option<u64> {
        (read.space == ptxcheck_ir::Space::Param).then(|| match read.bytes {
            8 => (read.address + 8) << 32,
            _ => 100,
        })
    }
}

/// Largest file that is run, in bytes: the compilers' debug builds repeat themselves.
const MAX_BYTES: u64 = 64 * 1024;

pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    for entry in entries {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx")
            && path.metadata().is_ok_and(|metadata| metadata.len() <= MAX_BYTES)
        {
            found.push(path);
        }
    }
}

/// Numbers of kernels, of runs, and of the runs that reached an end of the kernel.
#[derive(Default)]
pub struct Count {
    pub kernels: usize,
    runs: usize,
    complete: usize,
}

pub fn run_all(module: &Module<'_>, function: FunctionId, count: &mut Count) {
    let new = || Kernel::new(module, function);
    let (Ok(kernel), Ok(slice)) = (new(), new()) else {
        return;
    };
    let slice = slice.sliced();
    count.kernels += 1;
    let bounds = module.function(function).launch;
    let block = bounds.required_threads.or(bounds.max_threads);
    let block = block
        .filter(|block| Launch::of_block(*block).threads().is_some())
        .unwrap_or([64, 2, 1]);
    let worlds: [&mut dyn World; 6] = [
        &mut Parameters,
        &mut Hash { seed: 1, most: 64 },
        &mut Hash { seed: 2, most: 0 },
        &mut Hash { seed: 4, most: 3 },
        &mut Hash { seed: 5, most: 300 },
        &mut Hash {
            seed: 3,
            most: u64::MAX,
        },
    ];
    for (number, world) in worlds.into_iter().enumerate() {
        let schedule = [
            Schedule::First,
            Schedule::Last,
            Schedule::Split(1),
            Schedule::First,
            Schedule::Last,
            Schedule::Random(2),
        ][number];
        let setup = Setup {
            steps: STEPS,
            ..Setup::new(Launch::of_block(block), schedule)
        };
        let outcome = kernel
            .run(&setup, world, &mut Unobserved)
            .expect("it is launched");
        // Others count turns.
        if matches!(schedule, Schedule::First | Schedule::Last) {
            compare((&kernel, &slice), &setup, world, &outcome);
        }
        assert!(outcome.steps <= STEPS || outcome.end == End::Unknown(Unknown::Steps));
        count.runs += 1;
        count.complete += usize::from(outcome.end == End::Complete);
        let body = module
            .function(function)
            .body
            .as_ref()
            .map_or(0, |body| body.instructions.len());
        for failure in &outcome.failures {
            let site = &failure.site;
            assert!(!site.callers.is_empty() || site.instruction.index() < body);
            assert!(failure.lanes != 0 && failure.warp < 32);
        }
    }
}

const SCHEDULES: [Schedule; 6] = [
    Schedule::First,
    Schedule::Last,
    Schedule::Split(1),
    Schedule::Random(1),
    Schedule::Random(2),
    Schedule::Random(3),
];

/// A sliced kernel runs like the whole one, if the whole one reaches its end.
fn compare(
    (kernel, slice): (&Kernel<'_>, &Kernel<'_>),
    setup: &Setup<'_>,
    world: &mut dyn World,
    whole: &Outcome,
) {
    let part = slice.run(setup, world, &mut Unobserved);
    let part = part.expect("it is launched");
    assert!(part.steps <= whole.steps || whole.is_unknown());
    if !whole.is_unknown() {
        assert_eq!(part.end, whole.end);
        assert_eq!(part.reached, whole.reached);
        if part.wrongs() != whole.wrongs() {
            // Whether lanes that are named have ended when the others come is up to the schedule, and a part ends sooner.
            let mut all = |kernel: &Kernel<'_>| {
                let mut wrongs = BTreeSet::new();
                for schedule in SCHEDULES {
                    let setup = Setup { schedule, ..*setup };
                    let outcome = kernel
                        .run(&setup, world, &mut Unobserved)
                        .expect("it is launched");
                    wrongs.extend(outcome.failures.into_iter().map(|one| (one.site, one.wrong)));
                }
                wrongs
            };
            assert_eq!(all(slice), all(kernel));
            return;
        }
        let lanes = |outcome: &Outcome| -> Vec<_> {
            let failures = outcome.failures.iter();
            let mut all: Vec<_> = failures.map(|one| (one.warp, one.lanes, one.mask)).collect();
            // Fewer instructions let another warp come first.
            all.sort_unstable();
            all
        };
        assert_eq!(lanes(&part), lanes(whole));
    }
}

#[test]
#[allow(clippy::print_stderr)]
fn every_kernel_of_the_corpus_ends() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut found = Vec::new();
    files(&corpus, &mut found);
    found.sort();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let counts: Vec<Count> = std::thread::scope(|scope| {
        let work = |worker: usize| {
            let mut count = Count::default();
            for path in found.iter().skip(worker).step_by(workers) {
                let text = std::fs::read(path).expect("it can be read");
                let Ok(tree) = ptxcheck_ptx_parser::parse(&text) else {
                    continue;
                };
                let origin = PtxOrigin::new(&tree);
                let module = lower(&tree, &origin);
                let kernels = module.bodies().filter(|(_, function, _)| function.is_kernel());
                for (function, ..) in kernels {
                    run_all(&module, function, &mut count);
                }
            }
            count
        };
        let workers: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("it ends"))
            .collect()
    });
    let sum = |of: fn(&Count) -> usize| counts.iter().map(of).sum::<usize>();
    let (kernels, runs, complete) = (
        sum(|count| count.kernels),
        sum(|count| count.runs),
        sum(|count| count.complete),
    );
    eprintln!(
        "{kernels} kernels of {} files, {runs} runs, {complete} to the end of the kernel",
        found.len()
    );
    assert!(
        kernels > 1_000 && complete > runs / 4,
        "{kernels} {runs} {complete}"
    );
}
