//! LLVM's intrinsics for asynchronous copies, barriers in memory, fences and tensor cores, by name (LLVM, IntrinsicsNVVM.td): the
//! operation of each, and which operand is what.
//!
//! An intrinsic becomes an opaque instruction with all operands, then an access for each pointer among them, in order: the
//! addresses count those. Points and underscores are the same here, since older spellings have points for all of them.

use ptxcheck_ir::{
    AsyncAddresses, AsyncCopy, AsyncGroup, AsyncOp, AsyncValues, Completion, CopyKind, CopyWay,
    FenceDirection, MatrixAsync, MbarrierOp, ProxyFence, Scope, TensorAccess, TensorMemory, Value,
};

/// An operation and its operands.
pub(super) struct Decoded {
    pub(super) op: AsyncOp,
    pub(super) addresses: AsyncAddresses,
    pub(super) values: AsyncValues,
    /// A value that the name states, which becomes the last use.
    pub(super) named: Option<i64>,
}

impl Decoded {
    fn of(op: AsyncOp) -> Self {
        Self {
            op,
            addresses: AsyncAddresses::default(),
            values: AsyncValues::default(),
            named: None,
        }
    }
}

/// The words of a name after `llvm.nvvm.`.
struct Words<'n>(Vec<&'n str>);

impl Words<'_> {
    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    /// True if the name contains these words in a row.
    fn have(&self, words: &[&str]) -> bool {
        self.0.windows(words.len()).any(|window| window == words)
    }

    fn at(&self, place: usize) -> &str {
        self.0.get(place).copied().unwrap_or_default()
    }
}

/// The operation of an intrinsic, from its name after `llvm.nvvm.` and its arguments; `None` for one that is not listed.
pub(super) fn decoded(name: &str, passed: &[Value]) -> Option<Decoded> {
    let words = Words(name.split(['.', '_']).collect());
    match words.at(0) {
        "cp" => Some(copy(&words, passed)),
        "mbarrier" => mbarrier(&words, passed),
        "fence" | "membar" => Some(Decoded::of(fence(&words))),
        "tcgen05" => tensor_core(&words, passed),
        "wgmma" => Some(product(&words)),
        "griddepcontrol" => (words.at(1) == "wait").then(|| Decoded::of(AsyncOp::GridWait)),
        "barrier" if words.has("cluster") => Some(Decoded::of(if words.has("arrive") {
            AsyncOp::ClusterArrive {
                relaxed: words.has("relaxed"),
            }
        } else {
            AsyncOp::ClusterWait
        })),
        _ => None,
    }
}

fn copy(words: &Words<'_>, passed: &[Value]) -> Decoded {
    let bulk = words.has("bulk");
    let group = if bulk {
        AsyncGroup::Bulk
    } else {
        AsyncGroup::Element
    };
    if words.have(&["commit", "group"]) {
        return Decoded::of(AsyncOp::Commit(group));
    }
    if words.has("wait") {
        let all = words.has("all");
        let mut wait = Decoded::of(AsyncOp::Wait {
            group,
            read_only: words.has("read"),
            all,
        });
        wait.values.count = (!all).then_some(0);
        return wait;
    }
    if words.has("mbarrier") {
        let mut arrive = Decoded::of(AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies {
            increments: !words.has("noinc"),
        }));
        arrive.addresses.barrier = Some(1);
        return arrive;
    }
    if !bulk {
        return element(words, passed);
    }
    if words.has("tensor") {
        tensor(words, passed)
    } else {
        bulk_copy(words, passed)
    }
}

/// `cp.async.ca.shared.global.16(dst, src)`, and with `.s` the bytes that are read.
fn element(words: &Words<'_>, passed: &[Value]) -> Decoded {
    let mut copy = Decoded::of(AsyncOp::Copy(AsyncCopy {
        kind: CopyKind::Element,
        way: CopyWay::GlobalToShared,
        completion: Completion::Group(AsyncGroup::Element),
        reduces: false,
        multicast: false,
    }));
    let bytes = words.0.iter().find_map(|word| word.parse().ok());
    let Some(bytes) = bytes.filter(|_| words.have(&["shared", "global"])) else {
        return Decoded::of(AsyncOp::Unknown);
    };
    copy.addresses.destination = Some(1);
    copy.addresses.source = Some(2);
    copy.named = Some(bytes);
    copy.values.bytes = u8::try_from(passed.len()).ok();
    copy.values.source_bytes = words.has("s").then_some(2);
    copy
}

