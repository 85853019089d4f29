//! The HTML report in a browser: its texts are there, its filters work, in dark and light, and nothing is said on the console.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::path::Path;

use libtest_mimic::{Failed, Trial};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::root;
use tempfile::TempDir;

use crate::browser::{Browser, Mode, address, trial};
use crate::terminal;

/// Width and height of a screenshot, in pixels.
const SIZE: (u32, u32) = (1200, 1600);

/// `looks()` says how wide the page is, whether it is dark, and what does not look right.
const LOOKS: &str = include_str!("looks.js");

const SOURCE: &str = "\
__global__ void half(float* sums) {
  if (threadIdx.x < 16)
    __shfl_xor_sync(0xffffffff, 1, 8); // </code></pre><script>console.error('no')</script>
}


__global__ void zero(float* out) {
  __syncwarp(0);
}
";

/// Kernels with findings of two rules.
pub(crate) const PTX: &str = "\
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
    vec![
        trial("texts_are_there_and_the_console_is_silent", texts),
        trial("search_and_filters_hide_what_does_not_fit", filters),
        trial("bars_choose_findings_and_the_address_keeps_them", bars),
        trial("three_hundred_findings_are_small_and_quick", three_hundred),
        trial("nothing_is_wider_than_a_page", widths),
        trial("a_large_report_stays_usable", large),
        trial("runs_are_drawn_beside_each_other", runs),
        trial("an_error_on_the_console_is_seen", console),
        trial("what_does_not_look_right_is_seen", faults),
    ]
}

fn dom(browser: &Browser, page: &Path) -> Result<(String, Vec<String>), Failed> {
    browser.dom(&address(page), SIZE, &[])
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
    let (dom, console) = dom(browser, &file)?;
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
    let mut sizes = Vec::new();
    for (mode, name) in Mode::ALL {
        let shot = root().join(format!("target/page/{name}.png"));
        let image = browser.picture(&address(&file), SIZE, mode, &shot)?;
        assert!(image.starts_with(b"\x89PNG\r\n\x1a\n"));
        let size = |at: usize| u32::from_be_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]]);
        assert_eq!((size(16), size(20)), SIZE, "{name}");
        // A page without anything on it is a few kilobytes.
        assert!(image.len() > 40_000, "{name}: {}", image.len());
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
        let (dom, console) = dom(browser, &with_script(&project, &script)?)?;
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
        let (dom, console) = dom(browser, &with_script(&project, &(script + &saying))?)?;
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
        let (dom, console) = dom(browser, &file)?;
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
    const MORE_LOADS: usize = 5;
    let project = many(300)?;
    let bytes = fs::metadata(project.path().join("page.html"))?.len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let script = saying("performance.now() < 1000");
    let page = with_script(&project, &script)?;
    let (mut found, mut console) = dom(browser, &page)?;
    // Other tests use the machine, too: the best of some loads counts.
    for _ in 0..MORE_LOADS {
        if found.contains("saw true<") {
            break;
        }
        (found, console) = dom(browser, &page)?;
    }
    let dom = found;
    assert!(console.is_empty(), "{console:?}");
    assert!(
        dom.contains("300 shown") && dom.contains("saw true<"),
        "the page takes more than a second"
    );
    // Cells of lanes are drawn where a finding is open.
    assert_eq!(dom.matches("<ol aria-hidden=\"true\">").count(), 20);
    Ok(())
}

/// Screens of few and many findings, wide and narrow, light and dark, below `target/page`: nothing makes the page scroll sideways, and
/// every text can be read on what is behind it.
fn widths(browser: &Browser) -> Result<(), Failed> {
    for count in [5, 300] {
        let project = many(count)?;
        let page = project.path().join("page.html");
        let looking = with_script(&project, &(LOOKS.to_owned() + &saying("looks()")))?;
        for width in [1400, 500] {
            let size = (width, 1400);
            for (mode, name) in Mode::ALL {
                let (dom, console) = browser.dom(&address(&looking), size, &[mode.option()])?;
                assert!(console.is_empty(), "{console:?}");
                let saw = dom.rsplit_once("saw ").unwrap().1.split_once('<').unwrap().0;
                assert_eq!(saw, format!("{width} wide, {name}"), "{count} findings");
                let shot = root().join(format!("target/page/{count}-{width}-{name}.png"));
                let image = browser.picture(&address(&page), size, mode, &shot)?;
                assert!(image.len() > 20_000, "{}", shot.display());
            }
        }
    }
    Ok(())
}

/// Runs that go wrong are drawn when they are opened, a column for each thread; an arrow joins two places.
fn runs(browser: &Browser) -> Result<(), Failed> {
    let project = terminal::project()?;
    let args = [
        "atomic_bits.ptx",
        "ballot_relations.ptx",
        "-q",
        "-W",
        "conditional",
    ];
    let output = run_in(&project, &[&args[..], &["--output", "html=page.html"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let closed = dom(browser, &project.path().join("page.html"))?.0;
    assert!(closed.contains("class=\"run\"") && !closed.contains("class=\"lifelines\""));
    let open = "for (const part of document.querySelectorAll('.finding, .timeline')) part.open = true;";
    let looking = with_script(
        &project,
        &(LOOKS.to_owned() + open + "setTimeout(() => {" + &saying("looks()") + "}, 200);"),
    )?;
    for (width, height) in [(1400, 3000), (500, 3000)] {
        for (mode, name) in Mode::ALL {
            let size = (width, height);
            let (dom, console) = browser.dom(
                &address(&looking),
                size,
                &[mode.option(), "--virtual-time-budget=5000"],
            )?;
            assert!(console.is_empty(), "{console:?}");
            assert!(
                dom.contains(&format!("saw {width} wide, {name}<")),
                "{:?}",
                dom.rsplit_once("saw ")
            );
            for drawn in [
                "class=\"lifelines\"",
                "<th scope=\"col\">warp 0, lane 31</th><th scope=\"col\">warp 1, lane 0</th>",
                "71 steps of other threads",
                "<td><span>reads here</span></td>",
                "class=\"excerpt two\"",
                "↑ the atomic is here",
            ] {
                assert!(dom.contains(drawn), "{drawn}");
            }
            let shot = root().join(format!("target/page/runs-{width}-{name}.png"));
            let picture = browser.picture(&address(&looking), size, mode, &shot)?;
            assert!(picture.len() > 40_000, "{}", shot.display());
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
    let (dom, console) = dom(browser, &project.path().join("page.html"))?;
    assert!(console.is_empty(), "{console:?}");
    assert!(dom.contains("The 2000 most severe of 3000 findings are here."));
    assert!(dom.contains("2000 shown"));
    Ok(())
}

fn console(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    let (_, console) = dom(browser, &with_script(&project, "nothingIsCalledSo();")?)?;
    assert_eq!(console.len(), 1, "{console:?}");
    Ok(())
}

fn faults(browser: &Browser) -> Result<(), Failed> {
    let project = page()?;
    let script = "document.querySelector('h1').style.color = '#888';
        document.querySelector('h2').style.width = '200vw';";
    let file = with_script(&project, &(LOOKS.to_owned() + script + &saying("looks()")))?;
    let (dom, _) = browser.dom(&address(&file), SIZE, &[Mode::Light.option()])?;
    for fault in [
        "H1. has a contrast of 3.5",
        "H2. sticks out",
        "the page scrolls sideways",
    ] {
        assert!(dom.contains(fault), "{fault}: {dom}");
    }
    Ok(())
}
