//! Findings about one text in an object, in the archive that the object is a member of, and in what was linked of it.

use ptxcheck_common::maps::{NameMap, NameSet};

use crate::finding::Finding;
use crate::inventory::{ImageReport, InputReport};

/// Distance of an image from its compilation: an object or text of its own, a member of an archive, a linked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Object,
    Member,
    Linked,
}

impl Distance {
    fn of(input: &InputReport, image: &ImageReport) -> Self {
        match () {
            () if image.member.is_some() => Self::Member,
            () if input.host.as_ref().is_some_and(|host| host.is_linked) => Self::Linked,
            () => Self::Object,
        }
    }
}

/// Drops the findings about an image whose text lies closer to its compilation in another input, where the same was found.
/// Copies at the same distance keep theirs.
pub(super) fn leave_out(inputs: &[InputReport], findings: &mut Vec<Finding>) {
    let nearest = nearest(inputs);
    if nearest.is_empty() {
        return;
    }
    // The digest of a copied text, and whether the finding is about the copy that counts.
    let copied = |finding: &Finding| {
        let input = inputs.get(finding.input)?;
        let image = input.images.get(finding.image? as usize)?;
        let digest = image.digest?;
        let nearest = *nearest.get(&digest)?;
        Some((digest, Distance::of(input, image) == nearest))
    };
    let key = |digest: u128, finding: &Finding| (digest, finding.rule.code, finding.fingerprint.clone());
    let mut told = NameSet::default();
    for finding in &*findings {
        if let Some((digest, true)) = copied(finding) {
            told.insert(key(digest, finding));
        }
    }
    findings.retain(|finding| match copied(finding) {
        Some((digest, false)) => !told.contains(&key(digest, finding)),
        _ => true,
    });
}

/// By the digest of a text that lies at several distances, the shortest of them.
fn nearest(inputs: &[InputReport]) -> NameMap<u128, Distance> {
    let mut known: NameMap<u128, (Distance, bool)> = NameMap::default();
    for input in inputs {
        for image in &input.images {
            let Some(digest) = image.digest else { continue };
            let distance = Distance::of(input, image);
            let (nearest, differs) = known.entry(digest).or_insert((distance, false));
            *differs |= *nearest != distance;
            *nearest = distance.min(*nearest);
        }
    }
    let several = known.into_iter().filter(|(_, (_, differs))| *differs);
    several.map(|(digest, (nearest, _))| (digest, nearest)).collect()
}
