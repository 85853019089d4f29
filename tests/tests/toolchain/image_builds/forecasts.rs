//! The forecast for libraries that nvcc builds, cell by cell.

use super::build::{Build, messages, same};

/// A kernel; one that has a body from 8.0 on; and an instance of a template that is there from 9.0 on.
const KERNELS: &str = "\
__global__ void plain(int *p) { *p = 1; }
__global__ void guarded(int *p) {
#if __CUDA_ARCH__ >= 800
  *p = 2;
#endif
}
template <int N> __global__ void chosen(int *p) { *p = N; }
#if __CUDA_ARCH__ >= 900
template __global__ void chosen<3>(int *);
#endif
void run(int *p) { plain<<<1, 1>>>(p); guarded<<<1, 1>>>(p); }
";

/// The GPUs of the tests.
const GPUS: [&str; 10] = [
    "7.0", "7.5", "8.0", "8.6", "8.7", "9.0", "10.3", "11.0", "12.0", "12.1",
];

impl Build {
    /// A shared library of the kernels, for these pairs of virtual and real target.
    fn library(&self, targets: &[(&str, &str)], flags: &str) -> Result<(), String> {
        self.write("k.cu", KERNELS)?;
        let targets: Vec<String> = targets
            .iter()
            .map(|(from, to)| format!("-gencode arch=compute_{from},code={to}"))
            .collect();
        let args = format!(
            "-shared -Xcompiler -fPIC {flags} {} k.cu -o k.so",
            targets.join(" ")
        );
        self.nvcc(&args)
    }

    /// The states of a kernel on [`GPUS`], one letter each: `E`xact, `O`lder, `J`it, `L` for jit-link, `P`artly, `U`nsure, `-`.
    fn states(&self, kernel: &str, args: &str) -> Result<String, String> {
        let document = self.audit(&format!("--gpu {} {args} k.so", GPUS.join(",")))?;
        let cells = document["forecast"].as_array().ok_or("there is no forecast")?;
        let of_kernel = cells
            .iter()
            .filter(|cell| cell["kernel"].as_str().is_some_and(|name| name.contains(kernel)));
        Ok(of_kernel
            .map(|cell| match cell["state"].as_str() {
                Some("exact") => 'E',
                Some("older") => 'O',
                Some("jit") => 'J',
                Some("jit-link") => 'L',
                Some("partly") => 'P',
                Some("unsure") => 'U',
                _ => '-',
            })
            .collect())
    }
}

/// Machine code for several targets, PTX for one of them.
pub(super) fn mixed(build: &Build) -> Result<(), String> {
    let targets = [
        ("75", "sm_75"),
        ("80", "sm_80"),
        ("90", "sm_90"),
        ("80", "compute_80"),
    ];
    build.library(&targets, "-O3")?;
    same("plain", build.states("plain", "")?.as_str(), "-EEOUEJJJJ")?;
    // The image for 9.0 alone has it.
    same("an instance", build.states("chosen", "")?.as_str(), "-----E----")?;
    // PTX of CUDA 13.5 is too new for every driver that is known.
    same(
        "an old driver",
        build.states("plain", "--driver 550")?.as_str(),
        "----U-----",
    )?;
    same(
        "driver 580",
        build.states("plain", "--cuda 13.0")?.as_str(),
        "-EEOUE----",
    )?;
    let found = build.audit("--require-gpu 7.5,12.0 k.so")?;
    let messages = messages(&found, "PTX514");
    same(
        "missing kernels",
        messages,
        vec!["kernel `void chosen<3>(int*)` does not load on 7.5, 12.0".to_owned()],
    )?;
    // Its body is in `#if __CUDA_ARCH__ >= 800`.
    let stubs =
        |args: &str| Ok::<_, String>(self::messages(&build.audit(&format!("{args} k.so"))?, "PTX515"));
    same(
        "a kernel without a body",
        stubs("--require-gpu 7.5,8.0")?,
        vec![
            "kernel `guarded(int*)` has no body in the image that 7.5 loads: it returns and does nothing"
                .to_owned(),
        ],
    )?;
    same("allowed", stubs("--require-gpu 7.5 --stubs allow")?, Vec::new())?;
    same("not loaded", stubs("--require-gpu 8.0,9.0,12.0")?, Vec::new())?;
    // A kernel that is missing by design is no finding.
    build.write(
        "ptxcheck.toml",
        "[audit]\ngpus = [\"7.5\", \"12.0\"]\n[[audit.by-design]]\nkernel = \"chosen<*\"\nreason = \"9.0 alone\"\n",
    )?;
    same(
        "by design",
        self::messages(&build.audit("--config ptxcheck.toml k.so")?, "PTX514"),
        Vec::new(),
    )
}

