//! Containers, and the image of one that a GPU takes.
//!
//! The driver takes one image of each container (CUDA Driver API, `cuModuleLoadFatBinary`), and looks for a kernel in that one alone.

use ptxcheck_common::maps::NameMap;
use rustc_hash::FxHashSet;

use super::cell::{Cell, State};
use super::fit::{self, Fit};
use super::gpu::Gpu;
use super::needs::needed_driver;
use crate::inventory::{ImageKind, ImageReport, Kernel, Role};
use crate::limits::MAX_COMPARED_IMAGES;
use crate::occupancy;

/// The beginning of the name of the section whose containers the runtime registers. Executables of Windows keep eight bytes.
const REGISTERED: &str = ".nv_fatb";

/// The party that chooses among the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chooser {
    /// The driver.
    Driver,
    /// The library's own code: the container lies in its data.
    Library,
    /// The linker of the driver, together with the other objects.
    Linker,
}

/// A container, or an image that is in none.
pub(super) struct Unit<'a> {
    /// Its images, with their indices in the input.
    pub(super) images: Vec<(u32, &'a ImageReport)>,
    pub(super) chooser: Chooser,
    /// For each kernel, by its identity: the images that have it, as positions in [`Self::images`].
    pub(super) kernels: NameMap<&'a str, Vec<(usize, &'a Kernel)>>,
}

/// The images of a unit that a GPU may take.
pub(super) enum Choice {
    /// One of these, as positions in [`Unit::images`]: the best first, by the order that is documented or likely.
    Among(State, Vec<usize>),
    /// None fits.
    Nothing,
    /// One may fit, and that is not known.
    Unsure(Vec<usize>),
}

/// The units of an input.
pub(super) fn units(images: &[ImageReport]) -> Vec<Unit<'_>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    let mut open = None;
    for (index, image) in (0_u32..).zip(images) {
        let chooser = match image.role {
            Role::LinkedAtLoad => Chooser::Linker,
            Role::Loadable if is_in_data(image) => Chooser::Library,
            Role::Loadable => Chooser::Driver,
            Role::Relocatable | Role::Embedded | Role::Recompiled => continue,
        };
        let is_code = !matches!(
            image.kind,
            ImageKind::LtoIr | ImageKind::Bundle | ImageKind::LlvmIr | ImageKind::Mlir
        );
        if !image.is_64_bit || !is_code {
            continue;
        }
        let of_same = units
            .last_mut()
            .filter(|_| image.container.is_some() && open == image.container);
        match of_same {
            Some(unit) if unit.images.len() >= MAX_COMPARED_IMAGES => {}
            Some(unit) => unit.images.push((index, image)),
            None => units.push(Unit {
                images: vec![(index, image)],
                chooser,
                kernels: NameMap::default(),
            }),
        }
        open = image.container;
    }
    for unit in &mut units {
        for (position, (_, image)) in unit.images.iter().enumerate() {
            for kernel in &image.facts.kernels {
                let images = unit.kernels.entry(kernel.identity.as_str()).or_default();
                images.push((position, kernel));
            }
        }
    }
    units
}

/// True if an image lies in the data of a host file, and not where the runtime finds it.
fn is_in_data(image: &ImageReport) -> bool {
    image
        .section
        .as_deref()
        .is_some_and(|section| !section.starts_with(REGISTERED))
}

impl<'a> Unit<'a> {
    /// The images that a GPU may take.
    pub(super) fn choose(&self, gpu: Gpu) -> Choice {
        let code = |wanted: Fit| {
            self.images_of_kind(ImageKind::Cubin, |number, suffix| {
                fit::machine_code(number, suffix, gpu) == wanted
            })
        };
        let exact = code(Fit::Exact);
        if !exact.is_empty() {
            return Choice::Among(State::Exact, exact);
        }
        let older = code(Fit::Older);
        if !older.is_empty() {
            return Choice::Among(State::Older, older);
        }
        let mut unsure = code(Fit::Unsure);
        unsure.extend(self.images_for_unknown_targets());
        if !unsure.is_empty() {
            return Choice::Unsure(unsure);
        }
        let ptx = self.images_of_kind(ImageKind::Ptx, |number, suffix| fit::ptx(number, suffix, gpu));
        if !ptx.is_empty() {
            return Choice::Among(State::Jit, ptx);
        }
        // Other formats that are only known by their target: Tile IR loads on its own GPU alone.
        let other = self.images_of_kind(ImageKind::Other, |number, _| number == gpu.number());
        if other.is_empty() {
            Choice::Nothing
        } else {
            Choice::Unsure(other)
        }
    }

