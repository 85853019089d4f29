//! The forecast: which image of each kernel a GPU loads, from which driver on, and at which cost.
//!
//! ```text
//! images ─ unit.rs: containers, the image of each that a GPU takes (fit.rs) ─┐
//!          link.rs: relocatable code that the driver links ──────────────────┴─ cell.rs: a kernel on a GPU ─► InputForecast
//! gpu.rs: GPUs   needs.rs: the first driver that loads an image
//! ```
//!
//! A cell is right or [`State::Unsure`]: where documents contradict each other or an image is not read, nothing is claimed.

mod cell;
mod fit;
mod gpu;
mod link;
mod needs;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

pub use cell::{Cell, State};
pub use gpu::{Gpu, UnknownGpu};
pub use needs::NeededDriver;

use crate::drivers::Driver;
use crate::inventory::{ImageKind, ImageReport, InputReport, Kernel};
use link::Objects;
use unit::{Choice, Chooser, Unit, units};

/// The forecast for one input.
#[derive(Clone, Debug, Default)]
pub struct InputForecast<'a> {
    /// The GPUs: the columns of each kernel.
    pub gpus: Vec<Gpu>,
    /// The kernels, sorted by their identity.
    pub kernels: Vec<KernelForecast<'a>>,
    /// For each GPU, bytes of PTX that the driver compiles for all kernels.
    pub jit_bytes: Vec<u64>,
}

/// The forecast for a kernel.
#[derive(Clone, Debug)]
pub struct KernelForecast<'a> {
    /// The kernel, as one of the images declares it.
    pub kernel: &'a Kernel,
    /// An image that has it.
    pub image: u32,
    /// One of the images that can be loaded has a body for it.
    pub has_body: bool,
    /// Its loading on each GPU.
    pub cells: Vec<Cell>,
}

impl<'a> InputForecast<'a> {
    /// The forecast for an input: the images that load on each GPU, with this driver if one is given, else with the newest.
    #[must_use]
    pub fn new(input: &'a InputReport, gpus: &[Gpu], driver: Option<Driver>) -> Self {
        let units = units(&input.images);
        let (objects, loadable): (Vec<_>, Vec<_>) = units
            .into_iter()
            .partition(|unit| unit.chooser == Chooser::Linker);
        let objects = Objects::new(objects, &loadable);
        let (kernels, holders) = kernel_forecasts(&loadable, &objects);
        let mut forecast = Self {
            gpus: gpus.to_vec(),
            kernels,
            jit_bytes: Vec::with_capacity(gpus.len()),
        };
        for gpu in gpus {
            let choices: Vec<Choice> = loadable.iter().map(|unit| unit.choose(*gpu)).collect();
            let linked = objects.link(*gpu);
            let mut compiled: BTreeSet<u32> = BTreeSet::new();
            let mut is_linked = false;
            for (kernel, held) in forecast.kernels.iter_mut().zip(&holders) {
                let of_units = held
                    .units
                    .iter()
                    .map(|(number, images)| (&loadable[*number], *images, &choices[*number]));
                let mut cell = cell_of_containers(of_units, held.is_linked.then_some(&linked), *gpu);
                if let (Some(needed), Some(driver)) = (cell.driver, driver)
                    && needed.exceeds(driver)
                {
                    cell = Cell {
                        driver: Some(needed),
                        is_by_library: cell.is_by_library,
                        ..Cell::without(State::None)
                    };
                }
                match cell.state {
                    State::Jit => compiled.extend(cell.image),
                    State::JitLink => is_linked = true,
                    _ => {}
                }
                kernel.cells.push(cell);
            }
            let of_images = compiled
                .iter()
                .filter_map(|index| input.images.get(*index as usize));
            let bytes = of_images.fold(0_u64, |sum, image| sum.saturating_add(image.bytes));
            let of_link = if is_linked { linked.cell.jit_bytes } else { 0 };
            forecast.jit_bytes.push(bytes.saturating_add(of_link));
        }
        forecast
    }

