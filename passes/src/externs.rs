//! Symbols that device code may leave undefined because somebody provides them, and those that nobody can.
//!
//! Measured with ptxas and nvlink 13.5, `-c` and whole program: what is listed as provided never comes up as
//! unresolved.

/// Provided by ptxas or the driver, by name.
const PROVIDED: &[&str] = &["vprintf", "malloc", "free", "__assertfail"];

/// Provided by ptxas or the driver, by prefix.
const PROVIDED_PREFIXES: &[&str] = &["__cuda_syscall_", "__nvvm_"];

/// Whether ptxas or the driver provides this function.
#[must_use]
pub fn is_provided(name: &str) -> bool {
    PROVIDED.contains(&name) || PROVIDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The library of the toolkit that has this symbol, where one has.
#[must_use]
pub fn library(name: &str) -> Option<&'static str> {
    LIBRARIES
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, library)| *library)
}

const DEVICE_RUNTIME: &str = "the device runtime (`-lcudadevrt`)";

/// Libraries of the toolkit, by the prefix of what they define.
const LIBRARIES: &[(&str, &str)] = &[
    ("__cudaCDP2", DEVICE_RUNTIME),
    ("__nv_", "libdevice (`libdevice.10.bc`, linked as IR)"),
    ("cudaDeviceGet", DEVICE_RUNTIME),
    ("cudaDeviceSynchronize", DEVICE_RUNTIME),
    ("cudaEvent", DEVICE_RUNTIME),
    ("cudaFree", DEVICE_RUNTIME),
    ("cudaGet", DEVICE_RUNTIME),
    ("cudaLaunchDevice", DEVICE_RUNTIME),
    ("cudaMalloc", DEVICE_RUNTIME),
    ("cudaStream", DEVICE_RUNTIME),
    ("nvshmem", "NVSHMEM's device library (`-lnvshmem_device`)"),
];

/// The C++ runtime of the host, by prefix: exact names are prefixes of themselves.
const HOST_RUNTIME: &[(&str, &str)] = &[
    ("_Unwind_", "exception handling"),
    ("__cxa_begin_catch", "exception handling"),
    ("__cxa_guard_", "guards of function-local statics"),
    ("__cxa_atexit", "destruction at exit"),
    ("__cxa_thread_atexit", "destruction at thread exit"),
    ("__cxa_", "exception handling"),
    ("__dso_handle", "destruction at exit"),
    ("__dynamic_cast", "run-time type information"),
    ("__gxx_personality", "exception handling"),
    ("__tls_get_addr", "thread-local variables"),
    ("_ZGV", "guards of function-local statics"),
    ("_ZNSt8ios_base4Init", "iostreams"),
    ("_ZSt3cin", "iostreams"),
    ("_ZSt4cerr", "iostreams"),
    ("_ZSt4clog", "iostreams"),
    ("_ZSt4cout", "iostreams"),
    ("_ZSt4wcin", "iostreams"),
    ("_ZSt5wcerr", "iostreams"),
    ("_ZSt5wclog", "iostreams"),
    ("_ZSt5wcout", "iostreams"),
    ("_ZTI", "run-time type information"),
    ("_ZTS", "run-time type information"),
    ("_ZTVN10__cxxabiv1", "run-time type information"),
];

/// What part of the host's C++ runtime a symbol belongs to, if it does.
#[must_use]
pub fn host_runtime(name: &str) -> Option<&'static str> {
    HOST_RUNTIME
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert!(is_provided("vprintf") && is_provided("__cuda_syscall_32f3056bbb"));
        assert!(!is_provided("printf") && !is_provided("memcpy"));
        assert_eq!(
            host_runtime("__cxa_guard_acquire"),
            Some("guards of function-local statics")
        );
        assert_eq!(host_runtime("_ZTI4Base"), Some("run-time type information"));
        assert_eq!(host_runtime("_ZN4Base3runEv"), None);
        assert!(library("__cudaCDP2LaunchDeviceV2").is_some());
    }
}
