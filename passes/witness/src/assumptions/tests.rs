//! Assumptions: their syntax, and checking them against the parameters of kernels.

use super::{AssumedParameter, Assumption, Assumptions, Signature};
use crate::analysis::lanes::FixedParam;

fn assumptions(texts: &[&str]) -> Assumptions {
    Assumptions {
        all: texts
            .iter()
            .map(|text| Assumption::parse(text).unwrap())
            .collect(),
    }
}

/// `k(float *out, int n, struct { char pad[8]; int size; } s, short h)`
fn kernel() -> Signature<'static> {
    Signature {
        kernel: "_Z1kPfi",
        params: vec![(8, Some("out")), (4, Some("n")), (12, None), (2, Some("h"))],
    }
}

fn fixed_param(number: u16, offset: u32, bytes: u8, value: u64) -> FixedParam {
    FixedParam {
        number,
        offset,
        bytes,
        value,
    }
}

#[test]
fn options_name_kernel_parameter_and_condition() {
    let read = |text: &str| {
        let one = Assumption::parse(text).unwrap();
        (one.kernels.as_str().to_owned(), one.parameter, one.text)
    };
    let named = |name: &str| AssumedParameter::Name(name.to_owned());
    for (text, kernel, parameter, said) in [
        ("forces*:n % 128", "forces*", named("n"), "n % 128"),
        ("forces*:n%128", "forces*", named("n"), "n %128"),
        (
            "ns::k<int>: 1 <= 1024",
            "ns::k<int>",
            AssumedParameter::Number(1),
            "1 <= 1024",
        ),
        (
            "k:2+8 in [1, 2]",
            "k",
            AssumedParameter::Piece(2, 8),
            "2+8 in [1, 2]",
        ),
        ("re:^a|b:x.y = 0x10", "re:^a|b", named("x.y"), "x.y = 0x10"),
        (
            "k(int):k_param_1 != 0",
            "k(int)",
            named("k_param_1"),
            "k_param_1 != 0",
        ),
    ] {
        assert_eq!(
            read(text),
            (kernel.to_owned(), parameter, said.to_owned()),
            "{text}"
        );
    }
    let long = format!("k:n = {}", "0".repeat(5_000));
    for (text, wanted) in [
        ("", "no assumption"),
        ("n % 128", "no assumption"),
        (":n % 128", "no assumption"),
        ("ns::n % 128", "no assumption"),
        ("k:", "no parameter"),
        ("k:% 32", "no parameter"),
        ("k:n", "no condition"),
        ("k:n 32", "no condition"),
        ("k:1x = 3", "no parameter"),
        ("k:70000 = 3", "no parameter"),
        ("k:1+ = 3", "no parameter"),
        ("k:1+x = 3", "no parameter"),
        ("k:1+2+3 = 3", "no parameter"),
        ("k:n+8 = 3", "no parameter"),
        ("re:(:n = 3", "no regular expression"),
        (&long, "at most 4096 bytes"),
    ] {
        let error = Assumption::parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn values_of_parameters_are_bounded() {
    let all = assumptions(&[
        "k:n % 32",
        "k:_Z1kPfi_param_1 >= 32",
        "_Z1kPfi:2+8 in [3, 5]",
        "other:0 = 7",
    ]);
    let about = all.assumptions_about("_Z1kPfi");
    assert_eq!(about, [0, 1, 2]);
    let (assumed, contradictions) = all.of_kernel(&about, &kernel());
    assert_eq!(contradictions, []);
    assert!(assumed.admits(&[]));
    assert!(assumed.admits(&[
        fixed_param(1, 0, 4, 64),
        fixed_param(2, 8, 4, 3),
        fixed_param(0, 0, 8, 5)
    ]));
    assert!(!assumed.admits(&[fixed_param(1, 0, 4, 100)]));
    assert!(!assumed.admits(&[fixed_param(1, 0, 4, 0)]));
    // -32
    assert!(!assumed.admits(&[fixed_param(1, 0, 4, 0xffff_ffe0)]));
    assert!(!assumed.admits(&[fixed_param(2, 8, 4, 4)]));
    assert!(!assumed.admits(&[fixed_param(2, 0, 8, 3), fixed_param(2, 8, 4, 4)]));
    let nearest = |params: &[FixedParam]| {
        let mut params = params.to_vec();
        assumed.move_into_assumptions(&mut params);
        params.iter().map(|param| param.value).collect::<Vec<_>>()
    };
    assert_eq!(
        nearest(&[
            fixed_param(1, 0, 4, 100),
            fixed_param(3, 0, 2, 100),
            fixed_param(2, 8, 4, 9)
        ]),
        [96, 5, 100]
    );
    assert_eq!(nearest(&[fixed_param(1, 0, 4, 0)]), [32]);
    assert_eq!(assumed.values_named_by_assumptions(2, 8, 4), [3, 5]);
    assert_eq!(assumed.values_named_by_assumptions(1, 0, 4), [32, 64]);
}

#[test]
fn pieces_of_a_parameter_are_put_together() {
    let all = assumptions(&["k:0 = 4294967301", "k:h >= -3"]);
    let (assumed, _) = all.of_kernel(&all.assumptions_about("_Z1kPfi"), &kernel());
    assert!(assumed.admits(&[fixed_param(0, 0, 4, 5), fixed_param(0, 4, 4, 1)]));
    assert!(!assumed.admits(&[fixed_param(0, 0, 4, 5), fixed_param(0, 4, 4, 2)]));
    assert!(!assumed.admits(&[fixed_param(0, 0, 4, 6)]));
    assert!(
        assumed.admits(&[fixed_param(3, 0, 2, 0xfffd)]) && !assumed.admits(&[fixed_param(3, 0, 2, 0xfffc)])
    );
    // The sign of the byte that is loaded is not known.
    assert!(assumed.admits(&[fixed_param(3, 0, 1, 0x80)]));
    let mut params = vec![fixed_param(3, 0, 2, 0xff00)];
    assumed.move_into_assumptions(&mut params);
    assert_eq!(
        params,
        [fixed_param(0, 0, 8, 4_294_967_301), fixed_param(3, 0, 2, 0xfffd)]
    );
}

#[test]
fn contradictions_have_a_reason() {
    for (texts, wanted) in [
        (&["k:4 = 1"][..], "the kernel has 4 parameters: numbers 0 to 3"),
        (&["k:2 = 1"], "it has 12 bytes"),
        (&["k:2+12 = 1"], "the parameter has 12 bytes"),
        (&["k:h = 40000"], "40000 is no signed integer of 2 bytes"),
        (&["k:h in [1, -40000]"], "-40000 is no signed integer of 2 bytes"),
        (
            &["k:n = 33", "k:1 % 32"],
            "no value of it is as `n = 33` and `1 % 32` say",
        ),
    ] {
        let all = assumptions(texts);
        let (assumed, contradictions) = all.of_kernel(&all.assumptions_about("_Z1kPfi"), &kernel());
        let [(_, reason)] = &contradictions[..] else {
            panic!("{texts:?}: {contradictions:?}");
        };
        assert!(reason.contains(wanted), "{texts:?}: {reason}");
        assert!(assumed.is_empty(), "{texts:?}");
    }
    // A name that is not known may be that of any parameter.
    let all = assumptions(&["k:m = 1"]);
    let (assumed, contradictions) = all.of_kernel(&all.assumptions_about("_Z1kPfi"), &kernel());
    assert!(assumed.is_empty() && contradictions.is_empty());
}
