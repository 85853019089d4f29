//! The HTML report in a browser: its texts are there, its filters work, in dark and light, and nothing is said on the console.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{missing, root};
use tempfile::TempDir;

/// Names of the program in distributions.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Width and height of a screenshot, in pixels.
const SIZE: (u32, u32) = (1200, 1600);

const SOURCE: &str = "\
__global__ void half(float* sums) {
  if (threadIdx.x < 16)
    __shfl_xor_sync(0xffffffff, 1, 8); // </code></pre><script>console.error('no')</script>
}


__global__ void zero(float* out) {
  __syncwarp(0);
}
";

const PTX: &str = "\
.version 9.0
.target sm_90
.address_size 64
.file 1 \"k.cu\"
.visible .entry half(.param .u64 p)
{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
.loc 1 2 3
mov.u32 %r1, %tid.x;
setp.gt.u32 %p1, %r1, 15;
@%p1 bra $done;
.loc 1 3 5
shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;
$done:
st.global.u32 [%rd1], %r1;
ret;
}
.visible .entry zero(.param .u64 p)
{
.loc 1 8 3
bar.warp.sync 0;
ret;
}
";

pub fn trials() -> Vec<Trial> {
    let test = |name: &'static str, run: fn(&Browser) -> Result<(), Failed>| {
        Trial::ignorable_test(name, move || match Browser::find() {
            Some(browser) => run(&browser).map(|()| Completion::Completed),
            None => missing::skip("Chromium is not installed"),
        })
    };
    vec![
        test("texts_are_there_and_the_console_is_silent", texts),
        test("search_and_filters_hide_what_does_not_fit", filters),
        test("bars_choose_findings_and_the_address_keeps_them", bars),
        test("three_hundred_findings_are_small_and_quick", three_hundred),
        test("nothing_is_wider_than_a_page", widths),
        test("a_large_report_stays_usable", large),
        test("an_error_on_the_console_is_seen", console),
    ]
}

struct Browser(&'static str);

impl Browser {
    fn find() -> Option<Self> {
        let is_there = |name: &&str| {
            let output = Command::new(name).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        };
        BROWSERS.into_iter().find(is_there).map(Self)
    }

    fn run(&self, profile: &TempDir, page: &Path, args: &[&str]) -> Result<Output, Failed> {
        let output = Command::new(self.0)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--enable-logging=stderr", "--hide-scrollbars", "--timeout=60000"])
            .arg(format!(
                "--user-data-dir={}",
                profile.path().join("profile").display()
            ))
            .arg(format!("--window-size={},{}", SIZE.0, SIZE.1))
            .args(args)
            .arg(format!("file://{}", page.display()))
            .output()?;
        if output.status.success() {
            Ok(output)
        } else {
            Err(format!("{output:?}").into())
        }
    }

    /// The document after its script has run, and what was said on the console.
    fn dom(&self, folder: &TempDir, page: &Path) -> Result<(String, Vec<String>), Failed> {
        let output = self.run(folder, page, &["--dump-dom"])?;
        let said = String::from_utf8_lossy(&output.stderr);
        let console = said.lines().filter(|line| line.contains("CONSOLE"));
        Ok((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            console.map(str::to_owned).collect(),
        ))
    }
}

/// A project, and its page.
fn page() -> Result<TempDir, Failed> {
    let project = folder(&[
        ("k.cu", SOURCE.as_bytes()),
        ("k.ptx", PTX.as_bytes()),
        ("bad.ptx", b".version 9.0\n.target\n"),
    ]);
    let output = run_in(&project, &["k.ptx", "bad.ptx", "--output", "html=page.html"]);
    if output.status.code() == Some(2) {
        Ok(project)
    } else {
        Err(format!("{output:?}").into())
    }
}

fn texts(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    let file = project.path().join("page.html");
    let (dom, console) = browser.dom(&project, &file)?;
    assert!(console.is_empty(), "{console:?}");
    for text in [
        "3 errors",
        "k.cu:3:5",
        "PTX401",
        "names lanes 16-31",
        "The mask 0xffffffff names all lanes; lanes 0-15 may call; lanes 16-31 named and missing",
        "&lt;/code&gt;&lt;/pre&gt;&lt;script&gt;",
        "Kernels by target",
        "sm_90 PTX",
        "Not analysed",
        "3 shown",
    ] {
        assert!(dom.contains(text), "{text}: {dom}");
    }
    assert_eq!(dom.matches("class=\"missing wrong\"").count(), 16);
    let shots = root().join("target/page");
    fs::create_dir_all(&shots)?;
    let mut sizes = Vec::new();
    for (mode, preference) in [("light", "1"), ("dark", "0")] {
        let shot = shots.join(format!("{mode}.png"));
        let _ = fs::remove_file(&shot);
        let preference = format!("--blink-settings=preferredColorScheme={preference}");
        browser.run(
            &project,
            &file,
            &[&preference, &format!("--screenshot={}", shot.display())],
        )?;
        let image = fs::read(&shot)?;
        assert!(image.starts_with(b"\x89PNG\r\n\x1a\n"));
        let size = |at: usize| u32::from_be_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]]);
        assert_eq!((size(16), size(20)), SIZE, "{mode}");
        // A page without anything on it is a few kilobytes.
        assert!(image.len() > 40_000, "{mode}: {}", image.len());
        sizes.push(image);
    }
    assert!(sizes[0] != sizes[1], "dark is light");
    Ok(())
}

