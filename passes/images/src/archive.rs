//! Static archives: the objects in them.

use object::read::archive::ArchiveFile;

use super::{bitcode, elf, windows};
use crate::errors::BadFile;
use ptxcheck_common::shown;

/// A member that is an ELF or COFF file, or bitcode.
pub(super) struct Member<'a> {
    pub(super) name: String,
    /// Offset in the archive, in bytes.
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

/// Those members, and the errors of the others.
///
/// # Errors
///
/// [`BadFile`], if it is not an archive or holds nothing itself.
pub(super) fn members(bytes: &[u8]) -> Result<(Vec<Member<'_>>, Option<BadFile>), BadFile> {
    let archive = ArchiveFile::parse(bytes).map_err(BadFile::archive)?;
    if archive.is_thin() {
        return Err(BadFile::ThinArchive);
    }
    let mut members = Vec::new();
    let mut trouble = None;
    for member in archive.members() {
        // The rest cannot be found once one header is broken.
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                trouble = Some(BadFile::archive(error));
                break;
            }
        };
        match member.data(bytes) {
            Ok(content)
                if content.starts_with(elf::MAGIC)
                    || content.starts_with(bitcode::MAGIC)
                    || windows::is_windows(content) =>
            {
                members.push(Member {
                    name: shown::name(member.name()).into_owned(),
                    offset: member.file_range().0,
                    bytes: content,
                });
            }
            Ok(_) => {}
            Err(error) => trouble = Some(BadFile::archive(error)),
        }
    }
    Ok((members, trouble))
}
