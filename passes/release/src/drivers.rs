//! Linux drivers, and what each is the first to load.

/// Version of a Linux driver: 550.54.14. Missing numbers are 0.
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

/// A text that is not a version of a driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no driver version such as `550.54.14`")]
pub struct NoDriver(String);

impl std::str::FromStr for Driver {
    type Err = NoDriver;

    fn from_str(text: &str) -> Result<Self, NoDriver> {
        let wrong = || NoDriver(text.to_owned());
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

/// The toolkits that brought new versions of PTX: `(ISA major, ISA minor, CUDA, first driver)`.
///
/// PTX ISA, Release Notes; CUDA Toolkit Release Notes, CUDA Toolkit and Corresponding Driver Versions.
const RELEASES: &[(u32, u32, &str, Driver)] = &[
    (5, 0, "8.0", Driver(367, 48, 0)),
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
    (9, 2, "13.2", Driver(595, 45, 4)),
    (9, 3, "13.3", Driver(610, 43, 2)),
    (9, 4, "13.4", Driver(615, 71, 9)),
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

/// Drivers of the same branch get fixes, not new versions of PTX: only the first number is compared.
#[must_use]
pub const fn is_older_branch(driver: Driver, than: Driver) -> bool {
    driver.0 < than.0
}

/// The first driver that unpacks zstd (CUDA 12.4's). Measured.
pub const FIRST_ZSTD_DRIVER: Driver = Driver(550, 54, 14);

/// The first driver of a version of CUDA, `12.4`; `None` for versions that brought no PTX, or that are not known.
#[must_use]
pub fn driver_of_cuda(version: &str) -> Option<Driver> {
    // CUDA 12.6 has the PTX of 12.5.
    if version == "12.6" {
        return Some(Driver(560, 28, 3));
    }
    let release = RELEASES.iter().find(|(_, _, toolkit, _)| *toolkit == version);
    release.map(|(.., driver)| *driver)
}

/// Libraries of the toolkit whose names have a number for each major version of CUDA: the name, the number, and that version.
///
/// CUDA Toolkit Release Notes, CUDA Toolkit Major Component Versions.
const LIBRARIES: &[(&str, &[(u32, u32)])] = &[
    ("libcudart", &[(11, 11), (12, 12), (13, 13)]),
    ("libnvrtc", &[(11, 11), (12, 12), (13, 13)]),
    ("libnvJitLink", &[(12, 12), (13, 13)]),
    ("libcublas", &[(11, 11), (12, 12), (13, 13)]),
    ("libcublasLt", &[(11, 11), (12, 12), (13, 13)]),
    ("libcufft", &[(10, 11), (11, 12), (12, 13)]),
];

/// The major version of CUDA that a shared library of the toolkit comes with, `libcudart.so.12`, and the first driver that runs it
/// (CUDA Compatibility, Minor Version Compatibility). `None` for other libraries, and for those that several versions have.
#[must_use]
pub fn library_version(name: &str) -> Option<(u32, Driver)> {
    let (library, rest) = name.split_once(".so.")?;
    let number: u32 = rest.split('.').next()?.parse().ok()?;
    let (_, versions) = LIBRARIES.iter().find(|(known, _)| *known == library)?;
    let (_, cuda) = versions.iter().find(|(known, _)| *known == number)?;
    Some((*cuda, driver_of_cuda(&format!("{cuda}.0"))?))
}

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
    fn libraries_of_the_toolkit_need_a_driver() {
        let version = |name| library_version(name).map(|(cuda, driver)| (cuda, driver.0));
        assert_eq!(version("libcudart.so.12"), Some((12, 525)));
        assert_eq!(version("libcudart.so.11.0"), Some((11, 450)));
        assert_eq!(version("libcufft.so.12"), Some((13, 580)));
        for none in [
            "libcuda.so.1",
            "libcusparse.so.12",
            "libcudart.so",
            "libcudart.so.x",
            "libcudart.so.99",
        ] {
            assert_eq!(version(none), None, "{none}");
        }
    }

    #[test]
    fn versions_of_ptx_have_a_first_driver() {
        let first = |major, minor| first_driver(IsaVersion { major, minor }).unwrap();
        assert_eq!(first(8, 4), (Driver(550, 54, 14), Some("12.4")));
        assert_eq!(first(4, 3).0, Driver(367, 48, 0));
        assert_eq!(first(9, 4), (Driver(615, 71, 9), Some("13.4")));
        assert_eq!(first(9, 9).1, None);
        assert_eq!(driver_of_cuda("13.0"), Some(Driver(580, 65, 6)));
        assert_eq!(driver_of_cuda("14.7"), None);
        assert!(RELEASES.is_sorted_by_key(|(major, minor, ..)| (*major, *minor)));
        assert!(RELEASES.is_sorted_by_key(|(.., driver)| *driver));
    }
}