/// Adds a script after that of the page.
fn with_script(project: &TempDir, script: &str) -> Result<std::path::PathBuf, Failed> {
    let page = fs::read_to_string(project.path().join("page.html"))?;
    let page = page.replace("</body>", &format!("<script>{script}</script></body>"));
    let file = project.path().join("scripted.html");
    fs::write(&file, page)?;
    Ok(file)
}

fn filters(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    for (script, shown) in [
        ("search.value = '__SYNCWARP zero';", "1 of 3 shown"),
        ("search.value = 'nothing has this';", "0 of 3 shown"),
        ("rule.value = 'PTX401';", "1 of 3 shown"),
        (
            "filters.querySelector('[value=error]').checked = false;",
            "0 of 3 shown",
        ),
    ] {
        let script = format!(
            "{{ const search = document.getElementById('search'), rule = document.getElementById('rule'), filters = \
             document.getElementById('filters'); {script} filters.dispatchEvent(new Event('input')); }}"
        );
        let (dom, console) = browser.dom(&project, &with_script(&project, &script)?)?;
        assert!(console.is_empty(), "{console:?}");
        assert!(dom.contains(shown), "{shown}: {dom}");
        let count: usize = shown.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(dom.matches(" hidden=\"\">").count(), 3 - count, "{dom}");
    }
    Ok(())
}

/// A script that waits for nothing, and says on the page what it saw.
fn saying(expression: &str) -> String {
    format!(
        "document.body.append(Object.assign(document.createElement('p'), {{ textContent: 'saw ' + ({expression}) }}));"
    )
}

fn bars(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    let click = |facet: &str, value: &str| {
        format!("document.querySelector('[data-facet={facet}][data-value=\"{value}\"]').click();")
    };
    for (script, saw) in [
        (click("rule", "PTX401"), "1 of 3 shown #rule=PTX401"),
        (click("kernel", "zero"), "1 of 3 shown #kernel=zero"),
        (click("file", "bad.ptx"), "1 of 3 shown #file=bad.ptx"),
        // A second click takes the choice back.
        (click("rule", "PTX401").repeat(2), "3 shown #"),
        (
            click("rule", "PTX401") + &click("kernel", "zero"),
            "0 of 3 shown #rule=PTX401&amp;kernel=zero",
        ),
    ] {
        let saying = saying("document.getElementById('shown').value + ' ' + (location.hash || '#')");
        let (dom, console) = browser.dom(&project, &with_script(&project, &(script + &saying))?)?;
        assert!(console.is_empty(), "{console:?}");
        assert!(dom.contains(&format!("saw {saw}<")), "{saw}: {dom}");
    }
    // An address that somebody sends is followed; a link to a rule opens its text.
    for (hash, expression, saw) in [
        (
            "q=syncwarp&level=error",
            "document.getElementById('shown').value",
            "1 of 3 shown",
        ),
        ("rule=PTX407", "document.getElementById('rule').value", "PTX407"),
        (
            "rule-PTX401",
            "document.getElementById('rule-PTX401').open",
            "true",
        ),
    ] {
        let file = with_script(
            &project,
            &format!(
                "addEventListener('hashchange', () => {{ {} }}); location.hash = '{hash}';",
                saying(expression)
            ),
        )?;
        let (dom, console) = browser.dom(&project, &file)?;
        assert!(console.is_empty(), "{console:?}");
        assert!(dom.contains(&format!("saw {saw}<")), "{hash}: {dom}");
    }
    Ok(())
}

