//! Sentences about code whose PTX was neither there nor could be made.

use std::collections::BTreeMap;

use ptxcheck_passes::recompile::Architecture;
use ptxcheck_report::coverage::{Gap, Gaps};
use ptxcheck_report::escape;

/// Most sentences; a count stands for the rest.
const SHOWN: usize = 20;

/// A sentence for each input and architecture. `failures`: why no PTX could be made, where that was tried.
#[must_use]
pub fn sentences(
    gaps: &Gaps<'_>,
    mut failures: BTreeMap<(String, Architecture), String>,
    is_tried: bool,
) -> Vec<String> {
    let mut sentences = Vec::new();
    for gap in &gaps.gaps {
        let reason = failures.remove(&(gap.input.to_owned(), gap.architecture.clone()));
        sentences.push(sentence(gap, reason.as_deref(), is_tried));
    }
    failures.retain(|(input, architecture), _| {
        let elsewhere = gaps.analysed_in_other_inputs.iter();
        let is_it = |(name, known): &&(&str, Architecture)| name == input && known == architecture;
        !elsewhere.into_iter().any(|place| is_it(&place))
    });
    // Code without kernels.
    for ((input, architecture), reason) in &failures {
        let gap = Gap {
            input,
            architecture: architecture.clone(),
            kernels: Vec::new(),
        };
        sentences.push(sentence(&gap, Some(reason), is_tried));
    }
    let more = sentences.len().saturating_sub(SHOWN);
    if more > 0 {
        sentences.truncate(SHOWN);
        sentences.push(format!("so it is with {more} more inputs and architectures"));
    }
    sentences
}

fn sentence(gap: &Gap<'_>, reason: Option<&str>, is_tried: bool) -> String {
    let reason = reason.unwrap_or("no PTX for it is there");
    let other = if is_tried {
        ""
    } else {
        ", or give --compile-commands"
    };
    format!(
        "{}: {}; {}{other}",
        gap.sentence(),
        escape::line(reason),
        gap.remedy()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ptxcheck_passes::recompile::Architecture;

    use super::sentences;
    use ptxcheck_report::coverage::{Gap, Gaps};

    #[test]
    fn a_reason_stands_beside_what_it_is_for() {
        let architecture = Architecture::of_target("sm_80");
        let gap = Gap {
            input: "a.o",
            architecture: architecture.clone(),
            kernels: vec!["k"],
        };
        let failures = [("a.o", "it failed"), ("b.o", "it is late")]
            .map(|(input, reason)| ((input.to_owned(), architecture.clone()), reason.to_owned()));
        let gaps = Gaps {
            gaps: vec![gap],
            ..Gaps::default()
        };
        let said = sentences(&gaps, BTreeMap::from(failures), true);
        assert_eq!(said.len(), 2);
        assert!(said[0].starts_with(
            "`a.o`: kernel `k` for compute_80 was not analysed: it failed; add PTX to the build: \
             `-gencode arch=compute_80,code=compute_80`"
        ));
        assert!(said[1].starts_with("`b.o`: code for compute_80 was not analysed: it is late; "));
    }

    #[test]
    fn many_are_counted() {
        let gaps: Vec<Gap<'_>> = (0..25)
            .map(|number| Gap {
                input: "a.o",
                architecture: Architecture {
                    number,
                    suffix: String::new(),
                },
                kernels: Vec::new(),
            })
            .collect();
        let gaps = Gaps {
            gaps,
            ..Gaps::default()
        };
        let said = sentences(&gaps, BTreeMap::new(), false);
        assert_eq!(said.len(), 21);
        assert!(said[20].contains("5 more"), "{}", said[20]);
    }
}