fn bulk_copy(words: &Words<'_>, passed: &[Value]) -> Decoded {
    let (way, completion, addresses, bytes) = if words.has("prefetch") {
        let addresses = AsyncAddresses {
            source: Some(1),
            ..AsyncAddresses::default()
        };
        (CopyWay::Prefetch, Completion::None, addresses, 1)
    } else if words.have(&["to", "global"]) {
        let addresses = AsyncAddresses {
            destination: Some(1),
            source: Some(2),
            ..AsyncAddresses::default()
        };
        let completion = Completion::Group(AsyncGroup::Bulk);
        (CopyWay::SharedToGlobal, completion, addresses, 2)
    } else {
        let way = match (words.have(&["global", "to"]), words.have(&["to", "cluster"])) {
            (true, _) => CopyWay::GlobalToShared,
            (_, true) => CopyWay::SharedToPeer,
            _ => return Decoded::of(AsyncOp::Unknown),
        };
        let addresses = AsyncAddresses {
            destination: Some(1),
            barrier: Some(2),
            source: Some(3),
            ..AsyncAddresses::default()
        };
        (way, Completion::Mbarrier, addresses, 3)
    };
    let multicast = words.have(&["global", "to", "shared", "cluster"])
        && !matches!(passed.get(6), Some(Value::Integer(0)));
    let mut copy = Decoded::of(AsyncOp::Copy(AsyncCopy {
        kind: CopyKind::Bulk,
        way,
        completion,
        reduces: false,
        multicast,
    }));
    copy.addresses = addresses;
    copy.values.bytes = Some(bytes);
    copy.values.mask = multicast.then_some(4);
    copy.values.byte_mask = words.has("bytemask").then_some(5);
    copy
}

fn tensor(words: &Words<'_>, passed: &[Value]) -> Decoded {
    let mut addresses = AsyncAddresses::default();
    let (way, completion) = if words.has("prefetch") {
        addresses.tensor_map = Some(1);
        (CopyWay::Prefetch, Completion::None)
    } else if words.has("g2s") {
        addresses.destination = Some(1);
        addresses.barrier = Some(2);
        addresses.tensor_map = Some(3);
        (CopyWay::GlobalToShared, Completion::Mbarrier)
    } else if words.has("s2g") || words.has("reduce") {
        addresses.source = Some(1);
        addresses.tensor_map = Some(2);
        (CopyWay::SharedToGlobal, Completion::Group(AsyncGroup::Bulk))
    } else {
        return Decoded::of(AsyncOp::Unknown);
    };
    // The last three operands of one to a cluster: has a mask, has a cache hint, group of CTAs; in front of them the two.
    let count = passed.len();
    let flag = count.checked_sub(3).and_then(|at| passed.get(at));
    let multicast = words.has("g2s") && !words.have(&["g2s", "cta"]) && flag != Some(&Value::Integer(0));
    let mut copy = Decoded::of(AsyncOp::Copy(AsyncCopy {
        kind: CopyKind::Tensor,
        way,
        completion,
        reduces: words.has("reduce"),
        multicast,
    }));
    copy.addresses = addresses;
    copy.values.mask = count
        .checked_sub(5)
        .filter(|_| multicast)
        .and_then(|at| u8::try_from(at).ok());
    copy
}

