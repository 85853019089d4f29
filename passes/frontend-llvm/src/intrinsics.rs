//! LLVM's intrinsics, by name: `llvm.nvvm.*` in the spellings of LLVM and of NVVM IR, and the general ones that
//! matter (LLVM, User Guide for NVPTX; NVVM IR Specification).
//!
//! Order of operands: the member mask comes first in all collectives but `redux`, where it comes last.

use super::asynchronous::{Decoded, decoded};
use super::body::Lowering;
use super::callees::Intrinsic;
use super::raw::User;
use super::types::Shape;
use ptxcheck_frontend_ptx::matrix_rows;
use ptxcheck_ir::{
    Access, AccessKind, Asynchronous, Barrier, BinaryOp, Collective, InstructionId, Match, Matrix,
    MemberMask, Op, RegisterChange, Semantics, Shuffle, Space, UnaryOp, Value, Vote,
};

impl<'m> Lowering<'_, '_, 'm> {
    /// A call of an intrinsic. False where it does not come back.
    pub(super) fn intrinsic(&mut self, call: User<'m>, intrinsic: Intrinsic<'m>) -> bool {
        match intrinsic {
            Intrinsic::Nothing => {}
            Intrinsic::Identity => self.compute(call, Op::Copy, 1),
            Intrinsic::Special(value) => {
                let result = self.result(call);
                self.emit_lists(Op::Copy, result.as_slice(), &[value]);
            }
            Intrinsic::Nvvm(name) => return self.nvvm(call, name),
            Intrinsic::Other => self.other(call),
            Intrinsic::General(name) => match name.split('.').next().unwrap_or_default() {
                "trap" | "ubsantrap" => {
                    self.emit(Op::Trap, &[], &[]);
                    return false;
                }
                "assume" => {
                    let condition = self.operand(call, 0);
                    // Operand bundles beside the condition `true` are about pointers.
                    if !matches!(condition, Value::Integer(_)) {
                        self.emit(Op::Assume, &[], &[condition]);
                    }
                }
                "memcpy" | "memmove" => self.memory_copy(call, true),
                "memset" => self.memory_copy(call, false),
                stem => self.arithmetic(call, stem),
            },
        }
        true
    }

    fn operand(&mut self, call: User<'m>, number: u32) -> Value {
        match call.operand(number).filter(|_| number < call.arguments()) {
            Some(operand) => self.value(operand),
            None => Value::Unknown,
        }
    }

    fn all(&mut self, call: User<'m>) -> Vec<Value> {
        let mut uses = Vec::with_capacity(5);
        self.append(call, &mut uses);
        uses
    }

    /// Adds the operands that a call passes to a list.
    pub(super) fn append(&mut self, call: User<'m>, uses: &mut Vec<Value>) {
        for number in 0..call.arguments() {
            let operand = call.operand(number);
            uses.push(operand.map_or(Value::Unknown, |operand| self.value(operand)));
        }
    }

    /// The register of the result, unless there is none.
    fn result(&mut self, call: User<'m>) -> Option<Value> {
        let shape = self.shape(call.ty());
        self.result_of(call, shape)
    }

    fn result_of(&mut self, call: User<'m>, shape: Shape) -> Option<Value> {
        (!shape.is_void).then(|| Value::Register(self.defined(call, shape.bits)))
    }

    /// Adds the registers of the results to a list, where those are a structure: its parts.
    pub(super) fn results(&mut self, call: User<'m>, results: &mut Vec<Value>) {
        let ty = call.ty();
        let shape = self.shape(ty);
        let fields = if shape.is_aggregate { ty.fields() } else { 0 };
        if fields == 0 || fields as usize > crate::limits::MAX_AGGREGATE_PARTS {
            return results.extend(self.result_of(call, shape));
        }
        let first = results.len();
        for number in 0..fields {
            let bits = ty.field(number).map_or(0, |field| self.bits(field));
            results.push(Value::Register(self.fresh(bits)));
        }
        self.scratch.parts.insert(call.value(), results[first..].to_vec());
    }

    fn all_results(&mut self, call: User<'m>) -> Vec<Value> {
        let mut results = Vec::new();
        self.results(call, &mut results);
        results
    }

    /// An instruction of the call's operands, or the first of them.
    fn compute(&mut self, call: User<'m>, op: Op, count: usize) {
        let mut uses = std::mem::take(&mut self.scratch.uses);
        uses.clear();
        self.append(call, &mut uses);
        uses.truncate(count);
        if op == Op::Opaque && self.shape(call.ty()).is_aggregate {
            let results = self.all_results(call);
            self.emit_lists(op, &results, &uses);
        } else {
            let result = self.result(call);
            self.emit_lists(op, result.as_slice(), &uses);
        }
        self.scratch.uses = uses;
    }

