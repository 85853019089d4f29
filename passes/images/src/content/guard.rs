//! When a process truncates a file, the pages after its new end disappear from all mappings: an access to one of them raises SIGBUS, which
//! ends the process. The guard maps zeros there instead, and remembers it.
//!
//! A table of fixed size lists the mappings. The SIGBUS handler looks the address up in it; an address in none of its rows is passed to the
//! previous handler. The handler does nothing but load and store atomics and call `mmap`, `raise` and `sigaction`.
//!
//! A library does not take over a signal unasked: until the program calls [`switch_on`], files are read. Windows does not
//! let files that are mapped be cut; on systems other than it and Linux, files are read.
#![allow(unsafe_code)]

use std::io;
#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ON: AtomicBool = AtomicBool::new(false);

/// True if files may be mapped.
pub(super) fn is_on() -> bool {
    IS_ON.load(Ordering::Acquire)
}

/// From here on, large files are mapped into memory: less memory and time for callers that read a part of them. On Linux this
/// installs a handler for SIGBUS, which passes on what has nothing to do with those files.
///
/// # Errors
///
/// Errors of the system. Files are read then.
#[cfg(any(target_os = "linux", windows))]
pub fn switch_on() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    signal::install()?;
    IS_ON.store(true, Ordering::Release);
    Ok(())
}

/// Files are read on this system, never mapped.
///
/// # Errors
///
/// That they are not mapped.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn switch_on() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A mapping that is guarded, until this is dropped.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct Guard;

#[cfg(not(target_os = "linux"))]
impl Guard {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    pub(super) fn new(_: &[u8]) -> Option<Self> {
        Some(Self)
    }

    #[expect(clippy::unused_self, reason = "it is asked elsewhere")]
    pub(super) fn is_cut(&self) -> bool {
        false
    }
}

/// A mapping that is guarded, until this is dropped.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Guard(&'static Row);

#[cfg(target_os = "linux")]
impl Guard {
    /// Guards a mapping, which begins on a page of its own; `None` where the table is full.
    pub(super) fn new(mapping: &[u8]) -> Option<Self> {
        let start = mapping.as_ptr().addr();
        let free = |row: &&Row| {
            row.start
                .compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        let row = TABLE.iter().find(free)?;
        row.end.store(start + mapping.len(), Ordering::Relaxed);
        row.is_cut.store(false, Ordering::Relaxed);
        row.start.store(start, Ordering::Release);
        Some(Self(row))
    }

    /// True if zeros were put into it.
    pub(super) fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::Acquire)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Guard {
    fn drop(&mut self) {
        self.0.start.store(FREE, Ordering::Release);
    }
}

/// A row of the table: addresses from `start` up to `end`.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Row {
    /// [`FREE`], [`TAKEN`], or an address, which is neither.
    start: AtomicUsize,
    end: AtomicUsize,
    is_cut: AtomicBool,
}

#[cfg(target_os = "linux")]
const FREE: usize = 0;
/// Somebody fills it in.
#[cfg(target_os = "linux")]
const TAKEN: usize = 1;

#[cfg(target_os = "linux")]
static TABLE: [Row; crate::limits::MAX_MAPPED_FILES] = [const {
    Row {
        start: AtomicUsize::new(FREE),
        end: AtomicUsize::new(0),
        is_cut: AtomicBool::new(false),
    }
}; crate::limits::MAX_MAPPED_FILES];

#[cfg(target_os = "linux")]
mod signal {
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use libc::{c_int, c_void, siginfo_t};

    use super::{Row, TABLE, TAKEN};

    /// Bytes of a page.
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    /// The action for the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

