//! The uses of files of a crate by other files.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{WrittenPath, named};

/// The modules of a crate that have a file, by their paths (`lanes::flow`; `lib` is the root), with those that each uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The name of a crate's root.
const ROOT: &str = "lib";

/// Number of times that a re-exported name is followed.
const MAX_PASSED_ON: usize = 16;

type Path = Vec<String>;

/// The uses between the source files of a crate, each with its path below `src` (`lanes/flow.rs`) and its text.
///
/// A name that a module passes on (`pub use`) counts for the file that it comes from.
pub fn uses(sources: &[(String, String)]) -> Uses {
    let files: BTreeMap<Path, Vec<WrittenPath>> = sources
        .iter()
        .map(|(file, text)| (module(file), named(text)))
        .collect();
    let modules = Modules { files: &files };
    files
        .iter()
        .map(|(module, names)| {
            let used = names
                .iter()
                .filter_map(|one| modules.resolve(&around(module, one), &one.path, MAX_PASSED_ON))
                .filter(|used| used != module)
                .map(|used| shown(&used))
                .collect();
            (shown(module), used)
        })
        .collect()
}

/// `lanes/flow.rs` is `lanes::flow`.
fn module(file: &str) -> Path {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    match stem {
        "lib" | "main" => Path::new(),
        _ => stem.split('/').map(str::to_owned).collect(),
    }
}

fn shown(module: &[String]) -> String {
    match module {
        [] => ROOT.to_owned(),
        _ => module.join("::"),
    }
}

/// The module that a path is written in, which may have no file of its own.
fn around(module: &[String], one: &WrittenPath) -> Path {
    [module, &one.inside].concat()
}

struct Modules<'f> {
    files: &'f BTreeMap<Path, Vec<WrittenPath>>,
}

impl Modules<'_> {
    /// The file that has what a path names, by its module; none for another crate's item. `left`: how many imports are
    /// followed.
    fn resolve(&self, from: &[String], path: &[String], left: usize) -> Option<Path> {
        let ups = path.iter().take_while(|segment| *segment == "super").count();
        let first = path.first()?;
        let (mut at, skipped) = match first.as_str() {
            "crate" => (Path::new(), 1),
            "self" => (from.to_vec(), 1),
            _ => (from[..from.len().saturating_sub(ups)].to_vec(), ups),
        };
        for (place, segment) in path.iter().enumerate().skip(skipped) {
            let below = [at.as_slice(), std::slice::from_ref(segment)].concat();
            if self.files.contains_key(&below) {
                at = below;
            } else if let Some(import) = self.import(&at, segment) {
                // None for another crate's item.
                let whole = [&import.path, &path[place + 1..]].concat();
                return self.resolve(&around(&at, import), &whole, left.checked_sub(1)?);
            } else if place == 0 {
                return None;
            } else {
                break;
            }
        }
        Some(self.file_of(at))
    }

    /// The import of a module under a name.
    fn import(&self, module: &[String], name: &str) -> Option<&WrittenPath> {
        let names = self.files.get(module)?;
        names
            .iter()
            .find(|one| one.inside.is_empty() && one.known_as.as_deref() == Some(name))
    }

    /// The file that a module lies in.
    fn file_of(&self, mut module: Path) -> Path {
        while !self.files.contains_key(&module) && module.pop().is_some() {}
        module
    }
}

/// The circles: sets of files of which each uses, through others, all of the set. Sorted.
pub fn circles(uses: &Uses) -> Vec<Vec<String>> {
    let mut search = Search {
        uses,
        order: BTreeMap::new(),
        open: Vec::new(),
        found: Vec::new(),
    };
    for file in uses.keys() {
        if !search.order.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    search.found.retain(|circle| circle.len() > 1);
    search.found.sort();
    search.found
}

/// Tarjan's search for strongly connected components.
struct Search<'u> {
    uses: &'u Uses,
    /// The order in which each file was visited; `usize::MAX` once its component is known.
    order: BTreeMap<&'u str, usize>,
    open: Vec<&'u str>,
    found: Vec<Vec<String>>,
}

impl<'u> Search<'u> {
    /// Goes through what a file uses; returns the earliest open file that it leads back to.
    fn visit(&mut self, file: &'u str) -> usize {
        let number = self.order.len();
        self.order.insert(file, number);
        let height = self.open.len();
        self.open.push(file);
        let mut earliest = number;
        for used in self.uses.get(file).into_iter().flatten() {
            let reached = match self.order.get(used.as_str()) {
                Some(known) => *known,
                None => self.visit(used),
            };
            earliest = earliest.min(reached);
        }
        if earliest == number {
            let component = self.open.split_off(height);
            for file in &component {
                self.order.insert(file, usize::MAX);
            }
            let mut component: Vec<String> = component.into_iter().map(str::to_owned).collect();
            component.sort();
            self.found.push(component);
            return usize::MAX;
        }
        earliest
    }
}

/// A circle that is accepted.
pub struct Circle {
    /// The folder of the package.
    pub package: &'static str,
    /// Its files, sorted.
    pub files: &'static [&'static str],
    /// Why they may use each other.
    pub reason: &'static str,
}

