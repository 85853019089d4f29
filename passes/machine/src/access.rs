//! Accesses to memory.

use ptxcheck_ir::{Access, AccessKind, BinaryOp, Body, Instruction, Space, Update, Value};

use crate::address::{self, FRAME};
use crate::effects::{OwnPart, own_part};
use crate::evaluate::{self, Word};
use crate::limits::MAX_WORDS;
use crate::machine::{GLOBAL, Machine, SHARED, Step, at};
use crate::memory::Byte;
use crate::observe::{Accessed, Event};
use crate::outcome::{End, Unknown};
use crate::thread::{Act, State};
use crate::world::{Read, Unmodelled};

/// The memory that a piece of memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The thread: local memory, and the arguments of calls.
    Thread,
    /// The block, or all of them: by its number among [`Machine::rooms`].
    Shared(usize),
}

const FIXED: usize = 2;

fn owner(generic: u64) -> Owner {
    match address::space_of(generic) {
        Space::Local => Owner::Thread,
        Space::Param if generic - address::window(Space::Param) >= FRAME => Owner::Thread,
        Space::Param | Space::Const => Owner::Shared(FIXED),
        Space::Shared | Space::SharedCluster | Space::Tensor => Owner::Shared(SHARED),
        Space::Generic | Space::Global => Owner::Shared(GLOBAL),
    }
}

/// True if others do not see that a thread writes to an address, or to one that is not known.
pub(crate) fn is_silent_write(access: Access, generic: Option<u64>) -> bool {
    match generic {
        Some(start) => owner(start) == Owner::Thread,
        None => matches!(access.space, Space::Generic | Space::Local | Space::Param),
    }
}

/// The bits that an atomic with these operands may change.
fn changed_bits(update: Update, values: &[Word]) -> u64 {
    match (update, values.first()) {
        (Update::Binary(BinaryOp::Or | BinaryOp::Xor), Some(&Some(bits))) => bits,
        (Update::Binary(BinaryOp::And), Some(&Some(bits))) => !bits,
        _ => u64::MAX,
    }
}

/// Bytes of an element; `None` where the instruction does not say.
fn element(access: Access) -> Option<u64> {
    (access.bits > 0).then(|| u64::from(access.bits.div_ceil(8)))
}

