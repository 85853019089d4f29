//! Relocatable code in a linked file, which the driver links for GPUs that the linked machine code does not fit.
//!
//! NVCC, Implicit JIT Linking of the LTO Code and Device Linking: "If the cubin does not match the target architecture at load time",
//! the driver links anew, from PTX or machine code of every object.

use rustc_hash::FxHashSet;

use super::cell::{Cell, State};
use super::gpu::Gpu;
use super::needs::needed_driver;
use super::unit::{Choice, Unit, identities};

/// The objects of a file, which one or several device links made its linked machine code of.
pub(super) struct Objects<'a> {
    /// Those that define something.
    pub(super) units: Vec<Unit<'a>>,
    kernels: FxHashSet<&'a str>,
    /// Containers with linked machine code.
    links: usize,
}

/// The outcome of linking all objects for a GPU.
pub(super) struct Linked {
    /// The cell of each kernel.
    pub(super) cell: Cell,
}

impl<'a> Objects<'a> {
    pub(super) fn new(mut units: Vec<Unit<'a>>, loadable: &[Unit<'a>]) -> Self {
        // Objects that define nothing need no linking.
        units.retain(|unit| unit.images.iter().any(|(_, image)| !image.is_empty()));
        let kernels = identities(&units);
        let is_linked = |unit: &&Unit<'_>| unit.kernels.keys().any(|identity| kernels.contains(identity));
        let links = loadable.iter().filter(is_linked).count();
        Self {
            units,
            kernels,
            links,
        }
    }

    /// True if objects define this kernel.
    pub(super) fn defines_kernel(&self, identity: &str) -> bool {
        self.kernels.contains(identity)
    }

    /// True if no linked machine code has their kernels: then they are all that there is of these.
    pub(super) fn cover_all_kernels(&self) -> bool {
        self.links == 0
    }

    /// Links them for a GPU.
    pub(super) fn link(&self, gpu: Gpu) -> Linked {
        let mut cell = Cell {
            driver: None,
            ..Cell::without(State::JitLink)
        };
        let mut state = State::JitLink;
        for unit in &self.units {
            let choice = unit.choose(gpu);
            let image = match &choice {
                Choice::Among(of_unit, images) => Some((*of_unit, unit.images[images[0]].1)),
                Choice::Nothing => {
                    state = State::None;
                    break;
                }
                Choice::Unsure(_) => {
                    state = State::Unsure;
                    None
                }
            };
            let Some((of_unit, image)) = image else { continue };
            cell.driver = cell.driver.max(Some(needed_driver(image, gpu)));
            if of_unit == State::Jit {
                cell.jit_bytes = cell.jit_bytes.saturating_add(image.bytes);
            }
        }
        // Which objects belong to which of several links is not in the file.
        if state == State::None && self.links > 1 {
            state = State::Unsure;
        }
        if self.units.is_empty() {
            state = State::None;
        }
        Linked {
            cell: if state == State::JitLink {
                cell
            } else {
                Cell::without(state)
            },
        }
    }
}