/// A page with so many findings of masks, on lines of a source.
fn many(count: usize) -> Result<TempDir, Failed> {
    let head = ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n";
    let body = PTX
        .split_once("k.cu\"\n")
        .unwrap()
        .1
        .split_once(".visible .entry zero")
        .unwrap()
        .0;
    let source: String = (0..count * 5)
        .map(|line| format!("  x += f({line}, 0xffffffff);\n"))
        .collect();
    let kernels: String = (0..count)
        .map(|number| {
            body.replace("half(", &format!("half{number}("))
                .replace(".loc 1 2 3", &format!(".loc 1 {} 3", number * 5 + 1))
                .replace(".loc 1 3 5", &format!(".loc 1 {} 5", number * 5 + 3))
        })
        .collect();
    let project = folder(&[
        ("k.cu", source.as_bytes()),
        ("k.ptx", (head.to_owned() + &kernels).as_bytes()),
    ]);
    let output = run_in(&project, &["k.ptx", "-q", "--output", "html=page.html"]);
    match output.status.code() {
        Some(1) => Ok(project),
        _ => Err(format!("{output:?}").into()),
    }
}

fn three_hundred(browser: &Browser) -> Result<(), Failed> {
    const MOST_BYTES: u64 = 2 << 20;
    let project = many(300)?;
    let bytes = fs::metadata(project.path().join("page.html"))?.len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let script = saying("performance.now() < 1000");
    let (dom, console) = browser.dom(&project, &with_script(&project, &script)?)?;
    assert!(console.is_empty(), "{console:?}");
    assert!(
        dom.contains("300 shown") && dom.contains("saw true<"),
        "the page takes more than a second"
    );
    // Cells of lanes are drawn where a finding is open.
    assert_eq!(dom.matches("<ol aria-hidden=\"true\">").count(), 20);
    Ok(())
}

/// Screens of few and many findings, wide and narrow, light and dark, below `target/page`; nothing makes the page scroll sideways.
fn widths(browser: &Browser) -> Result<(), Failed> {
    let shots = root().join("target/page");
    fs::create_dir_all(&shots)?;
    for count in [5, 300] {
        let project = many(count)?;
        let file = with_script(
            &project,
            &saying("document.documentElement.scrollWidth + ' of ' + innerWidth"),
        )?;
        for width in [1400, 500] {
            let size = format!("--window-size={width},1400");
            let output = browser.run(&project, &file, &["--dump-dom", &size])?;
            let dom = String::from_utf8_lossy(&output.stdout);
            let saw = dom
                .rsplit_once("saw ")
                .and_then(|(_, rest)| rest.split_once('<'))
                .unwrap()
                .0
                .to_owned();
            let (scrolled, inner) = saw.split_once(" of ").unwrap();
            let [scrolled, inner] = [scrolled, inner].map(|number| number.parse::<u32>().unwrap());
            assert!(
                scrolled <= inner && inner <= width,
                "{count} findings at {width}: {saw}"
            );
            for (mode, preference) in [("light", "1"), ("dark", "0")] {
                let shot = shots.join(format!("{count}-{width}-{mode}.png"));
                let _ = fs::remove_file(&shot);
                let preference = format!("--blink-settings=preferredColorScheme={preference}");
                let shot_option = format!("--screenshot={}", shot.display());
                browser.run(
                    &project,
                    &project.path().join("page.html"),
                    &[&size, &preference, &shot_option],
                )?;
                assert!(fs::read(&shot)?.len() > 20_000, "{}", shot.display());
            }
        }
    }
    Ok(())
}

fn large(browser: &Browser) -> Result<(), Failed> {
    let kernels: String = (0..3_000)
        .map(|number| format!(".visible .entry k{number}()\n{{\nbar.warp.sync 0;\nret;\n}}\n"))
        .collect();
    let text = format!(".version 9.0\n.target sm_90\n.address_size 64\n{kernels}");
    let project = folder(&[("k.ptx", text.as_bytes())]);
    let output = run_in(&project, &["k.ptx", "-q", "--output", "html=page.html"]);
    assert_eq!(output.status.code(), Some(1));
    let (dom, console) = browser.dom(&project, &project.path().join("page.html"))?;
    assert!(console.is_empty(), "{console:?}");
    assert!(dom.contains("The 2000 most severe of 3000 findings are here."));
    assert!(dom.contains("2000 shown"));
    Ok(())
}

fn console(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    let (_, console) = browser.dom(&project, &with_script(&project, "nothingIsCalledSo();")?)?;
    assert_eq!(console.len(), 1, "{console:?}");
    Ok(())
}