impl Machine<'_> {
    /// An access by a thread on its own, if it is one that others do not see; else the thread is poised before it.
    pub(crate) fn access(&mut self, thread: usize, access: Access) -> Step {
        if self.access_result(thread, access) {
            return Ok(());
        }
        let is_silent = match access.kind {
            AccessKind::Load => true,
            AccessKind::Other => false,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite => {
                is_silent_write(access, self.generic(thread, access)?)
            }
        };
        if is_silent {
            self.execute_access(thread, access)
        } else {
            self.threads[thread].state = State::Poised(Act::Access(access));
            Ok(())
        }
    }

    /// Executes the access that a thread is at, and goes on.
    pub(crate) fn execute_access(&mut self, thread: usize, access: Access) -> Step {
        match access.kind {
            AccessKind::Load => self.load_elements(thread, access)?,
            AccessKind::Store => self.store_elements(thread, access)?,
            AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite => {
                self.update_elements(thread, access)?;
            }
            AccessKind::Other if self.execute_asynchronous(thread) => {}
            AccessKind::Other if self.execute_own_copy(thread, access)? => {}
            AccessKind::Other => {
                self.tell(thread, &Event::MayOrder);
                // It may write anything there.
                self.forget(access.space);
                self.ask_results(thread);
            }
        }
        self.advance(thread);
        Ok(())
    }

    /// Executes the part of a `cp.async` that a thread is at: its destination is written, with unknown values. False if it is at no such
    /// part.
    fn execute_own_copy(&mut self, thread: usize, access: Access) -> Step<bool> {
        let at = self.point(thread).instruction;
        let bytes = match self.code_of(thread).and_then(|(body, _)| own_part(body, at)) {
            Some(OwnPart::Destination(bytes)) => bytes,
            Some(OwnPart::Other) => return Ok(true),
            Some(OwnPart::Fence) | None => return Ok(false),
        };
        let Some(start) = self.generic(thread, access)? else {
            self.forget_of(thread, access.space);
            return Ok(true);
        };
        let write = Access {
            count: (bytes / 4) as u8,
            ..Access::one(AccessKind::Store, access.space, 32)
        };
        self.tell_access(thread, write, start, (&[], u64::MAX));
        for number in 0..bytes / 4 {
            self.store(thread, start.wrapping_add(4 * number), 4, None)?;
        }
        Ok(true)
    }

    /// Defines all results of the instruction that a thread is at as the world has them.
    pub(crate) fn ask_results(&mut self, thread: usize) {
        let Some((_, instruction)) = self.code_of(thread) else {
            return;
        };
        for number in 0..usize::from(instruction.results) {
            let word = self.ask(thread, Unmodelled::Result(number));
            self.define(thread, number, word);
        }
    }

    /// An access of the value that the function returns, which has no address; false if it is none.
    fn access_result(&mut self, thread: usize, access: Access) -> bool {
        let Some((body, instruction)) = self.code_of(thread) else {
            return false;
        };
        let uses = body.uses(instruction);
        let &[Value::ReturnSlot(_, offset), by, ref stored @ ..] = uses else {
            return false;
        };
        let by = self.value(thread, by);
        let start = by.map(|by| by.wrapping_add_signed(i64::from(offset)));
        let bytes = element(access).unwrap_or(8);
        for (number, &value) in stored.iter().enumerate() {
            let word = self.value(thread, value);
            if let Some(frame) = self.threads[thread].frames.last_mut() {
                match start {
                    Some(start) => {
                        let at = start.wrapping_add(number as u64 * bytes);
                        frame.returned.write(at, bytes, word);
                    }
                    None => frame.returned.forget(),
                }
            }
        }
        for number in 0..usize::from(instruction.results) {
            self.define(thread, number, None);
        }
        self.advance(thread);
        true
    }

    /// The generic address that the instruction of a thread accesses, if it is known.
    ///
    /// # Errors
    ///
    /// [`Unknown::Address`]: it lies in another space than the one that the instruction names.
    fn generic(&mut self, thread: usize, access: Access) -> Step<Option<u64>> {
        let Some((body, instruction)) = self.code_of(thread) else {
            return Ok(None);
        };
        let &[base, by, ..] = body.uses(instruction) else {
            return Ok(None);
        };
        let space = self.space_of(access, base);
        let raw = match self.value(thread, base) {
            Some(base) => self.value(thread, by).map(|by| base.wrapping_add(by)),
            None => None,
        };
        self.generic_of(thread, space, raw)
    }

    /// The generic address of an address in a space, if it is known.
    ///
    /// # Errors
    ///
    /// [`Unknown::Address`]: it lies in another space.
    pub(crate) fn generic_of(&self, thread: usize, space: Space, raw: Word) -> Step<Option<u64>> {
        let Some(raw) = raw else {
            return Ok(None);
        };
        let generic = address::to_generic(space, raw);
        generic
            .map(Some)
            .ok_or_else(|| self.unknown(thread, Unknown::Address))
    }

    /// The space in which the address of an access lies, by its base. That of a symbol is in the symbol's space, regardless of the space
    /// that the instruction names.
    pub(crate) fn space_of(&self, access: Access, base: Value) -> Space {
        match base {
            Value::Symbol(symbol, _) if access.space == Space::Generic => {
                self.kernel.module.0.symbol(symbol).space
            }
            _ => access.space,
        }
    }

    fn load_elements(&mut self, thread: usize, access: Access) -> Step {
        let Some(code) = self.code_of(thread) else {
            return Ok(());
        };
        let start = self.generic(thread, access)?;
        self.load_from(thread, access, code, start)
    }

    /// Executes a load from a generic address, if that is known, without going on.
    pub(crate) fn load_from(
        &mut self,
        thread: usize,
        access: Access,
        (body, instruction): (&Body<'_>, &Instruction),
        start: Option<u64>,
    ) -> Step {
        let Some(start) = start else {
            self.ask_results(thread);
            return Ok(());
        };
        self.tell_access(thread, access, start, (&[], 0));
        let results = body.results(instruction);
        let bytes = element(access).filter(|_| results.len() == usize::from(access.count));
        let Some(bytes) = bytes.filter(|&bytes| bytes <= 8) else {
            self.ask_results(thread);
            return Ok(());
        };
        for (number, result) in results.iter().enumerate() {
            let loaded = self.load(thread, start.wrapping_add(number as u64 * bytes), bytes)?;
            let to = result
                .register()
                .map_or(0, |register| body.registers.bits(register));
            let word = evaluate::result(access.extension(to), 0, &[loaded]);
            self.define_in(thread, (body, instruction), number, word);
        }
        Ok(())
    }

    fn store_elements(&mut self, thread: usize, access: Access) -> Step {
        let Some((body, instruction)) = self.code_of(thread) else {
            return Ok(());
        };
        let Some(start) = self.generic(thread, access)? else {
            self.forget_of(thread, access.space);
            return Ok(());
        };
        let count = usize::from(access.count);
        let mut words = std::mem::take(&mut self.operands);
        words.clear();
        match body.uses(instruction).get(2..2 + count) {
            Some(stored) => {
                for &value in stored {
                    words.push(self.value(thread, value));
                }
            }
            // One operand that is not followed may stand for all.
            None => words.resize(count, None),
        }
        self.store_to(thread, access, start, &words)?;
        self.operands = words;
        Ok(())
    }

    /// Executes a store of these words to a generic address, without going on.
    pub(crate) fn store_to(&mut self, thread: usize, access: Access, start: u64, words: &[Word]) -> Step {
        self.tell_access(thread, access, start, (words, u64::MAX));
        let Some(bytes) = element(access) else {
            self.forget(address::space_of(start));
            return Ok(());
        };
        for (number, &word) in (0..).zip(words) {
            self.store(thread, start.wrapping_add(number * bytes), bytes, word)?;
        }
        Ok(())
    }

    /// Atomics return the old value.
    fn update_elements(&mut self, thread: usize, access: Access) -> Step {
        let Some((body, instruction)) = self.code_of(thread) else {
            return Ok(());
        };
        let Some(start) = self.generic(thread, access)? else {
            self.forget_of(thread, access.space);
            self.ask_results(thread);
            return Ok(());
        };
        let values = body.uses(instruction).get(2..).unwrap_or_default();
        let values: Vec<Word> = values.iter().map(|&value| self.value(thread, value)).collect();
        let changes = changed_bits(access.update, &values);
        self.tell_access(thread, access, start, (&[], changes));
        let Some(bytes) = element(access).filter(|&bytes| bytes <= 8) else {
            self.forget(address::space_of(start));
            self.ask_results(thread);
            return Ok(());
        };
        let results = usize::from(instruction.results);
        let is_each = results == usize::from(access.count);
        let is_computed = access.update != Update::Unknown && access.count == 1;
        let old = match is_computed {
            true => self.load(thread, start, bytes)?,
            false => None,
        };
        for number in 0..results {
            let at = start.wrapping_add(number as u64 * bytes);
            let loaded = match (is_computed, is_each) {
                (true, true) => old,
                (false, true) => self.load(thread, at, bytes)?,
                (_, false) => None,
            };
            let word = loaded.or_else(|| self.ask(thread, Unmodelled::Result(number)));
            self.define(thread, number, word);
        }
        for number in 0..u64::from(access.count) {
            let computed = evaluate::update(access.update, access.bits, old, &values);
            let computed = computed.filter(|_| is_computed);
            let word = computed.or_else(|| self.ask(thread, Unmodelled::Update));
            self.store(thread, start.wrapping_add(number * bytes), bytes, word)?;
        }
        Ok(())
    }

    /// Tells the observer of an access to a generic address, with the words that are stored, and the bits that may change.
    fn tell_access(
        &mut self,
        thread: usize,
        access: Access,
        generic: u64,
        (stored, changes): (&[Word], u64),
    ) {
        let space = address::space_of(generic);
        self.accesses += 1;
        let accessed = Accessed {
            number: self.accesses,
            kind: access.kind,
            space,
            address: generic.wrapping_sub(address::window(space)),
            bytes: element(access).unwrap_or(0) * u64::from(access.count),
            element: element(access).unwrap_or(0),
            changes,
            semantics: access.semantics,
            scope: access.scope,
            is_ordering: access.is_ordering(),
        };
        self.note_read(accessed.number);
        self.tell(thread, &Event::Access(accessed, stored));
        if accessed.bytes == 0 || access.is_ordering() {
            self.tell(thread, &Event::MayOrder);
        }
    }

    /// At most 8 bytes at a generic address. The world supplies the content of shared and global memory that no thread has written.
    fn load(&mut self, thread: usize, generic: u64, bytes: u64) -> Step<Word> {
        let room = match owner(generic) {
            Owner::Thread => {
                let untouched = self.world.unwritten().map(|word| word as u8);
                if self.follows() {
                    self.note_own_load(thread, generic, bytes);
                }
                let thread = &self.threads[thread];
                if self.follows() {
                    let words = generic / 4..generic.saturating_add(bytes).div_ceil(4);
                    for word in words.filter(|_| !thread.own_bits.is_empty()) {
                        self.loaded |= thread.own_bits.get(&word).copied().unwrap_or(0);
                    }
                }
                let is_known = !thread.is_own_forgotten || address::space_of(generic) != Space::Local;
                let untouched = untouched.filter(|_| is_known);
                return Ok(thread.own.read_or(generic, bytes, untouched));
            }
            Owner::Shared(number) => number,
        };
        self.polls.global_loads += u64::from(room == GLOBAL);
        if !self.rooms[room].memory.are_touched(generic, bytes) {
            let space = address::space_of(generic);
            let answer = self.world.read(&Read {
                at: at(self.block, thread, self.point(thread), &self.contexts),
                space,
                address: generic.wrapping_sub(address::window(space)),
                bytes: bytes as u8,
                is_initial: !self.rooms[room].is_forgotten,
            });
            for number in 0..bytes {
                let memory = &mut self.rooms[room].memory;
                let address = generic.wrapping_add(number);
                if memory.get(address) == Byte::Untouched {
                    memory.set(address, answer.map(|answer| (answer >> (8 * number)) as u8));
                }
            }
            self.count_words()?;
        }
        Ok(self.rooms[room].memory.read(generic, bytes))
    }

    /// Stores at a generic address.
    pub(crate) fn store(&mut self, thread: usize, generic: u64, bytes: u64, word: Word) -> Step {
        match owner(generic) {
            Owner::Thread => {
                if self.follows() {
                    for word in generic / 4..generic.saturating_add(bytes).div_ceil(4) {
                        self.threads[thread].own_bits.insert(word, self.stored);
                    }
                    self.note_own_store(thread, generic, bytes);
                }
                let own = &mut self.threads[thread].own;
                let before = own.len();
                own.write(generic, bytes, word);
                self.forgotten_words += (own.len() - before) as u64;
            }
            Owner::Shared(room) => self.rooms[room].memory.write(generic, bytes, word),
        }
        self.count_words()
    }

    /// Forgets the content of a space that threads share.
    fn forget(&mut self, space: Space) {
        let rooms = match space {
            Space::Generic => GLOBAL..SHARED + 1,
            Space::Global => GLOBAL..GLOBAL + 1,
            Space::Shared | Space::SharedCluster | Space::Tensor => SHARED..SHARED + 1,
            Space::Local | Space::Const | Space::Param => return,
        };
        for room in rooms {
            self.forget_room(room);
        }
    }

    /// Forgets what a thread may have changed in a space; [`Space::Generic`]: in any.
    pub(crate) fn forget_of(&mut self, thread: usize, space: Space) {
        self.forget(space);
        if matches!(space, Space::Generic | Space::Local) {
            self.threads[thread].is_own_forgotten = true;
            let own = &mut self.threads[thread].own;
            let before = own.len();
            own.forget_where(|address| address::space_of(address) == Space::Local);
            self.forgotten_words += (before - own.len()) as u64;
        }
    }

    /// Forgets the content of all memory that code may write.
    pub(crate) fn forget_all(&mut self) {
        self.forget(Space::Generic);
    }

    fn forget_room(&mut self, number: usize) {
        let room = &mut self.rooms[number];
        self.forgotten_words += room.memory.len() as u64;
        room.memory.forget();
        room.is_forgotten = true;
    }

    fn count_words(&self) -> Step {
        let now: usize = self.rooms.iter().map(|room| room.memory.len()).sum();
        if self.forgotten_words.saturating_add(now as u64) > MAX_WORDS {
            return Err(End::Unknown(Unknown::Memory));
        }
        Ok(())
    }
}
