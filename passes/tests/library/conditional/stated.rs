//! Witnesses keep to what the user states: the blocks of kernels, and their parameters.

use ptxcheck_passes::analysis::lanes::Problem;
use ptxcheck_passes::assumptions::{Assumption, Assumptions};
use ptxcheck_passes::conditional::Witness;
use ptxcheck_passes::launches::Launches;

use super::{conditional, tail, told};

/// Of the findings with stated launches, the problem, the lanes and the witness.
fn found_with(kernel: &str, launches: &Launches) -> Vec<(Problem, u32, Witness)> {
    told(conditional(kernel, launches, &Assumptions::default()))
}

/// The same as far as it is as assumed.
fn found_as(kernel: &str, assumptions: &[&str]) -> Vec<(Problem, u32, Witness)> {
    let all = assumptions
        .iter()
        .map(|text| Assumption::parse(text).expect("an assumption"));
    let assumptions = Assumptions { all: all.collect() };
    told(conditional(kernel, &Launches::default(), &assumptions))
}

#[test]
fn of_several_blocks_the_one_that_goes_wrong_is_named() {
    // if (threadIdx.y == 0) __syncwarp();
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
        mov.u32 %r1, %tid.y;\nld.param.u64 %rd1, [out];\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\n\
        bar.warp.sync -1;\nL:\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
    let blocks = |others: &[[u32; 3]]| Launches {
        others: others.to_vec(),
        ..Launches::default()
    };
    let found = found_with(text, &blocks(&[[64, 2, 1], [16, 4, 1]]));
    let [(Problem::Missing, 0xffff_0000, witness)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(witness.block, [16, 4, 1]);
    assert_eq!(found_with(text, &blocks(&[[64, 2, 1], [32, 4, 1]])), []);
    // Wrong in each: definite, and so no witness is looked for.
    assert_eq!(found_with(text, &blocks(&[[8, 8, 1], [16, 4, 1]])), []);
    // A lane that is in none but the second.
    let partial = tail("").replace("setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra L;\n", "");
    let found = found_with(&partial, &blocks(&[[64, 1, 1], [48, 1, 1]]));
    assert!(
        found.iter().all(|(.., witness)| witness.block == [48, 1, 1]) && !found.is_empty(),
        "{found:?}"
    );
}

#[test]
fn witnesses_are_as_assumed() {
    let values = |assumptions: &[&str]| -> Vec<u64> {
        let found = found_as(&tail(""), assumptions);
        found
            .iter()
            .map(|(.., witness)| witness.params[0].value)
            .collect()
    };
    assert_eq!(values(&[]), [100]);
    // Multiples of a warp are right, and so are those that are named.
    for right in [
        &["k:n % 32"][..],
        &["k:1 % 128", "k:n >= 128"],
        &["k*:k_param_1 = 64"],
        &["k:1 in [32, 64, 1024]"],
        &["k:n <= 0"],
        &["k:n >= 1024"],
    ] {
        assert_eq!(values(right), [0; 0], "{right:?}");
    }
    // The value nearest to one that is tried, and those that are named.
    assert_eq!(values(&["k:n != 100"]), [99]);
    assert_eq!(values(&["k:n = 7"]), [7]);
    assert_eq!(values(&["k:n in [32, 20]"]), [20]);
    assert!(matches!(values(&["k:n % 6"])[..], [value] if value % 6 == 0 && value % 32 != 0));
    // About another kernel, about a parameter that it does not have: nothing.
    assert_eq!(values(&["other:n % 32", "k:m % 32", "k:7 % 32"]), [100]);
}

#[test]
fn parameters_that_are_no_inputs_are_as_assumed_too() {
    let text = tail("").replace(".param .u32 n)", ".param .u32 n, .param .u64 rounds)");
    let found = found_as(&text, &["k:rounds >= 1"]);
    let [(.., witness)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        witness
            .params
            .iter()
            .map(|param| param.number)
            .collect::<Vec<_>>(),
        [1]
    );
}
