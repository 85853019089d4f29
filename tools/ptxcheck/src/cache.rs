//! The folder of what runs keep for later ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptxcheck_passes::report_cache::ReportCache;
use ptxcheck_passes::shown;

/// The variable that names the folder.
pub const VARIABLE: &str = "PTXCHECK_CACHE";

/// The folder within it in which `check` keeps its reports.
const REPORTS: &str = "reports";

/// The folder that the variable names.
fn named() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    named.map(PathBuf::from)
}

/// The folder for downloads: that of the variable, else one in the user's cache folder; `None` if there is no such folder.
pub fn downloads() -> Option<PathBuf> {
    let variable = |variable: &str| std::env::var_os(variable).filter(|folder| !folder.is_empty());
    named().or_else(|| {
        let base = variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))?;
        Some(base.join("ptxcheck"))
    })
}

/// The reports that are kept in the folder of the option, else of the variable; `None` if neither names one.
///
/// # Errors
///
/// A sentence, if the folder cannot be written.
pub fn reports(option: Option<&Path>) -> Result<Option<Arc<ReportCache>>, String> {
    let Some(folder) = option.map(Path::to_owned).or_else(named) else {
        return Ok(None);
    };
    let reports = ReportCache::open(folder.join(REPORTS));
    reports.map(|reports| Some(Arc::new(reports))).map_err(|error| {
        let from = if option.is_some() { "--cache" } else { VARIABLE };
        let folder = shown::path(folder.as_os_str());
        format!("`{folder}`, the folder that {from} names, cannot be used: {error}")
    })
}
