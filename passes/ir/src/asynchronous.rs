//! Asynchronous copies, the barriers in memory that they complete on, and the fences that order them: a list beside the
//! instructions of a body, in their order.
//!
//! The instructions themselves are what they are without this list: an access for each address, in the order of the text, or one
//! opaque operation. An entry names the first of them and says which address, and which value of the first instruction, is what.
//! Source: PTX ISA, Data Movement and Conversion Instructions (Asynchronous copy), Parallel Synchronization and Communication
//! Instructions (mbarrier, membar/fence), Asynchronous Warpgroup Level Matrix Instructions, TensorCore 5th Generation.

use bitflags::bitflags;

use super::index::InstructionId;

/// The group that a thread gathers operations in, to wait for them. Each kind has groups of its own, counted by thread (by warp
/// for products).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncGroup {
    /// Of `cp.async`.
    Element,
    /// Of `cp.async.bulk` and its like.
    Bulk,
    /// Of `wgmma.mma_async`.
    Product,
}

/// The instruction that makes a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// `cp.async`: 4, 8 or 16 bytes, performed in the generic proxy.
    Element,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, performed in the async proxy as are all that follow.
    Bulk,
    /// The same with a tensor map.
    Tensor,
    /// `st.async`, `red.async` with a barrier: a value that the thread has.
    Store,
    /// `clusterlaunchcontrol.try_cancel`: the hardware's answer.
    Answer,
}

/// The memories that a copy reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyWay {
    /// Global memory to shared memory, of one CTA or several.
    GlobalToShared,
    /// Shared memory to global memory.
    SharedToGlobal,
    /// Shared memory to that of a CTA of the cluster.
    SharedToPeer,
    /// Registers, or hardware, to the shared memory of a CTA of the cluster.
    ToShared,
    /// Global memory to the cache.
    Prefetch,
}

/// The way in which the end of a copy is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// By a group of its thread.
    Group(AsyncGroup),
    /// By bytes that arrive at a barrier in shared memory.
    Mbarrier,
    /// Not at all: prefetches.
    None,
}

/// An asynchronous copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsyncCopy {
    /// The instruction.
    pub kind: CopyKind,
    /// From where to where.
    pub way: CopyWay,
    /// The way in which its end is known.
    pub completion: Completion,
    /// It combines what it brings with what is there.
    pub reduces: bool,
    /// It writes into several CTAs of the cluster.
    pub multicast: bool,
}

impl AsyncCopy {
    /// True if it reads shared memory through the async proxy.
    #[must_use]
    pub const fn reads_shared(self) -> bool {
        matches!(self.way, CopyWay::SharedToGlobal | CopyWay::SharedToPeer)
    }

    /// True if it writes shared memory.
    #[must_use]
    pub const fn writes_shared(self) -> bool {
        matches!(
            self.way,
            CopyWay::GlobalToShared | CopyWay::SharedToPeer | CopyWay::ToShared
        )
    }
}

/// An operation on a barrier in shared memory (`mbarrier`). The barrier is [`AsyncAddresses::barrier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// `init`; the number of arrivals is [`AsyncValues::count`].
    Init,
    /// `inval`
    Invalidate,
    /// `arrive`; with [`AsyncValues::count`] arrivals, or 1.
    Arrive {
        /// `arrive_drop`: no more of its arrivals are expected in later phases.
        drops: bool,
        /// `.expect_tx`: [`AsyncValues::bytes`] are expected besides.
        expects: bool,
        /// `.noComplete`
        leaves_open: bool,
    },
    /// `expect_tx`, of [`AsyncValues::bytes`].
    ExpectTx,
    /// `complete_tx`, of [`AsyncValues::bytes`].
    CompleteTx,
    /// `test_wait`, `try_wait`: a predicate that is true once the phase is complete.
    Wait {
        /// [`AsyncValues::phase`] is the phase's parity, not its state.
        parity: bool,
        /// `try_wait`: it may suspend the thread for some time.
        suspends: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives once the thread's `cp.async` so far are complete.
    ArriveAfterCopies {
        /// The pending count grows by one first (without `.noinc`).
        increments: bool,
    },
    /// `tcgen05.commit`: arrives once the thread's operations of tensor cores so far are complete.
    ArriveAfterProducts,
}