    /// The destination is written, the source read; how much, and what, is not followed.
    fn memory_copy(&mut self, call: User<'m>, has_source: bool) {
        let semantics = match self.operand(call, 3) {
            Value::Integer(1) => Semantics::Volatile,
            _ => Semantics::Weak,
        };
        let sides = [(0, AccessKind::Store), (1, AccessKind::Load)];
        for (number, kind) in sides.into_iter().take(1 + usize::from(has_source)) {
            let Some(pointer) = call.operand(number) else {
                continue;
            };
            let address = self.value(pointer);
            let op = Op::Access(Access {
                semantics,
                ..Access::one(kind, self.shape(pointer.ty()).space, 0)
            });
            if kind == AccessKind::Store {
                self.emit(op, &[], &[address, Value::Integer(0), Value::Unknown]);
            } else {
                self.emit(op, &[Value::Unknown], &[address, Value::Integer(0)]);
            }
        }
    }

    /// `llvm.ctpop.i32` and its like, on integers of up to 64 bits.
    fn arithmetic(&mut self, call: User<'m>, stem: &str) {
        let shape = self.shape(call.ty());
        let bits = if shape.is_int { shape.bits } else { 0 };
        let binary = |op| Some((Op::Binary(op, bits), 2));
        let op = match stem {
            _ if bits == 0 => None,
            // Counts have 32 bits in PTX and the operand's width here: up to 64, both are the number.
            "ctpop" => Some((Op::Unary(UnaryOp::PopCount, bits), 1)),
            "ctlz" => Some((Op::Unary(UnaryOp::LeadingZeros, bits), 1)),
            "bitreverse" => Some((Op::Unary(UnaryOp::ReverseBits, bits), 1)),
            "abs" => Some((Op::Unary(UnaryOp::Abs, bits), 1)),
            "smin" => binary(BinaryOp::MinSigned),
            "smax" => binary(BinaryOp::MaxSigned),
            "umin" => binary(BinaryOp::MinUnsigned),
            "umax" => binary(BinaryOp::MaxUnsigned),
            _ => None,
        };
        match op {
            Some((op, uses)) => self.compute(call, op, uses),
            None if stem == "fshl" && bits == 32 => self.funnel_shift(call, true),
            None if stem == "fshr" && bits == 32 => self.funnel_shift(call, false),
            None => self.compute(call, Op::Opaque, usize::MAX),
        }
    }

    /// High word, low word, amount modulo 32 (LLVM Language Reference, llvm.fshl).
    fn funnel_shift(&mut self, call: User<'m>, left: bool) {
        let uses = [
            self.operand(call, 1),
            self.operand(call, 0),
            self.operand(call, 2),
        ];
        let result = self.result(call);
        self.emit_lists(Op::FunnelShift { left, wrap: true }, result.as_slice(), &uses);
    }

    fn nvvm(&mut self, call: User<'m>, name: &'m str) -> bool {
        let mut words = name.split('.');
        match words.next().unwrap_or_default() {
            "exit" => {
                self.emit(Op::Exit, &[], &[]);
                return false;
            }
            "activemask" => self.compute(call, Op::ActiveMask, 0),
            "shfl" => self.shuffle(call, name),
            "vote" => self.vote(call, name),
            "match" => self.matching(call, name),
            "redux" => self.reduction(call),
            "elect" => {
                let mask = self.operand(call, 0);
                self.collective(call, Collective::Elect, true, &[mask]);
            }
            "barrier0" | "bar" | "barrier" => self.barrier(call, name),
            "cp" | "fence" | "mbarrier" | "membar" | "tcgen05" | "wgmma" => self.asynchronous(call, name),
            "setmaxnreg" => {
                let change = if name.starts_with("setmaxnreg.inc.") {
                    RegisterChange::Raise
                } else {
                    RegisterChange::Lower
                };
                let uses = self.all(call);
                self.emit_lists(Op::SetRegisters(change), &[], &uses);
            }
            "isspacep" => self.is_space(call, name),
            "mapa" => {
                let space = if name.contains("shared") {
                    Space::SharedCluster
                } else {
                    Space::Generic
                };
                self.compute(call, Op::MapShared(space), 2);
            }
            "ptr" => self.space_conversion(call, name),
            "move" => self.compute(call, Op::Copy, 1),
            "popc" => self.count(call, UnaryOp::PopCount),
            "clz" => self.count(call, UnaryOp::LeadingZeros),
            "brev32" => self.compute(call, Op::Unary(UnaryOp::ReverseBits, 32), 1),
            "brev64" => self.compute(call, Op::Unary(UnaryOp::ReverseBits, 64), 1),
            "ldg" | "ldu" => self.cached_load(call),
            "ldmatrix" | "stmatrix" | "wmma" => self.matrix(call, name),
            "atomic" => self.atomic_intrinsic(call),
            _ => self.other(call),
        }
        true
    }

