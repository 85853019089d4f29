//! The launches that the host code of a file shows, for the texts of its images.
//!
//! Host code and device code of one object lie in one member of an archive, and those of a linked file in the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::text_cache::TextCache;
use crate::conditional::SearchScope;
use crate::deadline::Deadline;
use crate::image;
use crate::inventory::HostLaunch;
use crate::launches::{Launches, MAX_LAUNCHED_SHAPES, ShownKernel, shape_with_sides};
use crate::names;
use crate::settings::Settings;

/// The settings for the texts of a file whose host code shows launches.
#[derive(Default)]
pub(super) struct ShownLaunches {
    /// By member of the archive.
    members: BTreeMap<Option<String>, MemberSettings>,
}

/// The settings for the texts of one member of an archive, or of a file that is none.
pub(super) struct MemberSettings {
    pub(super) settings: Arc<Settings>,
    /// Digest of the launches: texts that lie in several files are analysed anew where they differ.
    pub(super) digest: u128,
}

impl ShownLaunches {
    /// Those of the host code in the content of a file called `name`: all that findings can depend on.
    pub(super) fn of(
        name: &str,
        content: &[u8],
        settings: &Settings,
        texts: &TextCache,
        deadline: &Deadline,
    ) -> Self {
        let mut members: BTreeMap<Option<String>, BTreeMap<String, Vec<&HostLaunch>>> = BTreeMap::new();
        let wants_some = settings.greatest_search() == SearchScope::All;
        let launches = image::host_launches(content, wants_some, &|| deadline.is_over());
        for launch in &launches {
            let kernels = members.entry(launch.member.clone()).or_default();
            kernels.entry(launch.kernel.clone()).or_default().push(launch);
        }
        let of_member = |(member, kernels): (Option<String>, BTreeMap<String, Vec<&HostLaunch>>)| {
            let kernels = kernels.into_iter();
            let kernels: Vec<ShownKernel> = kernels
                .filter_map(|(kernel, launches)| shown_kernel_of(name, kernel, &launches, wants_some))
                .collect();
            let digest = texts.digest(format!("{kernels:?}").as_bytes());
            let launches = Launches {
                shown: Arc::new(kernels),
                ..settings.launches.clone()
            };
            let settings = Arc::new(Settings {
                launches,
                ..settings.clone()
            });
            (member, MemberSettings { settings, digest })
        };
        Self {
            members: members.into_iter().map(of_member).collect(),
        }
    }

    /// The settings for the texts of a member; `None` if those of the run are.
    pub(super) fn of_member(&self, member: Option<&str>) -> Option<&MemberSettings> {
        if self.members.is_empty() {
            return None;
        }
        self.members.get(&member.map(str::to_owned))
    }
}

/// The launches of a kernel; `None` if nothing follows from them.
fn shown_kernel_of(
    name: &str,
    kernel: String,
    launches: &[&HostLaunch],
    wants_some: bool,
) -> Option<ShownKernel> {
    let mut shapes = BTreeMap::new();
    for launch in launches {
        // A launch with any other block fails.
        if let Some(block) = shape_with_sides(&launch.block) {
            shapes
                .entry(block)
                .or_insert_with(|| host_place_in_words(name, launch));
        }
    }
    let is_all = launches.iter().all(|launch| launch.is_all) && shapes.len() <= MAX_LAUNCHED_SHAPES;
    if shapes.is_empty() || !is_all && !wants_some {
        return None;
    }
    // An unknown size may be the greatest.
    let sizes: Option<Vec<u64>> = launches.iter().map(|launch| launch.shared).collect();
    let shared = sizes.and_then(|sizes| sizes.into_iter().max());
    let greatest = launches.iter().find(|launch| launch.shared == shared);
    let shared_place = greatest.map(|launch| host_place_in_words(name, launch));
    Some(ShownKernel {
        kernel,
        shapes: shapes.keys().copied().collect(),
        places: shapes.into_values().collect(),
        shared,
        shared_place: shared_place.unwrap_or_default(),
        is_all,
    })
}

/// "`run_forces` in app.o", "`run_forces` in app.o of libapp.a".
fn host_place_in_words(name: &str, launch: &HostLaunch) -> String {
    let file = Path::new(name).file_name().map(|file| file.to_string_lossy());
    let file = file.as_deref().unwrap_or(name);
    let caller = names::base(&launch.caller);
    match &launch.member {
        Some(member) => format!("`{caller}` in {member} of {file}"),
        None => format!("`{caller}` in {file}"),
    }
}