/// Machine code alone, for an architecture as a whole and for one by itself.
pub(super) fn real_only(build: &Build) -> Result<(), String> {
    build.library(&[("80", "sm_80"), ("90a", "sm_90a"), ("120f", "sm_120f")], "")?;
    same("plain", build.states("plain", "")?.as_str(), "--EOUE--EO")?;
    let found = build.audit("--require-gpu 7.5,8.0,11.0 k.so")?;
    let messages = messages(&found, "PTX514");
    same(
        "none loads",
        messages,
        vec![
            "the kernels `plain(int*)`, `guarded(int*)` do not load on 7.5, 11.0".to_owned(),
            "kernel `void chosen<3>(int*)` does not load on 7.5, 8.0, 11.0".to_owned(),
        ],
    )
}

/// PTX alone: for all that comes later, for a family, for one architecture.
pub(super) fn ptx_only(build: &Build) -> Result<(), String> {
    for (target, states) in [
        ("75", "-JJJJJJJJJ"),
        ("100f", "------J---"),
        ("120f", "--------JJ"),
        ("90a", "-----J----"),
    ] {
        build.library(&[(target, &format!("compute_{target}"))], "")?;
        same(target, build.states("plain", "")?.as_str(), states)?;
    }
    let found = build.audit("--require-gpu 9.0 --allow-jit 12.0 --max-jit 100 k.so")?;
    same("compiled when it is loaded", messages(&found, "PTX520").len(), 2)
}

/// Relocatable code, which the driver links where the linked machine code does not fit.
pub(super) fn relocatable(build: &Build) -> Result<(), String> {
    build.library(&[("80", "sm_80"), ("80", "compute_80")], "-rdc=true")?;
    same("with PTX", build.states("plain", "")?.as_str(), "--EOULLLLL")?;
    build.library(&[("80", "sm_80")], "-rdc=true")?;
    same("without", build.states("plain", "")?.as_str(), "--EOU-----")
}

/// Machine code from an older virtual architecture.
pub(super) fn older_virtual_target(build: &Build) -> Result<(), String> {
    build.library(&[("80", "sm_86")], "")?;
    same("plain", build.states("plain", "")?.as_str(), "---EU-----")?;
    let found = build.audit("--same-virtual-target k.so")?;
    same(
        "reported",
        messages(&found, "PTX523"),
        vec!["an image for sm_86 is compiled for compute_80".to_owned()],
    )?;
    build.library(&[("86", "sm_86")], "")?;
    same(
        "right",
        messages(&build.audit("--same-virtual-target k.so")?, "PTX523"),
        Vec::new(),
    )
}

/// Kernels of one name in two containers.
pub(super) fn several_containers(build: &Build) -> Result<(), String> {
    build.write(
        "t.h",
        "template <class T> __global__ void shared(T *p) { *p = 1; }\n",
    )?;
    for (unit, targets) in [
        ("a", "-arch=sm_80"),
        (
            "b",
            "-gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75",
        ),
    ] {
        build.write(
            &format!("{unit}.cu"),
            &format!("#include \"t.h\"\nvoid {unit}(int *p) {{ shared<int><<<1, 1>>>(p); }}\n"),
        )?;
        build.nvcc(&format!("-Xcompiler -fPIC {targets} -c {unit}.cu -o {unit}.o"))?;
    }
    build.nvcc("-shared a.o b.o -o k.so")?;
    // `-arch=sm_80` is machine code and PTX for it. On 7.5 one of the two registrations fails.
    same("shared", build.states("shared", "")?.as_str(), "-PJJUJJJJJ")
}

/// Machine code for one architecture alone, which needs none of its own, and one that does.
pub(super) fn needless(build: &Build) -> Result<(), String> {
    let told = |args: &str| Ok::<_, String>(messages(&build.audit(&format!("{args} k.so"))?, "PTX518"));
    build.library(&[("120", "sm_120"), ("120a", "sm_120a")], "")?;
    same("without a policy", told("")?, Vec::new())?;
    let found = told("--require-gpu 12.0")?;
    same("beside plain machine code", found.len(), 1)?;
    build.library(&[("120a", "sm_120a")], "")?;
    same("alone, for its own GPU", told("--require-gpu 12.0")?, Vec::new())?;
    same(
        "alone, for a later one",
        told("--require-gpu 12.0,12.1")?,
        vec![
            "an image for sm_120a needs no architecture alone: built for sm_120f they would load on 12.1"
                .to_owned(),
        ],
    )?;
    build.library(&[("120f", "sm_120f"), ("90a", "sm_90a")], "")?;
    same("of a family", told("--require-gpu 12.0,12.1")?, Vec::new())
}

/// Symbols that a library exports and should not.
pub(super) fn exported(build: &Build) -> Result<(), String> {
    build.write(
        "ptxcheck.toml",
        "[audit]\nhidden-symbols = [\"run(*\", \"never\"]\n",
    )?;
    build.library(&[("80", "sm_80")], "")?;
    let found = messages(&build.audit("--config ptxcheck.toml k.so")?, "PTX524");
    same(
        "exported",
        found,
        vec!["it exports `run(int*)`, which matches `run(*`".to_owned()],
    )?;
    build.library(&[("80", "sm_80")], "-Xcompiler -fvisibility=hidden")?;
    let found = messages(&build.audit("--config ptxcheck.toml k.so")?, "PTX524");
    same("hidden", found, Vec::new())
}
