//! Repeated findings: about one text that lies in an object, in an archive with that object and in a file linked from it; and
//! about one function that was analysed in its own text and in those that call it.

use ptxcheck_common::maps::{NameMap, NameSet};

use crate::finding::Finding;
use crate::inventory::InputReport;

/// Distance of an input from the compilation: an object or text of its own, an archive, a linked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Object,
    Archive,
    Linked,
}

impl Distance {
    fn of(input: &InputReport) -> Self {
        match () {
            () if input.images.iter().any(|image| image.member.is_some()) => Self::Archive,
            () if input.host.as_ref().is_some_and(|host| host.is_linked) => Self::Linked,
            () => Self::Object,
        }
    }
}

/// Drops the findings about an image whose text lies closer to its compilation in another input, where the same was found.
/// Copies at the same distance keep theirs.
pub(crate) fn drop_copies(inputs: &[InputReport], findings: &mut Vec<Finding>) {
    let distances: Vec<Distance> = inputs.iter().map(Distance::of).collect();
    let nearest = nearest(inputs, &distances);
    if nearest.is_empty() {
        return;
    }
    // The digest of a copied text; true if the finding is about the nearest copy.
    let copied = |finding: &Finding| {
        let images = &inputs.get(finding.input)?.images;
        let digest = images.get(finding.image? as usize)?.digest?;
        let nearest = *nearest.get(&digest)?;
        Some((digest, distances[finding.input] == nearest))
    };
    let key = |digest: u128, finding: &Finding| (digest, finding.rule.code, finding.fingerprint.clone());
    let mut reported = NameSet::default();
    for finding in &*findings {
        if let Some((digest, true)) = copied(finding) {
            reported.insert(key(digest, finding));
        }
    }
    findings.retain(|finding| match copied(finding) {
        Some((digest, false)) => !reported.contains(&key(digest, finding)),
        _ => true,
    });
}

/// Drops findings about a function of another input that are findings about that input, too: they depend on no call.
pub(super) fn drop_imported_repetitions(findings: &mut Vec<Finding>) {
    if findings.iter().all(|finding| !finding.is_imported) {
        return;
    }
    let key = |finding: &Finding| (finding.rule.code, finding.fingerprint.clone());
    let reported: NameSet<_> = findings
        .iter()
        .filter(|finding| !finding.is_imported)
        .map(key)
        .collect();
    findings.retain(|finding| !finding.is_imported || !reported.contains(&key(finding)));
}

/// For the digest of each text that lies at several distances: the shortest of them.
fn nearest(inputs: &[InputReport], distances: &[Distance]) -> NameMap<u128, Distance> {
    let mut known: NameMap<u128, (Distance, bool)> = NameMap::default();
    for (input, &distance) in inputs.iter().zip(distances) {
        for digest in input.images.iter().filter_map(|image| image.digest) {
            let (nearest, differs) = known.entry(digest).or_insert((distance, false));
            *differs |= *nearest != distance;
            *nearest = distance.min(*nearest);
        }
    }
    let several = known.into_iter().filter(|(_, (_, differs))| *differs);
    several.map(|(digest, (nearest, _))| (digest, nearest)).collect()
}
