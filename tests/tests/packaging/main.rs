//! The program in what users put it into, with their real tools. `make test-packaging` runs these: they take minutes.
//! `fast:` begins the names of those that take seconds. Where a tool is missing, its tests are counted as ignored.

mod action;
mod archive;
mod container;
mod editors;
mod example;
mod find_cuda;
mod jobs;
mod launcher;
mod make;
mod matrix;
mod pre_commit;
mod project;
mod refusals;
mod release;
mod wheel;
mod without_ptx;
mod workspace;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use project::{Cmake, Generator};
use ptxcheck_tests::missing;

/// Each runs two compilers at once.
const THREADS: usize = 1;

fn main() {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let mut trials = of_cmake();
    trials.extend(of_tools());
    trials.extend(of_the_wheel());
    for cmake in Cmake::ALL {
        for generator in Generator::ALL {
            let name = format!("{cmake:?} CMake, {generator:?}");
            trials.push(trial(format!("{name}: life of a defect"), move || {
                matrix::life(cmake, generator)
            }));
        }
        trials.push(trial(format!("{cmake:?} CMake: without edits"), move || {
            matrix::without_edits(cmake, Generator::Ninja)
        }));
    }
    trials.extend(without_ptx());
    libtest_mimic::run(&args, trials).exit();
}

fn of_cmake() -> Vec<Trial> {
    vec![
        trial("fast: the example".to_owned(), example::cmake),
        trial("fast: calls that are refused".to_owned(), refusals::calls),
        trial("fast: packages that are not there".to_owned(), refusals::packages),
        trial("fast: FetchContent".to_owned(), example::fetched),
        trial("fast: the version of the package".to_owned(), example::version),
        trial("fast: an audit".to_owned(), example::audit),
        trial("fast: FindCUDA, the oldest CMake".to_owned(), || {
            find_cuda::objects(Cmake::Oldest, Generator::Makefiles)
        }),
        trial("fast: FindCUDA, the newest CMake".to_owned(), || {
            find_cuda::objects(Cmake::Newest, Generator::Ninja)
        }),
        trial("fast: the launcher, Ninja".to_owned(), || {
            launcher::example(Generator::Ninja)
        }),
        trial("fast: the launcher, Makefiles".to_owned(), || {
            launcher::example(Generator::Makefiles)
        }),
        trial(
            "fast: the launcher, objects without PTX".to_owned(),
            launcher::without_ptx,
        ),
        trial(
            "fast: the launcher before ccache".to_owned(),
            launcher::with_ccache,
        ),
    ]
}

fn of_tools() -> Vec<Trial> {
    vec![
        trial("fast: make, the example".to_owned(), make::example),
        trial("fast: make, several files".to_owned(), make::several),
        trial("fast: make, objects without PTX".to_owned(), make::without_ptx),
        trial("fast: pre-commit, sources".to_owned(), pre_commit::sources),
        trial("fast: pre-commit, PTX".to_owned(), pre_commit::committed),
        trial("fast: pre-commit, the script".to_owned(), pre_commit::script),
        trial(
            "fast: editors, a client of the server".to_owned(),
            editors::client,
        ),
        trial(
            "fast: editors, VS Code's tasks".to_owned(),
            editors::problem_matcher,
        ),
        trial("fast: editors, vim".to_owned(), editors::error_format),
        trial("fast: the action, findings".to_owned(), action::steps_find),
        trial(
            "fast: the action, ways to install".to_owned(),
            action::steps_install,
        ),
        trial("fast: the action, what is wrong".to_owned(), action::steps_refuse),
        trial("fast: the job for GitLab".to_owned(), jobs::gitlab),
        trial("fast: the stage for Jenkins".to_owned(), jobs::jenkins),
    ]
}

fn of_the_wheel() -> Vec<Trial> {
    vec![
        trial("wheel: the program".to_owned(), wheel::program),
        trial("wheel: its tag and size".to_owned(), wheel::tag),
        trial("wheel: found by PATH".to_owned(), wheel::found_by_path),
        trial("wheel: an isolated build".to_owned(), wheel::isolated),
        trial("wheel: the archive".to_owned(), archive::layout),
        trial(
            "wheel: its parts that are not there".to_owned(),
            archive::missing_parts,
        ),
        trial("wheel: a release".to_owned(), release::files),
        trial("wheel: its metadata".to_owned(), release::metadata),
        trial(
            "wheel: a release, first findings".to_owned(),
            release::first_findings,
        ),
        trial("wheel: the container".to_owned(), container::recipe),
    ]
}

/// Each version of CMake and each generator once or more, not all pairs.
fn without_ptx() -> Vec<Trial> {
    let pairs = [
        (Cmake::Oldest, Generator::Makefiles),
        (Cmake::System, Generator::Ninja),
        (Cmake::Newest, Generator::MultiConfig),
        (Cmake::Newest, Generator::Makefiles),
    ];
    let mut trials = Vec::new();
    for (cmake, generator) in pairs {
        let name = format!("{cmake:?} CMake, {generator:?}: objects without PTX");
        trials.push(trial(name, move || without_ptx::life(cmake, generator)));
    }
    for (cmake, generator) in [
        (Cmake::Oldest, Generator::Makefiles),
        (Cmake::Newest, Generator::Makefiles),
        (Cmake::Newest, Generator::Ninja),
    ] {
        let name = format!("{cmake:?} CMake, {generator:?}: long command lines");
        trials.push(trial(name, move || without_ptx::long_lines(cmake, generator)));
    }
    for cmake in [Cmake::Oldest, Cmake::Newest] {
        let name = format!("{cmake:?} CMake: configurations at once");
        trials.push(trial(name, move || without_ptx::crossed(cmake)));
    }
    for generator in [Generator::Ninja, Generator::Makefiles] {
        let name = format!("clang, {generator:?}");
        trials.push(trial(name, move || without_ptx::of_clang(generator)));
    }
    trials
}

fn trial(name: String, case: impl Fn() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || attempt(&case)).with_ignored_flag(true)
}

fn attempt(case: &dyn Fn() -> Result<(), String>) -> Result<Completion, Failed> {
    match case() {
        Ok(()) => Ok(Completion::Completed),
        Err(why) if why.ends_with(" is not installed") || why.ends_with(" is not on PATH") => {
            missing::skip(&why)
        }
        Err(why) => Err(why.into()),
    }
}
