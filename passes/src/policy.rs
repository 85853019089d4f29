//! The policy of a release for the images in its files.

/// The policy of an audit. Empty: nothing is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Policy {
    /// Targets that every kernel needs machine code for: `90`, `90a`.
    pub require_sm: Vec<String>,
    /// Targets that every kernel needs PTX for.
    pub require_ptx: Vec<String>,
    /// The oldest driver that the files are to run with.
    pub min_driver: Option<Driver>,
    /// Most bytes that the images for one target may take in a file.
    pub max_target_bytes: Option<u64>,
    /// No image may lie twice in a file.
    pub forbid_duplicates: bool,
}

/// Version of a Linux driver: 550.54.14. What is not given is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Driver(pub u32, pub u32, pub u32);

impl std::fmt::Display for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self(major, 0, 0) => write!(formatter, "{major}"),
            Self(major, minor, 0) => write!(formatter, "{major}.{minor:02}"),
            Self(major, minor, patch) => write!(formatter, "{major}.{minor:02}.{patch:02}"),
        }
    }
}

/// A word of a policy that is not what it has to be, with that word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Not the version of a driver.
    #[error("`{0}` is no driver version such as `550.54.14`")]
    Driver(String),
    /// Not a target.
    #[error("`{0}` is no target such as `90` or `90a`")]
    Target(String),
}

impl std::str::FromStr for Driver {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let wrong = || Malformed::Driver(text.to_owned());
        let mut numbers = text
            .split('.')
            .map(|part| part.parse::<u32>().map_err(|_| wrong()));
        let mut next = || numbers.next().unwrap_or(Ok(0));
        let driver = Self(next()?, next()?, next()?);
        if numbers.next().is_some() || driver.0 == 0 {
            return Err(wrong());
        }
        Ok(driver)
    }
}

/// A target as policies name it, `90` or `90a`; `sm_90` is taken, too.
///
/// # Errors
///
/// [`Malformed::Target`], if it is none.
///
/// ```
/// use ptxcheck_passes::policy::{Driver, first_driver, target};
///
/// assert_eq!(target("sm_90a")?, "90a");
/// assert_eq!(target("turing").unwrap_err().to_string(), "`turing` is no target such as `90` or `90a`");
/// assert_eq!("550.54.14".parse::<Driver>()?, Driver(550, 54, 14));
/// # Ok::<(), ptxcheck_passes::policy::Malformed>(())
/// ```
pub fn target(text: &str) -> Result<String, Malformed> {
    let bare = text
        .strip_prefix("sm_")
        .or_else(|| text.strip_prefix("compute_"))
        .unwrap_or(text);
    let digits = bare.strip_suffix(['a', 'f']).unwrap_or(bare);
    let is_target = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_target
        .then(|| bare.to_owned())
        .ok_or_else(|| Malformed::Target(text.to_owned()))
}

/// The toolkits that brought new versions of PTX: `(ISA major, ISA minor, CUDA, first driver)`.
///
/// PTX ISA, Release Notes; CUDA Toolkit Release Notes, CUDA Toolkit and Corresponding Driver Versions.
const RELEASES: &[(u32, u32, &str, Driver)] = &[
    (6, 0, "9.0", Driver(384, 81, 0)),
    (6, 1, "9.1", Driver(390, 46, 0)),
    (6, 2, "9.2", Driver(396, 26, 0)),
    (6, 3, "10.0", Driver(410, 48, 0)),
    (6, 4, "10.1", Driver(418, 39, 0)),
    (6, 5, "10.2", Driver(440, 33, 0)),
    (7, 0, "11.0", Driver(450, 36, 6)),
    (7, 1, "11.1", Driver(455, 23, 0)),
    (7, 2, "11.2", Driver(460, 27, 3)),
    (7, 3, "11.3", Driver(465, 19, 1)),
    (7, 4, "11.4", Driver(470, 42, 1)),
    (7, 5, "11.5", Driver(495, 29, 5)),
    (7, 6, "11.6", Driver(510, 39, 1)),
    (7, 7, "11.7", Driver(515, 43, 4)),
    (7, 8, "11.8", Driver(520, 61, 5)),
    (8, 0, "12.0", Driver(525, 60, 13)),
    (8, 1, "12.1", Driver(530, 30, 2)),
    (8, 2, "12.2", Driver(535, 54, 3)),
    (8, 3, "12.3", Driver(545, 23, 6)),
    (8, 4, "12.4", Driver(550, 54, 14)),
    (8, 5, "12.5", Driver(555, 42, 2)),
    (8, 6, "12.7", Driver(565, 0, 0)),
    (8, 7, "12.8", Driver(570, 26, 0)),
    (8, 8, "12.9", Driver(575, 51, 3)),
    (9, 0, "13.0", Driver(580, 65, 6)),
    (9, 1, "13.1", Driver(590, 44, 1)),
];

/// The first driver that loads PTX of this version, and its toolkit. For versions newer than the table the driver is the
/// table's last, which is too old for them: a lower bound.
#[must_use]
pub fn first_driver(isa: crate::ir::IsaVersion) -> Option<(Driver, Option<&'static str>)> {
    let wanted = (isa.major, isa.minor);
    let &(.., newest) = RELEASES.last()?;
    match RELEASES
        .iter()
        .find(|(major, minor, ..)| (*major, *minor) >= wanted)
    {
        Some((.., toolkit, driver)) => Some((*driver, Some(toolkit))),
        None => Some((newest, None)),
    }
}

/// Drivers of the same branch get fixes, not new versions of PTX: only the first number tells.
#[must_use]
pub const fn is_older_branch(driver: Driver, than: Driver) -> bool {
    driver.0 < than.0
}

/// The first driver that unpacks zstd (CUDA 12.4's). Measured.
pub const FIRST_ZSTD_DRIVER: Driver = Driver(550, 54, 14);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::IsaVersion;

    #[test]
    fn drivers_compare_by_number() {
        let driver = |text: &str| text.parse::<Driver>().unwrap();
        assert!(driver("550.54") < driver("550.54.14") && driver("525.147.05") > driver("525.60.13"));
        assert_eq!(driver("550.54.14").to_string(), "550.54.14");
        for wrong in ["", "x", "550.", "1.2.3.4", "0", "550.54a"] {
            assert!(wrong.parse::<Driver>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn targets_are_numbers_with_a_suffix() {
        assert_eq!(target("sm_90a").as_deref(), Ok("90a"));
        assert_eq!(target("120").as_deref(), Ok("120"));
        for wrong in ["", "9", "ninety", "90b", "sm_", "9000"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn versions_of_ptx_have_a_first_driver() {
        let first = |major, minor| first_driver(IsaVersion { major, minor }).unwrap();
        assert_eq!(first(8, 4), (Driver(550, 54, 14), Some("12.4")));
        assert_eq!(first(5, 0).0, Driver(384, 81, 0));
        assert_eq!(first(9, 9).1, None);
        assert!(RELEASES.is_sorted_by_key(|(major, minor, ..)| (*major, *minor)));
        assert!(RELEASES.is_sorted_by_key(|(.., driver)| *driver));
    }
}
