//! Addresses in `.local` memory and addresses passed in pointer parameters, as far as one function alone determines them.
//!
//! An address is `base + k` where single, unguarded definitions compute it: the base is a `.local` symbol or the argument
//! for a parameter, and moves, conversions between local and generic, and additions of constants lead from there.
//! Unoptimised code keeps addresses in slots, too: a slot is *forwarded* if all stores that may write any byte of it store
//! one address, and all loads of any byte of it load that whole address:
//!
//! ```text
//! st.u64 [slot], base+k      …      ld.u64 r, [slot]      r = base+k
//! ```
//!
//! All other uses of an address let its base *leak*: code that does not name the base may access the memory there. If some
//! slot that holds an address can't be forwarded, no slot is, and each address that is stored leaks.

use std::collections::BTreeMap;

use crate::definitions::Definitions;
use ptxcheck_common::externs;
use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{
    AccessKind, Argument, Body, CallId, Callee, FunctionId, Instruction, InstructionId, Module, Op,
    ParamPiece, Register, Space, SymbolId, Value,
};

/// Longest access: a vector of eight 32-bit or four 64-bit elements.
pub(crate) const MAX_SLOT_BYTES: u32 = 32;

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SlotBase {
    /// A `.local` symbol of the function.
    Symbol(SymbolId),
    /// The address that a caller passes in a piece of a parameter.
    Param(ParamPiece),
}

/// Bytes at an offset from a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bytes {
    /// The base.
    pub base: SlotBase,
    /// Byte offset of the first byte.
    pub offset: i64,
    /// Number of bytes.
    pub count: u32,
}

/// An address that a call passes to a function with a body in this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassedAddress {
    /// The call.
    pub call: InstructionId,
    /// The function that it calls.
    pub callee: FunctionId,
    /// The piece of its parameter.
    pub param: ParamPiece,
    /// The base of the address, …
    pub base: SlotBase,
    /// … and its distance from there in bytes.
    pub offset: i64,
}

/// The addresses that one call passes. `passed` is in the order of the calls.
pub(crate) fn addresses_passed_by(passed: &[PassedAddress], call: InstructionId) -> &[PassedAddress] {
    let first = passed.partition_point(|passed| passed.call < call);
    let count = passed[first..].partition_point(|passed| passed.call == call);
    &passed[first..first + count]
}

/// Bytes that a pointer parameter points to and that a function accesses, itself or through calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Touched {
    /// The parameter.
    pub param: ParamPiece,
    /// Byte offset of the first byte.
    pub offset: i64,
    /// Number of bytes.
    pub count: u32,
    /// The function may write these bytes.
    pub is_written: bool,
}

/// An address, computed from a pointer parameter, that a function returns at all its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnedAddress {
    /// Byte offset in the return value.
    pub at: i32,
    /// The parameter.
    pub param: ParamPiece,
    /// Distance in bytes from the argument.
    pub offset: i64,
}

/// The uses that callees make of their pointer arguments.
pub(crate) trait Callees {
    /// The bytes that a function may access through a pointer parameter; `None` if it may use the address for more than accesses and
    /// its return value.
    fn accessed_bytes(&self, callee: FunctionId, param: ParamPiece) -> Option<&[Touched]>;

    /// The addresses that a function returns.
    fn returned_addresses(&self, callee: FunctionId) -> &[ReturnedAddress];
}

/// The accesses to the objects of a function, and the uses of their addresses.
#[derive(Default)]
pub(crate) struct Addresses {
    /// Loads and stores at known addresses, in the order of the input.
    pub accesses: Vec<(InstructionId, Bytes)>,
    /// The accesses that store, in the order of the input.
    pub stores: Vec<InstructionId>,
    /// Addresses that calls pass to functions that do not let them leak, in the order of the input.
    pub passed: Vec<PassedAddress>,
    /// Bases whose addresses calls pass, and bases that leak; sorted.
    pub escaped: Vec<SlotBase>,
    /// The bases that leak; sorted.
    pub leaked: Vec<SlotBase>,
    /// The addresses that it returns.
    pub returned: Vec<ReturnedAddress>,
    /// Indices of the parameters that are used otherwise than by loads of whole addresses; sorted.
    pub opaque_params: Vec<u16>,
}

