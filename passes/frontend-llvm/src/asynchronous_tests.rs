//! Asynchronous operations of LLVM IR, as intrinsics and in inline assembly: the same list.

use super::with_module;
use ptxcheck_ir::{AsyncOp, Completion, CopyWay, MbarrierOp, Value};

/// The operations of a function with these declarations and this body, with what a closure says of each.
fn all(declarations: &str, code: &str) -> Vec<String> {
    let text = format!(
        "target datalayout = \"e-p3:32:32-p6:32:32-i64:64\"\n{declarations}\ndefine void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, ptr %m, i32 %n) {{\n{code}\n  ret void\n}}"
    );
    with_module(text.as_bytes(), |module| {
        ptxcheck_ir::verify(module).unwrap();
        let (_, _, body) = module.bodies().next().unwrap();
        let value = |one, number| match body.async_value(one, number) {
            Some(Value::Integer(number)) => number.to_string(),
            Some(_) => "?".to_owned(),
            None => "-".to_owned(),
        };
        body.asynchronous
            .iter()
            .map(|one| match one.op {
                AsyncOp::Copy(copy) => {
                    assert!(one.source().is_some() || one.tensor_map().is_some());
                    assert_eq!(one.barrier().is_some(), copy.completion == Completion::Mbarrier);
                    assert_eq!(
                        one.destination().is_some(),
                        copy.way != CopyWay::Prefetch && !(one.tensor_map().is_some() && copy.reads_shared())
                    );
                    let mask = one.values.byte_mask;
                    let mask = mask.map(|_| format!(" of {}", value(one, mask)));
                    format!(
                        "{:?} {}{}",
                        copy.way,
                        value(one, one.values.bytes),
                        mask.unwrap_or_default()
                    )
                }
                AsyncOp::Mbarrier(MbarrierOp::Init) => {
                    assert!(one.barrier().is_some());
                    format!("init {}", value(one, one.values.count))
                }
                AsyncOp::Wait { .. } => format!("wait {}", value(one, one.values.count)),
                op => format!("{op:?}"),
            })
            .collect()
    })
    .unwrap()
}

#[test]
fn intrinsics_have_their_operands() {
    let declarations = "
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1), ptr addrspace(3), i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global.bytemask(ptr addrspace(1), ptr addrspace(3), i32, i64, i1, i16)
declare void @llvm.nvvm.membar.gl()
";
    let found = all(
        declarations,
        "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %s, i32 1)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %g, ptr addrspace(3) %s, i32 %n, i64 0, i1 false)
  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global.bytemask(ptr addrspace(1) %g, ptr addrspace(3) %s, i32 64, i64 0, i1 false, i16 240)
  call void @llvm.nvvm.membar.gl()",
    );
    assert_eq!(
        found,
        [
            "init 1",
            "GlobalToShared 16",
            "Commit(Element)",
            "wait 1",
            "SharedToGlobal ?",
            "SharedToGlobal 64 of 240",
            "ThreadFence(Gpu)"
        ]
    );
}

#[test]
fn assembly_has_them_too() {
    let found = all(
        "",
        "  call void asm sideeffect \"fence.proxy.async.shared::cta;\", \"~{memory}\"()
  %a = ptrtoint ptr addrspace(3) %s to i32
  call void asm sideeffect \"cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;\", \"l,r,n,~{memory}\"(ptr addrspace(1) %g, i32 %a, i32 256)
  call void asm sideeffect \"cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\", \"~{memory}\"()
  call void asm sideeffect \"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra L; }\", \"r,r,~{memory}\"(i32 %a, i32 0)",
    );
    assert_eq!(
        found,
        [
            "ProxyFence(ProxyFence { shared: true, global: false, direction: Both })",
            "SharedToGlobal 256",
            "Commit(Bulk)",
            "wait 0",
            "Mbarrier(Wait { parity: true, suspends: true })"
        ]
    );
}