/// A direction in which a fence orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceDirection {
    /// Both.
    Both,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
}

/// A fence between the generic proxy and another one. One of aliases or tensor maps covers neither memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProxyFence {
    /// It orders accesses of shared memory in the generic and the async proxy.
    pub shared: bool,
    /// It orders accesses of global memory in the generic and the async proxy.
    pub global: bool,
    /// Its direction.
    pub direction: FenceDirection,
}

/// The threads that a fence or a strong access synchronises with (PTX ISA, Memory Consistency Model, Scope).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Scope {
    /// LLVM's `singlethread`: the thread itself alone.
    Thread,
    Cta,
    Cluster,
    Gpu,
    System,
}

/// An operation of tensor cores that reads shared memory by descriptors, through the async proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixAsync {
    /// `wgmma.mma_async`
    Wgmma,
    /// `tcgen05.mma`
    Tcgen05,
    /// `tcgen05.cp`
    Copy,
}

/// An operation on allocations of tensor memory; columns are [`AsyncValues::count`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorMemory {
    /// `alloc`; the address is written to [`AsyncAddresses::destination`].
    Allocate {
        /// `.cta_group::2`: in both CTAs of a pair.
        pair: bool,
    },
    /// `dealloc`
    Free,
    /// `relinquish_alloc_permit`
    Relinquish,
}

/// An access of a thread to tensor memory, or what orders such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorAccess {
    /// `tcgen05.ld`
    Load,
    /// `tcgen05.st`
    Store,
    /// `tcgen05.wait::ld`: for all loads of the thread.
    WaitForLoads,
    /// `tcgen05.wait::st`: for all stores of the thread.
    WaitForStores,
    /// `tcgen05.fence::before_thread_sync`, which comes before a signal to other threads.
    BeforeSignal,
}

/// An asynchronous operation, or one that orders or completes such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncOp {
    /// A copy.
    Copy(AsyncCopy),
    /// The end of a group.
    Commit(AsyncGroup),
    /// A wait until at most [`AsyncValues::count`] groups of the thread are under way.
    Wait {
        /// The kind of groups.
        group: AsyncGroup,
        /// `.read`: for the copies' reads only.
        read_only: bool,
        /// `cp.async.wait_all`: for all copies, in groups or not.
        all: bool,
    },
    /// An operation on a barrier in shared memory.
    Mbarrier(MbarrierOp),
    /// A fence between proxies.
    ProxyFence(ProxyFence),
    /// `fence.mbarrier_init.release.cluster`: orders earlier initialisations of barriers by the same thread.
    InitFence,
    /// A fence between threads: `membar`, `fence.acq_rel`, `fence.sc`, and LLVM's `fence`.
    ThreadFence(Scope),
    /// An arrival at the barrier of the cluster, which releases unless it is relaxed.
    ClusterArrive {
        /// `.relaxed`
        relaxed: bool,
    },
    /// A wait at the barrier of the cluster.
    ClusterWait,
    /// An operation of tensor cores.
    Matrix(MatrixAsync),
    /// `wgmma.fence`: orders accesses of registers and matrices of products.
    ProductFence,
    /// Allocations of tensor memory.
    TensorMemory(TensorMemory),
    /// Accesses to tensor memory.
    TensorAccess(TensorAccess),
    /// `griddepcontrol.wait`: until the grids that this one depends on have ended, and what they have written is there.
    GridWait,
    /// An opcode that is not known and by its name is of this kind: it may do anything that these do.
    Unknown,
}

bitflags! {
    /// A set of [`AsyncOp`]: shows at once whether a body has one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AsyncKinds: u16 {
        /// [`AsyncOp::Copy`]
        const COPY = 1;
        /// [`AsyncOp::Commit`]
        const COMMIT = 1 << 1;
        /// [`AsyncOp::Wait`]
        const WAIT = 1 << 2;
        /// [`AsyncOp::Mbarrier`]
        const MBARRIER = 1 << 3;
        /// [`AsyncOp::ProxyFence`]
        const PROXY_FENCE = 1 << 4;
        /// [`AsyncOp::InitFence`]
        const INIT_FENCE = 1 << 5;
        /// [`AsyncOp::ThreadFence`]
        const THREAD_FENCE = 1 << 6;
        /// [`AsyncOp::ClusterArrive`], [`AsyncOp::ClusterWait`]
        const CLUSTER = 1 << 7;
        /// [`AsyncOp::Matrix`], [`AsyncOp::ProductFence`]
        const MATRIX = 1 << 8;
        /// [`AsyncOp::TensorMemory`]
        const TENSOR_MEMORY = 1 << 9;
        /// [`AsyncOp::Unknown`]
        const UNKNOWN = 1 << 10;
        /// [`AsyncOp::TensorAccess`]
        const TENSOR_ACCESS = 1 << 11;
        /// [`AsyncOp::GridWait`]
        const GRID_WAIT = 1 << 12;
    }
}

