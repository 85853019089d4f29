//! The screen over the PTX of the corpus: it leaves out no kernel with a definite finding.

use std::fs;
use std::path::{Path, PathBuf};

use crate::certainty::Certainty;
use crate::lanes::roots::Calls;
use crate::lanes::{Root, analyse, analyse_suspects};
use crate::module::ModuleAnalyses;
use crate::shared::AnalysisOptions;
use ptxcheck_frontend_ptx::{PtxOrigin, lower};

/// All PTX below a folder, sorted.
fn ptx_files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The definite findings, as text.
fn texts_of_definite_findings(roots: &[Root]) -> Vec<String> {
    let findings = roots.iter().flat_map(|root| &root.findings);
    let definite = findings.filter(|found| found.issue.certainty == Certainty::Definite);
    definite.map(|found| format!("{:?}", found.issue)).collect()
}

/// Certainty depends on no screen and on no level: the definite findings are the same with the screen, without it, and when
/// potential findings are requested.
#[test]
fn the_screen_hides_nothing_definite() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let (mut compared, mut wrong) = (0, 0);
    let mut different = Vec::new();
    for path in ptx_files_below(&corpus) {
        let text = fs::read(&path).unwrap();
        let Ok(tree) = ptxcheck_ptx_parser::parse(&text) else {
            continue;
        };
        let origin = PtxOrigin::new(&tree);
        let module = lower(&tree, &origin);
        let context = ModuleAnalyses::new(&module, AnalysisOptions::default());
        let shared: &crate::Shared<'_> = &context;
        let calls = Calls::new(shared);
        let roots = calls.roots(shared);
        let screened = texts_of_definite_findings(&analyse(shared, Certainty::Definite));
        let with_potential = texts_of_definite_findings(&analyse(shared, Certainty::Potential));
        let all = texts_of_definite_findings(&analyse_suspects(
            shared,
            &calls,
            roots.clone(),
            roots,
            Certainty::Definite,
        ));
        compared += 1;
        wrong += usize::from(!all.is_empty());
        if screened != all || screened != with_potential {
            different.push(format!(
                "{}\n  with the screen {screened:?}\n  with potential findings {with_potential:?}\n  without the screen {all:?}",
                path.display()
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 500 && wrong > 50, "{compared} {wrong}");
}
