//! Symbols that device code may leave undefined because somebody provides them, and those that nobody can.
//!
//! The lists are data with their sources: `externs/provided.tsv` and `externs/host_runtime.tsv`.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

/// The function that a failed assertion calls: it ends the grid.
pub const ASSERT_FAIL: &str = "__assertfail";

/// The function that `printf` calls: with a format, and a buffer of the arguments.
pub const PRINT: &str = "vprintf";

/// A list of names by their owner.
struct Table {
    exact: FxHashMap<&'static str, &'static str>,
    /// With their groups; longer ones first.
    prefixes: Vec<(&'static str, &'static str)>,
}

impl Table {
    /// Reads lines of a group, a tab and a name; `#` begins a comment.
    fn parse(text: &'static str) -> Self {
        let mut table = Self {
            exact: FxHashMap::default(),
            prefixes: Vec::new(),
        };
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        for (group, name) in rows.filter_map(|line| line.split_once('\t')) {
            match name.strip_suffix('*') {
                Some(prefix) => table.prefixes.push((prefix, group)),
                None => {
                    table.exact.insert(name, group);
                }
            }
        }
        table
            .prefixes
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        table
    }

    /// The group of a name: its own row, else the longest beginning that has one.
    fn find(&self, name: &str) -> Option<&'static str> {
        let of_prefix = || {
            self.prefixes
                .iter()
                .find(|(prefix, _)| name.starts_with(prefix))
                .map(|(_, group)| *group)
        };
        self.exact.get(name).copied().or_else(of_prefix)
    }
}

fn provider(name: &str) -> Option<&'static str> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE
        .get_or_init(|| Table::parse(include_str!("externs/provided.tsv")))
        .find(name)
}

/// True if ptxas, the driver or the compiler provides this function.
#[must_use]
pub fn is_provided(name: &str) -> bool {
    matches!(provider(name), Some("ptxas" | "compiler" | "optix"))
}

/// True if a loader declares and defines this function in the PTX that it takes.
#[must_use]
pub fn is_of_loader(name: &str) -> bool {
    provider(name) == Some("optix")
}

/// True if the library that has this symbol is one that nvcc links without being told to.
#[must_use]
pub fn is_in_default_library(name: &str) -> bool {
    provider(name) == Some("cudadevrt")
}

/// The library that has this symbol, where one is known to.
#[must_use]
pub fn library(name: &str) -> Option<&'static str> {
    match provider(name)? {
        "libdevice" => Some("libdevice (`libdevice.10.bc`, linked as IR)"),
        "cudadevrt" => Some("the device runtime (`-lcudadevrt`)"),
        "nvshmem" => Some("NVSHMEM's device library (`-lnvshmem_device`)"),
        _ => None,
    }
}

/// The part of the host's C++ runtime that a symbol belongs to, if it does.
#[must_use]
pub fn host_runtime(name: &str) -> Option<&'static str> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE
        .get_or_init(|| Table::parse(include_str!("externs/host_runtime.tsv")))
        .find(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert!(is_provided("vprintf") && is_provided("__cuda_syscall_32f3056bbb"));
        assert!(is_provided("__nv_ptx_builtin_ocg_fmax3") && !is_provided("__nv_ptx_builtin_fmax3"));
        assert!(!is_provided("printf") && !is_provided("memcpy") && !is_provided("cnpFoo"));
        assert_eq!(
            host_runtime("__cxa_guard_acquire"),
            Some("guards of function-local statics")
        );
        assert_eq!(host_runtime("__cxa_throw"), Some("exception handling"));
        assert_eq!(host_runtime("_ZTI4Base"), Some("run-time type information"));
        assert_eq!(host_runtime("_ZN4Base3runEv"), None);
        assert!(library("__cudaCDP2LaunchDeviceV2").is_some());
        assert!(is_of_loader("_optix_get_launch_index_x") && !is_of_loader("optixTrace"));
        assert!(is_in_default_library("cudaStreamDestroy") && !is_in_default_library("vprintf"));
        assert!(library("__nv_sinf").is_some() && library("__nv_nothing").is_none());
    }

    #[test]
    fn every_row_of_the_lists_is_read() {
        for text in [
            include_str!("externs/provided.tsv"),
            include_str!("externs/host_runtime.tsv"),
        ] {
            let rows = text.lines().filter(|line| !line.starts_with('#')).count();
            let table = Table::parse(text);
            assert_eq!(table.exact.len() + table.prefixes.len(), rows);
        }
    }
}
