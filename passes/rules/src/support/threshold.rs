//! Findings that hold in blocks of more than so many threads alone, in words.

use crate::analysis::lanes::Threshold;
use crate::context::Draft;
use crate::rule::Level;

/// The message of a finding with a threshold.
pub(crate) fn message(threshold: Option<Threshold>, message: String) -> String {
    match threshold {
        Some(threshold) => format!("in blocks of more than {}, {message}", size(threshold.threads)),
        None => message,
    }
}

fn size(threads: u32) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Adds the threshold to a finding, which is a warning where nothing shows that blocks have more threads.
pub(crate) fn tell(draft: &mut Draft, threshold: Option<Threshold>) {
    let Some(threshold) = threshold else { return };
    draft.data("above", u64::from(threshold.threads));
    if threshold.is_exceeded {
        draft.note(format!(
            "nothing is wrong in a block of {}, and the kernel treats threads apart as only larger blocks need it",
            size(threshold.threads)
        ));
    } else {
        draft.at_most(Level::Warning).note(format!(
            "nothing is wrong in a block of {}, and nothing in the kernel shows that its blocks have more",
            size(threshold.threads)
        ));
    }
    draft.help("`--launch-block X,Y,Z` or `.reqntid` says how many threads the blocks have");
}
