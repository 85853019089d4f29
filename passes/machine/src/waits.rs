//! The state of a run about threads that wait for others at barriers with a count and for phases.

/// What threads that do not wait have told a barrier with a count since it was complete last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    pub(crate) count: u64,
    /// The threads, once for each time.
    pub(crate) threads: Vec<usize>,
}

/// What happened while threads that wait for phases tested again.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// Visible instructions that threads have executed.
    pub(crate) acts: u64,
    /// Loads from global memory.
    pub(crate) global_loads: u64,
    /// Times that they tested again.
    pub(crate) rounds: u32,
    /// What decided then how they go on.
    pub(crate) last: Option<Standing>,
}

/// All that decides how the threads that wait for phases go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The threads that wait, each with a number for its state.
    pub(crate) threads: Vec<(usize, u64)>,
    /// Visible instructions other than tests.
    pub(crate) acts: u64,
    pub(crate) global_loads: u64,
}
