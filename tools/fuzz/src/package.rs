//! Mutants of packages: wheels, zip and tar archives, conda and Debian packages, with small inputs in them.

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::image::Content;
use ptxcheck_passes::packages::{Additional, Package};
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::policy::{Driver, Policy};
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::Settings;

use crate::fatbin::{self, Elf, Entry};
use crate::image::{auditing, sentences};
use crate::numbers::{BOUNDARIES, Numbers};
use crate::packing::{Tar, ZipMember, bzip2, conda, deb, gzip, xz, zip, zstd};
use crate::verdict;

/// Largest mutant, in bytes.
const MAX_BYTES: usize = 1 << 18;

/// The mutant of a run with these numbers.
pub fn mutant(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = package(numbers, 0);
    // One in eight lies in its headers alone.
    if !numbers.one_in(8) {
        for _ in 0..[1, 1, 1, 2, 2, 3, 4, 8][numbers.below(8)] {
            damage(&mut bytes, numbers);
        }
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

/// A package, right except for the fields that a writer is asked to get wrong.
fn package(numbers: &mut Numbers, depth: usize) -> Vec<u8> {
    match numbers.below(10) {
        0..=3 => zip_archive(numbers, depth),
        4 => tar(numbers, depth),
        5 | 6 => {
            let bytes = tar(numbers, depth);
            packed(&bytes, numbers)
        }
        7 => conda(&tar(numbers, depth)),
        _ => {
            let files = tar(numbers, depth);
            let ending = *numbers.pick(&["", ".gz", ".xz", ".zst", ".lzma", "\u{0}"]);
            let data = if numbers.one_in(4) {
                files
            } else {
                packed(&files, numbers)
            };
            deb(ending, &data)
        }
    }
}

/// A stream, in one piece or in two, of which the second may be something else.
fn packed(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let pack = *numbers.pick(&[gzip, xz, zstd, bzip2]);
    if numbers.one_in(4) {
        let (start, rest) = bytes.split_at(numbers.below(bytes.len() + 1));
        let mut stream = pack(start);
        if !numbers.one_in(4) {
            let other = *numbers.pick(&[pack, gzip, zstd]);
            stream.extend(other(rest));
        }
        return stream;
    }
    pack(bytes)
}

fn zip_archive(numbers: &mut Numbers, depth: usize) -> Vec<u8> {
    let count = 1 + numbers.below(5);
    let members: Vec<ZipMember> = (0..count).map(|_| zip_member(numbers, depth)).collect();
    zip(&members)
}

fn zip_member(numbers: &mut Numbers, depth: usize) -> ZipMember {
    let (name, content) = file(numbers, depth);
    let method = *numbers.pick(&[0, 8, 8, 8, 12, 93, 95, 9, 14, 99, 20]);
    let mut member = ZipMember {
        name: name.into_bytes(),
        content,
        method,
        ..ZipMember::default()
    };
    let mut wrong = || numbers.one_in(12).then(|| *numbers.pick(&BOUNDARIES));
    member.size = wrong();
    member.crc = wrong().map(|number| number as u32);
    member.offset = wrong().map(|number| number as u32);
    member.mode = wrong().map(|number| number as u32 & 0xffff);
    member.flags = wrong().map_or(0, |number| number as u16);
    member.is_zip64 = wrong().is_some();
    if numbers.one_in(12) {
        member.mode = Some(0o120_777);
    }
    member
}

fn tar(numbers: &mut Numbers, depth: usize) -> Vec<u8> {
    let mut tar = Tar::default();
    for _ in 0..1 + numbers.below(5) {
        let (name, content) = file(numbers, depth);
        let short = name.get(..name.len().min(90)).unwrap_or("x");
        tar = match numbers.below(8) {
            0 => tar.long_name(&name, &content),
            1 => {
                let key = *numbers.pick(&[
                    "path",
                    "linkpath",
                    "size",
                    "GNU.sparse.major",
                    "GNU.sparse.name",
                    "GNU.sparse.realsize",
                    "",
                ]);
                let value = match numbers.below(3) {
                    0 => numbers.pick(&BOUNDARIES).to_string(),
                    1 => name.clone(),
                    _ => "../../x.ptx".to_owned(),
                };
                tar.extended(&[(key, &value)], short, &content)
            }
            2 => {
                let kind = *numbers.pick(b"0123456789LKxgSDVM\0Z");
                let link = *numbers.pick(&["", "a.ptx", "../../a", "/etc/passwd", "a/../b"]);
                let size = if numbers.one_in(3) {
                    *numbers.pick(&BOUNDARIES)
                } else {
                    content.len() as u64
                };
                tar.member(short, kind, link, size, &content)
            }
            _ => tar.file(short, &content),
        };
    }
    if numbers.one_in(6) {
        tar.unfinished()
    } else {
        tar.end()
    }
}

/// The name of a member, and its content.
fn file(numbers: &mut Numbers, depth: usize) -> (String, Vec<u8>) {
    let name = *numbers.pick(&[
        "a.ptx",
        "lib/a.so",
        "b/a.so.1",
        "x/k.ll",
        "a.py",
        "m.cpython-310-x86_64-linux-gnu.so",
        "a/b/c.fatbin",
        "../a.ptx",
        "/a.ptx",
        "C:\\a.ptx",
        "a\\..\\b.ptx",
        "a-1.dist-info/WHEEL",
        "metadata.json",
        "pkg-a.tar.zst",
        "a!b.ptx",
        "",
        ".",
        "\u{fffd}.ptx",
    ]);
    if depth < 3 && numbers.one_in(6) {
        let ending = *numbers.pick(&["whl", "zip", "conda", "tar", "tar.gz", "tar.xz", "deb", "tgz"]);
        return (format!("in.{ending}"), package(numbers, depth + 1));
    }
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";
    let content = match numbers.below(8) {
        6 | 7 => {
            let sm = *numbers.pick(&[75, 80, 90, 103, 120, 0, 65_535]);
            let code =
                Elf::cubin(sm, &[("k", &[])]).section(".nv_debug_ptx_txt.7", text.replace('\n', "\0").into());
            let images = fatbin::container(&[Entry::cubin(sm, code.bytes())]);
            let library = Elf::host(3).section(".nv_fatbin", images);
            library
                .needing(&["libcudart.so.13", "libc.so.6"], "GLIBC_2.2.5")
                .bytes()
        }
        0 => fatbin::container(&[Entry::ptx(90, text)]),
        1 => Elf::host(3)
            .section(".nv_fatbin", fatbin::container(&[Entry::ptx(90, text)]))
            .bytes(),
        2 => vec![0; numbers.below(70_000)],
        3 => Vec::new(),
        _ => text.as_bytes().to_vec(),
    };
    let long = if numbers.one_in(10) {
        "d/".repeat(numbers.below(200))
    } else {
        String::new()
    };
    (format!("{long}{name}"), content)
}

/// Changes some bytes, mostly whole fields.
fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let length = bytes.len();
    if length == 0 {
        return;
    }
    // Headers are at the start or the end, or wherever a magic number is.
    let at = match numbers.below(4) {
        0 => numbers.below(length.min(600)),
        1 | 2 => length - 1 - numbers.below(length.min(400)),
        _ => numbers.below(length),
    };
    match numbers.below(8) {
        0 => bytes[at] = numbers.below(256) as u8,
        1 => bytes[at] ^= 1 << numbers.below(8),
        2..=4 => {
            let size = [1, 2, 4, 8][numbers.below(4)];
            let number = match numbers.below(3) {
                0 => numbers.below(length + 16) as u64,
                _ => *numbers.pick(&BOUNDARIES),
            };
            let end = (at + size).min(length);
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
        5 => bytes.truncate(at),
        6 => {
            let end = (at + 1 + numbers.below(64)).min(length);
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            let end = (at + 1 + numbers.below(128)).min(length);
            drop(bytes.drain(at..end));
        }
    }
}

/// Checks a mutant as `check`, `audit` and `extract` do. The error is the defect found.
pub fn check(index: u64, bytes: &[u8]) -> Result<(), String> {
    let checked = Settings {
        threads: 1,
        ..verdict::reading_ir()
    };
    let settings = match index % 4 {
        1 => auditing(Settings {
            policy: Policy {
                min_driver: Some(Driver(550, 54, 14)),
                ..Policy::default()
            },
            ..checked
        }),
        _ => checked,
    };
    let outcome = verdict::outcome("mutant-1.0-cp311-cp311-any.whl", bytes, &settings);
    verdict::of_outcome(&outcome)?;
    let loads = std::panic::catch_unwind(|| sentences(&outcome));
    loads.map_err(|_| format!("a panic where loading GPUs are counted{}", crate::panics::place()))?;
    if outcome.inputs.is_empty() {
        return Err("a package is no input at all".to_owned());
    }
    // As `extract` does. A panic here is no finding: nobody catches it.
    let extracted = std::panic::catch_unwind(|| {
        let Ok(package) = Package::of(Content::from(bytes.to_vec())) else {
            return Ok(());
        };
        let additional = Additional {
            mlir: true,
            metadata: true,
        };
        let policy = Policy {
            max_package_bytes: Some(1_000),
            max_file_bytes: Some(1_000),
            forbidden_files: Pattern::path("*.ptx").into_iter().collect(),
            ..Policy::default()
        };
        let root = Root::default();
        let members = package.members("mutant.whl", &[], &root, additional, &policy, Deadline::NEVER);
        for member in members.members {
            let path = member.path.clone();
            let leads_out = path.starts_with('/') || path.split(['/', '!']).any(|part| part == "..");
            if member.open(Deadline::NEVER).is_ok() && leads_out {
                return Err(format!("`{path}` leads out of the package"));
            }
        }
        Ok(())
    });
    extracted.map_err(|_| format!("a panic where members are unpacked{}", crate::panics::place()))?
}
