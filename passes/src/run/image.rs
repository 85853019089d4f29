//! One image: unpacked, and read according to its kind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::host_launches::{MemberSettings, ShownLaunches};
use super::problem::panic;
use super::scanned::{ImagePair, ScannedImage};
use super::text::TextOptions;
use super::text_cache::{PendingText, Place, TextCache, TextKey};
use crate::deadline::Deadline;
use crate::image::decompress::{Unpacked, unpack};
use crate::image::{InputError, PackedImage, cubin};
use crate::inventory::{ImageKind, ImageReport, Role, is_read};
use crate::rule::ProblemKind;
use crate::settings::Settings;

/// Reads the images of one input.
#[derive(Clone, Copy)]
pub(super) struct ImageScanner<'a> {
    /// The index of the input, and the number of the member if it is of a package.
    pub(super) input: Place,
    pub(super) settings: &'a Settings,
    /// The launches that the host code of the file shows.
    pub(super) shown: &'a ShownLaunches,
    pub(super) deadline: &'a Deadline,
    pub(super) texts: &'a TextCache,
    /// The bytes are mapped: other processes can change them.
    pub(super) is_mapped: bool,
}

impl ImageScanner<'_> {
    /// Reads an image; a panic inside is an error of this image.
    pub(super) fn scan(&self, packed: &PackedImage<'_>) -> ImagePair {
        let scanned = catch_unwind(AssertUnwindSafe(|| self.scan_inside(packed)));
        scanned.unwrap_or_else(|payload| (ScannedImage::failed(packed, panic(payload.as_ref())), Vec::new()))
    }

    fn scan_inside(&self, packed: &PackedImage<'_>) -> ImagePair {
        let mut image = ScannedImage::unread(packed);
        if !is_read(packed.kind) {
            return (image, Vec::new());
        }
        if self.deadline.is_over() {
            image.is_out_of_time = true;
            return (image, Vec::new());
        }
        match self.unpacked_bytes(packed) {
            Ok(bytes) => {
                image.report.bytes = bytes.len() as u64;
                let embedded = self.read(&mut image, &bytes, packed);
                (image, embedded)
            }
            Err(error) => (ScannedImage::failed(packed, error), Vec::new()),
        }
    }

    /// The bytes of an image. Texts are copied out of mapped memory: other inputs with the same text share its findings, so nobody
    /// may change it from here on.
    fn unpacked_bytes<'a>(&self, packed: &PackedImage<'a>) -> Result<Unpacked<'a>, InputError> {
        match unpack(packed.compression, packed.payload, packed.unpacked) {
            Ok(Unpacked::InPlace(bytes)) if self.is_mapped && packed.kind != ImageKind::Cubin => {
                Ok(Unpacked::Copied(bytes.to_vec()))
            }
            Ok(bytes) => Ok(bytes),
            Err(refusal) => {
                let kind = if refusal.is_limit() {
                    ProblemKind::Limit
                } else {
                    ProblemKind::Unreadable
                };
                Err(InputError::new(kind, refusal.to_string()))
            }
        }
    }

    /// Reads the bytes of an image according to its kind; for machine code with PTX inside, that PTX as images.
    fn read(&self, image: &mut ScannedImage, bytes: &[u8], packed: &PackedImage<'_>) -> Vec<ScannedImage> {
        match packed.kind {
            ImageKind::Ptx => {
                let text = without_padding(bytes, packed);
                if packed.container.is_none() || is_text(text) {
                    self.add_ptx(image, text, packed.role.is_linked());
                } else {
                    let message = "it is said to be PTX, and is no text";
                    image.error = Some(InputError::new(ProblemKind::Unreadable, message));
                }
                Vec::new()
            }
            ImageKind::LlvmIr => {
                self.add_llvm_ir(image, bytes);
                Vec::new()
            }
            _ => self.read_machine_code(image, bytes, packed),
        }
    }

    /// Reads a cubin, and the PTX that it keeps for debuggers.
    fn read_machine_code(
        &self,
        image: &mut ScannedImage,
        bytes: &[u8],
        packed: &PackedImage<'_>,
    ) -> Vec<ScannedImage> {
        if self.settings.policy.forbid_duplicates || self.settings.recompile.is_some() {
            image.report.digest = Some(self.texts.digest(bytes));
        }
        let mut cubin = match cubin::read(bytes) {
            Ok(cubin) => cubin,
            Err(error) => {
                image.error = Some(InputError::new(ProblemKind::Unreadable, error.to_string()));
                return Vec::new();
            }
        };
        if packed.target.is_empty() {
            image.report.target = cubin.target;
        }
        if cubin.is_relocatable && packed.role == Role::Loadable {
            image.report.role = Role::Relocatable;
        }
        image.report.virtual_number = cubin.virtual_number;
        image.report.is_read = true;
        if self.settings.digest_kernels {
            cubin::digest_kernels(bytes, &mut cubin.facts.kernels);
        }
        image.declare(Arc::new(cubin.facts));
        let texts = cubin.ptx.iter();
        texts
            .map(|text| self.embedded_ptx(text, &image.report, packed))
            .collect()
    }

    /// The PTX inside the machine code that has this report.
    fn embedded_ptx(&self, bytes: &[u8], cubin: &ImageReport, packed: &PackedImage<'_>) -> ScannedImage {
        let mut image = ScannedImage::unread(packed);
        image.report.kind = ImageKind::Ptx;
        image.report.role = Role::Embedded;
        image.report.target.clone_from(&cubin.target);
        image.report.compression = None;
        image.report.bytes = bytes.len() as u64;
        image.report.packed = bytes.len() as u64;
        image.report.section = Some(cubin::DEBUG_PTX.to_owned());
        // Lines keep their numbers: debug information counts them from the beginning of the section.
        self.add_ptx(&mut image, bytes.trim_ascii_end(), false);
        image
    }

    /// Has a text of PTX analysed, at once or with those of the inputs that it is linked with. `with_weak`: functions that the
    /// linker merges with those of other inputs count.
    pub(super) fn add_ptx(&self, image: &mut ScannedImage, text: &[u8], with_weak: bool) {
        let is_linked = self.settings.is_one_program()
            && !self.settings.images_only
            && may_call_other_inputs(&image.report, with_weak);
        let member = self.shown.of_member(image.report.member.as_deref());
        let key = TextKey {
            digest: self.texts.digest(text),
            with_weak,
            is_linked,
            launches: member.map_or(0, |member| member.digest),
        };
        if !self.claim(image, key) {
            return;
        }
        if is_linked {
            let text = text.to_vec();
            let settings = member.map(|member| Arc::clone(&member.settings));
            self.texts.defer(self.input, PendingText { key, text, settings });
        } else {
            self.texts
                .analyse_ptx(key, text, self.text_options(member, with_weak));
        }
    }

    /// Has a worker analyse LLVM IR.
    fn add_llvm_ir(&self, image: &mut ScannedImage, bytes: &[u8]) {
        let member = self.shown.of_member(image.report.member.as_deref());
        let key = TextKey {
            digest: self.texts.digest(bytes),
            with_weak: false,
            is_linked: false,
            launches: member.map_or(0, |member| member.digest),
        };
        if self.claim(image, key) {
            self.texts
                .analyse_ir(key, bytes, self.text_options(member, false));
        }
    }

    /// Records the text of an image; true if it comes up here first and is to be analysed.
    pub(super) fn claim(&self, image: &mut ScannedImage, key: TextKey) -> bool {
        image.report.digest = Some(key.digest);
        image.report.is_read = true;
        image.text = Some(key);
        self.texts.claim(key)
    }

    /// `member`: the settings for the texts of the member of an archive, if they are others than those of the run.
    pub(super) fn text_options<'s>(
        &'s self,
        member: Option<&'s MemberSettings>,
        with_weak: bool,
    ) -> TextOptions<'s> {
        TextOptions {
            settings: member.map_or(self.settings, |member| &member.settings),
            deadline: self.deadline,
            with_weak,
            definitions: None,
            link_key: None,
        }
    }
}

/// True if PTX is linked with that of other inputs: relocatable device code, and a text that is a file of its own.
fn may_call_other_inputs(image: &ImageReport, with_weak: bool) -> bool {
    match image.role {
        Role::Relocatable | Role::LinkedAtLoad => true,
        Role::Recompiled => with_weak,
        Role::Loadable => image.container.is_none() && image.section.is_none(),
        Role::Embedded => false,
    }
}

/// A text without the NULs that end it in fat binaries. Those of files are left as they are: a NUL in them is an error with a place.
fn without_padding<'a>(bytes: &'a [u8], packed: &PackedImage<'_>) -> &'a [u8] {
    if packed.container.is_none() {
        return bytes;
    }
    let last = bytes.iter().rposition(|byte| *byte != 0);
    &bytes[..last.map_or(0, |last| last + 1)]
}

/// True if bytes that are said to be PTX begin like a text.
fn is_text(bytes: &[u8]) -> bool {
    const SNIFFED: usize = 256;
    bytes
        .iter()
        .take(SNIFFED)
        .all(|byte| *byte >= b' ' || byte.is_ascii_whitespace())
}
