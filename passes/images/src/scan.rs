//! From the bytes of a file to its images, not yet unpacked.

use super::container::{self, Event, Region};
use super::packed::{InputError, PackedImage};
use super::reader::Found;
use super::sections::{Section, Sections};
use super::{FileFormat, file_format, link_time, offloading, raw};
use crate::kinds::{Host, ImageKind, ProblemKind, Role};
use crate::limits::{MAX_IMAGES, SHOWN_FILE_PROBLEMS};

/// The section of relocatable device code. Executables of Windows keep eight bytes of a name.
const RELOCATABLE: [&str; 2] = ["__nv_relfatbin", "__nv_rel"];

/// The beginnings of the names of sections for images.
const IMAGES: [&str; 3] = [".nv_fatb", "__nv_rel", offloading::SECTION];

/// The contents of a file: its images, still packed, and its host code.
#[derive(Debug)]
pub struct Contents<'a> {
    /// Its format.
    pub format: FileFormat,
    /// Its images, in the order of the file.
    pub images: Vec<PackedImage<'a>>,
    /// Its host code, if it has some.
    pub host: Option<Host>,
    /// Errors of the file as a whole; those of an image are found when it is unpacked.
    pub errors: Vec<InputError>,
    /// The time was over before all of it was looked through.
    pub is_late: bool,
}

/// Looks through `bytes`, the content of a file called `name`, until `is_late` says that the time is over.
#[must_use]
pub fn scan<'a>(name: &str, bytes: &'a [u8], is_late: &dyn Fn() -> bool) -> Contents<'a> {
    scan_with(name, bytes, is_late, &|_| false)
}

/// Looks through `bytes` as [`scan`] does, and finds texts in the data of host files as well: those that `is_module` takes for
/// modules of PTX.
#[must_use]
pub fn scan_with<'a>(
    name: &str,
    bytes: &'a [u8],
    is_late: &dyn Fn() -> bool,
    is_module: &dyn Fn(&[u8]) -> bool,
) -> Contents<'a> {
    let mut contents = Contents {
        format: file_format(name, bytes),
        images: Vec::new(),
        host: None,
        errors: Vec::new(),
        is_late: false,
    };
    let mut sections = Sections::default();
    match contents.format {
        FileFormat::Ptx => {
            // An empty file is not a module.
            if bytes.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != 0) {
                contents.images.push(PackedImage::whole(ImageKind::Ptx, bytes));
            }
            return contents;
        }
        FileFormat::LtoIr => {
            contents.images.push(PackedImage::whole(ImageKind::LtoIr, bytes));
            return contents;
        }
        FileFormat::LlvmText | FileFormat::LlvmBitcode => {
            if link_time::is_bitcode(bytes) {
                contents.unsupported(format!("it is {}", link_time::MESSAGE));
            } else {
                contents.images.push(PackedImage::whole(ImageKind::LlvmIr, bytes));
            }
            return contents;
        }
        FileFormat::Mlir => {
            contents.images.push(PackedImage::whole(ImageKind::Mlir, bytes));
            return contents;
        }
        FileFormat::Container(container) => {
            let mut found = Found::new(is_late);
            container.0.read(bytes, &mut found);
            contents.images = found.images;
            contents.host = found.host;
            contents.errors = found.errors;
            contents.is_late = found.is_cut_short;
            sections = found.sections;
            if found.is_all {
                return contents;
            }
        }
        FileFormat::Package(what) => {
            let why = if what.starts_with("compressed") {
                "and holds no tar archive that can be read"
            } else {
                "which is not looked into"
            };
            contents.trouble(format!("it is {what}, {why}: unpack it first"));
            return contents;
        }
        FileFormat::Foreign(foreign) => {
            contents.trouble(foreign.describe());
            return contents;
        }
        FileFormat::Unknown => {}
    }
    sections.sort();
    contents.bundles(bytes, &sections);
    contents.containers(bytes, &sections, is_late);
    if !contents.is_late {
        contents.raw(bytes, &sections, is_late, is_module);
    }
    contents.images.sort_by_key(|image| image.offset);
    if let Some(host) = &mut contents.host {
        host.registered.sort();
        host.registered.dedup();
        host.unregistered.sort();
        host.unregistered.dedup();
        host.names.sort();
    }
    let left_out = contents.errors.len().saturating_sub(SHOWN_FILE_PROBLEMS);
    if left_out > 0 {
        contents.errors.truncate(SHOWN_FILE_PROBLEMS);
        contents.trouble(format!("{left_out} more parts of it are broken in such ways"));
    }
    contents
}

