//! Operands to values, and the shapes of instructions.

use ptxcheck_ptx_parser::Span;
use ptxcheck_ptx_parser::ast::OperandKind;
use ptxcheck_ptx_parser::operand::{OperandRef, Operands, integer};

use super::body::Lowering;
use super::scope::Binding;
use super::short;
use ptxcheck_ir::{Access, AccessKind, Collective, Guard, MemberMask, Op, Register, Space, Special, Value};

/// True if an opcode that is not interpreted seems to write its first operand.
pub(super) fn begins_with_result(operands: &Operands<'_>) -> bool {
    operands.clone().next().is_some_and(|first| {
        matches!(
            first.kind(),
            OperandKind::Name | OperandKind::Sink | OperandKind::Vector | OperandKind::Pair
        )
    })
}

/// The bytes that an offset node adds, if that is a constant.
pub(super) fn offset(operand: OperandRef<'_>) -> Option<i64> {
    // Nearly always a literal with a sign; `+-4` and names are left to the expression reader.
    let bytes = integer(operand.text()).or_else(|| operand.constant());
    bytes.and_then(|bytes| i64::try_from(bytes).ok())
}

/// The entity that a name stands for as an operand.
pub(super) enum Named {
    Value(Value),
    Slot(u32),
}

impl<'s> Lowering<'_, 's> {
    /// The register that a name stands for, for nearly all that are one: see [`Scopes::register`](super::scope::Scopes::register).
    #[inline(always)]
    fn register(&mut self, name: Span) -> Option<Register> {
        self.scopes.register(self.source, name, &mut self.registers)
    }

    /// The register whose name a text at an offset begins with, and the length of the name, as for nearly all registers. What follows may be
    /// more of the name.
    #[inline(always)]
    pub(super) fn leading_register(&mut self, text: &[u8], offset: u32) -> Option<(Register, usize)> {
        self.scopes.leading_register(text, offset, &mut self.registers)
    }

    /// The predicate that a name stands for, if it is one that has been named before.
    #[inline(always)]
    pub(super) fn known_predicate(&self, name: Span) -> Option<Register> {
        let known = self.scopes.known(self.source, name, &self.registers);
        known.filter(|register| self.registers.all.bits(*register) == 1)
    }

    /// The value of a name, or of `_`, which stands for none.
    #[inline(always)]
    pub(super) fn value_of_name(&mut self, name: Span) -> Value {
        match self.register(name) {
            Some(register) => Value::Register(register),
            None => self.other_value_of_name(name),
        }
    }

    fn other_value_of_name(&mut self, name: Span) -> Value {
        if name.of(self.source) == b"_" {
            return Value::Unknown;
        }
        match self.named(name) {
            Named::Value(value) => value,
            Named::Slot(_) => Value::Unknown,
        }
    }

    /// The entity of this name that an address begins with.
    #[inline(always)]
    pub(super) fn base_of_name(&mut self, name: Span) -> Named {
        match self.register(name) {
            Some(register) => Named::Value(Value::Register(register)),
            None => self.named(name),
        }
    }

    fn named(&mut self, name: Span) -> Named {
        let text = name.of(self.source);
        let value = match self.scopes.resolve(text, name, &mut self.registers) {
            Some(Binding::Register(register)) => Value::Register(register),
            Some(Binding::Symbol(symbol)) => Value::Symbol(symbol, 0),
            Some(Binding::Param(number)) => Value::Param(number, 0),
            Some(Binding::ReturnSlot(number)) => Value::ReturnSlot(number, 0),
            Some(Binding::Slot(slot)) => return Named::Slot(slot),
            Some(Binding::Range(_) | Binding::Symbols(..)) => Value::Unknown,
            None => match self.symbols.find(text) {
                Some(symbol) => {
                    self.body.refer(symbol, &self.symbols.all[symbol.index()], false);
                    Value::Symbol(symbol, 0)
                }
                None => self.unbound(name, text),
            },
        };
        Named::Value(value)
    }

    /// A special register, a register's component, a label, or a name that nothing declares.
    fn unbound(&mut self, name: Span, text: &'s [u8]) -> Value {
        if text == b"WARP_SZ" {
            return Value::Integer(32);
        }
        if let Some(special) = special(text) {
            return Value::Special(special);
        }
        let component = memchr::memchr(b'.', text).is_some();
        if !component && text.first() != Some(&b'%') {
            self.label_or_undeclared(name, text);
        }
        Value::Unknown
    }

    /// The value of an operand that is a register or a literal, of the forms that nearly all have.
    #[inline(always)]
    fn plain_value(&mut self, operand: &OperandRef<'_>) -> Option<Value> {
        match operand.kind() {
            OperandKind::Name => self.register(operand.span()).map(Value::Register),
            OperandKind::Integer => short::literal(self.source, operand.span()).map(Value::Integer),
            _ => None,
        }
    }

    /// The value of an operand that is one value; the registers inside others are read, but not followed.
    #[inline]
    pub(super) fn value(&mut self, operand: &OperandRef<'_>) -> Value {
        self.plain_value(operand)
            .unwrap_or_else(|| self.other_value(operand))
    }

    fn other_value(&mut self, operand: &OperandRef<'_>) -> Value {
        match operand.kind() {
            OperandKind::Name => self.other_value_of_name(operand.span()),
            OperandKind::Integer => {
                integer(operand.text()).map_or(Value::Unknown, |value| Value::Integer(value as i64))
            }
            OperandKind::Expression => operand
                .constant()
                .map_or(Value::Unknown, |value| Value::Integer(value as i64)),
            OperandKind::Not => match operand.children().next().map(|child| self.value(&child)) {
                Some(Value::Register(register)) => Value::Not(register),
                _ => Value::Unknown,
            },
            OperandKind::Sum => {
                let mut children = operand.children();
                let base = children.next().map_or(Value::Unknown, |child| self.value(&child));
                let offset = children.next().and_then(offset);
                displaced(base, offset)
            }
            OperandKind::Index => {
                for child in operand.children() {
                    self.value(&child);
                }
                Value::Unknown
            }
            _ => Value::Unknown,
        }
    }

    /// Pushes an operand's values: those of its elements if it has several.
    #[inline]
    pub(super) fn push_values(&mut self, operand: &OperandRef<'_>) {
        match self.plain_value(operand) {
            Some(value) => self.body.values.push(value),
            None => self.push_other_values(operand),
        }
    }

    fn push_other_values(&mut self, operand: &OperandRef<'_>) {
        match operand.kind() {
            OperandKind::Vector | OperandKind::Pair | OperandKind::List | OperandKind::Address => {
                for child in operand.children() {
                    if child.kind() != OperandKind::Offset {
                        self.push_values(&child);
                    }
                }
            }
            OperandKind::String => {}
            _ => {
                let value = self.other_value(operand);
                self.body.values.push(value);
            }
        }
    }

    /// Pushes what an operand names as results: registers, or a sink for what can't be written.
    #[inline]
    pub(super) fn push_results(&mut self, operand: &OperandRef<'_>) {
        match self.plain_value(operand) {
            Some(value @ Value::Register(_)) => self.body.values.push(value),
            _ => self.push_other_results(operand),
        }
    }

    fn push_other_results(&mut self, operand: &OperandRef<'_>) {
        let start = self.body.values.len();
        match operand.kind() {
            OperandKind::Address | OperandKind::List | OperandKind::String => {
                self.body.values.push(Value::Unknown);
            }
            _ => self.push_values(operand),
        }
        for value in &mut self.body.values[start..] {
            if !matches!(value, Value::Register(_)) {
                *value = Value::Unknown;
            }
        }
    }

    pub(super) fn plain(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        mut operands: Operands<'_>,
        results: usize,
    ) {
        let start = self.body.values.len();
        for operand in operands.by_ref().take(results) {
            self.push_results(&operand);
        }
        let uses = self.body.values.len();
        for operand in operands {
            self.push_values(&operand);
        }
        let op = self.refined(op, start, uses);
        self.push(op, guard, span, start, uses - start);
    }

    /// The operation completed from its operands: vectors in a `mov`, the table of a `lop3`, the count of a barrier.
    pub(super) fn refined(&mut self, op: Op, start: usize, uses: usize) -> Op {
        let (results, read) = (uses - start, self.body.values.len() - uses);
        match op {
            Op::Copy => match (results, read) {
                (1, 1) => Op::Copy,
                (1, 2 | 4 | 8) => self
                    .register_bits(start)
                    .map_or(Op::Opaque, |bits| Op::Pack(bits / read as u8)),
                (2 | 4 | 8, 1) => self
                    .register_bits(uses)
                    .map_or(Op::Opaque, |bits| Op::Unpack(bits / results as u8)),
                _ => Op::Opaque,
            },
            Op::Lop3(_) => match self.body.values.get(uses + 3) {
                Some(&Value::Integer(table)) if read == 4 => {
                    self.body.values.pop();
                    Op::Lop3(table as u8)
                }
                _ => Op::Opaque,
            },
            // The last operand of a reduction is its predicate.
            Op::Barrier(barrier) => {
                let counted = read - results.min(read) > 1;
                Op::Barrier(ptxcheck_ir::Barrier { counted, ..barrier })
            }
            _ => op,
        }
    }

    fn register_bits(&self, value: usize) -> Option<u8> {
        match self.body.values.get(value) {
            Some(Value::Register(register)) => {
                Some(self.registers.all.bits(*register)).filter(|&bits| bits >= 16)
            }
            _ => None,
        }
    }

    /// Brings the member mask to the front of the uses.
    pub(super) fn collective(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        mut operands: Operands<'_>,
        mask_last: bool,
    ) {
        let start = self.body.values.len();
        if op != Op::Collective(Collective::Sync, MemberMask::Operand)
            && let Some(result) = operands.next()
        {
            self.push_results(&result);
        }
        let uses = self.body.values.len();
        self.body.values.push(Value::Unknown);
        for operand in operands {
            self.push_values(&operand);
        }
        if mask_last {
            self.move_mask_to_front(uses);
        }
        self.push(op, guard, span, start, uses - start);
    }

    /// Brings the last of the values from `uses` on to the front, where it takes the place of an unknown one.
    pub(super) fn move_mask_to_front(&mut self, uses: usize) {
        if self.body.values.len() > uses + 1 {
            let mask = self.body.values.pop().unwrap_or(Value::Unknown);
            self.body.values[uses] = mask;
        }
    }

    /// One access per address; the first has the results and the other uses.
    pub(super) fn memory(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        operands: Operands<'_>,
        results: usize,
        others: [Space; 2],
    ) {
        let is_address = |operand: &OperandRef<'_>| operand.kind() == OperandKind::Address;
        let results = operands
            .clone()
            .take(results)
            .take_while(|operand| !is_address(operand))
            .count();
        let mut addresses = operands.clone().filter(is_address);
        let Some(first) = addresses.next() else {
            return self.plain(Op::Opaque, guard, span, operands, results);
        };
        let start = self.body.values.len();
        for operand in operands.clone().take(results) {
            self.push_results(&operand);
        }
        let uses = self.body.values.len();
        let base = match self.base(&first) {
            Named::Value(base) => base,
            Named::Slot(slot) => {
                self.body.values.truncate(start);
                return self.slot_access(op, guard, span, slot, &first, operands);
            }
        };
        self.push_address(&first, base);
        for operand in operands.skip(results).filter(|operand| !is_address(operand)) {
            self.push_values(&operand);
        }
        self.push(op, guard, span, start, uses - start);
        for (address, space) in addresses.zip(others) {
            let start = self.body.values.len();
            let base = match self.base(&address) {
                Named::Value(base) => base,
                Named::Slot(_) => Value::Unknown,
            };
            self.push_address(&address, base);
            let access = Access::one(AccessKind::Other, space, 0);
            self.push(Op::Access(access), guard, span, start, 0);
        }
    }

    /// The entity that an address begins with.
    #[inline]
    fn base(&mut self, address: &OperandRef<'_>) -> Named {
        let Some(base) = address.children().next() else {
            return Named::Value(Value::Unknown);
        };
        match self.plain_value(&base) {
            Some(value) => Named::Value(value),
            None if base.kind() == OperandKind::Name => self.named(base.span()),
            None => Named::Value(self.other_value(&base)),
        }
    }

    /// The base of an address, its constant offset, then the other operands in the brackets (coordinates).
    fn push_address(&mut self, address: &OperandRef<'_>, base: Value) {
        let mut children = address.children();
        children.next();
        let mut children = children.peekable();
        let offset = match children.next_if(|child| child.kind() == OperandKind::Offset) {
            Some(by) => short::literal(self.source, by.span())
                .or_else(|| offset(by))
                .map_or(Value::Unknown, Value::Integer),
            None => Value::Integer(0),
        };
        self.push_base_and_offset(base, offset);
        for child in children {
            self.push_values(&child);
        }
    }

    /// The base and the offset of an address; of a variable or parameter, the offset is part of the base.
    #[inline]
    pub(super) fn push_base_and_offset(&mut self, base: Value, offset: Value) {
        let (base, offset) = match (base, offset) {
            (Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..), Value::Integer(by)) => {
                (displaced(base, Some(by)), Value::Integer(0))
            }
            other => other,
        };
        self.body.values.extend([base, offset]);
    }
}