impl Addresses {
    /// The addresses in `body`. `follows_params`: the function is not a kernel, and its parameters are analysed, too.
    pub(crate) fn new(
        module: &Module<'_>,
        body: &Body<'_>,
        definitions: &Definitions,
        callees: &dyn Callees,
        follows_params: bool,
    ) -> Self {
        let search = |is_forwarding: bool| {
            let search = AddressSearch {
                module,
                body,
                definitions,
                follows_params,
                known: vec![RegisterAddress::Pending; body.registers.len()],
                chain: Vec::new(),
                held: BTreeMap::new(),
                is_forwarding,
                returns: BTreeMap::new(),
                found: Self::default(),
            };
            search.find_addresses(callees)
        };
        search(true)
            .or_else(|_| search(false))
            .unwrap_or_else(|Conflict| Self::default())
    }

    /// True if a base leaks.
    pub(crate) fn leaks(&self, base: SlotBase) -> bool {
        let is_opaque = || matches!(base, SlotBase::Param((number, _)) if self.opaque_params.binary_search(&number).is_ok());
        self.leaked.binary_search(&base).is_ok() || is_opaque()
    }
}

/// The operand that a register's address is computed from, and its distance from that in bytes.
pub(crate) fn address_source(
    body: &Body<'_>,
    definitions: &Definitions,
    register: Register,
) -> Option<(Value, i64)> {
    address_operand(body, body.instruction(definitions.only_writer(body, register)?))
}

/// The operand that an instruction computes an address from, and the distance of the result from that in bytes.
fn address_operand(body: &Body<'_>, instruction: &Instruction) -> Option<(Value, i64)> {
    if instruction.guard.is_some() {
        return None;
    }
    match Form::of(instruction.op, body.uses(instruction)) {
        Form::Moved(
            from,
            Change::Nothing | Change::ToGeneric(Space::Local) | Change::FromGeneric(Space::Local),
        ) => Some((from, 0)),
        form => form.beside(),
    }
}

type Address = (SlotBase, i64);

/// A slot that holds an address is used otherwise than forwarding allows.
struct Conflict;

struct AddressSearch<'a> {
    module: &'a Module<'a>,
    body: &'a Body<'a>,
    definitions: &'a Definitions,
    follows_params: bool,
    /// By register: its address, as far as it has been computed.
    known: Vec<RegisterAddress>,
    /// The registers that one search has visited, and the distance in bytes from each to the next; the allocation is reused.
    chain: Vec<(Register, i64)>,
    /// The addresses that slots of 8 bytes hold, by symbol and offset of the slot.
    held: BTreeMap<(SymbolId, i64), Address>,
    /// Slots are forwarded.
    is_forwarding: bool,
    /// The addresses that are returned, by byte offset in the return value.
    returns: BTreeMap<i32, Address>,
    found: Addresses,
}

/// The address of a register, computed on demand.
#[derive(Clone, Copy)]
enum RegisterAddress {
    /// Not computed yet.
    Pending,
    /// The address that it holds, if it holds one.
    Resolved(Option<Address>),
}

/// Bytes of an address that a slot holds.
const ADDRESS_BYTES: u32 = 8;

