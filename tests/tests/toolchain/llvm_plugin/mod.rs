//! The plugin inside clang and opt: the defects of the corpus are diagnostics of the compilation, on their lines, and what goes wrong
//! with the check itself is a warning. Where the compilers are not installed, the tests are counted as ignored.

mod compilers;
mod corpus;
mod failures;
mod findings;
mod untouched;

use libtest_mimic::{Completion, Failed, Trial};

type Test = fn() -> Result<Completion, Failed>;

pub fn trials() -> Vec<Trial> {
    let mut trials = corpus::trials();
    let lists: [&[(&str, Test)]; 3] = [findings::TESTS, failures::TESTS, untouched::TESTS];
    for &(name, test) in lists.into_iter().flatten() {
        trials.push(Trial::ignorable_test(name, test));
    }
    trials
}