impl AsyncKinds {
    /// The member of the set that an operation is.
    #[must_use]
    pub const fn of(op: AsyncOp) -> Self {
        match op {
            AsyncOp::Copy(_) => Self::COPY,
            AsyncOp::Commit(_) => Self::COMMIT,
            AsyncOp::Wait { .. } => Self::WAIT,
            AsyncOp::Mbarrier(_) => Self::MBARRIER,
            AsyncOp::ProxyFence(_) => Self::PROXY_FENCE,
            AsyncOp::InitFence => Self::INIT_FENCE,
            AsyncOp::ThreadFence(_) => Self::THREAD_FENCE,
            AsyncOp::ClusterArrive { .. } | AsyncOp::ClusterWait => Self::CLUSTER,
            AsyncOp::Matrix(_) | AsyncOp::ProductFence => Self::MATRIX,
            AsyncOp::TensorMemory(_) => Self::TENSOR_MEMORY,
            AsyncOp::TensorAccess(_) => Self::TENSOR_ACCESS,
            AsyncOp::GridWait => Self::GRID_WAIT,
            AsyncOp::Unknown => Self::UNKNOWN,
        }
    }
}

/// The addresses of an operation: for each, the number of its access, counted from the operation's first instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct AsyncAddresses {
    pub destination: Option<u8>,
    pub source: Option<u8>,
    pub tensor_map: Option<u8>,
    pub barrier: Option<u8>,
}

/// The values of an operation: for each, its number among the uses of the operation's first instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AsyncValues {
    /// Bytes that a copy writes, or that are expected at or arrive at a barrier.
    pub bytes: Option<u8>,
    /// Bytes that a `cp.async` reads: those after them are written as zeros.
    pub source_bytes: Option<u8>,
    /// Arrivals, groups that may be under way, or columns of tensor memory.
    pub count: Option<u8>,
    /// The mask of the CTAs that a copy writes into.
    pub mask: Option<u8>,
    /// The mask of the bytes of each 16 that a copy writes.
    pub byte_mask: Option<u8>,
    /// The parity, or the state, of the phase that is waited for.
    pub phase: Option<u8>,
}

/// An entry of [`super::Body::asynchronous`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asynchronous {
    /// The operation.
    pub op: AsyncOp,
    /// The first instruction of its statement.
    pub instruction: InstructionId,
    /// Its addresses.
    pub addresses: AsyncAddresses,
    /// Its values.
    pub values: AsyncValues,
}

impl Asynchronous {
    /// The access with one of its addresses.
    #[must_use]
    pub fn access(&self, number: Option<u8>) -> Option<InstructionId> {
        Some(InstructionId::new(
            self.instruction.index() + usize::from(number?),
        ))
    }

    /// The access with its destination.
    #[must_use]
    pub fn destination(&self) -> Option<InstructionId> {
        self.access(self.addresses.destination)
    }

    /// The access with its source.
    #[must_use]
    pub fn source(&self) -> Option<InstructionId> {
        self.access(self.addresses.source)
    }

    /// The access with its tensor map.
    #[must_use]
    pub fn tensor_map(&self) -> Option<InstructionId> {
        self.access(self.addresses.tensor_map)
    }

    /// The access with its barrier.
    #[must_use]
    pub fn barrier(&self) -> Option<InstructionId> {
        self.access(self.addresses.barrier)
    }

    /// The same with instructions that stand `by` further on.
    #[must_use]
    pub fn moved(self, by: usize) -> Self {
        Self {
            instruction: InstructionId::new(self.instruction.index() + by),
            ..self
        }
    }
}
