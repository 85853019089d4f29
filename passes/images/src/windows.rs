//! Host files of Windows: COFF objects, PE executables and libraries. Their sections are read; what their host code
//! registers is not.

use object::FileKind;
use object::read::coff::{CoffBigFile, CoffFile};
use object::read::pe::{PeFile32, PeFile64};

use super::sections::Sections;
use crate::errors::BadFile;

/// True if `bytes` begin like such a file. Objects have no magic number but that of their machine, so their headers must
/// hold.
pub(super) fn is_windows(bytes: &[u8]) -> bool {
    match FileKind::parse(bytes) {
        Ok(FileKind::Pe32 | FileKind::Pe64 | FileKind::CoffBig) => true,
        Ok(FileKind::Coff) => CoffFile::<&[u8]>::parse(bytes).is_ok(),
        _ => false,
    }
}

/// Adds the sections of such a file that lies at `base` of the input.
///
/// # Errors
///
/// [`BadFile::Windows`], if its headers are broken.
pub(super) fn add(
    bytes: &[u8],
    base: u64,
    member: Option<&str>,
    sections: &mut Sections,
) -> Result<(), BadFile> {
    match FileKind::parse(bytes).map_err(BadFile::windows)? {
        FileKind::Pe32 => sections.add(
            &PeFile32::parse(bytes).map_err(BadFile::windows)?,
            bytes,
            base,
            member,
            true,
        ),
        FileKind::Pe64 => sections.add(
            &PeFile64::parse(bytes).map_err(BadFile::windows)?,
            bytes,
            base,
            member,
            true,
        ),
        FileKind::CoffBig => {
            let file = CoffBigFile::<&[u8]>::parse(bytes).map_err(BadFile::windows)?;
            sections.add(&file, bytes, base, member, false);
        }
        _ => {
            let file = CoffFile::<&[u8]>::parse(bytes).map_err(BadFile::windows)?;
            sections.add(&file, bytes, base, member, false);
        }
    }
    Ok(())
}
