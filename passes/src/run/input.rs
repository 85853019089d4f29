//! One input: its bytes, its images, and what each of them is.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::module::is_module;
use super::problem::{Trouble, panic};
#[cfg(feature = "ir")]
use super::text;
use super::text::{How, Key, Texts, Waiting};
use super::{Bytes, Input};
use crate::deadline::Deadline;
use crate::image::decompress::{self, Unpacked, unpack};
use crate::image::embedded::Beside;
use crate::image::{self, Content, Contents, Form, Found, Packing, Unread, cubin};
use crate::inventory::{Facts, Host, ImageKind, ImageReport, Role, is_read};
use crate::recompile;
use crate::rule::ProblemKind;
use crate::settings::Settings;
use ptxcheck_images::{LARGE_IMAGE_BYTES, MAX_IMAGE_BYTES};

/// What was seen of an input. What its texts say comes later.
pub(super) struct Looked {
    pub(super) name: String,
    pub(super) images: Vec<Image>,
    pub(super) host: Option<Host>,
    pub(super) troubles: Vec<Trouble>,
    /// It is nothing that holds device code, or nothing that this release reads.
    pub(super) is_refused: bool,
}

/// What was seen of an image.
pub(super) struct Image {
    pub(super) report: ImageReport,
    /// Its text, if it is PTX.
    pub(super) text: Option<Key>,
    pub(super) trouble: Option<Trouble>,
    /// The time was over before its turn came.
    pub(super) is_missed: bool,
}

/// Looks at an input; a panic inside is a problem of this input.
pub(super) fn look(input: Input, settings: &Settings, texts: &Texts) -> Looked {
    guarded(input.name.clone(), || look_inside(input, settings, texts))
}

/// Runs `work`, whose panic is a problem of the input with this name.
pub(super) fn guarded(name: String, work: impl FnOnce() -> Looked) -> Looked {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Looked::refused(name, panic(payload.as_ref())))
}

impl Looked {
    fn refused(name: String, trouble: Trouble) -> Self {
        Self {
            name,
            images: Vec::new(),
            host: None,
            troubles: vec![trouble],
            is_refused: true,
        }
    }
}

fn look_inside(input: Input, settings: &Settings, texts: &Texts) -> Looked {
    let deadline = Deadline::after(settings.timeout);
    let path = match &input.bytes {
        Bytes::File(path) if settings.recompile.is_some() => Some(path.clone()),
        _ => None,
    };
    let waiting = Mutex::default();
    let how = How {
        settings,
        deadline: &deadline,
        with_weak: false,
        is_mapped: false,
        waiting: (settings.is_one_program() && !settings.images_only).then_some(&waiting),
        definitions: None,
    };
    let bytes = match content(input.bytes, &input.name, how) {
        Ok(bytes) => bytes,
        Err(trouble) => return Looked::refused(input.name, trouble),
    };
    let how = How {
        is_mapped: bytes.is_mapped(),
        ..how
    };
    let looked = guarded(input.name.clone(), || {
        look_at(&bytes, input.name.clone(), path.as_deref(), how, texts)
    });
    texts.wait(waiting.into_inner().unwrap_or_else(PoisonError::into_inner));
    // Of what was made of bytes that changed meanwhile, nothing counts.
    match bytes.trouble() {
        Some(what) => Looked::refused(input.name, (ProblemKind::Unreadable, what.to_owned())),
        None => looked,
    }
}

/// The bytes of an input. Those of a text are nobody else's to change: what it says counts for all inputs that hold it.
fn content(bytes: Bytes, name: &str, how: How<'_>) -> Result<Content, Trouble> {
    let content = match bytes {
        Bytes::Memory(bytes) => return Ok(Content::from(bytes)),
        Bytes::Refused(kind, message) => return Err((kind, message)),
        Bytes::Standard => Content::standard_input(how.deadline),
        Bytes::File(path) => Content::open(&path, how.deadline),
    };
    let detached = content.and_then(|content| match image::form(name, &content) {
        Form::Ptx | Form::LlvmText | Form::LlvmBitcode => content.detached(),
        _ => Ok(content),
    });
    detached.map_err(|unread| match unread {
        Unread::Late => how.late(),
        Unread::TooLarge(_) => (ProblemKind::Limit, unread.to_string()),
        Unread::System(_) | Unread::Changed(_) => (ProblemKind::Unreadable, unread.to_string()),
    })
}