    /// For each GPU: the number of kernels in each state.
    pub fn counts(&self) -> impl Iterator<Item = (Gpu, BTreeMap<State, usize>)> {
        self.gpus.iter().enumerate().map(|(column, gpu)| {
            let mut counts = BTreeMap::new();
            for kernel in &self.kernels {
                *counts.entry(kernel.cells[column].state).or_default() += 1;
            }
            (*gpu, counts)
        })
    }

    /// The first driver that loads all that loads on the GPU in this column.
    #[must_use]
    pub fn driver(&self, column: usize) -> Option<NeededDriver> {
        let cells = self.kernels.iter().filter_map(|kernel| kernel.cells.get(column));
        cells
            .filter(|cell| cell.state.loads())
            .filter_map(|cell| cell.driver)
            .max()
    }
}

/// The holders of a kernel.
#[derive(Default)]
struct Holders<'u, 'a> {
    /// Indices of the containers that have it, and the images in each that do.
    units: Vec<(usize, &'u [(usize, &'a Kernel)])>,
    /// Relocatable objects define it.
    is_linked: bool,
}

/// The loading of a kernel that these containers have, and the objects that `linked` is about, if there are some.
fn cell_of_containers<'u, 'a: 'u>(
    units: impl Iterator<Item = (&'u Unit<'a>, &'u [(usize, &'a Kernel)], &'u Choice)>,
    linked: Option<&link::Linked>,
    gpu: Gpu,
) -> Cell {
    let (mut of_driver, mut of_library): (Option<Cell>, Option<Cell>) = (None, None);
    for (unit, images, choice) in units {
        let mut cell = unit.cell(images, choice, gpu);
        match unit.chooser {
            Chooser::Library => of_library = Some(of_library.map_or(cell, |other| other.or(cell))),
            Chooser::Driver | Chooser::Linker => {
                // Only where no machine code fits does the driver link the objects anew.
                if let (Choice::Nothing, Some(linked)) = (choice, linked) {
                    cell = linked.cell;
                }
                of_driver = Some(of_driver.map_or(cell, |other| other.and(cell)));
            }
        }
    }
    match (of_driver, of_library) {
        (Some(one), Some(other)) => one.and(other),
        (Some(cell), None) | (None, Some(cell)) => cell,
        (None, None) => linked.map_or(Cell::without(State::None), |linked| linked.cell),
    }
}

/// The kernels of an input that a program can load, without cells, and the holders of each.
fn kernel_forecasts<'u, 'a>(
    loadable: &'u [Unit<'a>],
    objects: &'u Objects<'a>,
) -> (Vec<KernelForecast<'a>>, Vec<Holders<'u, 'a>>) {
    let mut found: BTreeMap<&str, (KernelForecast<'a>, Holders<'u, 'a>)> = BTreeMap::new();
    let of_objects: &[Unit<'a>] = if objects.cover_all_kernels() {
        &objects.units
    } else {
        &[]
    };
    for (number, unit) in loadable.iter().chain(of_objects).enumerate() {
        for (identity, images) in &unit.kernels {
            let Some((first, declared)) = images.first() else {
                continue;
            };
            let (kernel, holders) = found.entry(identity).or_insert_with(|| {
                let kernel = KernelForecast {
                    kernel: declared,
                    image: unit.images[*first].0,
                    has_body: false,
                    cells: Vec::new(),
                };
                let holders = Holders {
                    is_linked: objects.defines_kernel(identity),
                    ..Holders::default()
                };
                (kernel, holders)
            });
            kernel.has_body |= images
                .iter()
                .any(|(position, kernel)| kernel.stub.is_none() && shows_stubs(unit.images[*position].1));
            if number < loadable.len() {
                holders.units.push((number, images));
            }
        }
    }
    found.into_values().unzip()
}

/// The oldest target in whose machine code a kernel without a body is known as one.
const FIRST_WITH_STUBS: u32 = 70;

/// True if a kernel of an image that is not known to have no body has one. Debug builds give each kernel some code.
fn shows_stubs(image: &ImageReport) -> bool {
    let is_readable = match image.kind {
        ImageKind::Ptx => true,
        ImageKind::Cubin => image.sm() >= FIRST_WITH_STUBS,
        _ => false,
    };
    is_readable && image.is_whole() && !image.is_debug
}
