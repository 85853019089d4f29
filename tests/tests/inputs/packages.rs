//! Wheels, conda and Debian packages, zip and tar archives: what is found in a member is what is found in the unpacked file, and
//! what is wrong with one member leaves the others alone.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::Output;

use ptxcheck_tests::fatbin::{Elf, Entry, Packing, container};
use ptxcheck_tests::folder::{folder, run_in, run_with_stdin};
use ptxcheck_tests::packing::{Tar, ZipMember, bzip2, conda, deb, gzip, xz, zip, zstd};
use ptxcheck_tests::{cases, report, root};
use serde_json::Value;
use tempfile::TempDir;

const BAD: &str =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";

/// A shared library with a fat binary in it.
fn library(text: &str) -> Vec<u8> {
    let mut elf = Elf::host(3);
    let images = [Entry::ptx(90, text).packed(Packing::Zstd), Entry::ptx(80, text)];
    elf.sections.push((".nv_fatbin".to_owned(), container(&images)));
    elf.bytes()
}

/// The files of a package: inputs, and files that are none.
fn tree() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("pkg/lib/liba.so".to_owned(), library(BAD)),
        (
            "pkg/lib/libb.so.1.2".to_owned(),
            library(&BAD.replace("k()", "b()")),
        ),
        ("pkg/lib/large.so".to_owned(), large()),
        (
            "pkg/__init__.py".to_owned(),
            b".version 7.8\n.target sm_90\n".to_vec(),
        ),
        ("pkg/include/a.h".to_owned(), b".version 7.8\n".to_vec()),
        ("pkg/data.bin".to_owned(), vec![7; 5_000]),
        ("pkg/empty.so".to_owned(), Vec::new()),
        ("pkg/noext".to_owned(), BAD.as_bytes().to_vec()),
        (
            "pkg/a b!c.ptx".to_owned(),
            BAD.replace("k()", "odd()").into_bytes(),
        ),
        (
            "a-1.0.dist-info/WHEEL".to_owned(),
            b"Wheel-Version: 1.0\n".to_vec(),
        ),
    ];
    let cases = cases::files("corpus/rules", "ptx");
    for case in cases.iter().step_by(30) {
        let name = case
            .strip_prefix(root().join("corpus"))
            .unwrap()
            .to_str()
            .unwrap();
        files.push((format!("pkg/{name}"), fs::read(case).unwrap()));
    }
    let images = ["cubin", "fatbin"].map(|ending| cases::files("corpus/images", ending));
    for image in images.concat() {
        let name = image
            .strip_prefix(root().join("corpus"))
            .unwrap()
            .to_str()
            .unwrap();
        files.push((format!("pkg/{name}"), fs::read(&image).unwrap()));
    }
    files
}

/// A library that is mapped, and kept in a temporary file.
fn large() -> Vec<u8> {
    let noise = (0..5_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let mut elf = Elf::host(3).section(".rodata", noise.collect());
    elf.sections
        .push((".nv_fatbin".to_owned(), container(&[Entry::ptx(90, BAD)])));
    elf.bytes()
}

fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let add = |tar: Tar, (name, content): &(String, Vec<u8>)| tar.file(&format!("./{name}"), content);
    files.iter().fold(Tar::default(), add).end()
}

fn zip_of(files: &[(String, Vec<u8>)], method: u16) -> Vec<u8> {
    let member = |(name, content): &(String, Vec<u8>)| ZipMember {
        method,
        ..ZipMember::new(name, content)
    };
    zip(&files.iter().map(member).collect::<Vec<_>>())
}

/// The document of a run, with the names of members as those of files in `tree`.
fn document(output: &Output, package: &str) -> (i32, Value) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let text = text.replace(&format!("{package}!"), "tree/").replace("\\\\", "/");
    let document = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap(), document)
}

fn run(folder: &TempDir, command: &str, input: &str) -> (i32, Value) {
    let output = run_in(folder, &[command, "--format", "json", "--places", "all", input]);
    document(&output, input)
}

