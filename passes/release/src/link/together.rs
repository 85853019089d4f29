//! The images that a device linker merges.
//!
//! Relocatable images of one input, or of all inputs of a program, are linked together, unless the file shows several device
//! links: CMake's `CUDA_RESOLVE_DEVICE_SYMBOLS` gives each static library its own, and no linker ever sees the images of two.
//! A device link leaves machine code that the driver loads, with the kernels of all images that went into it: these kernels
//! identify the images.

use ptxcheck_common::maps::NameMap;

use crate::inventory::{ImageKind, ImageReport, InputReport, Role};

/// An image: input and number.
type Place = (usize, u32);

/// The sets of relocatable images that are whole and are linked with each other; an image whose link is not known is in none.
/// `is_one_program`: all inputs are linked together.
#[must_use]
pub fn relocatable_sets(inputs: &[InputReport], is_one_program: bool) -> Vec<Vec<Place>> {
    let numbered: Vec<(usize, &InputReport)> = inputs.iter().enumerate().collect();
    let size = if is_one_program { numbered.len().max(1) } else { 1 };
    numbered
        .chunks(size)
        .flat_map(relocatable_images_of_set)
        .collect()
}

fn images<'a>(set: &[(usize, &'a InputReport)]) -> impl Iterator<Item = (Place, &'a ImageReport)> {
    set.iter().flat_map(|&(number, input)| {
        let images = (0_u32..).zip(&input.images);
        images.map(move |(index, image)| ((number, index), image))
    })
}

fn is_relocatable(image: &ImageReport) -> bool {
    image.is_whole() && matches!(image.role, Role::Relocatable | Role::LinkedAtLoad)
}

fn relocatable_images_of_set(set: &[(usize, &InputReport)]) -> Vec<Vec<Place>> {
    let results = Results::of(set);
    let relocatable: Vec<_> = images(set).filter(|(_, image)| is_relocatable(image)).collect();
    // The images of each device link, and those that are yet to be linked.
    let mut links: Vec<Vec<Place>> = vec![Vec::new(); results.count + 1];
    let mut unknown = Vec::new();
    for (place, image) in relocatable {
        match results.link_of(image) {
            Link::Result(link) => links[link].push(place),
            Link::Open => links[results.count].push(place),
            Link::Unknown => unknown.push(place),
        }
    }
    if let [only, open] = links.as_mut_slice()
        && open.is_empty()
    {
        only.append(&mut unknown);
        only.sort_unstable();
    }
    links
}

enum Link {
    /// The device link with this number.
    Result(usize),
    /// None of those that the files show.
    Open,
    /// Any of them, or none.
    Unknown,
}

/// The device links that a set of files shows.
struct Results<'a> {
    count: usize,
    /// By the identity of a kernel, the links that have it.
    by_kernel: NameMap<&'a str, Vec<usize>>,
}

impl<'a> Results<'a> {
    fn of(set: &[(usize, &'a InputReport)]) -> Self {
        let mut results = Self {
            count: 0,
            by_kernel: NameMap::default(),
        };
        let mut last = None;
        for ((input, _), image) in images(set).filter(|(_, image)| is_result(image)) {
            // Images of a container stand together.
            let container = Some((input, image.container));
            if last != container {
                last = container;
                results.count += 1;
            }
            let link = results.count - 1;
            for kernel in &image.facts.kernels {
                let links = results.by_kernel.entry(&kernel.identity).or_default();
                if links.last() != Some(&link) {
                    links.push(link);
                }
            }
        }
        results
    }

    /// The link that has most of an image's kernels.
    fn link_of(&self, image: &ImageReport) -> Link {
        if self.count == 0 {
            return Link::Open;
        }
        if image.facts.kernels.is_empty() {
            return Link::Unknown;
        }
        let mut shared = vec![0_usize; self.count];
        for kernel in &image.facts.kernels {
            for &link in self.by_kernel.get(kernel.identity.as_str()).into_iter().flatten() {
                shared[link] += 1;
            }
        }
        let most = shared.iter().copied().max().unwrap_or(0);
        let mut best = (0..self.count).filter(|link| shared[*link] == most);
        match (most, best.next(), best.next()) {
            (0, ..) => Link::Open,
            (_, Some(link), None) => Link::Result(link),
            _ => Link::Unknown,
        }
    }
}

/// True if an image is what a device link left: nvlink says so in its machine code.
fn is_result(image: &ImageReport) -> bool {
    let producer = image.facts.producer.as_deref();
    image.kind == ImageKind::Cubin
        && image.role == Role::Loadable
        && image.container.is_some()
        && producer.is_some_and(|producer| producer.starts_with("nvlink"))
}
