//! The shared libraries that a linked file needs, with the versions of their symbols.

use object::{LittleEndian, Object as _};
use rustc_hash::FxHashMap;

use super::bytes::{Budget, text};
use super::elf::Elf;
use crate::kinds::NeededLibrary;
use crate::limits::MAX_NEEDED_LIBRARIES;

/// The libraries that `DT_NEEDED` names, in their order.
pub(super) fn libraries(elf: &Elf<'_>, budget: &mut Budget) -> Vec<NeededLibrary> {
    let mut versions = versions(elf, budget);
    let Ok(libraries) = elf.import_libraries() else {
        return Vec::new();
    };
    let names = libraries.map_while(Result::ok).map(|library| library.name());
    let mut found = Vec::new();
    for name in names.take(MAX_NEEDED_LIBRARIES) {
        if !budget.take(name.len()) {
            break;
        }
        found.push(NeededLibrary {
            name: text(name),
            versions: versions.remove(name).unwrap_or_default(),
        });
    }
    found
}

/// The versions of symbols that are needed of each library (`.gnu.version_r`).
fn versions<'a>(elf: &Elf<'a>, budget: &mut Budget) -> FxHashMap<&'a [u8], Vec<String>> {
    let mut found: FxHashMap<&[u8], Vec<String>> = FxHashMap::default();
    let sections = elf.elf_section_table();
    let Ok(Some((mut libraries, link))) = sections.gnu_verneed(LittleEndian, elf.data()) else {
        return found;
    };
    let Ok(strings) = sections.strings(LittleEndian, elf.data(), link) else {
        return found;
    };
    let mut left = MAX_NEEDED_LIBRARIES;
    while let Ok(Some((library, mut of_library))) = libraries.next() {
        let Ok(file) = library.file(LittleEndian, strings) else {
            continue;
        };
        while let Ok(Some(version)) = of_library.next() {
            let Ok(name) = version.name(LittleEndian, strings) else {
                continue;
            };
            if left == 0 || !budget.take(name.len()) {
                return found;
            }
            left -= 1;
            found.entry(file).or_default().push(text(name));
        }
    }
    found
}
