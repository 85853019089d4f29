//! ## What it does
//!
//! Reports libraries, executables and fat binaries whose images hold source lines (`-lineinfo`), with the number of these images and the
//! bytes of the lines. Off unless it is switched on (`-W PTX530`).
//!
//! ## Why is this bad?
//!
//! Source lines are for profilers and debuggers: a program that runs never reads them. In machine code, ptxas adds the whole PTX text to
//! the table of lines, and every user downloads both. The names of source files are in them, too (PTX512).
//!
//! ## Example
//!
//! ```text
//! warning[PTX530] line-information: 4 of its 12 images hold source lines: 81920 bytes of line tables, and 245760 bytes of PTX beside them
//! ```
//!
//! In lmdeploy 0.18.0, 197 of 766 images hold 31 MiB of line tables and 151 MiB of PTX beside them.
//!
//! ## Use instead
//!
//! Compile what is released without `-lineinfo`. `-Xptxas -suppress-debug-info` beside it leaves the lines out of machine code, and PTX
//! keeps its `.loc`. `strip` on the library leaves all of it in place, and `strip` and `objcopy` do not read cubins.
//!
//! ## Limits
//!
//! Bytes are counted unpacked: in a file that is compressed they take fewer. Images built with `-G` are PTX507's. A PTX file of its own is
//! not reported: such files are for development.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, InputReport, SectionBytes};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX530",
    name: "line-information",
    family: Family::Image,
    summary: "images hold source lines",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let mut bytes = SectionBytes::default();
        let mut found = Vec::new();
        for (index, of_image) in images_with_lines(input) {
            bytes.add(of_image);
            found.push(index);
        }
        let Some(first) = found.first() else {
            continue;
        };
        let all = input.images.iter().filter(|image| !image.role.is_copy()).count();
        let images = match found.len() {
            1 if all == 1 => "its only image holds".to_owned(),
            1 => format!("1 of its {all} images holds"),
            count => format!("{count} of its {all} images hold"),
        };
        let text = match bytes.ptx {
            0 => String::new(),
            ptx => format!(", and {ptx} bytes of PTX beside them"),
        };
        let message = format!(
            "{images} source lines: {} bytes of line tables{text}",
            bytes.lines
        );
        let finding = report.definite(ImagePlace::image(number, *first), message);
        finding.in_general(RULE.summary);
        finding
            .data(
                "images",
                Value::Numbers(found.iter().copied().map(u64::from).collect()),
            )
            .data("line_bytes", bytes.lines)
            .data("ptx_bytes", bytes.ptx);
        finding.note("programs that run do not read them, and `strip` leaves them in place");
        finding.help(
            "compile what is released without -lineinfo, or with `-Xptxas -suppress-debug-info` beside it, which \
             leaves them out of machine code",
        );
    }
}

/// The images of an input that hold source lines, and the bytes of their sections.
fn images_with_lines(input: &InputReport) -> impl Iterator<Item = (u32, &SectionBytes)> {
    let is_released = |image: &ImageReport| {
        let is_packed = image.container.is_some() || image.kind == ImageKind::Cubin;
        is_packed && !image.is_debug && !image.role.is_copy()
    };
    let released = (0..)
        .zip(&input.images)
        .filter(move |(_, image)| is_released(image));
    released.filter_map(|(index, image)| {
        let sections = image.facts.sections.as_ref()?;
        (sections.lines > 0).then_some((index, sections))
    })
}
