//! Metadata of wheel variants, compared with the wheel's name, its images and other wheels.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::fatbin::{Elf, Entry, Packing, SPECIFIC, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::packing::{ZipMember, zip};
use ptxcheck_tests::schema;
use ptxcheck_tests::wheels::{metadata, wheel};
use serde_json::Value;

const KERNEL: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

fn ptx(sm: u32) -> Entry {
    Entry::ptx(sm, &KERNEL.replace("sm_90", &format!("sm_{sm}")))
}

fn code(sm: u32) -> Entry {
    Entry::cubin(sm, Elf::cubin(sm, &[("k", &[])]).bytes())
}

fn library(images: &[Entry]) -> Vec<u8> {
    let mut elf = Elf::host(3);
    elf.sections.push((".nv_fatbin".to_owned(), container(images)));
    elf.bytes()
}

/// The findings about variants in these files: code and message.
fn findings(files: &[(&str, Vec<u8>)], more: &[&str]) -> Vec<(String, String)> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect();
    let folder = folder(&files);
    let args = [&["audit", "--check-variants", "--format", "json", "."][..], more].concat();
    let output = run_in(&folder, &args);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema::audit_problems(&document), <[String; 0]>::default());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = document["findings"].as_array().unwrap().iter();
    found
        .map(|finding| (text(&finding["code"]), text(&finding["message"])))
        .filter(|(code, _)| ["PTX517", "PTX519", "PTX525", "PTX901", "PTX903"].contains(&code.as_str()))
        .collect()
}

/// The findings about one wheel, whose metadata have these features of NVIDIA's.
fn of_images(images: &[Entry], features: &str) -> Vec<String> {
    let name = "x-1.0-py3-none-any-gpu.whl";
    let found = findings(
        &[(
            name,
            wheel(
                "x-1.0",
                &metadata("gpu", features),
                &[("x/lib.so", library(images))],
            ),
        )],
        &[],
    );
    found
        .into_iter()
        .map(|(code, message)| format!("{code} {message}"))
        .collect()
}

