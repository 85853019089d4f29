//! Functions of CUDA, with the rules about calls of them: the site's search finds the rules by these names, whether a rule's text
//! has them or not.

/// Names and codes.
const NAMES: [(&[&str], &[&str]); 12] = [
    (
        &[
            "__shfl_sync",
            "__shfl_up_sync",
            "__shfl_down_sync",
            "__shfl_xor_sync",
            "__ballot_sync",
            "__all_sync",
            "__any_sync",
            "__match_any_sync",
            "__match_all_sync",
            "__reduce_add_sync",
            "__syncwarp",
            "shfl.sync",
            "vote.sync",
            "match.sync",
            "redux.sync",
            "bar.warp.sync",
        ],
        &[
            "PTX401", "PTX402", "PTX403", "PTX406", "PTX407", "PTX409", "PTX413", "PTX414",
        ],
    ),
    (
        &[
            "__shfl_sync",
            "__shfl_up_sync",
            "__shfl_down_sync",
            "__shfl_xor_sync",
            "shfl.sync",
        ],
        &["PTX404", "PTX405"],
    ),
    (
        &["__shfl", "__shfl_down", "__ballot", "__any", "__all"],
        &["PTX408"],
    ),
    (&["__activemask", "activemask"], &["PTX410", "PTX414"]),
    (
        &[
            "__syncthreads",
            "__syncthreads_count",
            "__syncthreads_and",
            "__syncthreads_or",
            "bar.sync",
            "barrier.sync",
            "barrier.cluster",
        ],
        &["PTX411"],
    ),
    (
        &[
            "bar.sync",
            "barrier.sync",
            "bar.arrive",
            "mbarrier.try_wait",
            "mbarrier.test_wait",
            "mbarrier.arrive",
            "cuda::barrier",
        ],
        &["PTX421"],
    ),
    (
        &[
            "bar.sync",
            "bar.arrive",
            "bar.red",
            "barrier.sync",
            "NamedBarrier",
        ],
        &["PTX419"],
    ),
    (
        &[
            "__syncthreads",
            "__syncwarp",
            "__shared__",
            "ldmatrix",
            "stmatrix",
        ],
        &["PTX415", "PTX416"],
    ),
    (&["atomicAdd", "atomicCAS", "red.global"], &["PTX417", "PTX418"]),
    (&["setmaxnreg", "__launch_bounds__"], &["PTX420"]),
    (
        &[
            "cp.async",
            "cp.async.bulk",
            "__pipeline_memcpy_async",
            "memcpy_async",
        ],
        &["PTX701", "PTX702", "PTX703", "PTX704", "PTX707"],
    ),
    (
        &["__cvta_generic_to_shared", "ldmatrix", "stmatrix", "cp.async"],
        &["PTX203", "PTX204"],
    ),
];

/// The names that lead to a rule, each once.
pub(crate) fn of(code: &str) -> Vec<&'static str> {
    let mut all: Vec<&str> = Vec::new();
    for (names, _) in NAMES.iter().filter(|(_, codes)| codes.contains(&code)) {
        let is_new: Vec<&str> = names.iter().copied().filter(|name| !all.contains(name)).collect();
        all.extend(is_new);
    }
    all
}