/// The errors in the circles of a package, a sentence each.
pub fn faults(package: &str, uses: &Uses, accepted: &[Circle]) -> Vec<String> {
    let accepted: Vec<&Circle> = accepted
        .iter()
        .filter(|circle| circle.package == package)
        .collect();
    let found = circles(uses);
    let mut faults = Vec::new();
    for circle in &found {
        if accepted.iter().any(|known| known.files == circle.as_slice()) {
            continue;
        }
        let arrows = arrows(uses, circle).join(", ");
        let near = accepted.iter().find(|known| {
            let mut files = known.files.iter();
            files.any(|file| circle.iter().any(|other| other == file))
        });
        faults.push(match near {
            Some(known) => format!(
                "{package}: the circle {:?} of CIRCLES is now {circle:?} ({arrows}). If files joined it, move what they share \
                 into a file that uses neither; if files left it, correct CIRCLES.",
                known.files
            ),
            None => format!(
                "{package}: {circle:?} use each other ({arrows}). Move what they share into a file that uses none of them. If \
                 they are one idea that is spread over several files, add them to CIRCLES with the reason."
            ),
        });
    }
    for known in accepted {
        if !found
            .iter()
            .any(|circle| circle.iter().any(|file| known.files.contains(&file.as_str())))
        {
            faults.push(format!(
                "{package}: the circle {:?} is gone: take it out of CIRCLES.",
                known.files
            ));
        }
    }
    faults
}

/// The uses between the files of a circle.
fn arrows(uses: &Uses, circle: &[String]) -> Vec<String> {
    let uses_of = |file: &String| {
        let used = uses.get(file).into_iter().flatten();
        let used: Vec<&str> = used
            .filter(|used| circle.contains(used))
            .map(String::as_str)
            .collect();
        format!("{file} uses {}", used.join(" and "))
    };
    circle.iter().map(uses_of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Circle, circles, faults, uses};

    fn sources(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        files.iter().map(owned).collect()
    }

    fn used(files: &[(&str, &str)], by: &str) -> Vec<String> {
        let uses = uses(&sources(files));
        uses[by].iter().cloned().collect()
    }

    #[test]
    fn paths_lead_to_files() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "mod x; use x::X; fn f(_: crate::b::y::Y, _: std::fmt::Error) {}",
            ),
            ("a/x.rs", "use super::super::b; fn f() { b::y::g() }"),
            ("b.rs", "pub mod y;"),
            ("b/y.rs", "use self::Z::*;"),
        ];
        assert_eq!(used(&files, "a"), ["a::x", "b::y"]);
        assert_eq!(used(&files, "a::x"), ["b", "b::y"]);
        assert_eq!(used(&files, "b::y"), [""; 0]);
    }

    #[test]
    fn what_is_passed_on_counts_for_where_it_comes_from() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A as B; pub use other::C;"),
            ("a.rs", ""),
            ("b.rs", "use crate::{B, C};"),
        ];
        assert_eq!(used(&files, "b"), ["a"]);
    }

    #[test]
    fn modules_within_a_file_are_that_file() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod inner { use super::X; use super::super::Y; }"),
        ];
        assert_eq!(used(&files, "a"), ["lib"]);
    }

    /// `a` uses `b`, which uses `c`, which uses `a`; `d` uses them all.
    const ROUND: [(&str, &str); 5] = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use super::c::C;"),
        ("c.rs", "fn f(_: crate::a::A) {}"),
        ("d.rs", "use crate::{a, b, c};"),
    ];

    #[test]
    fn circles_are_found() {
        assert_eq!(circles(&uses(&sources(&ROUND))), [["a", "b", "c"]]);
        assert_eq!(circles(&uses(&sources(&ROUND[..3]))), [[""; 0]; 0]);
    }

    fn said(files: &[&'static [&'static str]]) -> Vec<String> {
        let circle = |files: &&'static [&'static str]| Circle {
            package: "p",
            files,
            reason: "",
        };
        let accepted: Vec<Circle> = files.iter().map(circle).collect();
        faults("p", &uses(&sources(&ROUND)), &accepted)
    }

    #[test]
    fn a_new_circle_is_a_fault() {
        let faults = said(&[]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("a uses b, b uses c, c uses a"), "{faults:?}");
    }

    #[test]
    fn a_file_that_joins_or_leaves_is_a_fault() {
        for files in [&["a", "b"][..], &["a", "b", "c", "d"]] {
            let faults = said(&[files]);
            assert_eq!(faults.len(), 1);
            assert!(faults[0].contains(r#"is now ["a", "b", "c"]"#), "{faults:?}");
        }
    }

    #[test]
    fn a_circle_that_is_gone_is_a_fault() {
        let faults = said(&[&["a", "b", "c"], &["d", "e"]]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains(r#"["d", "e"] is gone"#), "{faults:?}");
    }

    #[test]
    fn an_accepted_circle_is_none() {
        assert_eq!(said(&[&["a", "b", "c"]]), [""; 0]);
    }
}