impl AddressSearch<'_> {
    fn find_addresses(mut self, callees: &dyn Callees) -> Result<Addresses, Conflict> {
        let body = self.body;
        for (number, instruction) in body.instructions.iter().enumerate() {
            self.visit_instruction(InstructionId::new(number), instruction, callees)?;
        }
        if !body.calls.is_empty() {
            for (number, instruction) in body.instructions.iter().enumerate() {
                if let Op::Call(call) = instruction.op {
                    self.record_passed_addresses(InstructionId::new(number), instruction, call, callees);
                }
            }
        }
        self.found.returned = self.take_returned_addresses();
        let found = &mut self.found;
        found.escaped.extend(&found.leaked);
        for bases in [&mut found.escaped, &mut found.leaked] {
            bases.sort_unstable();
            bases.dedup();
        }
        found.opaque_params.sort_unstable();
        found.opaque_params.dedup();
        if !self.held.is_empty() {
            self.check_held_addresses(callees)?;
        }
        Ok(self.found)
    }

    fn visit_instruction(
        &mut self,
        id: InstructionId,
        instruction: &Instruction,
        callees: &dyn Callees,
    ) -> Result<(), Conflict> {
        let bytes = self.accessed_slot_bytes(instruction);
        if let Some(bytes) = bytes {
            self.found.accesses.push((id, bytes));
            if matches!(instruction.op, Op::Access(access) if access.kind == AccessKind::Store) {
                self.found.stores.push(id);
            }
        }
        let mut leads_on = false;
        for (place, &value) in self.body.uses(instruction).iter().enumerate() {
            if let Value::Param(number, _) = value
                && self.follows_params
                && !self.loads_passed_address(instruction)
            {
                self.found.opaque_params.push(number);
            }
            if !self.may_be_address(value) {
                continue;
            }
            leads_on = true;
            // The slot's own address is followed.
            if bytes.is_some() && place == 0 {
                continue;
            }
            let Some(address) = self.address_of_value(value) else {
                continue;
            };
            if place == 2
                && (self.record_held_address(instruction, bytes, address)?
                    || self.record_returned_address(instruction, address))
            {
                continue;
            }
            if !self.is_use_without_leak(instruction) {
                self.found.leaked.push(address.0);
            }
        }
        if let Op::CallResult(call) = instruction.op
            && let Some(address) = self.address_returned_by_call(call, instruction, callees)
        {
            match self.body.results(instruction) {
                &[Value::Register(result)]
                    if matches!(self.known[result.index()], RegisterAddress::Pending)
                        && self.definitions.only_writer(self.body, result).is_some() =>
                {
                    self.known[result.index()] = RegisterAddress::Resolved(Some(address));
                }
                _ => self.found.leaked.push(address.0),
            }
            return Ok(());
        }
        if let Some(address) = bytes.and_then(|bytes| self.address_held_in_slot(instruction, bytes)) {
            for register in self.body.defined(instruction) {
                let known = &mut self.known[register.index()];
                if matches!(known, RegisterAddress::Pending)
                    && self.definitions.only_writer(self.body, register).is_some()
                {
                    *known = RegisterAddress::Resolved(Some(address));
                }
            }
        }
        if (!leads_on || address_operand(self.body, instruction).is_none())
            && !self.loads_passed_address(instruction)
        {
            for register in self.body.defined(instruction) {
                let known = &mut self.known[register.index()];
                if bytes.is_none() || matches!(known, RegisterAddress::Pending) {
                    *known = RegisterAddress::Resolved(None);
                }
            }
        }
        Ok(())
    }

    /// Records that a slot holds an address, if an instruction stores it to one; false if it does not.
    fn record_held_address(
        &mut self,
        instruction: &Instruction,
        bytes: Option<Bytes>,
        address: Address,
    ) -> Result<bool, Conflict> {
        let Some(Bytes {
            base: SlotBase::Symbol(symbol),
            offset,
            ..
        }) = bytes.filter(|bytes| self.is_forwarding && accesses_one_address(instruction, *bytes))
        else {
            return Ok(false);
        };
        match self.held.insert((symbol, offset), address) {
            Some(other) if other != address => Err(Conflict),
            _ => Ok(true),
        }
    }

    /// Records that an instruction returns an address computed from a parameter, if it does; false if it does not.
    fn record_returned_address(&mut self, instruction: &Instruction, address: Address) -> bool {
        let is_whole = matches!(instruction.op, Op::Access(access) if access.bits == 64);
        let Some((at, _)) = self.body.returned(instruction) else {
            return false;
        };
        if !is_whole
            || instruction.guard.is_some()
            || !matches!(address.0, SlotBase::Param(_))
            || !self.is_forwarding
        {
            return false;
        }
        *self.returns.entry(at).or_insert(address) == address
    }

    /// The addresses that are returned at all ends of the function; the others leak.
    fn take_returned_addresses(&mut self) -> Vec<ReturnedAddress> {
        if self.returns.is_empty() {
            return Vec::new();
        }
        let mut returns = std::mem::take(&mut self.returns);
        let mut leaked = Vec::new();
        for instruction in &self.body.instructions {
            let (Op::Access(access), &[Value::ReturnSlot(_, at), ..]) =
                (instruction.op, self.body.uses(instruction))
            else {
                continue;
            };
            let first = at.saturating_sub(ADDRESS_BYTES as i32 - 1);
            let end = at.saturating_add_unsigned(access.bytes()).max(first);
            let near: Vec<i32> = returns.range(first..end).map(|(near, _)| *near).collect();
            for near in near {
                let value = self.body.returned(instruction).map(|(_, value)| value);
                let address = value.and_then(|value| self.address_of_value(value));
                let is_whole = near == at && access.bits == 64 && instruction.guard.is_none();
                if !is_whole || address != returns.get(&near).copied() {
                    leaked.extend(returns.remove(&near).map(|(base, _)| base));
                    leaked.extend(address.map(|(base, _)| base));
                }
            }
        }
        self.found.leaked.extend(leaked);
        let all = returns.into_iter().filter_map(|(at, (base, offset))| match base {
            SlotBase::Param(param) => Some(ReturnedAddress { at, param, offset }),
            SlotBase::Symbol(_) => None,
        });
        all.collect()
    }

    /// The address that a call returns: an address computed from one of its arguments.
    fn address_returned_by_call(
        &mut self,
        call: InstructionId,
        instruction: &Instruction,
        callees: &dyn Callees,
    ) -> Option<Address> {
        let body = self.body;
        let caller = body.instruction(call);
        let (Op::Call(number), Some(Callee::Direct(symbol)), [Value::Integer(at), ..]) =
            (caller.op, body.callee(caller), body.uses(instruction))
        else {
            return None;
        };
        let callee = self.module.called(symbol)?;
        let arguments = body.arguments(body.call(number));
        if !arguments
            .iter()
            .any(|argument| self.address_of_value(argument.value).is_some())
        {
            return None;
        }
        for returned in callees.returned_addresses(callee) {
            let distance = at.saturating_sub(i64::from(returned.at));
            if distance.unsigned_abs() >= u64::from(ADDRESS_BYTES) {
                continue;
            }
            let passes = |argument: &&Argument| argument.passes(returned.param);
            let Some((base, offset)) = arguments
                .iter()
                .find(passes)
                .and_then(|found| self.address_of_value(found.value))
            else {
                continue;
            };
            let is_whole = distance == 0
                && matches!(body.results(instruction), &[Value::Register(result)]
                    if body.registers.bits(result) == 64);
            match offset.checked_add(returned.offset) {
                Some(offset) if is_whole => return Some((base, offset)),
                _ => self.found.leaked.push(base),
            }
        }
        None
    }

    /// The address that an instruction loads from a slot.
    fn address_held_in_slot(&self, instruction: &Instruction, bytes: Bytes) -> Option<Address> {
        let SlotBase::Symbol(symbol) = bytes.base else {
            return None;
        };
        let is_load = matches!(instruction.op, Op::Access(access) if access.kind == AccessKind::Load);
        let held = self.held.get(&(symbol, bytes.offset))?;
        (is_load && accesses_one_address(instruction, bytes)).then_some(*held)
    }

    /// Records the addresses that a call passes on.
    fn record_passed_addresses(
        &mut self,
        id: InstructionId,
        instruction: &Instruction,
        call: CallId,
        callees: &dyn Callees,
    ) {
        let (body, module) = (self.body, self.module);
        for argument in body.arguments(body.call(call)) {
            if let Value::Param(number, _) = argument.value {
                self.found.opaque_params.push(number);
            }
            let Some((base, offset)) = self.address_of_value(argument.value) else {
                continue;
            };
            self.found.escaped.push(base);
            let callee = match body.callee(instruction) {
                Some(Callee::Direct(symbol)) => module.called(symbol),
                _ => None,
            };
            let Some(callee) = callee else {
                self.found.leaked.push(base);
                continue;
            };
            let (function, name) = (module.function(callee), module.function_name(callee));
            if function.body.is_none() {
                // vprintf only reads its buffer; __assertfail does not return.
                if name != externs::PRINT && name != externs::ASSERT_FAIL {
                    self.found.leaked.push(base);
                }
                continue;
            }
            match argument.piece() {
                Some(param) if callees.accessed_bytes(callee, param).is_some() => {
                    self.found.passed.push(PassedAddress {
                        call: id,
                        callee,
                        param,
                        base,
                        offset,
                    });
                }
                _ => self.found.leaked.push(base),
            }
        }
    }

    /// Reports a conflict if a slot that holds an address is accessed in another way, or by other code.
    fn check_held_addresses(&mut self, callees: &dyn Callees) -> Result<(), Conflict> {
        let is_leaked = |&(symbol, _): &(SymbolId, i64)| {
            let base = SlotBase::Symbol(symbol);
            self.found.leaked.binary_search(&base).is_ok()
        };
        if self.held.keys().any(is_leaked) {
            return Err(Conflict);
        }
        for &(id, bytes) in &self.found.accesses {
            let instruction = self.body.instruction(id);
            let SlotBase::Symbol(symbol) = bytes.base else {
                continue;
            };
            for ((_, offset), &address) in self.held_addresses_overlapping(symbol, bytes.offset, bytes.count)
            {
                let value = match (instruction.op, self.body.results(instruction)) {
                    (Op::Access(access), &[result]) if access.kind == AccessKind::Load => result,
                    _ => self.body.stored(instruction).unwrap_or(Value::Unknown),
                };
                let is_address = match value {
                    Value::Register(register) => {
                        matches!(self.known[register.index()], RegisterAddress::Resolved(Some(known)) if known == address)
                    }
                    Value::Symbol(symbol, at) => address == (SlotBase::Symbol(symbol), i64::from(at)),
                    _ => false,
                };
                if *offset != bytes.offset || !accesses_one_address(instruction, bytes) || !is_address {
                    return Err(Conflict);
                }
            }
        }
        for passed in &self.found.passed {
            let SlotBase::Symbol(symbol) = passed.base else {
                continue;
            };
            for touched in callees.accessed_bytes(passed.callee, passed.param).unwrap_or(&[]) {
                let from = passed.offset.checked_add(touched.offset).ok_or(Conflict)?;
                if self
                    .held_addresses_overlapping(symbol, from, touched.count)
                    .next()
                    .is_some()
                {
                    return Err(Conflict);
                }
            }
        }
        Ok(())
    }

    /// The slots with addresses that share some of these bytes of a symbol.
    fn held_addresses_overlapping(
        &self,
        symbol: SymbolId,
        from: i64,
        count: u32,
    ) -> impl Iterator<Item = (&(SymbolId, i64), &Address)> {
        let first = from.saturating_sub(i64::from(ADDRESS_BYTES) - 1);
        let end = from.saturating_add(i64::from(count)).max(first);
        self.held.range((symbol, first)..(symbol, end))
    }

    /// True if an instruction loads an address that a caller passes.
    fn loads_passed_address(&self, instruction: &Instruction) -> bool {
        self.loaded_param(instruction).is_some()
    }

    fn loaded_param(&self, instruction: &Instruction) -> Option<ParamPiece> {
        if !self.follows_params || instruction.guard.is_some() {
            return None;
        }
        let piece = self.body.loaded_piece(instruction)?;
        let is_whole = matches!(instruction.op, Op::Access(access) if access.bits == 64);
        let &[Value::Register(result)] = self.body.results(instruction) else {
            return None;
        };
        let is_only = self.definitions.only_writer(self.body, result).is_some();
        (is_whole && is_only).then_some(piece)
    }

    /// True if a value may be an address, as far as is known yet.
    fn may_be_address(&self, value: Value) -> bool {
        match value {
            Value::Register(register) => {
                !matches!(self.known[register.index()], RegisterAddress::Resolved(None))
            }
            Value::Symbol(symbol, _) => self.is_local_symbol(symbol),
            _ => false,
        }
    }

    fn is_local_symbol(&self, symbol: SymbolId) -> bool {
        self.module.symbol(symbol).space == Space::Local
    }

    /// The address that a value is.
    fn address_of_value(&mut self, value: Value) -> Option<Address> {
        match value {
            Value::Symbol(symbol, offset) => self
                .is_local_symbol(symbol)
                .then_some((SlotBase::Symbol(symbol), i64::from(offset))),
            Value::Register(register) => self.address_of_register(register),
            _ => None,
        }
    }

    /// Follows a chain of definitions down and adds its constants on the way back; not recursive, because the input
    /// determines the length of chains.
    fn address_of_register(&mut self, register: Register) -> Option<Address> {
        if let RegisterAddress::Resolved(known) = self.known[register.index()] {
            return known;
        }
        let mut chain = std::mem::take(&mut self.chain);
        let mut current = Value::Register(register);
        let mut found = loop {
            let Value::Register(register) = current else {
                break self.address_of_value(current);
            };
            if let RegisterAddress::Resolved(known) = self.known[register.index()] {
                break known;
            }
            // A register in its own chain stays unknown.
            self.known[register.index()] = RegisterAddress::Resolved(None);
            if let Some(param) = self.param_piece_in(register) {
                chain.push((register, 0));
                break Some((SlotBase::Param(param), 0));
            }
            let Some((from, by)) = self.address_source(register) else {
                break None;
            };
            chain.push((register, by));
            current = from;
        };
        for (register, by) in chain.drain(..).rev() {
            found = found.and_then(|(base, offset)| Some((base, offset.checked_add(by)?)));
            self.known[register.index()] = RegisterAddress::Resolved(found);
        }
        self.chain = chain;
        found
    }

    /// The piece of a parameter that a register holds.
    fn param_piece_in(&self, register: Register) -> Option<ParamPiece> {
        let definition = self.definitions.only_writer(self.body, register)?;
        self.loaded_param(self.body.instruction(definition))
    }

    fn address_source(&self, register: Register) -> Option<(Value, i64)> {
        address_source(self.body, self.definitions, register)
    }

    fn accessed_slot_bytes(&mut self, instruction: &Instruction) -> Option<Bytes> {
        let Op::Access(access) = instruction.op else {
            return None;
        };
        // Atomics on local memory have no known effect; code has none.
        let is_plain = matches!(access.kind, AccessKind::Load | AccessKind::Store);
        if !is_plain || !matches!(access.space, Space::Local | Space::Generic) {
            return None;
        }
        let &[base, Value::Integer(offset), ..] = self.body.uses(instruction) else {
            return None;
        };
        let (base, at) = self.address_of_value(base)?;
        let count = access.bytes();
        (1..=MAX_SLOT_BYTES).contains(&count).then_some(Bytes {
            base,
            offset: at.checked_add(offset)?,
            count,
        })
    }

    /// True if a use of an address, other than an access to its slot, does not let it leak.
    fn is_use_without_leak(&self, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Access(_) => false,
            Op::Compare(..) | Op::IsSpace(_) => true,
            _ => match self.body.results(instruction) {
                &[Value::Register(result)] => {
                    matches!(self.known[result.index()], RegisterAddress::Resolved(Some(_)))
                        || self.address_source(result).is_some() && instruction.guard.is_none()
                }
                _ => false,
            },
        }
    }
}

/// True if an instruction accesses one address, in all lanes that execute it.
fn accesses_one_address(instruction: &Instruction, bytes: Bytes) -> bool {
    let is_one = matches!(instruction.op, Op::Access(access) if access.count == 1);
    is_one && bytes.count == ADDRESS_BYTES && instruction.guard.is_none()
}