    /// Installs the handler, once.
    pub(super) fn install() -> io::Result<()> {
        static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
        let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_installed {
            return Ok(());
        }
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(io::Error::other)?;
        PAGE.store(page, Ordering::Release);
        let mut before = MaybeUninit::uninit();
        // SAFETY: without a new action, the call writes the present one, whole, to where there is room for it.
        if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was written.
        let before = unsafe { before.assume_init() };
        // The handler finds it from the first signal on.
        let _ = BEFORE.set(before);
        // SAFETY: all fields of the C structure may be zero; those that count are set.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = (handle as Handler) as *const () as usize;
        // On the stack that the standard library gives each of its threads for signals.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the action is whole, and its handler has the signature that SA_SIGINFO wants.
        if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        *is_installed = true;
        Ok(())
    }

    extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: with SA_SIGINFO the system hands over a structure, and with this code it has an address.
        let at = unsafe {
            let is_beyond_the_end = (*info).si_code == libc::BUS_ADRERR;
            is_beyond_the_end.then(|| (*info).si_addr().addr())
        };
        let is_mended = at.is_some_and(|at| TABLE.iter().any(|row| row.mend(at)));
        if !is_mended {
            pass_on(signal, info, context);
        }
    }

    impl Row {
        /// Maps zeros at `at` and after it, if the address is in this row.
        fn mend(&self, at: usize) -> bool {
            let start = self.start.load(Ordering::Acquire);
            let end = self.end.load(Ordering::Relaxed);
            // The row is that of one mapping if it still begins where it did before its end was read.
            let is_here = start > TAKEN && (start..end).contains(&at);
            if !is_here || self.start.load(Ordering::Acquire) != start {
                return false;
            }
            let page = PAGE.load(Ordering::Acquire);
            let from = at & !(page - 1);
            // Before the zeros are to be seen.
            self.is_cut.store(true, Ordering::SeqCst);
            // SAFETY: `errno` is the thread's own, and is put back. The pages from `from` to `end` belong to the mapping
            // of this row, which lives while somebody reads it, and nobody writes to them; zeros in private memory take
            // their place, to be read only, and are given back with the mapping.
            unsafe {
                let errno = *libc::__errno_location();
                let made = libc::mmap(
                    ptr::with_exposed_provenance_mut(from),
                    end - from,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
                    -1,
                    0,
                );
                *libc::__errno_location() = errno;
                made != libc::MAP_FAILED
            }
        }
    }

    /// Calls the previous handler of the signal.
    fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let before = BEFORE.get();
        let action = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        if action == libc::SIG_IGN {
            return;
        }
        let Some(before) = before.filter(|_| action != libc::SIG_DFL) else {
            // SAFETY: the default ends the process, as soon as this returns and the signal is let through.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, ptr::null_mut());
                libc::raise(signal);
            }
            return;
        };
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            // SAFETY: an action that is neither of the two above is a function, of this signature with SA_SIGINFO.
            let handler: Handler = unsafe { std::mem::transmute(action) };
            handler(signal, info, context);
        } else {
            // SAFETY: and of this one without.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(action) };
            handler(signal);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::unix::process::ExitStatusExt as _;

        /// Set in the process that is to die.
        const VICTIM: &str = "PTXCHECK_TEST_FAULTS";

        /// A mapping without a guard ends the process as before.
        #[test]
        fn other_faults_are_passed_on() {
            if std::env::var_os(VICTIM).is_some() {
                install().unwrap();
                let file = tempfile();
                file.set_len(1 << 20).unwrap();
                // SAFETY: nothing is: that is what is tested.
                let mapped = unsafe { memmap2::Mmap::map(&file) }.unwrap();
                file.set_len(0).unwrap();
                std::process::exit(i32::from(mapped[1 << 19]));
            }
            let name = std::thread::current().name().unwrap().to_owned();
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &name])
                .env(VICTIM, "1")
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
        }

        /// A file without a name.
        fn tempfile() -> std::fs::File {
            let path = std::env::temp_dir().join(format!("ptxcheck-guard-{}", std::process::id()));
            let file = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path);
            let file = file.unwrap();
            std::fs::remove_file(&path).unwrap();
            file
        }
    }
}
