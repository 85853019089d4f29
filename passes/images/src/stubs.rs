//! Stubs: the functions of host code that launch kernels, by their names.

use ptxcheck_common::names::demangle;

/// The mark in the names of stubs.
pub(super) const STUB: &str = "__device_stub__";

/// The parts of a stub's name that stand for an extended lambda: `__device__`, with a trailing return type, `__host__
/// __device__`.
const LAMBDAS: &[&str] = &["Unvdl", "Unvdtl", "Unvhdl"];

/// The kernel that a stub launches: `_Z2k1Pi` for nvcc's `_Z23__device_stub__Z2k1PiPi` and clang's
/// `_Z17__device_stub__k1Pi`. `None` for what only mentions a stub, such as its local variables, and for stubs of kernels
/// with an extended lambda in their type: nvcc names those stubs after the placeholder that host code has for the lambda
/// (`Unvdl0_PFvPiE…` in `_Z5applyIZ3runPiEUnvdl0_PFvS_E…`), and the kernel after the lambda (`_Z5applyIZ3runPiEUliE_EvS0_T_`).
pub(super) fn kernel_of_stub(symbol: &str) -> Option<String> {
    let at = symbol.find(STUB)?;
    if LAMBDAS.iter().any(|placeholder| symbol.contains(placeholder)) {
        return None;
    }
    let (head, length) = length_before(symbol, at)?;
    let identifier = symbol.get(at..at.checked_add(length)?)?;
    let after = &symbol[at + length..];
    // A length that ends inside the prefix names no stub.
    let name = identifier.strip_prefix(STUB)?;
    match head {
        "_Z" | "_ZL" if name.starts_with('Z') => Some(format!("_{name}")),
        // A local of the stub.
        _ if head.starts_with("_ZZ") || head.starts_with("_ZGVZ") => None,
        _ if head.starts_with("_Z") && !name.is_empty() => Some(format!("{head}{}{name}{after}", name.len())),
        _ => None,
    }
}

/// The text before the length of the identifier at `at`, and that length. The scope before it may end with digits, too:
/// `_ZN12_GLOBAL__N_124__device_stub__k…` is `_GLOBAL__N_1` and 24. Where more than one length fits, the whole name decides.
fn length_before(symbol: &str, at: usize) -> Option<(&str, usize)> {
    let before = &symbol[..at];
    let digits = before
        .trim_end_matches(|letter: char| letter.is_ascii_digit())
        .len();
    let fitting = |start: &usize| {
        let length: usize = before[*start..].parse().ok()?;
        let is_length = !before[*start..].starts_with('0') && length > STUB.len();
        (is_length && symbol.is_char_boundary(at.checked_add(length)?)).then_some((&before[..*start], length))
    };
    if ["_Z", "_ZL"].contains(&&before[..digits]) {
        return fitting(&digits);
    }
    let mut all = (digits..at).filter_map(|start| fitting(&start));
    let first = all.next()?;
    if all.next().is_none() {
        return Some(first);
    }
    let readable = demangle(symbol)?;
    let identifier = &readable[readable.find(STUB)?..];
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let length = identifier
        .find(|letter| !is_letter(letter))
        .unwrap_or(identifier.len());
    (digits..at)
        .filter_map(|start| fitting(&start))
        .find(|(_, fits)| *fits == length)
}

#[cfg(test)]
mod tests {
    use super::kernel_of_stub;

    #[test]
    fn stubs_name_their_kernels() {
        let cases = [
            ("_Z24__device_stub__Z2k1Pi1PcPiR1Pc", Some("_Z2k1Pi1Pc")),
            ("_ZL21__device_stub__Z2ksPiPi", Some("_Z2ksPi")),
            ("_ZL29__device_stub__Z2ktIfEvT_PS0_fPf", Some("_Z2ktIfEvT_PS0_")),
            ("_Z17__device_stub__k1Pi", Some("_Z2k1Pi")),
            ("_Z17__device_stub__ktIfEvT_PS0_", Some("_Z2ktIfEvT_PS0_")),
            ("_ZN2ns16__device_stub__kEPi", Some("_ZN2ns1kEPi")),
            ("_ZGVZ21__device_stub__Z2kwPiPiE5__tmp", None),
            ("_ZZ21__device_stub__Z2kwPiPiE3__f", None),
            ("_Z25__wrapper__device_stub_ktIfEvRT_RPS0_", None),
            (
                "_ZL62__device_stub__Z5applyIZ5plainPiEUnvdl0_PFvS0_E5plain1_EvS0_T_PiR1T",
                None,
            ),
            (
                "_ZN12_GLOBAL__N_116__device_stub__kEPi",
                Some("_ZN12_GLOBAL__N_11kEPi"),
            ),
            (
                "_ZN12_GLOBAL__N_124__device_stub__transformIfEEvT_PKS1_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
                Some(
                    "_ZN12_GLOBAL__N_19transformIfEEvT_PKS1_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
                ),
            ),
            ("_ZN2v216__device_stub__kEPi", Some("_ZN2v21kEPi")),
            (
                "_ZN3BoxIiLi12EE16__device_stub__kEPi",
                Some("_ZN3BoxIiLi12EE1kEPi"),
            ),
            ("__device_stub__", None),
            ("_Z99__device_stub__x", None),
            ("_Z5__device_stub__k", None),
            ("_Z0__device_stub__k", None),
            ("_Z15__device_stub__k", None),
            ("_ZL14__device_stub__Z1kPi", None),
            ("_Z16__device_stub__ék", None),
            ("_Z18446744073709551615__device_stub__k", None),
            ("é1__device_stub__k", None),
        ];
        for (symbol, kernel) in cases {
            assert_eq!(kernel_of_stub(symbol).as_deref(), kernel, "{symbol}");
        }
    }
}