    fn collective(&mut self, call: User<'m>, kind: Collective, sync: bool, uses: &[Value]) {
        let results = if kind == Collective::Sync {
            Vec::new()
        } else {
            self.all_results(call)
        };
        self.emit_lists(Op::Collective(kind, MemberMask::of_sync(sync)), &results, uses);
    }

    /// `shfl.sync.down.i32(mask, value, lane, c)`, without the mask where it is not `.sync`; in NVVM IR,
    /// `shfl.sync.i32(mask, mode, value, lane, c)`.
    fn shuffle(&mut self, call: User<'m>, name: &str) {
        let sync = name.starts_with("shfl.sync");
        let mut uses = self.all(call);
        let mode = name.split('.').find_map(|word| match word {
            "up" => Some(Shuffle::Up),
            "down" => Some(Shuffle::Down),
            "bfly" => Some(Shuffle::Butterfly),
            "idx" => Some(Shuffle::Index),
            _ => None,
        });
        let mode = mode.or_else(|| {
            if uses.len() != 5 {
                return None;
            }
            Some(match uses.remove(1) {
                Value::Integer(0) => Shuffle::Index,
                Value::Integer(1) => Shuffle::Up,
                Value::Integer(2) => Shuffle::Down,
                Value::Integer(3) => Shuffle::Butterfly,
                _ => return None,
            })
        });
        if !sync {
            uses.insert(0, Value::Unknown);
        }
        match mode {
            Some(mode) => self.collective(call, Collective::Shuffle(mode), sync, &uses),
            None => self.other(call),
        }
    }

    /// `vote.ballot.sync(mask, predicate)`; in NVVM IR, `vote.sync(mask, mode, predicate)`, which returns the mask and
    /// the predicate.
    fn vote(&mut self, call: User<'m>, name: &str) {
        let sync = name.split('.').any(|word| word == "sync");
        let mode = name.split('.').find_map(|word| match word {
            "all" => Some(Vote::All),
            "any" => Some(Vote::Any),
            "uni" | "eq" => Some(Vote::Uniform),
            "ballot" => Some(Vote::Ballot),
            _ => None,
        });
        let mut uses = self.all(call);
        if let Some(mode) = mode {
            if !sync {
                uses.insert(0, Value::Unknown);
            }
            return self.collective(call, Collective::Vote(mode), sync, &uses);
        }
        let (&[mask, Value::Integer(mode), predicate], 2) = (uses.as_slice(), call.ty().fields()) else {
            return self.other(call);
        };
        let kind = match mode {
            0 => Vote::All,
            1 => Vote::Any,
            2 => Vote::Uniform,
            _ => Vote::Ballot,
        };
        let is_ballot = kind == Vote::Ballot;
        let result = Value::Register(self.fresh(if is_ballot { 32 } else { 1 }));
        self.emit(
            Op::Collective(Collective::Vote(kind), MemberMask::Operand),
            &[result],
            &[mask, predicate],
        );
        let parts = if is_ballot {
            vec![result, Value::Unknown]
        } else {
            vec![Value::Unknown, result]
        };
        self.scratch.parts.insert(call.value(), parts);
    }

    /// `match.any.sync.i32(mask, value)`, `match.all.sync.i64p`.
    fn matching(&mut self, call: User<'m>, name: &str) {
        let kind = if name.starts_with("match.all") {
            Match::All
        } else {
            Match::Any
        };
        let bits = if name.contains("i64") { 64 } else { 32 };
        let uses = self.all(call);
        self.collective(call, Collective::Match(kind, bits), true, &uses);
    }

    /// `redux.sync.add(value, mask)`.
    fn reduction(&mut self, call: User<'m>) {
        let uses = [self.operand(call, 1), self.operand(call, 0)];
        self.collective(call, Collective::Reduce, true, &uses);
    }

    fn barrier(&mut self, call: User<'m>, name: &str) {
        let mut uses = self.all(call);
        if name == "bar.warp.sync" {
            return self.collective(call, Collective::Sync, true, &uses);
        }
        let has = |word: &str| name.split('.').any(|known| known == word);
        let cluster = has("cluster");
        let reduces = has("red") || name.starts_with("barrier0.");
        let predicate = if reduces { uses.pop() } else { None };
        if uses.is_empty() && !cluster {
            uses.push(Value::Integer(0));
        }
        let aligned = has("aligned") || name.starts_with("barrier0") || name.starts_with("bar.") || {
            // `barrier(id, count)` and `barrier.n(id)` are `bar.sync`.
            name == "barrier" || name == "barrier.n"
        };
        let op = Op::Barrier(Barrier {
            waits: !has("arrive"),
            counted: uses.len() > 1,
            aligned,
            cluster,
        });
        uses.extend(predicate);
        let results = self.all_results(call);
        let instruction = self.emit_lists(op, &results, &uses);
        if cluster && let Some(decoded) = decoded(name, &uses) {
            self.list_asynchronous(instruction, &decoded);
        }
    }

