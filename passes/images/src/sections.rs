//! The sections of host files, with their places in the input.

use object::{Object, ObjectSection as _, SectionKind};

use super::bytes::Budget;

/// A section of a host file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: String,
    /// The member of the archive it is in.
    pub(super) member: Option<String>,
    /// Its file is an executable or shared library.
    pub(super) is_linked: bool,
    /// It holds machine code.
    pub(super) is_code: bool,
}

/// The sections of a file, by their offset in it.
#[derive(Debug, Default)]
pub(super) struct Sections(Vec<Section>);

impl Sections {
    /// Adds those of a file that lies at `base` of the input and has the bytes `data`.
    pub(super) fn add<'d>(
        &mut self,
        file: &impl Object<'d>,
        data: &[u8],
        base: u64,
        member: Option<&str>,
        is_linked: bool,
    ) {
        let mut budget = Budget::of(data);
        for section in file.sections() {
            let Some((start, size)) = section.file_range() else {
                continue;
            };
            let (Ok(name), Some(start)) = (section.name(), base.checked_add(start)) else {
                continue;
            };
            if !budget.take(name.len()) {
                break;
            }
            let Some(end) = start.checked_add(size).filter(|end| *end > start) else {
                continue;
            };
            self.0.push(Section {
                start,
                end,
                name: name.to_owned(),
                member: member.map(str::to_owned),
                is_linked,
                is_code: section.kind() == SectionKind::Text,
            });
        }
    }

    /// To be called after the last [`Sections::add`].
    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|section| (section.start, section.end));
    }

    /// The section that holds an offset.
    pub(super) fn at(&self, offset: u64) -> Option<&Section> {
        let next = self.0.partition_point(|section| section.start <= offset);
        let section = &self.0[next.checked_sub(1)?];
        (offset < section.end).then_some(section)
    }

    /// All of them, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Section> {
        self.0.iter()
    }

    /// The sections with this name.
    pub(super) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Section> {
        self.0.iter().filter(move |section| section.name == name)
    }
}
