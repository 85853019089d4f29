//! Names that Numba mangles: the scheme of C++, with the version of a function and a digest of its compiler's options as ABI tags, and
//! with letters that no identifier may have as `_` and their code.

/// Parts of a scope's name that Python makes. Other names may have `_3c` of their own.
const SCOPES: [(&str, &str); 2] = [("_3clocals_3e", "<locals>"), ("_3clambda_3e", "<lambda>")];

/// The name of a function without its tags, and with the scopes of Python: `k::<locals>::f(int)` for
/// `k::_3clocals_3e::f[abi:v2][abi:cw51…](int)`. Names that others mangled stay as they are.
pub(super) fn without_tags(name: String) -> String {
    let Some((head, tail)) = split_at_tags(&name) else {
        return name;
    };
    let mut head = head.to_owned();
    for (escaped, scope) in SCOPES {
        head = head.replace(escaped, scope);
    }
    head + tail
}

/// The fewest letters of a tag with options: that of the default options has 106.
const OPTIONS_LETTERS: usize = 20;

/// What is before and after a tag with a version and a tag with options.
fn split_at_tags(name: &str) -> Option<(&str, &str)> {
    const MARK: &str = "[abi:";
    let (head, rest) = name.split_once("[abi:v")?;
    let (version, rest) = rest.split_once(']')?;
    let (options, tail) = rest.strip_prefix(MARK)?.split_once(']')?;
    let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = options
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_version && is_word && options.len() >= OPTIONS_LETTERS).then_some((head, tail))
}
