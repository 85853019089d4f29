//! The documentation's site, as mdBook builds it: its links, the addresses of rules that the program knows, its search, its looks.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::cases::files;
use ptxcheck_tests::folder::folder;
use ptxcheck_tests::{binary, missing, root};

use crate::browser::{Browser, Mode, address};
use crate::page;

/// Width and height of a window in which all results of a search are drawn.
const WINDOW: (u32, u32) = (1400, 1000);

/// How a page of the site is given time: its search loads an index first.
const PATIENCE: &str = "--virtual-time-budget=20000";

pub fn trials() -> Vec<Trial> {
    let test = |name: &'static str, run: fn(&Path) -> Result<(), Failed>| {
        Trial::ignorable_test(name, move || {
            if root().join(".toolchain/mdbook/bin/mdbook").is_file() {
                run(site()).map(|()| Completion::Completed)
            } else {
                missing::skip("mdBook is not installed")
            }
        })
    };
    let seen = |name: &'static str, run: fn(&Browser, &Path) -> Result<(), Failed>| {
        Trial::ignorable_test(name, move || {
            if !root().join(".toolchain/mdbook/bin/mdbook").is_file() {
                return missing::skip("mdBook is not installed");
            }
            match Browser::find() {
                Some(browser) => run(&browser, site()).map(|()| Completion::Completed),
                None => missing::skip("Chromium is not installed"),
            }
        })
    };
    vec![
        test("site_links_lead_somewhere", links),
        test("site_has_the_pages_that_the_program_names", addresses),
        seen("site_search_lists_rules_first", search),
        seen("site_pages_are_no_wider_than_their_window", widths),
        seen("site_pictures", pictures),
    ]
}

/// The folder with the pages, built once.
fn site() -> &'static Path {
    static SITE: OnceLock<PathBuf> = OnceLock::new();
    SITE.get_or_init(|| {
        let folder = root().join("target/site");
        let output = Command::new(root().join("docs/build.sh"))
            .arg(&folder)
            .env("SITE_PAGES", binary::site_pages())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        folder.join("book").canonicalize().unwrap()
    })
}

/// The values of an attribute in a document.
fn values<'a>(text: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    let values = text.split(&start).skip(1);
    values.filter_map(|rest| rest.split('"').next()).collect()
}

/// The pages of a site, with their texts.
fn pages(book: &Path) -> BTreeMap<PathBuf, String> {
    let pages = files(book.to_str().unwrap(), "html").into_iter();
    // `toc.html` is shown in a frame; `print.html` has all pages in one.
    let pages = pages.filter(|page| !page.ends_with("toc.html") && !page.ends_with("print.html"));
    pages
        .map(|page| {
            let text = fs::read_to_string(&page).unwrap();
            (page, text)
        })
        .collect()
}

