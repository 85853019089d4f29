//! Names that objects register.

use object::read::SymbolIndex;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

use super::bytes::text;
use super::elf::Elf;
use crate::limits::MAX_SYMBOL_BYTES;

/// A name that an object registers.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RegisteredName {
    pub(super) name: String,
    pub(super) is_variable: bool,
    /// See [`Registration::is_certain`].
    pub(super) is_certain: bool,
}

/// The text in read-only data at `offset` from a symbol, if it can be a name.
pub(super) fn constant_text(elf: &Elf<'_>, symbol: SymbolIndex, offset: i64) -> Option<String> {
    let symbol = elf.symbol_by_index(symbol).ok()?;
    let section = elf.section_by_index(symbol.section_index()?).ok()?;
    if !matches!(
        section.kind(),
        SectionKind::ReadOnlyData | SectionKind::ReadOnlyString
    ) {
        return None;
    }
    let at = usize::try_from(symbol.address().checked_add_signed(offset)?).ok()?;
    name_in(section.data().ok()?.get(at..)?)
}

/// The text at the beginning of these bytes, if it can be a name.
pub(super) fn name_in(rest: &[u8]) -> Option<String> {
    let name = &rest[..memchr::memchr(0, &rest[..rest.len().min(MAX_SYMBOL_BYTES)])?];
    let is_name = name.first().is_some_and(|first| !first.is_ascii_digit())
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(byte));
    is_name.then(|| text(name))
}