fn mbarrier(words: &Words<'_>, passed: &[Value]) -> Option<Decoded> {
    let second = (passed.len() > 1).then_some(1);
    let mut values = AsyncValues::default();
    let op = match words.at(1) {
        "init" => {
            values.count = second;
            MbarrierOp::Init
        }
        "inval" => MbarrierOp::Invalidate,
        "arrive" => {
            let expects = words.have(&["expect", "tx"]);
            if expects {
                values.bytes = second;
            } else {
                values.count = second;
            }
            MbarrierOp::Arrive {
                drops: words.has("drop"),
                expects,
                leaves_open: words.has("noComplete"),
            }
        }
        "expect" | "complete" => {
            values.bytes = second;
            if words.at(1) == "expect" {
                MbarrierOp::ExpectTx
            } else {
                MbarrierOp::CompleteTx
            }
        }
        "test" | "try" => {
            values.phase = second;
            MbarrierOp::Wait {
                parity: words.has("parity"),
                suspends: words.at(1) == "try",
            }
        }
        "pending" => return None,
        _ => return Some(Decoded::of(AsyncOp::Unknown)),
    };
    let mut decoded = Decoded::of(AsyncOp::Mbarrier(op));
    decoded.addresses.barrier = Some(1);
    decoded.values = values;
    Some(decoded)
}

fn fence(words: &Words<'_>) -> AsyncOp {
    if words.have(&["mbarrier", "init"]) {
        return AsyncOp::InitFence;
    }
    if words.has("proxy") {
        let is_other = words.has("alias") || words.has("tensormap");
        let is_global = words.has("global");
        let is_shared = words.has("shared") || words.has("space");
        return AsyncOp::ProxyFence(ProxyFence {
            shared: !is_other && !is_global,
            global: !is_other && !is_shared,
            direction: match (words.has("acquire"), words.has("release")) {
                (true, false) => FenceDirection::Acquire,
                (false, true) => FenceDirection::Release,
                _ => FenceDirection::Both,
            },
        });
    }
    let scope = match words.0.last().copied() {
        Some("cta") => Scope::Cta,
        Some("cluster") => Scope::Cluster,
        Some("gl") => Scope::Gpu,
        _ => Scope::System,
    };
    AsyncOp::ThreadFence(scope)
}

fn tensor_core(words: &Words<'_>, passed: &[Value]) -> Option<Decoded> {
    let last = u8::try_from(passed.len().saturating_sub(1)).ok();
    let mut decoded = Decoded::of(match words.at(1) {
        "alloc" => AsyncOp::TensorMemory(TensorMemory::Allocate {
            pair: words.has("cg2"),
        }),
        "dealloc" => AsyncOp::TensorMemory(TensorMemory::Free),
        "relinq" | "relinquish" => AsyncOp::TensorMemory(TensorMemory::Relinquish),
        "mma" => AsyncOp::Matrix(MatrixAsync::Tcgen05),
        "cp" => AsyncOp::Matrix(MatrixAsync::Copy),
        "commit" => AsyncOp::Mbarrier(MbarrierOp::ArriveAfterProducts),
        "ld" => AsyncOp::TensorAccess(TensorAccess::Load),
        "st" => AsyncOp::TensorAccess(TensorAccess::Store),
        "wait" if words.at(2) == "ld" => AsyncOp::TensorAccess(TensorAccess::WaitForLoads),
        "wait" if words.at(2) == "st" => AsyncOp::TensorAccess(TensorAccess::WaitForStores),
        "fence" if words.at(2) == "before" => AsyncOp::TensorAccess(TensorAccess::BeforeSignal),
        "shift" | "fence" => return None,
        _ => AsyncOp::Unknown,
    });
    match decoded.op {
        AsyncOp::TensorMemory(TensorMemory::Allocate { .. }) => {
            decoded.addresses.destination = Some(1);
            decoded.values.count = last;
        }
        AsyncOp::TensorMemory(TensorMemory::Free) => decoded.values.count = last,
        AsyncOp::Mbarrier(_) => {
            decoded.addresses.barrier = Some(1);
            decoded.values.mask = words.has("mc").then_some(1);
        }
        _ => {}
    }
    Some(decoded)
}

fn product(words: &Words<'_>) -> Decoded {
    let group = AsyncGroup::Product;
    match words.at(1) {
        "fence" => Decoded::of(AsyncOp::ProductFence),
        "commit" => Decoded::of(AsyncOp::Commit(group)),
        "wait" => {
            let mut wait = Decoded::of(AsyncOp::Wait {
                group,
                read_only: false,
                all: false,
            });
            wait.values.count = Some(0);
            wait
        }
        "mma" => Decoded::of(AsyncOp::Matrix(MatrixAsync::Wgmma)),
        _ => Decoded::of(AsyncOp::Unknown),
    }
}
