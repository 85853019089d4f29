//! Compilers that are not installed: their tests are counted as ignored, or fail where they have to be there.

use libtest_mimic::{Completion, Failed};

/// The variable that CI sets to `1`: then a test without its compiler fails.
pub const REQUIRED: &str = "PTXCHECK_REQUIRE_COMPILERS";

/// The end of a test that needs what is not installed.
///
/// # Errors
///
/// `why`, where [`REQUIRED`] is set.
pub fn skip(why: &str) -> Result<Completion, Failed> {
    ending(why, std::env::var_os(REQUIRED).is_some_and(|value| value == "1"))
}

fn ending(why: &str, is_required: bool) -> Result<Completion, Failed> {
    if is_required {
        Err(format!("{why}, and {REQUIRED} is set").into())
    } else {
        Ok(Completion::ignored_with(why))
    }
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn what_is_required_fails_without_its_compiler() {
        assert!(ending("nvcc is not installed", true).is_err());
        assert!(ending("nvcc is not installed", false).is_ok());
    }
}