fn links(book: &Path) -> Result<(), Failed> {
    let pages = pages(book);
    let ids: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(page, text)| (page.as_path(), values(text, "id").into_iter().collect()))
        .collect();
    let mut count = 0;
    let mut dead = Vec::new();
    for (page, text) in &pages {
        let is_missing = page.ends_with("404.html");
        for link in [values(text, "href"), values(text, "src")].concat() {
            if link.contains("://") || link.starts_with("data:") || is_missing {
                continue;
            }
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let named = match path {
                "" => Ok(page.clone()),
                path => page.parent().unwrap().join(path).canonicalize(),
            };
            let leads_there = named.is_ok_and(|named| {
                anchor.is_empty() || ids.get(named.as_path()).is_some_and(|ids| ids.contains(anchor))
            });
            if !leads_there {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(
        pages.len() > 120 && count > 4_000,
        "{} pages, {count} links",
        pages.len()
    );
    assert!(dead.is_empty(), "{dead:#?}");
    Ok(())
}

/// Every rule has a page where the program says that it is: links of a terminal, of SARIF and of the HTML report.
fn addresses(book: &Path) -> Result<(), Failed> {
    let codes = String::from_utf8(binary::run(["rules"]).stdout)?;
    let codes: Vec<&str> = codes
        .lines()
        .filter_map(|line| line.split(' ').next().filter(|word| word.starts_with("PTX")))
        .collect();
    assert!(codes.len() > 80, "{codes:?}");
    for code in codes {
        assert!(book.join(format!("rules/{code}.html")).is_file(), "{code}");
    }
    let settings = format!("docs = \"{}\"\n", address(book));
    let project = folder(&[
        ("ptxcheck.toml", settings.as_bytes()),
        ("k.ptx", page::PTX.as_bytes()),
    ]);
    let shown = binary::command()
        .current_dir(&project)
        .env("FORCE_HYPERLINK", "1")
        .args(["k.ptx", "--color", "always"])
        .args(["--output", "sarif=k.sarif", "--output", "html=k.html"])
        .output()?;
    let terminal =
        String::from_utf8_lossy(&shown.stdout).into_owned() + &String::from_utf8_lossy(&shown.stderr);
    let linked: Vec<&str> = terminal
        .split("\x1b]8;;")
        .filter_map(|rest| rest.split_once("\x1b\\"))
        .map(|(link, _)| link)
        .filter(|link| !link.is_empty())
        .collect();
    // Each code at its finding, and in the table at the end.
    assert_eq!(linked.len(), 4, "{terminal}");
    let sarif: serde_json::Value = serde_json::from_slice(&fs::read(project.path().join("k.sarif"))?)?;
    let driver = &sarif["runs"][0]["tool"]["driver"];
    let rules = driver["rules"].as_array().unwrap();
    let helps = rules.iter().map(|rule| rule["helpUri"].as_str().unwrap());
    let report = fs::read_to_string(project.path().join("k.html"))?;
    let of_report = values(&report, "href").into_iter();
    let of_report: Vec<&str> = of_report.filter(|link| link.starts_with("file:")).collect();
    assert_eq!((rules.len(), of_report.len()), (2, 2));
    for link in linked.into_iter().chain(helps).chain(of_report) {
        let file = link.strip_prefix("file://").unwrap();
        assert!(Path::new(file).is_file(), "{link}");
    }
    // Links of the report within itself.
    let ids: BTreeSet<&str> = values(&report, "id").into_iter().collect();
    for anchor in values(&report, "href")
        .iter()
        .filter_map(|link| link.strip_prefix('#'))
    {
        assert!(ids.contains(anchor), "#{anchor}");
    }
    Ok(())
}

fn search(browser: &Browser, book: &Path) -> Result<(), Failed> {
    for (word, code) in [
        ("__syncthreads", "PTX411"),
        ("__shfl_sync", "PTX40"),
        ("__shfl_down_sync", "PTX40"),
        ("__syncwarp", "PTX4"),
        ("__ballot_sync", "PTX40"),
        ("__activemask", "PTX410"),
        ("cp.async", "PTX70"),
        ("ldmatrix", "PTX"),
        ("mbarrier.init", "PTX70"),
        ("atomicAdd", "PTX41"),
    ] {
        let page = format!("{}?search={word}", address(&book.join("index.html")));
        let (dom, console) = browser.dom(&page, WINDOW, &[PATIENCE])?;
        assert!(console.is_empty(), "{word}: {console:?}");
        let results = dom.split_once("id=\"mdbook-searchresults\"").unwrap().1;
        let results = results.split_once("</ul>").unwrap().0;
        let found: Vec<&str> = values(results, "href");
        let is_of_rule = |link: &&str| link.contains("rules/PTX");
        let rules = found.iter().filter(|link| is_of_rule(link)).count();
        assert!(
            found
                .first()
                .is_some_and(|first| first.contains(&format!("rules/{code}"))),
            "{word}: {found:?}"
        );
        assert!(found[..rules].iter().all(is_of_rule), "{word}: {found:?}");
    }
    Ok(())
}

/// No page scrolls sideways, no code is cut off, and CUDA has colours, on a screen and on a phone.
fn widths(browser: &Browser, book: &Path) -> Result<(), Failed> {
    let shown: Vec<String> = pages(book).keys().map(|page| address(page)).collect();
    let script = include_str!("frames.js").replace("PAGES", &serde_json::to_string(&shown)?);
    let project = folder(&[(
        "frames.html",
        format!("<!doctype html><body><iframe height=900></iframe><script>{script}</script>").as_bytes(),
    )]);
    let page = address(&project.path().join("frames.html"));
    let (dom, console) = browser.dom(&page, (1500, 1000), &["--virtual-time-budget=200000"])?;
    let console: BTreeSet<&str> = console
        .iter()
        .filter_map(|line| line.split_once("CONSOLE"))
        .map(|(_, said)| said)
        .collect();
    assert!(console.is_empty(), "{console:#?}");
    let saw = dom
        .rsplit_once("saw ")
        .map_or("nothing", |(_, saw)| saw.split("</body").next().unwrap());
    assert_eq!(saw, format!("{} pages; .", 2 * shown.len()));
    Ok(())
}

/// Pictures of the start page and of a rule, below `target/page`.
fn pictures(browser: &Browser, book: &Path) -> Result<(), Failed> {
    for (name, page) in [("start", "index.html"), ("rule", "rules/PTX411.html")] {
        let mut pictures = Vec::new();
        for (mode, word) in Mode::ALL {
            let file = root().join(format!("target/page/site-{name}-{word}.png"));
            pictures.push(browser.picture(&address(&book.join(page)), WINDOW, mode, &file)?);
        }
        assert!(pictures.iter().all(|picture| picture.len() > 40_000), "{name}");
        assert!(pictures[0] != pictures[1], "{name}: dark is light");
    }
    Ok(())
}