impl<'a> Contents<'a> {
    fn trouble(&mut self, message: impl Into<String>) {
        // One more than is shown says that there are more; a hostile file must not fill the memory with them.
        if self.errors.len() < MAX_IMAGES {
            self.errors.push(InputError {
                kind: ProblemKind::Unreadable,
                message: message.into(),
            });
        }
    }

    fn unsupported(&mut self, message: String) {
        self.errors.push(InputError {
            kind: ProblemKind::Unsupported,
            message,
        });
    }

    /// clang's bundles: in their section, or a file of their own.
    fn bundles(&mut self, bytes: &'a [u8], sections: &Sections) {
        let mut places: Vec<(u64, u64, Option<String>)> = sections
            .named(offloading::SECTION)
            .map(|section| (section.start, section.end, section.member.clone()))
            .collect();
        if bytes.starts_with(offloading::MAGIC) {
            places.push((0, bytes.len() as u64, None));
        }
        for (start, end, member) in places {
            let Some(part) = super::bytes::slice(bytes, start, end - start) else {
                self.trouble(format!(
                    "its section {} lies outside the file",
                    offloading::SECTION
                ));
                continue;
            };
            let (images, trouble) = offloading::images(part);
            self.images.extend(images.into_iter().map(|image| PackedImage {
                role: Role::Relocatable,
                offset: start + image.offset as u64,
                section: Some(offloading::SECTION.to_owned()),
                member: member.clone(),
                target: image.target,
                ..PackedImage::whole(image.kind, image.payload)
            }));
            if let Some(trouble) = trouble {
                self.trouble(trouble);
            }
        }
    }

    /// Images in the data of host files.
    fn raw(
        &mut self,
        bytes: &'a [u8],
        sections: &Sections,
        is_late: &dyn Fn() -> bool,
        is_module: &dyn Fn(&[u8]) -> bool,
    ) {
        let place = |payload: &[u8]| payload.as_ptr().addr().saturating_sub(bytes.as_ptr().addr());
        let mut known: Vec<(usize, usize)> = self
            .images
            .iter()
            .map(|image| (image.offset as usize, place(image.payload) + image.payload.len()))
            .collect();
        known.sort_unstable();
        let search = raw::Search {
            sections,
            known,
            is_module,
            is_late,
        };
        let room = MAX_IMAGES.saturating_sub(self.images.len());
        let mut images = Vec::new();
        let is_done = search.run(bytes, |raw| {
            if images.len() < room {
                images.push(PackedImage {
                    offset: raw.offset as u64,
                    section: Some(raw.section.name.clone()),
                    member: raw.section.member.clone(),
                    ..PackedImage::whole(raw.kind, raw.payload)
                });
            }
        });
        self.images.append(&mut images);
        self.is_late |= !is_done;
    }

    fn containers(&mut self, bytes: &'a [u8], sections: &Sections, is_late: &dyn Fn() -> bool) {
        let mut is_full = false;
        let is_relocatable = |section: &Section| RELOCATABLE.contains(&section.name.as_str());
        let place = |offset: usize| match sections.at(offset as u64) {
            Some(section) if section.is_code => Region::Code,
            Some(section) if !IMAGES.iter().any(|name| section.name.starts_with(name)) => Region::Data,
            _ => Region::Images,
        };
        let is_done = container::search(bytes, place, is_late, |event| match event {
            Event::Entry { .. } if self.images.len() >= MAX_IMAGES => is_full = true,
            Event::Entry {
                entry,
                offset,
                container,
                payload,
            } => {
                let section = sections.at(offset as u64);
                let role = match section {
                    Some(section) if is_relocatable(section) && section.is_linked => Role::LinkedAtLoad,
                    Some(section) if is_relocatable(section) => Role::Relocatable,
                    _ => Role::Loadable,
                };
                self.images.push(PackedImage {
                    kind: entry.kind,
                    role,
                    payload,
                    compression: entry.compression,
                    unpacked: entry.unpacked,
                    offset: offset as u64,
                    container: Some(container),
                    section: section.map(|section| section.name.clone()),
                    member: section.and_then(|section| section.member.clone()),
                    target: entry.target,
                    isa: entry.isa,
                    options: entry.options,
                    is_64_bit: entry.is_64_bit,
                    is_debug: entry.is_debug,
                });
            }
            Event::Broken { offset, error } => {
                self.trouble(format!("the fat binary at offset {offset:#x} is broken: {error}"));
            }
        });
        self.is_late |= !is_done;
        if is_full {
            self.errors.push(InputError {
                kind: ProblemKind::Limit,
                message: format!("it holds more than {MAX_IMAGES} images"),
            });
        }
    }
}