    fn list_asynchronous(&mut self, instruction: InstructionId, decoded: &Decoded) {
        self.body.note_asynchronous(Asynchronous {
            op: decoded.op,
            instruction,
            addresses: decoded.addresses,
            values: decoded.values,
        });
    }

    /// An asynchronous operation, or one of its kind that is not listed.
    fn asynchronous(&mut self, call: User<'m>, name: &str) {
        let mut uses = self.all(call);
        let decoded = decoded(name, &uses);
        let named = decoded.as_ref().and_then(|decoded| decoded.named);
        uses.extend(named.map(Value::Integer));
        let results = self.all_results(call);
        let instruction = self.emit_lists(Op::Opaque, &results, &uses);
        self.touch_pointers(call);
        if let Some(decoded) = decoded {
            self.list_asynchronous(instruction, &decoded);
        }
    }

    /// A load or store of a matrix; or another operation on matrices.
    fn matrix(&mut self, call: User<'m>, name: &str) {
        let has = |word: &str| name.split('.').any(|known| known == word);
        let (Some(rows), Some(pointer)) = (matrix_rows(name.as_bytes(), has("stride")), call.operand(0))
        else {
            return self.other(call);
        };
        let kind = match has("store") || name.starts_with("stmatrix") {
            true => AccessKind::Store,
            false => AccessKind::Load,
        };
        let mut uses = self.all(call);
        uses.insert(1.min(uses.len()), Value::Integer(0));
        let results = match kind {
            AccessKind::Store => Vec::new(),
            _ => self.all_results(call),
        };
        let access = Access::one(kind, self.shape(pointer.ty()).space, 0);
        let instruction = self.emit_lists(Op::Access(access), &results, &uses);
        self.body.note_matrix(Matrix { instruction, rows });
    }

    fn is_space(&mut self, call: User<'m>, name: &str) {
        let space = match name.strip_prefix("isspacep.") {
            Some("const") => Space::Const,
            Some("global") => Space::Global,
            Some("local") => Space::Local,
            Some("shared") => Space::Shared,
            Some("shared.cluster") => Space::SharedCluster,
            _ => return self.other(call),
        };
        self.compute(call, Op::IsSpace(space), 1);
    }

    /// `ptr.global.to.gen` and `ptr.gen.to.shared`: what `addrspacecast` is now. Their types say the spaces.
    fn space_conversion(&mut self, call: User<'m>, name: &str) {
        let (Some(operand), true) = (call.operand(0), name.contains(".to.")) else {
            return self.other(call);
        };
        let (from, to) = (self.shape(operand.ty()).space, self.shape(call.ty()));
        let input = self.value(operand);
        let result = self.defined(call, to.bits);
        self.convert_space(from, to.space, to.bits, input, result);
    }

    fn count(&mut self, call: User<'m>, op: UnaryOp) {
        let bits = call.operand(0).map_or(0, |operand| self.bits(operand.ty()));
        self.compute(
            call,
            if bits == 0 {
                Op::Opaque
            } else {
                Op::Unary(op, bits)
            },
            1,
        );
    }

    fn cached_load(&mut self, call: User<'m>) {
        let Some(pointer) = call.operand(0) else { return };
        let op = self.memory_op(AccessKind::Load, pointer, call.ty(), call);
        let address = self.value(pointer);
        let result = self.result(call);
        self.emit_lists(op, result.as_slice(), &[address, Value::Integer(0)]);
    }

    fn atomic_intrinsic(&mut self, call: User<'m>) {
        let Some(pointer) = call.operand(0) else { return };
        let op = self.memory_op(AccessKind::Atomic, pointer, call.ty(), call);
        let mut uses = self.all(call);
        uses.insert(1.min(uses.len()), Value::Integer(0));
        let result = self.result(call);
        self.emit_lists(op, result.as_slice(), &uses);
    }

    /// An intrinsic that is not interpreted. Its pointers are used in the spaces that their types name.
    fn other(&mut self, call: User<'m>) {
        self.compute(call, Op::Opaque, usize::MAX);
        self.touch_pointers(call);
    }

    /// An access for each pointer that is passed, in the space that its type names.
    fn touch_pointers(&mut self, call: User<'m>) {
        for number in 0..call.arguments() {
            let Some(pointer) = call.operand(number) else {
                continue;
            };
            let shape = self.shape(pointer.ty());
            if !shape.is_pointer {
                continue;
            }
            let address = self.value(pointer);
            let op = Op::Access(Access::one(AccessKind::Other, shape.space, 0));
            self.emit(op, &[], &[address, Value::Integer(0)]);
        }
    }
}
