//! Asynchronous operations by their opcodes, and which of their operands is what.
//!
//! Source: PTX ISA, Asynchronous copy; mbarrier; membar/fence; Asynchronous Warpgroup Level Matrix Instructions; TensorCore 5th
//! Generation Family Instructions. An opcode of a family that has another name there is [`AsyncOp::Unknown`].

use ptxcheck_ir::{
    AsyncAddresses, AsyncCopy, AsyncGroup, AsyncOp, AsyncValues, Completion, CopyKind, CopyWay,
    FenceDirection, MatrixAsync, MbarrierOp, ProxyFence, Scope, Space, TensorAccess, TensorMemory,
};

use super::modifiers::Modifiers;

/// The operation of an opcode, if it is asynchronous, or orders or completes such. `is_known`: the front end has a row for its name.
pub(super) fn async_op(opcode: &[u8], is_known: bool) -> Option<AsyncOp> {
    let (name, m) = Modifiers::split(opcode);
    match name {
        b"cp" => Some(copy(&m)),
        b"multimem" if m.first() == b"cp" => Some(copy(&m)),
        b"st" | b"red" if m.has("async") => store(&m, name == b"red"),
        b"mbarrier" => mbarrier(&m),
        b"fence" | b"membar" => fence(&m),
        b"barrier" if m.has("cluster") => Some(match (m.has("arrive"), m.has("wait")) {
            (true, false) => AsyncOp::ClusterArrive {
                relaxed: m.has("relaxed"),
            },
            (false, true) => AsyncOp::ClusterWait,
            _ => AsyncOp::Unknown,
        }),
        b"wgmma" => Some(match m.first() {
            b"mma_async" => AsyncOp::Matrix(MatrixAsync::Wgmma),
            b"fence" => AsyncOp::ProductFence,
            b"commit_group" => AsyncOp::Commit(AsyncGroup::Product),
            b"wait_group" => AsyncOp::Wait {
                group: AsyncGroup::Product,
                read_only: false,
                all: false,
            },
            _ => AsyncOp::Unknown,
        }),
        b"tcgen05" => tensor_core(&m),
        b"griddepcontrol" => (m.first() == b"wait").then_some(AsyncOp::GridWait),
        b"clusterlaunchcontrol" => (m.first() == b"try_cancel").then_some(AsyncOp::Copy(AsyncCopy {
            kind: CopyKind::Answer,
            way: CopyWay::ToShared,
            completion: Completion::Mbarrier,
            reduces: false,
            multicast: m.has("multicast::cluster::all"),
        })),
        // An opcode of a later ISA.
        _ if is_known => None,
        _ => (m.has("async") || m.spaces().any(is_shared)).then_some(AsyncOp::Unknown),
    }
}

const fn is_shared(space: Space) -> bool {
    matches!(space, Space::Shared | Space::SharedCluster)
}

/// `cp.async` and `cp.async.bulk` with their groups, `cp.reduce.async.bulk`, and the same after `multimem`.
fn copy(m: &Modifiers<'_>) -> AsyncOp {
    let bulk = m.has("bulk");
    let group = if bulk {
        AsyncGroup::Bulk
    } else {
        AsyncGroup::Element
    };
    if !m.has("async") {
        return AsyncOp::Unknown;
    }
    if m.has("commit_group") {
        return AsyncOp::Commit(group);
    }
    if m.has("wait_group") || m.has("wait_all") {
        return AsyncOp::Wait {
            group,
            read_only: m.has("read"),
            all: m.has("wait_all"),
        };
    }
    if m.has("mbarrier") {
        return AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies {
            increments: !m.has("noinc"),
        });
    }
    let tensor = m.has("tensor");
    let kind = match (bulk, tensor) {
        (false, _) => CopyKind::Element,
        (true, false) => CopyKind::Bulk,
        (true, true) => CopyKind::Tensor,
    };
    let mut spaces = m.spaces();
    let (to, from) = (spaces.next(), spaces.next());
    let way = match (to, from) {
        _ if m.has("prefetch") => CopyWay::Prefetch,
        (Some(to), Some(Space::Global)) if is_shared(to) => CopyWay::GlobalToShared,
        (Some(Space::Global), Some(from)) if is_shared(from) => CopyWay::SharedToGlobal,
        (Some(Space::SharedCluster), Some(Space::Shared)) => CopyWay::SharedToPeer,
        _ => return AsyncOp::Unknown,
    };
    let completion = if way == CopyWay::Prefetch {
        Completion::None
    } else if m.has("mbarrier::complete_tx::bytes") {
        Completion::Mbarrier
    } else if !bulk || m.has("bulk_group") {
        Completion::Group(group)
    } else {
        return AsyncOp::Unknown;
    };
    AsyncOp::Copy(AsyncCopy {
        kind,
        way,
        completion,
        reduces: m.has("reduce"),
        multicast: m.has("multicast::cluster"),
    })
}

