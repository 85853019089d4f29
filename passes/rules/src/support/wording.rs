//! Counts, parameters and collectives in words.

use std::borrow::Cow;

use crate::context::ModuleContext;
use crate::ir::{Collective, FunctionId, InstructionId};

/// A collective as its source has it: `__reduce_add_sync` for `redux.sync.add`, which stands for several intrinsics, and the
/// PTX where it was written so.
pub(crate) fn collective(
    module: &ModuleContext<'_>,
    function: FunctionId,
    at: InstructionId,
    kind: Collective,
) -> Cow<'static, str> {
    let spelt = || {
        let span = module.module.span_of(function, at);
        let name = module.module.origin.name(span)?;
        let operation = name.strip_prefix("redux.sync.")?.split('.').next()?.to_owned();
        Some(if module.module.origin.is_in_assembly(span) {
            name
        } else {
            format!("__reduce_{operation}_sync")
        })
    };
    match kind {
        Collective::Reduce => spelt().map_or(Cow::Borrowed(kind.cuda_name()), Cow::Owned),
        _ => Cow::Borrowed(kind.cuda_name()),
    }
}

/// "1 byte", "8 bytes".
pub(crate) fn bytes(count: u64) -> String {
    if count == 1 {
        "1 byte".to_owned()
    } else {
        format!("{count} bytes")
    }
}

/// The parameter with this number (from 0) of a function: "parameter `n`", or "the first parameter" where the name is
/// the compiler's, `<function>_param_0`, or there is none.
pub(crate) fn parameter(function: &str, number: usize, name: &str) -> String {
    const ORDINALS: [&str; 10] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ];
    let is_made = name
        .strip_prefix(function)
        .and_then(|rest| rest.strip_prefix("_param_"))
        .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    if !name.is_empty() && !is_made {
        return format!("parameter `{}`", crate::names::shown(name));
    }
    match ORDINALS.get(number) {
        Some(ordinal) => format!("the {ordinal} parameter"),
        None => format!("parameter {} (the first is 1)", number + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, parameter};

    #[test]
    fn numbers_go_with_their_nouns() {
        assert_eq!([0, 1, 8].map(bytes), ["0 bytes", "1 byte", "8 bytes"]);
    }

    #[test]
    fn parameters_have_names_that_somebody_gave_them() {
        assert_eq!(parameter("_Z1kPi", 0, "_Z1kPi_param_0"), "the first parameter");
        assert_eq!(parameter("_Z1kPi", 1, ""), "the second parameter");
        assert_eq!(parameter("k", 11, ""), "parameter 12 (the first is 1)");
        assert_eq!(parameter("k", 0, "k_params"), "parameter `k_params`");
        assert_eq!(parameter("k", 3, "out"), "parameter `out`");
    }
}
