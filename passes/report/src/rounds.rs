//! Steps that come again, one after the other: rounds of a loop.

/// Most steps of a round that is recognised when it comes again.
const MAX_ROUND: usize = 32;

/// Steps that come one after the other, once or several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// The index of the first step.
    pub(crate) at: usize,
    /// Number of steps.
    pub(crate) length: usize,
    /// How many times they come.
    pub(crate) times: usize,
}

impl Round {
    /// `steps 2 to 3 2 times more`; `None` if they come once.
    pub(crate) fn again(self) -> Option<String> {
        let what = match self.length {
            1 => format!("step {}", self.at + 1),
            _ => format!("steps {} to {}", self.at + 1, self.at + self.length),
        };
        match self.times - 1 {
            0 => None,
            1 => Some(format!("{what} once more")),
            more => Some(format!("{what} {more} times more")),
        }
    }
}

/// The rounds of all steps. The last step, with which a run goes wrong, is one of its own.
pub(crate) fn rounds<Step>(steps: &[Step], are_alike: impl Fn(&Step, &Step) -> bool) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let before_last = steps.len() - 1;
        let (length, times) = round_at(&steps[at..before_last.max(at + 1)], &are_alike);
        rounds.push(Round { at, length, times });
        at += length * times;
    }
    rounds
}

/// The length of the round that steps begin with, and how many times it is there, one after the other: 1 and 1 where nothing comes again.
fn round_at<Step>(steps: &[Step], are_alike: impl Fn(&Step, &Step) -> bool) -> (usize, usize) {
    let are_equal = |a: &[Step], b: &[Step]| a.iter().zip(b).all(|(a, b)| are_alike(a, b));
    for length in 1..=MAX_ROUND.min(steps.len() / 2) {
        let (first, rest) = steps.split_at(length);
        let again = rest
            .chunks_exact(length)
            .take_while(|round| are_equal(first, round));
        if let times @ 1.. = again.count() {
            return (length, times + 1);
        }
    }
    (1, 1)
}