    /// The images of a kind whose target fits, the best first: the newest target, then `a`, `f` and neither, then the newest PTX.
    fn images_of_kind(&self, kind: ImageKind, fits: impl Fn(u32, &str) -> bool) -> Vec<usize> {
        let is_one =
            |image: &ImageReport| image.kind == kind && image.sm() > 0 && fits(image.sm(), image.suffix());
        let mut found: Vec<usize> = (0..self.images.len())
            .filter(|position| is_one(self.images[*position].1))
            .collect();
        found.sort_by_key(|position| {
            let image = self.images[*position].1;
            let suffix = match image.suffix() {
                "a" => 0,
                "f" => 1,
                _ => 2,
            };
            (
                std::cmp::Reverse(image.sm()),
                suffix,
                std::cmp::Reverse(image.isa_version().map(|isa| (isa.major, isa.minor))),
            )
        });
        found
    }

    /// Machine code and PTX for targets that are not known.
    fn images_for_unknown_targets(&self) -> impl Iterator<Item = usize> {
        let is_nameless =
            |image: &ImageReport| matches!(image.kind, ImageKind::Ptx | ImageKind::Cubin) && image.sm() == 0;
        (0..self.images.len()).filter(move |position| is_nameless(self.images[*position].1))
    }

    /// The loading of a kernel, which these images of this unit have, on a GPU that takes this choice.
    pub(super) fn cell(&self, holders: &[(usize, &'a Kernel)], choice: &Choice, gpu: Gpu) -> Cell {
        let held = |position: usize| holders.iter().find(|(holder, _)| *holder == position);
        let may_hold = |position: &usize| held(*position).is_some() || !self.images[*position].1.is_whole();
        let is_by_library = self.chooser == Chooser::Library;
        let cell = match choice {
            Choice::Nothing => Cell::without(State::None),
            Choice::Unsure(images) if images.iter().any(may_hold) => Cell::without(State::Unsure),
            Choice::Unsure(_) => Cell::without(State::None),
            Choice::Among(state, images) => {
                let best = images[0];
                match held(best) {
                    Some((_, kernel)) => {
                        let (index, image) = self.images[best];
                        // Of several that fit, one may be taken that has a body.
                        let is_stub_in_all = images.iter().all(|position| {
                            held(*position).is_none_or(|(_, other)| other.stub == kernel.stub)
                        });
                        Cell {
                            state: *state,
                            image: Some(index),
                            driver: Some(needed_driver(image, gpu)),
                            jit_bytes: if *state == State::Jit { image.bytes } else { 0 },
                            stub: kernel.stub.filter(|_| is_stub_in_all),
                            largest_block: largest_block(kernel, gpu),
                            is_by_library,
                        }
                    }
                    None if images.iter().any(may_hold) => Cell::without(State::Unsure),
                    None => Cell::without(State::None),
                }
            }
        };
        Cell {
            is_by_library,
            ..cell
        }
    }
}

/// The largest block that the registers of a kernel in machine code allow on a GPU, in threads.
fn largest_block(kernel: &Kernel, gpu: Gpu) -> Option<u32> {
    occupancy::largest_block(gpu.number(), kernel.resources?.registers?)
}

/// The identities of the kernels of some units.
pub(super) fn identities<'a>(units: &[Unit<'a>]) -> FxHashSet<&'a str> {
    units
        .iter()
        .flat_map(|unit| unit.kernels.keys().copied())
        .collect()
}
