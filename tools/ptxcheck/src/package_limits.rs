//! Options for the sizes of packages and the files in them.

use clap::Args;
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::policy::Policy;

use crate::config;

/// Limits for packages and the files in them.
#[derive(Debug, Args)]
pub struct PackageArgs {
    /// Most bytes of a package, as in `100M`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_package_size: Option<u64>,

    /// Most bytes of a file, unpacked, in a package or by itself
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_file_size: Option<u64>,

    /// Report files in packages with such a name, as in `*.a` or `**/tests/**` (may be repeated)
    #[arg(long, value_name = "PATTERN", value_parser = path_pattern, help_heading = "Policy")]
    pub forbid_file: Vec<Pattern>,
}

impl PackageArgs {
    /// Puts the options over the policy of a configuration file.
    pub fn apply(&self, policy: &mut Policy) {
        policy.max_package_bytes = self.max_package_size.or(policy.max_package_bytes);
        policy.max_file_bytes = self.max_file_size.or(policy.max_file_bytes);
        if !self.forbid_file.is_empty() {
            policy.forbidden_files.clone_from(&self.forbid_file);
        }
    }
}

fn path_pattern(text: &str) -> Result<Pattern, String> {
    if text.is_empty() {
        return Err("a pattern has at least one character".to_owned());
    }
    config::path_pattern(text).map_err(|bad| bad.to_string())
}