/// Codes and messages of the findings, with the paths of their inputs.
fn findings(document: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = document["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            (
                text(&finding["input"]),
                text(&finding["code"]),
                text(&finding["message"]),
            )
        })
        .collect()
}

fn paths(document: &Value) -> Vec<&str> {
    let inputs = document["inputs"].as_array().unwrap().iter();
    inputs.map(|input| input["path"].as_str().unwrap()).collect()
}

#[test]
fn a_member_is_checked_like_the_unpacked_file() {
    let files = tree();
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in &files {
        let path = folder.path().join("tree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let tar = tar(&files);
    let packages = [
        ("a-1.0-py3-none-any.whl", zip_of(&files, 8)),
        ("stored.zip", zip_of(&files, 0)),
        ("zstd.zip", zip_of(&files, 93)),
        ("other.zip", zip_of(&files, 12)),
        ("xz.zip", zip_of(&files, 95)),
        ("a.tar", tar.clone()),
        ("a.tar.gz", gzip(&tar)),
        ("a.tar.xz", xz(&tar)),
        ("a.tar.zst", zstd(&tar)),
        ("a.tar.bz2", bzip2(&tar)),
        ("a.conda", conda(&tar)),
        ("a.deb", deb("", &tar)),
        ("gz.deb", deb(".gz", &gzip(&tar))),
        ("xz.deb", deb(".xz", &xz(&tar))),
        ("zst.deb", deb(".zst", &zstd(&tar))),
        ("named-otherwise", zip_of(&files, 8)),
    ];
    for command in ["check", "audit"] {
        let (code, wanted) = run(&folder, command, "tree");
        assert!(findings(&wanted).len() > if command == "check" { 5 } else { 0 });
        assert!(paths(&wanted).contains(&"tree/pkg/lib/libb.so.1.2"));
        for (name, bytes) in &packages {
            fs::write(folder.path().join(name), bytes).unwrap();
            let (got_code, got) = run(&folder, command, name);
            assert_eq!(paths(&got), paths(&wanted), "{name}");
            for part in ["inputs", "findings", "groups", "causes"] {
                assert_eq!(got[part], wanted[part], "{name}: {part}");
            }
            assert_eq!(got_code, code, "{name}");
        }
    }
}

#[test]
fn standard_input_is_known_by_its_bytes() {
    let folder = folder(&[]);
    let files = [("a/k.ptx".to_owned(), BAD.as_bytes().to_vec())];
    for bytes in [
        zip_of(&files, 8),
        gzip(&tar(&files)),
        tar(&files),
        conda(&tar(&files)),
        deb("", &tar(&files)),
    ] {
        let output = run_with_stdin(folder.path(), &["--format", "json", "-"], &bytes);
        let (code, document) = document(&output, "-");
        assert_eq!((code, paths(&document)), (1, vec!["tree/a/k.ptx"]));
        assert_eq!(report::codes(&document), ["PTX407"]);
    }
}

#[test]
fn wheels_and_conda_packages_are_opened_in_folders_and_others_where_they_are_named() {
    let files = [("a/k.ptx".to_owned(), BAD.as_bytes().to_vec())];
    let tar = tar(&files);
    let folder = folder(&[
        ("d/a.whl", &zip_of(&files, 8)),
        ("d/b.conda", &conda(&tar)),
        ("d/c.zip", &zip_of(&files, 8)),
        ("d/d.tar.gz", &gzip(&tar)),
        ("d/e.deb", &deb("", &tar)),
        ("d/f.tar", &tar),
    ]);
    let (_, document) = run(&folder, "check", "d");
    assert_eq!(paths(&document), ["d/a.whl!a/k.ptx", "d/b.conda!a/k.ptx"]);
    let output = run_in(
        &folder,
        &["--format", "json", "d/c.zip", "d/d.tar.gz", "d/e.deb", "d/f.tar"],
    );
    let (_, document) = self::document(&output, "none");
    let wanted = [
        "d/c.zip!a/k.ptx",
        "d/d.tar.gz!a/k.ptx",
        "d/e.deb!a/k.ptx",
        "d/f.tar!a/k.ptx",
    ];
    assert_eq!(paths(&document), wanted);
}

#[test]
fn packages_in_packages_are_opened_to_a_depth() {
    let inner = vec![("k.ptx".to_owned(), BAD.as_bytes().to_vec())];
    let wheel = zip_of(
        &[
            inner.clone(),
            vec![("a-1.dist-info/WHEEL".to_owned(), Vec::new())],
        ]
        .concat(),
        8,
    );
    // Data of a wheel: not opened. A wheel in it: opened.
    let outer_wheel = zip_of(
        &[
            ("data/x.zip".to_owned(), zip_of(&inner, 8)),
            ("data/in.whl".to_owned(), wheel.clone()),
            ("a-1.dist-info/WHEEL".to_owned(), Vec::new()),
        ],
        8,
    );
    let archive = Tar::default()
        .file("stored.zip", &zip_of(&[("w.whl".to_owned(), wheel.clone())], 0))
        .file("packed.zip", &zip_of(&[("w.whl".to_owned(), wheel.clone())], 8))
        .file("x.deb", &deb(".gz", &gzip(&tar(&inner))))
        .end();
    let mut deep = zip_of(&inner, 8);
    for _ in 0..4 {
        deep = zip_of(&[("n.zip".to_owned(), deep)], 8);
    }
    let folder = folder(&[
        ("outer.whl", &outer_wheel),
        ("many.tar.gz", &gzip(&archive)),
        ("deep.zip", &deep),
        (
            "fake.zip",
            &zip_of(&[("no.whl".to_owned(), vec![1; 100]), inner[0].clone()], 8),
        ),
    ]);
    let (_, document) = run(&folder, "check", "outer.whl");
    assert_eq!(paths(&document), ["tree/data/in.whl!k.ptx"]);
    let (code, document) = run(&folder, "check", "many.tar.gz");
    let wanted = [
        "tree/packed.zip!w.whl!k.ptx",
        "tree/stored.zip!w.whl!k.ptx",
        "tree/x.deb!k.ptx",
    ];
    assert_eq!((code, paths(&document)), (1, wanted.to_vec()));
    let (code, document) = run(&folder, "check", "deep.zip");
    let (path, found, message) = &findings(&document)[0];
    assert_eq!(
        (path.as_str(), found.as_str(), code),
        ("tree/n.zip!n.zip!n.zip!n.zip", "PTX903", 2)
    );
    assert!(message.contains("4 packages"), "{message}");
    let (code, document) = run(&folder, "check", "fake.zip");
    assert_eq!((code, report::codes(&document).len()), (2, 2));
}

/// Everything that is wrong with a member: a finding about it, and the others are analysed.
#[test]
fn what_is_wrong_with_a_member_of_a_zip_archive_is_a_finding_about_it() {
    let good = ZipMember::new("z/good.ptx", BAD.as_bytes());
    let bad = || ZipMember::new("bad.ptx", BAD.as_bytes());
    let stored = || ZipMember { method: 0, ..bad() };
    let cases: Vec<(&str, Vec<ZipMember>, &str, &str)> = vec![
        (
            "encrypted",
            vec![ZipMember { flags: 1, ..bad() }],
            "PTX901",
            "encrypted",
        ),
        (
            "AES",
            vec![ZipMember { method: 99, ..bad() }],
            "PTX901",
            "encrypted",
        ),
        (
            "deflate64",
            vec![ZipMember { method: 9, ..bad() }],
            "PTX901",
            "method 9 of zip (DEFLATE64)",
        ),
        (
            "checksum",
            vec![ZipMember {
                crc: Some(1),
                ..bad()
            }],
            "PTX901",
            "its checksum is another",
        ),
        (
            "shorter",
            vec![ZipMember {
                size: Some(1_000),
                ..bad()
            }],
            "PTX901",
            "and the directory says 1000",
        ),
        (
            "longer",
            vec![ZipMember {
                size: Some(10),
                ..bad()
            }],
            "PTX901",
            "more than the 10 bytes",
        ),
        (
            "too large",
            vec![ZipMember {
                size: Some(1 << 40),
                ..bad()
            }],
            "PTX903",
            "unpacks to more than",
        ),
        (
            "a bomb",
            vec![ZipMember {
                size: Some(10 << 30),
                ..bad()
            }],
            "PTX903",
            "more than is allowed for its size",
        ),
        (
            "climbing",
            vec![ZipMember {
                name: b"a/../../bad.ptx".to_vec(),
                ..bad()
            }],
            "PTX901",
            "`..`",
        ),
        (
            "absolute",
            vec![ZipMember {
                name: b"/tmp/bad.ptx".to_vec(),
                ..bad()
            }],
            "PTX901",
            "absolute",
        ),
        (
            "a drive",
            vec![ZipMember {
                name: b"C:\\bad.ptx".to_vec(),
                ..bad()
            }],
            "PTX901",
            "absolute",
        ),
        (
            "twice",
            vec![bad(), bad()],
            "PTX901",
            "another member has the same name",
        ),
        (
            "no member",
            vec![ZipMember {
                offset: Some(0xfff_ffff),
                ..bad()
            }],
            "PTX901",
            "cut short",
        ),
        (
            "a link",
            vec![ZipMember {
                mode: Some(0o120_777),
                content: b"../x.ptx".to_vec(),
                ..stored()
            }],
            "PTX905",
            "link to `../x.ptx`",
        ),
        (
            "an absolute link",
            vec![ZipMember {
                mode: Some(0o120_777),
                content: b"/etc/x.ptx".to_vec(),
                ..bad()
            }],
            "PTX905",
            "link to `/etc/x.ptx`",
        ),
        (
            "garbage",
            vec![ZipMember {
                method: 8,
                flags: 0,
                ..ZipMember::default()
            }],
            "",
            "",
        ),
    ];
    for (what, members, code, message) in cases {
        let folder = folder(&[("x.whl", &zip(&[members.clone(), vec![good.clone()]].concat()))]);
        for command in ["check", "audit"] {
            let (exit, document) = run(&folder, command, "x.whl");
            let about = findings(&document);
            let about: Vec<_> = about
                .iter()
                .filter(|(path, ..)| path != "tree/z/good.ptx")
                .collect();
            assert!(
                paths(&document).contains(&"tree/z/good.ptx"),
                "{what}: {document}"
            );
            if code.is_empty() {
                assert!(about.is_empty(), "{what}: {about:?}");
                continue;
            }
            let (path, found, said) = about.first().unwrap_or_else(|| panic!("{what}: {document}"));
            assert!(path.ends_with("bad.ptx"), "{what}: {path}");
            assert_eq!(found, code, "{what}: {said}");
            assert!(said.contains(message), "{what}: {said}");
            if code == "PTX905" {
                assert_ne!(exit, 2, "{what}");
            } else {
                assert_eq!(exit, 2, "{what}");
            }
        }
        let output = run_in(&folder, &["extract", "x.whl", "-o", "out"]);
        assert!(
            folder.path().join("out/z/good.ptx/00000.ptx").exists(),
            "{what}: {output:?}"
        );
        let entries = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(entries, 2, "{what}: something was written beside the folder");
    }
}

/// Members that share their bytes are how small archives unpack to everything.
#[test]
fn overlapping_members_are_refused() {
    let member = |name: &str, offset| ZipMember {
        offset,
        ..ZipMember::new(name, BAD.as_bytes())
    };
    let members: Vec<_> = (0..50).map(|at| member(&format!("{at}.ptx"), Some(0))).collect();
    let folder = folder(&[("x.zip", &zip(&members))]);
    let (code, document) = run(&folder, "check", "x.zip");
    assert_eq!((code, report::codes(&document).len()), (2, 50));
    assert!(
        findings(&document)
            .iter()
            .all(|(.., said)| said.contains("also those of another member"))
    );
}

#[test]
fn troubles_are_told_up_to_a_number() {
    let member = |at| ZipMember {
        name: format!("../{at}.ptx").into_bytes(),
        ..ZipMember::new("", BAD.as_bytes())
    };
    let members: Vec<_> = (0..1_100).map(member).collect();
    let folder = folder(&[("x.zip", &zip(&members))]);
    let (code, document) = run(&folder, "check", "x.zip");
    assert_eq!((code, report::codes(&document).len()), (2, 1_001));
    let more = "something is wrong with 100 more of its members";
    assert!(
        findings(&document)
            .iter()
            .any(|(path, _, said)| path == "x.zip" && said == more)
    );
}

#[test]
fn zip64_is_read() {
    let member = ZipMember {
        is_zip64: true,
        ..ZipMember::new("k.ptx", BAD.as_bytes())
    };
    let folder = folder(&[("x.zip", &zip(&[member]))]);
    let (code, document) = run(&folder, "check", "x.zip");
    assert_eq!((code, report::codes(&document)), (1, vec!["PTX407"]));
}

#[test]
fn what_is_wrong_with_a_tar_archive_is_a_finding_and_the_rest_is_looked_at() {
    let start = || Tar::default().file("a/good.ptx", BAD.as_bytes());
    let long = format!("{}/good.ptx", "a".repeat(150));
    let whole = start().file("b.ptx", BAD.as_bytes()).end();
    let cases: Vec<(&str, Vec<u8>, &[&str], &str)> = vec![
        (
            "climbing",
            start().file("../b.ptx", BAD.as_bytes()).end(),
            &["PTX901"],
            "`..`",
        ),
        (
            "absolute",
            start().file("/b.ptx", BAD.as_bytes()).end(),
            &["PTX901"],
            "absolute",
        ),
        (
            "a link",
            start().member("b.ptx", b'2', "a/good.ptx", 0, b"").end(),
            &[],
            "",
        ),
        (
            "a library's names",
            start().member("a/libx.so", b'2', "libx.so.1", 0, b"").end(),
            &[],
            "",
        ),
        (
            "a link out",
            start().member("b.so", b'2', "/etc/passwd", 0, b"").end(),
            &["PTX905"],
            "link to `/etc/passwd`",
        ),
        (
            "a hard link",
            start().member("b.ptx", b'1', "a/good.ptx", 0, b"").end(),
            &[],
            "",
        ),
        (
            "a hard link out",
            start().member("b.ptx", b'1', "../good.ptx", 0, b"").end(),
            &["PTX905"],
            "link to",
        ),
        (
            "a device",
            start().member("b.ptx", b'3', "", 0, b"").end(),
            &["PTX905"],
            "a device",
        ),
        (
            "a pipe",
            start().member("dir/fifo", b'6', "", 0, b"").end(),
            &[],
            "",
        ),
        (
            "sparse",
            start()
                .member("b.ptx", b'S', "", BAD.len() as u64, BAD.as_bytes())
                .end(),
            &["PTX901"],
            "sparse",
        ),
        (
            "sparse of pax",
            start()
                .extended(&[("GNU.sparse.major", "1")], "b.ptx", BAD.as_bytes())
                .end(),
            &["PTX901"],
            "sparse",
        ),
        (
            "cut in a header",
            whole[..1_100].to_vec(),
            &["PTX901"],
            "cut short",
        ),
        (
            "cut in a member",
            whole[..1_600].to_vec(),
            &["PTX901", "PTX901"],
            "cut short",
        ),
        ("no end", start().unfinished(), &[], ""),
        (
            "a huge member",
            start().member("b.ptx", b'0', "", u64::MAX >> 31, b"x").end(),
            &["PTX901", "PTX901"],
            "cut short",
        ),
        (
            "a broken header",
            [start().unfinished(), vec![b'x'; 512]].concat(),
            &["PTX901"],
            "checksum of a header",
        ),
        (
            "a name of a gigabyte",
            start().member("L", b'L', "", 1 << 30, b"x").end(),
            &["PTX903"],
            "is the most that is read",
        ),
        ("twice", start().file("a/good.ptx", BAD.as_bytes()).end(), &[], ""),
    ];
    for (what, bytes, wanted, message) in cases {
        let folder = folder(&[("x.tar", &bytes), ("x.tar.xz", &xz(&bytes))]);
        for name in ["x.tar", "x.tar.xz"] {
            let (code, document) = run(&folder, "check", name);
            let found = findings(&document);
            let about: Vec<_> = found.iter().filter(|(.., code, _)| code != "PTX407").collect();
            let codes: Vec<&str> = about.iter().map(|(_, code, _)| code.as_str()).collect();
            assert_eq!(codes, wanted, "{what}: {found:?}");
            assert!(
                about.iter().all(|(.., said)| said.contains(message)),
                "{what}: {about:?}"
            );
            assert!(
                found.iter().any(|(path, ..)| path == "tree/a/good.ptx"),
                "{what}: {found:?}"
            );
            let is_undone = wanted.iter().any(|code| *code != "PTX905");
            assert_eq!(code, if is_undone { 2 } else { 1 }, "{what}");
        }
    }
    let names = [
        Tar::default().long_name(&long, BAD.as_bytes()).end(),
        Tar::default()
            .extended(&[("path", &long)], "short", BAD.as_bytes())
            .end(),
    ];
    for bytes in names {
        let folder = folder(&[("x.tar.gz", &gzip(&bytes))]);
        let (_, document) = run(&folder, "check", "x.tar.gz");
        assert_eq!(paths(&document), [format!("tree/{long}")]);
    }
}

#[test]
fn a_stream_that_ends_or_breaks_off_is_told_and_what_came_before_is_looked_at() {
    let mut noise = vec![0_u8; 300_000];
    let mut state = 1_u32;
    for byte in &mut noise {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    let bytes = Tar::default()
        .file("a.ptx", BAD.as_bytes())
        .file("noise", &noise)
        .end();
    for (name, packed) in [
        ("x.tar.gz", gzip(&bytes)),
        ("x.tar.xz", xz(&bytes)),
        ("x.tar.zst", zstd(&bytes)),
    ] {
        let mut wrong = packed.clone();
        let end = wrong.len() - 10;
        wrong[end] ^= 0xff;
        let half = packed[..packed.len() - 100_000].to_vec();
        for (what, bytes) in [("cut", half), ("wrong", wrong)] {
            let folder = folder(&[(name, &bytes)]);
            let (code, document) = run(&folder, "check", name);
            let found = report::codes(&document);
            assert!(
                found.contains(&"PTX407") && found.contains(&"PTX901"),
                "{name}, {what}: {document}"
            );
            assert_eq!(code, 2, "{name}, {what}");
        }
    }
}

/// A small file that unpacks to gigabytes stops at the bound.
#[test]
fn bombs_are_bounded() {
    // Of 64 MiB of zeros each, packed twice: 4 KiB of gzip, which stand for 16 GiB.
    let zeros = zstd(&vec![0; 64 << 20]);
    let frames: Vec<u8> = std::iter::repeat_n(zeros, 40).flatten().collect();
    let start = Tar::default()
        .file("a.ptx", BAD.as_bytes())
        .member("zeros.so", b'0', "", 2_500 << 20, b"")
        .unfinished();
    let folder = folder(&[("x.tar.zst", &[zstd(&start), frames].concat())]);
    let (code, document) = run(&folder, "check", "x.tar.zst");
    assert_eq!(report::codes(&document), ["PTX407", "PTX903"]);
    assert_eq!(code, 2);
}

#[test]
fn a_package_without_device_code_is_a_file_without() {
    let files = [("a/__init__.py".to_owned(), b"x = 1\n".to_vec())];
    let folder = folder(&[("x.whl", &zip_of(&files, 8)), ("y.zip", &zip(&[]))]);
    for name in ["x.whl", "y.zip"] {
        let (code, document) = run(&folder, "check", name);
        assert_eq!((code, paths(&document)), (2, vec![name]));
        assert_eq!(document["inputs"][0]["status"], "skipped");
        let output = run_in(&folder, &["check", "--allow-empty", name]);
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn exclusions_and_exceptions_fit_members() {
    let files = [
        ("torch/lib/a.ptx".to_owned(), BAD.as_bytes().to_vec()),
        ("torch/test/b.ptx".to_owned(), BAD.as_bytes().to_vec()),
    ];
    let folder = folder(&[("dist/x-1.0.whl", &zip_of(&files, 8)), ("ptxcheck.toml", b"")]);
    for pattern in ["b.ptx", "torch/test/**", "dist/*.whl!torch/test/*"] {
        let config = format!("exclude = [\"{pattern}\"]\n");
        fs::write(folder.path().join("ptxcheck.toml"), config).unwrap();
        let (_, document) = run(&folder, "check", "dist");
        assert_eq!(paths(&document), ["dist/x-1.0.whl!torch/lib/a.ptx"], "{pattern}");
    }
    let strict = run_in(&folder, &["check", "--strict-config", "dist"]);
    assert!(
        !String::from_utf8_lossy(&strict.stdout).contains("PTX906"),
        "{strict:?}"
    );
}

/// A wheel of the next release has another name, and its findings are those that were known.
#[test]
fn a_baseline_holds_for_the_next_version_of_a_package() {
    let wheel = zip_of(&[("torch/k.ptx".to_owned(), BAD.as_bytes().to_vec())], 8);
    let folder = folder(&[("d/x-1.0.whl", &wheel), ("d/y/x-1.1.whl", &wheel)]);
    let written = run_in(&folder, &["check", "--write-baseline", "b.json", "d/x-1.0.whl"]);
    assert!(folder.path().join("b.json").exists(), "{written:?}");
    let again = run_in(&folder, &["check", "--baseline", "b.json", "d/y/x-1.1.whl"]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
}

#[test]
fn shards_of_packages_make_one_run() {
    let files = |kernel: &str| {
        [("a/k.ptx", BAD), ("a/l.ptx", BAD)]
            .map(|(name, text)| (name.to_owned(), text.replace("k()", kernel).into_bytes()))
    };
    let folder = folder(&[
        ("d/x.whl", &zip_of(&files("x()"), 8)),
        ("d/y.whl", &zip_of(&files("y()"), 8)),
        ("d/z.ptx", BAD.as_bytes()),
    ]);
    let (_, whole) = run(&folder, "check", "d");
    assert_eq!(paths(&whole).len(), 5);
    let (merged, _) = merged(&folder, &[]);
    for part in ["inputs", "findings"] {
        assert_eq!(merged[part], whole[part], "{part}");
    }
}

/// Deals `d` over three shards; the merged document, and the numbers of inputs of the shards.
fn merged(folder: &TempDir, options: &[&str]) -> (Value, [u64; 3]) {
    let inputs = [1, 2, 3].map(|number| {
        let (shard, file) = (format!("{number}/3"), format!("shard={number}.json"));
        let part = [
            "check",
            "--shard",
            &shard,
            "--output",
            &file,
            "--allow-empty",
            "d",
        ];
        let output = run_in(folder, &[&part[..], &["--format", "json"], options].concat());
        let part: Value = serde_json::from_slice(&output.stdout).unwrap();
        part["summary"]["inputs"].as_u64().unwrap()
    });
    let merge = ["merge", "--format", "json", "--places", "all"];
    let output = run_in(folder, &[&merge[..], &["1.json", "2.json", "3.json"]].concat());
    (document(&output, "none").1, inputs)
}

/// Of one wheel, each shard has a part: the largest member is dealt first. What can't be opened, and what holds no device code, is of
/// the first.
#[test]
fn members_of_wheels_are_dealt_to_shards() {
    let small = |name: &str| {
        (
            format!("a/{name}.ptx"),
            BAD.replace("k()", &format!("{name}()")).into_bytes(),
        )
    };
    let mut large = small("large");
    large.1.resize(1 << 20, b' ');
    let wheel = zip_of(&[small("p"), large, small("q"), small("r"), small("s")], 8);
    let folder = folder(&[
        ("d/x.whl", &wheel),
        ("d/cut.whl", &wheel[..wheel.len() - 40]),
        ("d/broken.whl", b"no package"),
        ("d/empty.whl", &zip_of(&[("a/k.py".to_owned(), Vec::new())], 8)),
    ]);
    let (_, whole) = run(&folder, "check", "d");
    let (merged, inputs) = merged(&folder, &["--shard-members"]);
    for part in ["inputs", "findings"] {
        assert_eq!(merged[part], whole[part], "{part}");
    }
    assert!(inputs.iter().all(|&count| count > 0), "{inputs:?}");
    let code = run_in(&folder, &["check", "--shard-members", "d"]).status.code();
    assert_eq!(code, Some(2), "an option of shards");
}

#[test]
fn images_of_members_are_extracted_to_a_folder_each() {
    let files = [
        ("a/lib.so".to_owned(), library(BAD)),
        ("a/k.ptx".to_owned(), BAD.as_bytes().to_vec()),
        ("A/K.ptx".to_owned(), BAD.as_bytes().to_vec()),
        ("odd: name?.ptx".to_owned(), BAD.as_bytes().to_vec()),
    ];
    let inner = zip_of(&files, 8);
    let folder = folder(&[("x.tar.gz", &gzip(&Tar::default().file("in.whl", &inner).end()))]);
    let output = run_in(&folder, &["extract", "x.tar.gz", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let list = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<&str> = list.lines().collect();
    lines.sort_unstable();
    let wanted = [
        "in.whl/A/K.ptx/00000.ptx",
        "in.whl/a/k.ptx~2/00000.ptx",
        "in.whl/a/lib.so/00000.sm_90.ptx",
        "in.whl/a/lib.so/00001.sm_80.ptx",
        "in.whl/odd__name_.ptx/00000.ptx",
    ];
    assert_eq!(lines, wanted);
    for line in lines {
        assert!(folder.path().join("out").join(line).is_file(), "{line}");
    }
    let again = run_in(&folder, &["extract", "--kind", "cubin", "x.tar.gz", "-o", "none"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn documents_name_members() {
    let wheel = zip_of(&[("a b/k.ptx".to_owned(), BAD.as_bytes().to_vec())], 8);
    let folder = folder(&[("x.whl", &wheel)]);
    let of = |format: &str| {
        let output = run_in(&folder, &["check", "--format", format, "x.whl"]);
        String::from_utf8(output.stdout).unwrap()
    };
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "x.whl%21a%20b/k.ptx");
    assert_eq!(location["region"]["startLine"], 6);
    assert!(
        of("github").contains("file=x.whl!a b/k.ptx,line=6"),
        "{}",
        of("github")
    );
    assert!(
        of("concise").starts_with("x.whl!a b/k.ptx:6:"),
        "{}",
        of("concise")
    );
}

#[test]
fn the_time_of_a_package_is_bounded() {
    let zeros = zstd(&vec![0; 64 << 20]);
    let start = Tar::default()
        .member("zeros.so", b'0', "", 900 << 20, b"")
        .unfinished();
    let frames: Vec<u8> = std::iter::repeat_n(zeros, 15).flatten().collect();
    let folder = folder(&[("x.tar.zst", &[zstd(&start), frames].concat())]);
    let output = run_in(
        &folder,
        &["audit", "--timeout", "0.01", "--format", "json", "x.tar.zst"],
    );
    let (code, document) = document(&output, "x.tar.zst");
    assert_eq!((code, report::codes(&document)[0]), (2, "PTX903"));
}
