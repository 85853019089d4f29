//! The symbols that a library shows to others.

use object::{NameOrOrdinal, Object as _};

use super::bytes::Budget;

/// Hands out the name of each symbol that a shared library or executable of Linux or Windows exports. Files of other formats export
/// nothing, and so does what of a broken file can't be read.
pub fn exports(bytes: &[u8], mut found: impl FnMut(&[u8])) {
    let Ok(file) = object::File::parse(bytes) else {
        return;
    };
    let mut budget = Budget::of(bytes);
    let Ok(exports) = file.exports() else { return };
    for export in exports {
        let Ok(export) = export else { return };
        // One of Windows may have a number and no name.
        let NameOrOrdinal::Name(name) = export.name() else {
            continue;
        };
        if !budget.take(name.len()) {
            return;
        }
        found(name);
    }
}
