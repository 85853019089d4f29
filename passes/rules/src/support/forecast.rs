//! Kernels, GPUs and images in the messages of rules about the forecast.

use crate::context::ImagePlace;
use crate::forecast::{Gpu, KernelForecast};
use crate::inventory::{InputReport, listed};
use crate::limits::MAX_NAMED_FORMS;
use crate::names::in_message;

/// `7.5, 8.6`.
pub(crate) fn gpu_list(gpus: &[Gpu]) -> String {
    let names: Vec<String> = gpus.iter().map(Gpu::to_string).collect();
    names.join(", ")
}

/// The place of a finding about these kernels: the one, or an image that has the first.
pub(crate) fn place(input: usize, rows: &[&KernelForecast<'_>]) -> ImagePlace {
    match rows {
        [row] => ImagePlace::kernel(input, row.image, row.kernel),
        [row, ..] => ImagePlace::image(input, row.image),
        [] => ImagePlace::input(input),
    }
}

/// ``kernel `k` does`` or ``the kernels `a`, `b` and 3 more do``, with these verbs.
pub(crate) fn kernel_names(rows: &[&KernelForecast<'_>], does: &str, act: &str) -> String {
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("`{}`", in_message(&row.kernel.name)))
        .collect();
    match names.as_slice() {
        [name] => format!("kernel {name} {does}"),
        _ => format!("the kernels {} {act}", listed(names, rows.len())),
    }
}

/// The images that have these kernels, in words, each kind and target once: `machine code for sm_80`.
pub(crate) fn forms(input: &InputReport, rows: &[&KernelForecast<'_>]) -> Vec<String> {
    let mut wanted: Vec<&str> = rows
        .iter()
        .take(MAX_NAMED_FORMS)
        .map(|row| row.kernel.identity.as_str())
        .collect();
    wanted.sort_unstable();
    let mut forms: Vec<_> = input
        .images
        .iter()
        .filter(|image| {
            let mut kernels = image.facts.kernels.iter();
            !image.role.is_copy()
                && kernels.any(|kernel| wanted.binary_search(&kernel.identity.as_str()).is_ok())
        })
        .map(|image| (image.sm(), image.describe()))
        .collect();
    forms.sort_unstable();
    forms.dedup();
    forms.into_iter().map(|(_, form)| form).collect()
}
