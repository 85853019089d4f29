//! The pages of the documentation's site, as mdBook reads them:
//! `cargo run -p ptxcheck-passes --example site_pages -- FOLDER`
//!
//! Pages are the files of `docs/src`, the texts that lie beside the tools, and a page for each rule, made of its file. Links in them name
//! files of the repository; the site has the same links between its pages. Exit code 1 if a link names no file, or if something
//! cannot be read or written.
#![allow(clippy::print_stderr, reason = "the errors of a program")]

mod code;
mod links;
mod names;
mod rules;

use std::ffi::OsStr;
use std::fs;
use std::io::Error;
use std::path::Path;
use std::process::ExitCode;

use links::Links;

/// Tools whose `README.md` is a page.
const TOOLS: [&str; 7] = [
    "cmake",
    "make",
    "launcher",
    "llvm-plugin",
    "pre-commit",
    "github-action",
    "container",
];

/// Folders with JSON schemas.
const SCHEMAS: [&str; 2] = ["tools/ptxcheck/schema", "passes/report/schema"];

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: site_pages FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// A page whose text is a file of the repository.
struct Page {
    /// The file, relative to the root of the repository.
    file: String,
    /// The page, relative to the site.
    page: String,
}

fn write(folder: &Path) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = pages(&root)?;
    let schemas = schemas(&root)?;
    let mut links = Links::new(&root);
    for Page { file, page } in pages.iter().chain(&schemas) {
        links.add(file, page);
    }
    links.add("passes/rules/src/rules", rules::LIST);
    for rule in rules::all() {
        links.add(&rules::file(rule), &rules::page_name(rule));
    }
    let write = |page: &str, text: &str| {
        let path = folder.join(page);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)
    };
    for Page { file, page } in &schemas {
        write(page, &fs::read_to_string(root.join(file))?)?;
    }
    for Page { file, page } in &pages {
        let text = links.of_site(file, page, &fs::read_to_string(root.join(file))?)?;
        let text = match page.as_str() {
            "SUMMARY.md" => text + &rules::summary(),
            _ => code::highlighted(&text),
        };
        write(page, &text)?;
    }
    for (page, text) in rules::pages() {
        write(&page, &code::highlighted(&text))?;
    }
    Ok(())
}

/// The pages that are written by hand.
fn pages(root: &Path) -> Result<Vec<Page>, Error> {
    let mut pages: Vec<Page> = files(root, "docs/src", "md")?;
    pages.push(Page {
        file: "tools/ptxcheck/CONFIGURATION.md".to_owned(),
        page: "configuration.md".to_owned(),
    });
    pages.extend(TOOLS.iter().map(|tool| Page {
        file: format!("tools/{tool}/README.md"),
        page: format!("{tool}.md"),
    }));
    Ok(pages)
}

fn schemas(root: &Path) -> Result<Vec<Page>, Error> {
    let mut schemas = Vec::new();
    for folder in SCHEMAS {
        schemas.extend(files(root, folder, "json")?);
    }
    for schema in &mut schemas {
        schema.page.insert_str(0, "schema/");
    }
    Ok(schemas)
}

/// The files of a folder with an extension, each a page of its name.
fn files(root: &Path, folder: &str, extension: &str) -> Result<Vec<Page>, Error> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.extension() == Some(OsStr::new(extension)) {
            pages.push(Page {
                file: format!("{folder}/{name}"),
                page: name.to_owned(),
            });
        }
    }
    Ok(pages)
}