fn look_at(bytes: &[u8], name: String, path: Option<&Path>, how: How<'_>, texts: &Texts) -> Looked {
    let is_late = || how.deadline.is_over();
    let mut contents = image::scan_with(&name, bytes, &is_late, &|text| is_module(text, how.deadline));
    if matches!(contents.form, Form::LlvmText | Form::LlvmBitcode) {
        contents.images.retain(|image| is_read(image.kind));
    }
    if let Some(trouble) = refusal(&contents) {
        return Looked::refused(name, trouble);
    }
    let made = recompiled(&name, path, &contents.images, how);
    contents.images.retain(|image| !is_replaced(image, &made));
    let allowed = decompress::allowance(bytes.len() as u64);
    let images = images(&contents.images, allowed, how, texts);
    let mut troubles: Vec<Trouble> = contents
        .troubles
        .into_iter()
        .map(|trouble| (trouble.kind, trouble.message))
        .collect();
    let missed = images.iter().filter(|(image, _)| image.is_missed).count();
    if contents.is_late || missed > 0 {
        let (kind, mut message) = how.late();
        if missed > 0 {
            let _ = write!(
                message,
                ": {missed} of {} images were not looked at",
                images.len()
            );
        }
        troubles.push((kind, message));
    }
    let mut images = with_embedded(&contents.images, images, &made);
    images.extend(made.into_iter().map(|text| of_recompiled(text, how, texts)));
    Looked {
        name,
        images,
        host: contents.host,
        troubles,
        is_refused: false,
    }
}

/// Why nothing of a file is read.
fn refusal(contents: &Contents<'_>) -> Option<Trouble> {
    if contents.is_late {
        return None;
    }
    let message = match contents.form {
        Form::LlvmText | Form::LlvmBitcode if contents.images.is_empty() && contents.troubles.is_empty() => {
            format!(
                "it is {}; this release reads PTX and what holds PTX",
                contents.form.describe()
            )
        }
        Form::Unknown if contents.images.is_empty() && contents.troubles.is_empty() => {
            "it holds no device code that this release reads".to_owned()
        }
        _ => return None,
    };
    Some((ProblemKind::Unreadable, message))
}

/// An image, and the PTX inside it, if it is machine code with some.
type Pair = (Image, Option<Image>);

