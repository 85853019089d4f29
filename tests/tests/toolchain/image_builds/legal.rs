//! Findings about instructions that a target or a version of PTX does not have, compared with ptxas.

use std::collections::BTreeSet;
use std::process::Command;

use super::build::{Build, same};
use ptxcheck_tests::report;

/// An instruction for each row of the table.
const INSTRUCTIONS: [&str; 40] = [
    "activemask.b32 r1;",
    "alloca.u64 d3, 64, 16;",
    "barrier.cluster.arrive.aligned;",
    "bmsk.clamp.b32 r1, r2, r3;",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [r0], [r0];",
    "cp.async.ca.shared.global [r0], [d1], 16;",
    "cp.async.bulk.prefetch.L2.global [d1], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d1], [r0], 16;",
    "createpolicy.fractional.L2::evict_last.b64 d3, 1.0;",
    "discard.global.L2 [d1], 128;",
    "elect.sync _|p1, -1;",
    "fence.acq_rel.cta;",
    "fence.proxy.alias;",
    "fence.mbarrier_init.release.cluster;",
    "griddepcontrol.wait;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r1}, [r0];",
    "mapa.shared::cluster.u32 r1, r0, 0;",
    "match.any.sync.b32 r1, r2, -1;",
    "mbarrier.init.shared.b64 [r0], 1;",
    "mbarrier.try_wait.shared::cta.b64 p1, [r0], d3;",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [r0], 16;",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {f1,f2,f3,f4,f1,f2,f3,f4}, {r1,r2}, {r3,r4}, {f1,f2,f3,f4,f1,f2,f3,f4};",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1,f2,f3,f4}, {r1,r2,r3,r4}, {r5,r6}, {f1,f2,f3,f4};",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f1,f2,f3,f4}, {r1,r2}, {r3}, {f1,f2,f3,f4};",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 {f1,f2,f3,f4}, {r1,r2,r3,r4}, {r5,r6}, {f1,f2,f3,f4}, r7, {h1,h2}, r8, {h3,h4};",
    "movmatrix.sync.aligned.m8n8.trans.b16 r1, r2;",
    "multimem.ld_reduce.relaxed.gpu.global.add.u32 r1, [d1];",
    "nanosleep.u32 10;",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], r1, [r0];",
    "redux.sync.add.s32 r1, r2, -1;",
    "redux.sync.min.f32 f1, f2, -1;",
    "setmaxnreg.dec.sync.aligned.u32 40;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [r0], r1, [r0];",
    "st.bulk.weak.shared::cta [r0], d3, 0;",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [r0], {r1};",
    "tanh.approx.f32 f1, f2;",
    "tcgen05.fence::before_thread_sync;",
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [r0], d3;",
    "wgmma.fence.sync.aligned;",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r1,r2,r3,r4,r5,r6,r7,r8}, [r0];",
];

/// Targets with the first version of PTX that names them.
const TARGETS: [(&str, &str); 7] = [
    ("60", "5.0"),
    ("75", "6.3"),
    ("80", "7.0"),
    ("90", "7.8"),
    ("90a", "8.0"),
    ("100f", "8.8"),
    ("120a", "8.7"),
];

/// A version that has all of them.
const LATE: &str = "9.0";

pub(super) fn as_ptxas_says(build: &Build) -> Result<(), String> {
    let mut refused = BTreeSet::new();
    let ptxas = build.toolchain.join("nvcc/cuda/bin/ptxas");
    std::fs::create_dir(build.path("ptx")).map_err(|error| error.to_string())?;
    for (number, instruction) in INSTRUCTIONS.iter().enumerate() {
        for (target, first) in TARGETS {
            for version in [first, LATE] {
                let name = format!("ptx/{number}-{target}-{version}.ptx");
                let text = format!(
                    ".version {version}\n.target sm_{target}\n.address_size 64\n.visible .entry k()\n{{\n\
                     .reg .b16 h<9>; .reg .b32 r<20>; .reg .f32 f<20>; .reg .b64 d<9>; .reg .pred p<5>;\n\
                     {instruction}\nret;\n}}\n"
                );
                build.write(&name, &text)?;
                // The oldest target that ptxas of CUDA 13 assembles for.
                let arch = if target == "60" { "75" } else { target };
                let output = Command::new(&ptxas)
                    .arg(format!("-arch=sm_{arch}"))
                    .arg(build.path(&name))
                    .args(["-o", "/dev/null"])
                    .output()
                    .map_err(|error| error.to_string())?;
                if !output.status.success() {
                    refused.insert(name);
                }
            }
        }
    }
    let document = build.audit("ptx")?;
    let found: BTreeSet<String> = report::findings(&document)
        .iter()
        .filter(|finding| finding["code"] == "PTX516")
        .filter_map(|finding| Some(finding["location"]["file"].as_str()?.to_owned()))
        .collect();
    let wrong: Vec<&String> = found.symmetric_difference(&refused).collect();
    same("ptxas and the table", wrong, Vec::new())?;
    same(
        "instructions that are refused somewhere",
        refused.len() > 200,
        true,
    )
}
