//! What compilers made of the CUDA sources, as it is committed: up to date, and with the findings that the markers say.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use ptxcheck_tests::outputs::{self, Output, Outputs};

pub fn trials() -> Vec<Trial> {
    let (table, all) = match Outputs::read().and_then(|table| Ok((Arc::new(table), outputs::committed()?))) {
        Ok(read) => read,
        Err(problem) => return vec![Trial::test("the outputs are read", || Err(problem.into()))],
    };
    let mut trials = vec![{
        let (table, all) = (Arc::clone(&table), all.clone());
        Trial::test("every output has a source", move || {
            let mut stray = table.without_source(&all);
            stray.extend(outputs::stray(&all));
            if stray.is_empty() {
                return Ok(());
            }
            let command = outputs::COMMAND;
            Err(format!(
                "no source has {}: run `{command}`, which deletes them",
                stray.join(", ")
            )
            .into())
        })
    }];
    for output in all {
        if output.is_ir() && cfg!(not(feature = "ir")) {
            continue;
        }
        let table = Arc::clone(&table);
        trials.push(Trial::test(output.path.clone(), move || try_one(&table, &output)));
    }
    trials
}

/// Those of the demo and of the defects have tests of their own for what is found in them.
fn try_one(table: &Outputs, output: &Output) -> Result<(), Failed> {
    let content = table.content(output)?;
    if output.path.starts_with("corpus/compilers/") {
        output.hold(&content)?;
    }
    Ok(())
}