/// All images: small ones in parallel, and beside them large ones one by one, so that memory stays within one large image
/// and a small one for each thread.
fn images(found: &[Found<'_>], allowed: u64, how: How<'_>, texts: &Texts) -> Vec<Pair> {
    let mut total = 0_u64;
    let claims: Vec<u64> = found.iter().map(claim).collect();
    let fits: Vec<bool> = claims
        .iter()
        .map(|claim| {
            let after = total.saturating_add(*claim);
            // What is refused takes nothing from the others.
            if after <= allowed {
                total = after;
            }
            after <= allowed
        })
        .collect();
    let one = |number: usize| {
        if fits[number] {
            return image_at(&found[number], how, texts);
        }
        let message = format!("the images of this file unpack to more than {allowed} bytes");
        (
            Image::new(&found[number], Some((ProblemKind::Limit, message))),
            None,
        )
    };
    let is_large = |number: usize| claims[number] > LARGE_IMAGE_BYTES;
    let (large, mut images) = rayon::join(
        || {
            let numbers = (0..found.len()).filter(|number| is_large(*number));
            let large: Vec<Pair> = numbers.map(one).collect();
            decompress::tidy();
            large
        },
        || -> Vec<Option<Pair>> {
            let numbers = (0..found.len()).into_par_iter();
            numbers
                .map(|number| (!is_large(number)).then(|| one(number)))
                .collect()
        },
    );
    let mut large = large.into_iter();
    for image in images.iter_mut().filter(|image| image.is_none()) {
        *image = large.next();
    }
    images.into_iter().flatten().collect()
}

/// Bytes that an image says it unpacks to. One that says nothing may be as large as any.
fn claim(found: &Found<'_>) -> u64 {
    match (found.packing, found.unpacked) {
        (Packing::None, _) => 0,
        (_, 0) => MAX_IMAGE_BYTES,
        (_, size) => size,
    }
}

/// PTX that is made for the architectures of a file, with what it stands for.
fn recompiled(name: &str, path: Option<&Path>, found: &[Found<'_>], how: How<'_>) -> Vec<Made> {
    let Some(compiler) = &how.settings.recompile else {
        return Vec::new();
    };
    let wanted = recompile::architectures(found);
    if wanted.is_empty() || how.settings.images_only {
        return Vec::new();
    }
    let object = recompile::Object {
        name,
        path,
        architectures: wanted,
    };
    // Functions of objects are linked with those of others.
    let is_linked = found.iter().any(|image| is_linked(image.role));
    let texts = compiler.recompile(&object).into_iter();
    texts.map(|text| Made { text, is_linked }).collect()
}

/// PTX that was made, and whether the code that it is of is linked with other code.
struct Made {
    text: recompile::Text,
    is_linked: bool,
}

/// Whether PTX of the file is not looked at for one that was made.
fn is_replaced(image: &Found<'_>, made: &[Made]) -> bool {
    let is_it = |made: &Made| {
        made.text.replaces && made.text.architecture == recompile::Architecture::of_target(&image.target)
    };
    image.kind == ImageKind::Ptx && made.iter().any(is_it)
}

/// The image of PTX that was made. The time that the compiler took is not its own.
fn of_recompiled(made: Made, how: How<'_>, texts: &Texts) -> Image {
    let deadline = Deadline::after(how.settings.timeout);
    let Made { text, is_linked } = made;
    let found = Found::made(&text.ptx, format!("sm_{}", text.architecture));
    let mut image = Image::new(&found, None);
    image.report.role = Role::Recompiled;
    let how = How {
        deadline: &deadline,
        ..how
    };
    ptx(&mut image, &text.ptx, is_linked, how, texts);
    image
}

/// The images in their order, PTX inside machine code behind it, unless it was made anew.
fn with_embedded(found: &[Found<'_>], pairs: Vec<Pair>, made: &[Made]) -> Vec<Image> {
    let beside = Beside::of(found);
    let mut images = Vec::with_capacity(pairs.len());
    for (image, embedded) in pairs {
        let report = &image.report;
        let architecture = recompile::Architecture::of_machine_code(&report.target, report.virtual_number);
        let counts = beside.counts(report.container, &report.target)
            && made.iter().all(|made| made.text.architecture != architecture);
        images.push(image);
        images.extend(embedded.filter(|_| counts));
    }
    images
}

impl Image {
    fn new(found: &Found<'_>, trouble: Option<Trouble>) -> Self {
        let report = ImageReport {
            kind: found.kind,
            role: found.role,
            target: found.target.clone(),
            virtual_number: None,
            isa: found.isa.clone(),
            bytes: found.unpacked.max(found.payload.len() as u64),
            packed: found.payload.len() as u64,
            offset: found.offset,
            kernels: 0,
            functions: 0,
            compression: found.packing.name(),
            section: found.section.clone(),
            member: found.member.clone(),
            container: found.container,
            options: found.options.clone(),
            is_64_bit: found.is_64_bit,
            is_debug: found.is_debug,
            is_read: false,
            limit: None,
            digest: None,
            facts: Arc::default(),
            comments: Vec::new(),
        };
        Self {
            report,
            text: None,
            trouble,
            is_missed: false,
        }
    }

    fn declare(&mut self, facts: Arc<Facts>) {
        self.report.kernels = facts.kernels.len() as u32;
        self.report.functions = facts.functions;
        self.report.is_debug |= facts.is_debug;
        self.report.facts = facts;
    }
}

/// One image; a panic inside is a problem of this image.
fn image_at(found: &Found<'_>, how: How<'_>, texts: &Texts) -> Pair {
    let looked = AssertUnwindSafe(|| image_inside(found, how, texts));
    catch_unwind(looked).unwrap_or_else(|payload| (Image::new(found, Some(panic(payload.as_ref()))), None))
}

fn image_inside(found: &Found<'_>, how: How<'_>, texts: &Texts) -> Pair {
    let mut image = Image::new(found, None);
    if !is_read(found.kind) {
        return (image, None);
    }
    if how.deadline.is_over() {
        image.is_missed = true;
        return (image, None);
    }
    let bytes = match unpack(found.packing, found.payload, found.unpacked) {
        Ok(bytes) => bytes,
        Err(refusal) => {
            let kind = if refusal.is_limit() {
                ProblemKind::Limit
            } else {
                ProblemKind::Unreadable
            };
            image.trouble = Some((kind, refusal.to_string()));
            return (image, None);
        }
    };
    image.report.bytes = bytes.len() as u64;
    let bytes = match bytes {
        // Others may hold the same text: nobody changes it from here on.
        Unpacked::InPlace(bytes) if how.is_mapped && found.kind != ImageKind::Cubin => {
            Unpacked::Copied(bytes.to_vec())
        }
        bytes => bytes,
    };
    if found.kind == ImageKind::Ptx {
        let text = without_padding(&bytes, found);
        if found.container.is_some() && !is_text(text) {
            let message = "it is said to be PTX, and is no text".to_owned();
            image.trouble = Some((ProblemKind::Unreadable, message));
            return (image, None);
        }
        let is_linked = is_linked(found.role);
        ptx(&mut image, text, is_linked, how, texts);
        return (image, None);
    }
    #[cfg(feature = "ir")]
    if found.kind == ImageKind::LlvmIr {
        llvm(&mut image, &bytes, how, texts);
        return (image, None);
    }
    if how.settings.policy.forbid_duplicates || how.settings.recompile.is_some() {
        image.report.digest = Some(texts.digest(&bytes));
    }
    match cubin::read(&bytes) {
        Err(error) => {
            image.trouble = Some((ProblemKind::Unreadable, error.to_string()));
            (image, None)
        }
        Ok(cubin) => {
            if found.target.is_empty() {
                image.report.target = cubin.target;
            }
            if cubin.is_relocatable && found.role == Role::Loadable {
                image.report.role = Role::Relocatable;
            }
            image.report.virtual_number = cubin.virtual_number;
            image.report.is_read = true;
            image.declare(Arc::new(cubin.facts));
            let embedded = cubin
                .ptx
                .map(|bytes| embedded(found, &image.report, &bytes, how, texts));
            (image, embedded)
        }
    }
}

/// The PTX that a cubin keeps for debuggers.
fn embedded(found: &Found<'_>, cubin: &ImageReport, bytes: &[u8], how: How<'_>, texts: &Texts) -> Image {
    let mut image = Image::new(found, None);
    image.report.kind = ImageKind::Ptx;
    image.report.role = Role::Embedded;
    image.report.target.clone_from(&cubin.target);
    image.report.compression = None;
    image.report.bytes = bytes.len() as u64;
    image.report.packed = bytes.len() as u64;
    image.report.section = Some(cubin::DEBUG_PTX.to_owned());
    // Lines keep their numbers: debug information counts them from the beginning of the section.
    ptx(&mut image, bytes.trim_ascii_end(), false, how, texts);
    image
}

/// Texts in fat binaries end with NULs. Those of files are left as they are: a NUL in them is an error with a place.
fn without_padding<'a>(bytes: &'a [u8], found: &Found<'_>) -> &'a [u8] {
    if found.container.is_none() {
        return bytes;
    }
    let end = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Whether bytes that are said to be PTX begin like a text.
fn is_text(bytes: &[u8]) -> bool {
    const SNIFFED: usize = 256;
    bytes
        .iter()
        .take(SNIFFED)
        .all(|byte| *byte >= b' ' || byte.is_ascii_whitespace())
}

/// LLVM IR, which a process of its own analyses.
#[cfg(feature = "ir")]
fn llvm(image: &mut Image, bytes: &[u8], how: How<'_>, texts: &Texts) {
    let digest = texts.digest(bytes);
    image.report.digest = Some(digest);
    image.report.is_read = true;
    let key = Key {
        digest,
        with_weak: false,
        is_linked: false,
    };
    image.text = Some(key);
    if texts.claim(key) {
        texts.put(key, text::of_ir(bytes, how));
    }
}

const fn is_linked(role: Role) -> bool {
    matches!(role, Role::Relocatable | Role::LeftOver)
}

/// True if PTX is linked with that of other inputs: relocatable device code, and a text that is a file of its own.
fn may_call_others(image: &ImageReport, with_weak: bool) -> bool {
    match image.role {
        Role::Relocatable | Role::LeftOver => true,
        Role::Recompiled => with_weak,
        Role::Loadable => image.container.is_none() && image.section.is_none(),
        Role::Embedded => false,
    }
}

/// `with_weak`: it is linked with others.
fn ptx(image: &mut Image, text: &[u8], with_weak: bool, how: How<'_>, texts: &Texts) {
    let how = How { with_weak, ..how };
    let digest = texts.digest(text);
    image.report.digest = Some(digest);
    image.report.is_read = true;
    let waiting = how.waiting.filter(|_| may_call_others(&image.report, with_weak));
    let key = Key {
        digest,
        with_weak,
        is_linked: waiting.is_some(),
    };
    image.text = Some(key);
    if !texts.claim(key) {
        return;
    }
    if let Some(waiting) = waiting {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Waiting {
            key,
            text: text.to_vec(),
        });
    } else {
        texts.analyse(key, text, how);
    }
}