/// `st.async` and `red.async` with a barrier; those to global memory (`.mmio`) are ordinary stores that nobody waits for.
fn store(m: &Modifiers<'_>, reduces: bool) -> Option<AsyncOp> {
    let has_barrier = m.has("mbarrier::complete_tx::bytes");
    has_barrier.then_some(AsyncOp::Copy(AsyncCopy {
        kind: CopyKind::Store,
        way: CopyWay::ToShared,
        completion: Completion::Mbarrier,
        reduces,
        multicast: false,
    }))
}

fn mbarrier(m: &Modifiers<'_>) -> Option<AsyncOp> {
    let arrive = |drops| MbarrierOp::Arrive {
        drops,
        expects: m.has("expect_tx"),
        leaves_open: m.has("noComplete"),
    };
    Some(AsyncOp::Mbarrier(match m.first() {
        b"init" => MbarrierOp::Init,
        b"inval" => MbarrierOp::Invalidate,
        b"arrive" => arrive(false),
        b"arrive_drop" => arrive(true),
        b"expect_tx" => MbarrierOp::ExpectTx,
        b"complete_tx" => MbarrierOp::CompleteTx,
        b"test_wait" | b"try_wait" => MbarrierOp::Wait {
            parity: m.has("parity"),
            suspends: m.first() == b"try_wait",
        },
        b"pending_count" => return None,
        _ => return Some(AsyncOp::Unknown),
    }))
}

fn fence(m: &Modifiers<'_>) -> Option<AsyncOp> {
    if m.has("mbarrier_init") {
        return Some(AsyncOp::InitFence);
    }
    if m.first() == b"proxy" {
        let direction = match (m.has("acquire"), m.has("release")) {
            (true, false) => FenceDirection::Acquire,
            (false, true) => FenceDirection::Release,
            _ => FenceDirection::Both,
        };
        let is_other = m.has("alias") || m.has_prefixed("tensormap");
        // `.async` alone is for all memories, and so is an unknown qualifier.
        let names = |space: Space| m.spaces().any(|named| named == space);
        let global = !is_other && !m.spaces().any(is_shared) && !m.has_prefixed("sync_restrict");
        return Some(AsyncOp::ProxyFence(ProxyFence {
            shared: !is_other && !names(Space::Global),
            global,
            direction,
        }));
    }
    let scope = [
        ("cta", Scope::Cta),
        ("cluster", Scope::Cluster),
        ("gl", Scope::Gpu),
        ("gpu", Scope::Gpu),
        ("sys", Scope::System),
    ];
    let scope = scope
        .into_iter()
        .find_map(|(word, scope)| m.has(word).then_some(scope));
    // A fence of a scope that is not known orders as much as any.
    Some(AsyncOp::ThreadFence(scope.unwrap_or(Scope::System)))
}

fn tensor_core(m: &Modifiers<'_>) -> Option<AsyncOp> {
    Some(match m.first() {
        b"alloc" => AsyncOp::TensorMemory(TensorMemory::Allocate {
            pair: m.has("cta_group::2"),
        }),
        b"dealloc" => AsyncOp::TensorMemory(TensorMemory::Free),
        b"relinquish_alloc_permit" => AsyncOp::TensorMemory(TensorMemory::Relinquish),
        b"mma" => AsyncOp::Matrix(MatrixAsync::Tcgen05),
        b"cp" => AsyncOp::Matrix(MatrixAsync::Copy),
        b"commit" => AsyncOp::Mbarrier(MbarrierOp::ArriveAfterProducts),
        b"ld" => AsyncOp::TensorAccess(TensorAccess::Load),
        b"st" => AsyncOp::TensorAccess(TensorAccess::Store),
        b"wait::ld" => AsyncOp::TensorAccess(TensorAccess::WaitForLoads),
        b"wait::st" => AsyncOp::TensorAccess(TensorAccess::WaitForStores),
        b"fence::before_thread_sync" => AsyncOp::TensorAccess(TensorAccess::BeforeSignal),
        b"shift" => return None,
        name if name.starts_with(b"fence::") => return None,
        _ => AsyncOp::Unknown,
    })
}