/// `base + by`, where that is a value; unknown where the offset is not known or does not fit.
pub(super) fn displaced(base: Value, by: Option<i64>) -> Value {
    let Some(by) = by.and_then(|by| i32::try_from(by).ok()) else {
        return Value::Unknown;
    };
    match base {
        Value::Symbol(symbol, at) => at
            .checked_add(by)
            .map_or(Value::Unknown, |at| Value::Symbol(symbol, at)),
        Value::Param(number, at) => at
            .checked_add(by)
            .map_or(Value::Unknown, |at| Value::Param(number, at)),
        Value::ReturnSlot(number, at) => at
            .checked_add(by)
            .map_or(Value::Unknown, |at| Value::ReturnSlot(number, at)),
        _ => Value::Unknown,
    }
}

/// PTX ISA, Special Registers. Those that are not listed may differ from lane to lane.
pub fn special(name: &[u8]) -> Option<Special> {
    let name = name.strip_prefix(b"%")?;
    let (stem, dimension) = match name {
        [stem @ .., b'.', b'x'] => (stem, 0),
        [stem @ .., b'.', b'y'] => (stem, 1),
        [stem @ .., b'.', b'z'] => (stem, 2),
        _ => (name, 0),
    };
    Some(match stem {
        b"tid" => Special::Tid(dimension),
        b"ntid" => Special::Ntid(dimension),
        b"ctaid" => Special::Ctaid(dimension),
        b"nctaid" => Special::Nctaid(dimension),
        b"laneid" => Special::LaneId,
        b"warpid" => Special::WarpId,
        b"nwarpid" => Special::NwarpId,
        b"lanemask_eq" => Special::LaneMaskEq,
        b"lanemask_le" => Special::LaneMaskLe,
        b"lanemask_lt" => Special::LaneMaskLt,
        b"lanemask_ge" => Special::LaneMaskGe,
        b"lanemask_gt" => Special::LaneMaskGt,
        b"gridid"
        | b"smid"
        | b"nsmid"
        | b"clusterid"
        | b"nclusterid"
        | b"cluster_ctaid"
        | b"cluster_nctaid"
        | b"cluster_ctarank"
        | b"cluster_nctarank"
        | b"is_explicit_cluster"
        | b"total_smem_size"
        | b"aggr_smem_size"
        | b"dynamic_smem_size"
        | b"reserved_smem_offset_begin"
        | b"reserved_smem_offset_end"
        | b"reserved_smem_offset_cap"
        | b"current_graph_exec" => Special::Uniform,
        _ if [
            &b"clock"[..],
            b"globaltimer",
            b"pm",
            b"envreg",
            b"reserved_smem_offset",
        ]
        .iter()
        .any(|prefix| stem.starts_with(prefix)) =>
        {
            Special::Other
        }
        _ => return None,
    })
}
