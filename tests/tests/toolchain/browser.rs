//! Chromium without a window.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::missing;
use tempfile::TempDir;

/// Names of the program in distributions.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Colours that a person prefers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Light,
    Dark,
}

impl Mode {
    pub(crate) const ALL: [(Self, &str); 2] = [(Self::Light, "light"), (Self::Dark, "dark")];

    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Light => "--blink-settings=preferredColorScheme=1",
            Self::Dark => "--blink-settings=preferredColorScheme=0",
        }
    }
}

pub(crate) struct Browser(&'static str);

/// A test that is ignored where no browser is installed.
pub(crate) fn trial(name: &'static str, run: fn(&Browser) -> Result<(), Failed>) -> Trial {
    Trial::ignorable_test(name, move || match Browser::find() {
        Some(browser) => run(&browser).map(|()| Completion::Completed),
        None => missing::skip("Chromium is not installed"),
    })
}

impl Browser {
    pub(crate) fn find() -> Option<Self> {
        let is_there = |name: &&str| {
            let output = Command::new(name).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        };
        BROWSERS.into_iter().find(is_there).map(Self)
    }

    fn run(&self, address: &str, (width, height): (u32, u32), args: &[&str]) -> Result<Output, Failed> {
        let profile = TempDir::new()?;
        let output = Command::new(self.0)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                // A page that shows another one in a frame looks into it.
                "--allow-file-access-from-files",
            ])
            .args(["--enable-logging=stderr", "--hide-scrollbars", "--timeout=400000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .args(args)
            .arg(address)
            .output()?;
        if output.status.success() {
            Ok(output)
        } else {
            Err(format!("{output:?}").into())
        }
    }

    /// The document at an address after its script has run, and what was said on the console.
    pub(crate) fn dom(
        &self,
        address: &str,
        size: (u32, u32),
        args: &[&str],
    ) -> Result<(String, Vec<String>), Failed> {
        let output = self.run(address, size, &[&["--dump-dom"], args].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        let console = said.lines().filter(|line| line.contains("CONSOLE"));
        Ok((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            console.map(str::to_owned).collect(),
        ))
    }

    /// Writes a picture of the page at an address, and gives its bytes.
    pub(crate) fn picture(
        &self,
        address: &str,
        size: (u32, u32),
        mode: Mode,
        file: &Path,
    ) -> Result<Vec<u8>, Failed> {
        let _ = fs::remove_file(file);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        let option = format!("--screenshot={}", file.display());
        self.run(address, size, &[mode.option(), &option])?;
        Ok(fs::read(file)?)
    }
}

/// The address of a file.
pub(crate) fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}