/// The operands of an operation with this opcode, whose first instruction has so many uses.
pub(super) fn operands(op: AsyncOp, opcode: &[u8], uses: usize) -> (AsyncAddresses, AsyncValues) {
    let (_, m) = Modifiers::split(opcode);
    let mut addresses = AsyncAddresses::default();
    let mut values = AsyncValues::default();
    let last = u8::try_from(uses.saturating_sub(1)).ok();
    match op {
        AsyncOp::Copy(copy) => {
            let hint = usize::from(m.has_prefixed("L2::cache_hint"));
            match (copy.kind, copy.way) {
                (CopyKind::Tensor, CopyWay::Prefetch) => addresses.tensor_map = Some(0),
                (CopyKind::Tensor, CopyWay::GlobalToShared) => {
                    addresses.destination = Some(0);
                    addresses.tensor_map = Some(1);
                }
                (CopyKind::Tensor, _) => {
                    addresses.tensor_map = Some(0);
                    addresses.source = Some(1);
                }
                (_, CopyWay::Prefetch) => addresses.source = Some(0),
                (CopyKind::Store | CopyKind::Answer, _) => addresses.destination = Some(0),
                _ => {
                    addresses.destination = Some(0);
                    addresses.source = Some(1);
                }
            }
            if copy.completion == Completion::Mbarrier {
                let behind = [addresses.destination, addresses.source, addresses.tensor_map];
                addresses.barrier = behind.into_iter().flatten().max().map(|last| last + 1);
            }
            if matches!(copy.kind, CopyKind::Element | CopyKind::Bulk) {
                values.bytes = Some(2);
            }
            // `[dst], [src], cp-size{, src-size}{, policy}`, or a predicate in its place.
            if copy.kind == CopyKind::Element && uses == 4 + hint {
                values.source_bytes = Some(3);
            }
            if m.has("cp_mask") {
                values.byte_mask = last;
            }
            if copy.multicast && copy.kind != CopyKind::Answer {
                values.mask = u8::try_from(uses.saturating_sub(1 + hint)).ok();
            }
        }
        AsyncOp::Wait { all: false, .. } => values.count = last,
        AsyncOp::Mbarrier(op) => {
            addresses.barrier = Some(0);
            let third = (uses > 2).then_some(2);
            match op {
                MbarrierOp::Init | MbarrierOp::Arrive { expects: false, .. } => values.count = third,
                MbarrierOp::Arrive { expects: true, .. } | MbarrierOp::ExpectTx | MbarrierOp::CompleteTx => {
                    values.bytes = third;
                }
                MbarrierOp::Wait { .. } => values.phase = third,
                MbarrierOp::ArriveAfterProducts => values.mask = third,
                MbarrierOp::Invalidate | MbarrierOp::ArriveAfterCopies { .. } => {}
            }
        }
        AsyncOp::TensorMemory(TensorMemory::Allocate { .. }) => {
            addresses.destination = Some(0);
            values.count = Some(2);
        }
        AsyncOp::TensorMemory(TensorMemory::Free) => values.count = last,
        _ => {}
    }
    (addresses, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(opcode: &str) -> Option<AsyncOp> {
        async_op(opcode.as_bytes(), true)
    }

    #[test]
    fn copies_say_from_where_to_where_and_how_they_end() {
        use CopyKind::{Answer, Bulk, Element, Store, Tensor};
        use CopyWay::{GlobalToShared, Prefetch, SharedToGlobal, SharedToPeer, ToShared};
        let group = Completion::Group(AsyncGroup::Bulk);
        for (opcode, kind, way, completion) in [
            (
                "cp.async.cg.shared.global.L2::128B",
                Element,
                GlobalToShared,
                Completion::Group(AsyncGroup::Element),
            ),
            (
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
                Bulk,
                GlobalToShared,
                Completion::Mbarrier,
            ),
            (
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
                Bulk,
                SharedToPeer,
                Completion::Mbarrier,
            ),
            (
                "cp.async.bulk.global.shared::cta.bulk_group",
                Bulk,
                SharedToGlobal,
                group,
            ),
            (
                "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
                Tensor,
                SharedToGlobal,
                group,
            ),
            (
                "cp.async.bulk.prefetch.tensor.2d.L2.global.tile",
                Tensor,
                Prefetch,
                Completion::None,
            ),
            (
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32",
                Store,
                ToShared,
                Completion::Mbarrier,
            ),
            (
                "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128",
                Answer,
                ToShared,
                Completion::Mbarrier,
            ),
        ] {
            let Some(AsyncOp::Copy(copy)) = op(opcode) else {
                panic!("{opcode}");
            };
            assert_eq!(
                (copy.kind, copy.way, copy.completion),
                (kind, way, completion),
                "{opcode}"
            );
        }
        let reduced = op("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32");
        assert!(matches!(reduced, Some(AsyncOp::Copy(copy)) if copy.reduces && copy.reads_shared()));
    }

    #[test]
    fn masks_stand_behind_the_cache_hint() {
        let of = |opcode: &str, uses| {
            let (_, values) = operands(op(opcode).expect("known"), opcode.as_bytes(), uses);
            (values.bytes, values.mask, values.byte_mask)
        };
        let to_global = "cp.async.bulk.global.shared::cta.bulk_group";
        assert_eq!(of(to_global, 3), (Some(2), None, None));
        assert_eq!(of(&format!("{to_global}.cp_mask"), 4), (Some(2), None, Some(3)));
        assert_eq!(
            of(&format!("{to_global}.L2::cache_hint.cp_mask"), 5),
            (Some(2), None, Some(4))
        );
        let to_cluster =
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
        assert_eq!(of(to_cluster, 4), (Some(2), Some(3), None));
        assert_eq!(
            of(&format!("{to_cluster}.L2::cache_hint"), 5),
            (Some(2), Some(3), None)
        );
    }

    #[test]
    fn fences_cover_what_they_name() {
        for (opcode, shared, global, direction) in [
            ("fence.proxy.async", true, true, FenceDirection::Both),
            ("fence.proxy.async.shared::cta", true, false, FenceDirection::Both),
            ("membar.proxy.async", true, true, FenceDirection::Both),
            ("fence.proxy.async.global", false, true, FenceDirection::Both),
            ("fence.proxy.alias", false, false, FenceDirection::Both),
            (
                "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
                true,
                false,
                FenceDirection::Release,
            ),
            (
                "fence.proxy.tensormap::generic.acquire.gpu",
                false,
                false,
                FenceDirection::Acquire,
            ),
        ] {
            let fence = ProxyFence {
                shared,
                global,
                direction,
            };
            assert_eq!(op(opcode), Some(AsyncOp::ProxyFence(fence)), "{opcode}");
        }
        assert_eq!(
            op("fence.mbarrier_init.release.cluster"),
            Some(AsyncOp::InitFence)
        );
        assert_eq!(op("fence.acq_rel.gpu"), Some(AsyncOp::ThreadFence(Scope::Gpu)));
        assert_eq!(op("membar.cta"), Some(AsyncOp::ThreadFence(Scope::Cta)));
    }

    #[test]
    fn others_are_by_their_names() {
        for (opcode, wanted) in [
            (
                "cp.async.wait_all",
                AsyncOp::Wait {
                    group: AsyncGroup::Element,
                    read_only: false,
                    all: true,
                },
            ),
            (
                "cp.async.bulk.wait_group.read",
                AsyncOp::Wait {
                    group: AsyncGroup::Bulk,
                    read_only: true,
                    all: false,
                },
            ),
            (
                "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64",
                AsyncOp::Mbarrier(MbarrierOp::Arrive {
                    drops: false,
                    expects: true,
                    leaves_open: false,
                }),
            ),
            (
                "mbarrier.try_wait.parity.shared::cta.b64",
                AsyncOp::Mbarrier(MbarrierOp::Wait {
                    parity: true,
                    suspends: true,
                }),
            ),
            (
                "cp.async.mbarrier.arrive.noinc.shared.b64",
                AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { increments: false }),
            ),
            (
                "barrier.cluster.arrive.relaxed",
                AsyncOp::ClusterArrive { relaxed: true },
            ),
            (
                "tcgen05.dealloc.cta_group::1.sync.aligned.b32",
                AsyncOp::TensorMemory(TensorMemory::Free),
            ),
            (
                "tcgen05.wait::ld.sync.aligned",
                AsyncOp::TensorAccess(TensorAccess::WaitForLoads),
            ),
            (
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
                AsyncOp::Matrix(MatrixAsync::Wgmma),
            ),
            ("cp.async.frobnicate", AsyncOp::Unknown),
        ] {
            assert_eq!(op(opcode), Some(wanted), "{opcode}");
        }
        for opcode in [
            "ld.shared.u32",
            "st.async.weak.global.u32",
            "bar.sync",
            "tcgen05.shift.cta_group::1.down",
            "tcgen05.fence::after_thread_sync",
            "add.u32",
        ] {
            assert_eq!(op(opcode), None, "{opcode}");
        }
        // Opcodes of later ISAs.
        assert_eq!(async_op(b"fabric.copy.async", false), Some(AsyncOp::Unknown));
        assert_eq!(async_op(b"frob.shared::cta.b32", false), Some(AsyncOp::Unknown));
        assert_eq!(async_op(b"frob.f32", false), None);
    }
}