#[test]
fn a_right_wheel_is_silent() {
    for (images, features) in [
        (
            vec![code(80), code(90), ptx(90)],
            r#""sm_arch": ["80_real", "90_real", "90_virtual"]"#,
        ),
        // Compiled by the driver, from PTX of an older generation.
        (vec![ptx(80)], r#""sm_arch": ["90_virtual", "120_virtual"]"#),
        // Machine code of an older GPU of the generation serves.
        (vec![code(80)], r#""sm_arch": ["86_real"]"#),
        (
            vec![code(90), ptx(90)],
            r#""sm_arch": ["90_real"], "cuda_version_lower_bound": ["11.8", "12.4"], "cuda_version_upper_bound": ["14"]"#,
        ),
        // PTX is not what such a machine loads.
        (
            vec![code(90), Entry::ptx(90, &KERNEL.replace("7.8", "9.0"))],
            r#""sm_arch": ["90_real"], "cuda_version_lower_bound": ["12.0"]"#,
        ),
        (vec![ptx(80)], r#""cuda_version_lower_bound": ["11.8"]"#),
        (vec![], r#""sm_arch": ["90_real"]"#),
        (vec![code(80)], ""),
    ] {
        assert_eq!(
            of_images(&images, features),
            <[String; 0]>::default(),
            "{features}"
        );
    }
}

/// Relocatable PTX in a linked library is linked by the driver where no machine code fits.
#[test]
fn ptx_that_the_driver_links_keeps_a_claim() {
    let library = |objects: &[Entry]| {
        let linked = container(&[code(80)]);
        let elf = Elf::host(3).section(".nv_fatbin", linked);
        elf.section("__nv_relfatbin", container(objects)).bytes()
    };
    let found = |objects: &[Entry]| {
        let features = metadata("gpu", r#""sm_arch": ["80_real", "80_virtual"]"#);
        let wheel = wheel("x-1.0", &features, &[("x/lib.so", library(objects))]);
        findings(&[("x-1.0-py3-none-any-gpu.whl", wheel)], &[])
    };
    assert_eq!(found(&[ptx(80)]), []);
    let codes: Vec<_> = found(&[code(80)]).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["PTX525"]);
}

#[test]
fn claims_are_held_against_the_images() {
    let wanted = |images: &[Entry], features: &str, code: &str, part: &str| {
        let found = of_images(images, features);
        let fits = |one: &String| one.starts_with(code) && one.contains(part);
        assert!(found.iter().any(fits), "{features}: {found:#?}");
    };
    wanted(
        &[code(80)],
        r#""sm_arch": ["80_real", "90_real"]"#,
        "PTX525",
        "claim `90_real`, and no image is machine code",
    );
    wanted(
        &[code(90)],
        r#""sm_arch": ["90_virtual"]"#,
        "PTX525",
        "claim `90_virtual`, and no image is PTX",
    );
    wanted(
        &[code(80), ptx(90)],
        r#""sm_arch": ["80_virtual"]"#,
        "PTX525",
        "`80_virtual`",
    );
    wanted(
        &[code(80)],
        r#""sm_arch": ["80_real", "90_real"]"#,
        "PTX517",
        "offer the wheel to 9.0, where kernel `k` does not load",
    );
    wanted(
        &[code(80), code(90)],
        r#""sm_arch": ["80_real"]"#,
        "PTX525",
        "1 image for sm_90",
    );
    wanted(
        &[Entry::ptx(90, &KERNEL.replace("7.8", "8.7"))],
        r#""sm_arch": ["90_virtual", "120_virtual"], "cuda_version_lower_bound": ["12.4"]"#,
        "PTX525",
        "from CUDA 12.4 on, and 1 kernel loads from driver 570 on",
    );
    wanted(
        &[code(90).packed(Packing::Zstd)],
        r#""sm_arch": ["90_real"], "cuda_version_lower_bound": ["12.0"]"#,
        "PTX525",
        "driver 550",
    );
    wanted(
        &[code(90)],
        r#""sm_arch": ["90_real"], "cuda_version_lower_bound": ["13.0"], "cuda_version_upper_bound": ["12"]"#,
        "PTX525",
        "no driver supports CUDA 13.0 or newer and is older than 12.0",
    );
}

/// Kernels that exist for one architecture alone are launched where they are there.
#[test]
fn specialised_kernels_are_left_alone() {
    let fast = |name: &str| {
        let text = KERNEL.replace("k()", &format!("{name}()"));
        let specific = text.replace("sm_90", "sm_90a");
        Entry {
            flags: ptxcheck_tests::fatbin::IS_64_BIT | SPECIFIC,
            ..Entry::ptx(90, &specific)
        }
    };
    let claim = r#""sm_arch": ["80_real", "90_virtual"]"#;
    let both = of_images(&[code(80), ptx(80), fast("fast")], claim);
    assert_eq!(both, <[String; 0]>::default());
    let alone = of_images(&[fast("fast")], claim);
    assert!(
        alone
            .iter()
            .any(|one| one.starts_with("PTX517") && one.contains("8.0")),
        "{alone:#?}"
    );
}

#[test]
fn names_and_labels_fit() {
    let right = metadata("gpu", r#""sm_arch": ["80_real"]"#);
    let library = || vec![("x/lib.so", library(&[code(80)]))];
    // Each finding has to have its part of this list.
    let told = |file: &str, release: &str, text: &str, wanted: &[&str]| {
        let found = findings(&[(file, wheel(release, text, &library()))], &[]);
        let found: Vec<String> = found
            .into_iter()
            .map(|(code, message)| format!("{code} {message}"))
            .collect();
        let is_told = |(one, part): (&String, &&str)| one.contains(part);
        assert!(
            found.len() == wanted.len() && found.iter().zip(wanted).all(is_told),
            "{file} {text}: {found:#?}"
        );
    };
    let name = "x-1.0-py3-none-any-gpu.whl";
    told(name, "x-1.0", &right, &[]);
    told("X-1.0-2-py3-none-any-gpu.whl", "x-1.0", &right, &[]);
    told(
        "x-1.0-py3-none-any.whl",
        "x-1.0",
        &right,
        &["has no label, and the metadata have `gpu`"],
    );
    told(
        "x-1.0-py3-none-any-cpu.whl",
        "x-1.0",
        &right,
        &["is `cpu`, and the metadata have `gpu`"],
    );
    told(
        "x-1.1-py3-none-any-gpu.whl",
        "x-1.0",
        &right,
        &["of `x-1.1` by its name"],
    );
    let two = right.replace(r#""gpu": {"#, r#""cpu": {}, "gpu": {"#);
    told(name, "x-1.0", &two, &["these have 2: `cpu`, `gpu`"]);
    let unknown = metadata("gpu", r#""sm_arch": ["80_real", "90a_real"]"#);
    told(
        name,
        "x-1.0",
        &unknown,
        &["no machine supports `nvidia :: sm_arch :: 90a_real` of label `gpu`"],
    );
    told(
        name,
        "x-1.0",
        &right.replace("$schema", "schema"),
        &["PTX519 the metadata are malformed"],
    );
    told(
        name,
        "x-1.0",
        "{",
        &["PTX519 the metadata are malformed: they are not read"],
    );
    told(
        name,
        "x-1.0",
        &right.replace("v0.1.0", "v1.0.0"),
        &["PTX901 the metadata are in format 1.0.0"],
    );
    told(
        name,
        "x-1.0",
        &format!("{right}{}", " ".repeat(5 << 20)),
        &["PTX903"],
    );

    let bare = |file: &str| {
        let members = [ZipMember::new("x-1.0.dist-info/WHEEL", b"")];
        findings(&[(file, zip(&members))], &[]).len()
    };
    assert_eq!(
        bare("x-1.0-py3-none-any-gpu.whl"),
        1,
        "it has a label and no metadata"
    );
    assert_eq!(bare("x-1.0-py3-none-any.whl"), 0);
}

#[test]
fn wheels_of_a_release_agree() {
    let features = |arch: &str| metadata("gpu", &format!(r#""sm_arch": ["{arch}"]"#));
    let of = |tag: &str, text: &str| {
        let name = format!("x-1.0-{tag}-none-any-gpu.whl");
        (
            name,
            wheel("x-1.0", text, &[("x/lib.so", library(&[code(80), code(90)]))]),
        )
    };
    let told = |files: &[(String, Vec<u8>)]| {
        let files: Vec<(&str, Vec<u8>)> = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.clone()))
            .collect();
        let found = findings(&files, &["-A", "PTX525"]);
        let found: Vec<String> = found.into_iter().map(|(_, message)| message).collect();
        found.join("; ")
    };
    let index = |text: String| ("x-1.0-variants.json".to_owned(), text.into_bytes());
    let both = features(r#"80_real", "90_real"#);
    let swapped = features(r#"90_real", "80_real"#);
    assert_eq!(
        told(&[of("cp311", &both), of("cp312", &swapped), index(both.clone())]),
        ""
    );
    assert_eq!(
        told(&[of("cp311", &both), of("cp312", &features("80_real"))]),
        "label `gpu` has other properties in another wheel of the release"
    );
    assert!(
        told(&[of("cp311", &both), index(features("80_real"))])
            .ends_with("the file for all wheels gives it others")
    );
    let other_label = both.replace("\"gpu\"", "\"cpu\"");
    assert!(
        told(&[of("cp311", &both), index(other_label)]).ends_with("the file for all wheels does not have it")
    );
    assert_eq!(told(&[index("{}".to_owned())]).matches("malformed").count(), 3);
}

/// Without the policy nothing is checked, and no file is an input for its metadata alone.
#[test]
fn metadata_are_checked_on_request() {
    let files: [(&str, &[u8]); 3] = [
        // Of an unpacked wheel nobody knows which files are its own.
        ("site/x-1.0.dist-info/variant.json", b"{"),
        (
            "x-1.0-py3-none-any-gpu.whl",
            &wheel("x-1.0", "{", &[("x/lib.so", library(&[code(80)]))]),
        ),
        ("x-1.0-variants.json", b"{"),
    ];
    let folder = folder(&files);
    let inputs = |args: &[&str]| {
        let output = run_in(&folder, args);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["inputs"].as_array().unwrap().len()
    };
    assert_eq!(inputs(&["audit", "--format", "json", "."]), 1);
    assert_eq!(inputs(&["audit", "--format", "json", ".", "--check-variants"]), 3);
    std::fs::write(
        folder.path().join("ptxcheck.toml"),
        "[audit]\nvariants = \"check\"\n",
    )
    .unwrap();
    assert_eq!(inputs(&["audit", "--format", "json", "."]), 3);
}

/// A kernel that a GPU need not have is named with the reason.
#[test]
fn kernels_may_be_missing_by_design() {
    let claim = metadata("gpu", r#""sm_arch": ["80_real", "90_real"]"#);
    let file = "x-1.0-py3-none-any-gpu.whl";
    let images = [
        code(80),
        Entry::cubin(90, Elf::cubin(90, &[("other", &[])]).bytes()),
    ];
    let bytes = wheel("x-1.0", &claim, &[("x/lib.so", library(&images))]);
    let policy =
        "[audit]\nvariants = \"check\"\n[[audit.by-design]]\nkernel = \"*\"\nreason = \"asked for\"\n";
    let of = |policy: &str| {
        let found = findings(&[(file, bytes.clone()), ("ptxcheck.toml", policy.into())], &[]);
        found.iter().filter(|(code, ..)| code == "PTX517").count()
    };
    assert_eq!((of(""), of(policy)), (2, 0));
}
