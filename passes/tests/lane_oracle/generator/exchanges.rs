//! Lanes that hand values to each other through shared memory, in order or not: tails of reductions, scans, queues, transposes, and
//! code that is right without synchronisation.

use super::Generator;

/// Arrays of 128 words each, one that nothing writes, and one that only atomics touch.
pub(super) const ARRAYS: &str = "\
.shared .align 16 .b8 words[512];
.shared .align 16 .b8 others[512];
.shared .align 16 .b8 table[512];
.shared .align 16 .b8 counts[512];
";

/// The code that a piece of it is written for.
#[derive(Clone, Copy)]
struct Style {
    array: &'static str,
    is_volatile: bool,
    /// Addresses are generic, and of 64 bits.
    is_generic: bool,
}

/// A register with an address, and a constant that is added to it.
type Slot = (String, i64);

impl Generator {
    /// A statement about shared memory.
    pub(super) fn exchange(&mut self, depth: usize) {
        let style = Style {
            array: *self.random.pick(&["words", "words", "others"]),
            is_volatile: self.random.chance(3),
            is_generic: self.random.chance(4),
        };
        match self.random.below(16) {
            0..=2 => self.tail(style, depth),
            3 | 4 => self.scan(style),
            5 => self.queue(style),
            6 => self.transposed(style),
            7 => self.owned(style),
            8 => self.looked_up(),
            9 => self.written_by_all(style),
            10 => self.counted(),
            11 => self.arms(style),
            12 => self.rounds_of_steps(style),
            _ => {
                for _ in 0..1 + self.random.below(3) {
                    self.touch(style);
                    if self.random.chance(3) {
                        self.ordering("-1");
                    }
                }
            }
        }
        if !self.is_apart && self.random.chance(2) {
            self.line("bar.sync 0;");
        }
    }

    fn thread(&mut self) -> String {
        let result = self.temporary();
        let register = *self.random.pick(&["%tid.x", "%tid.x", "%laneid"]);
        self.line(&format!("mov.u32 {result}, {register};"));
        result
    }

    /// The address of a word, by its number.
    fn slot(&mut self, style: Style, number: &str) -> String {
        let Style {
            array, is_generic, ..
        } = style;
        if is_generic {
            self.addresses += 1;
            let [address, begin, raw] = ["", "b", "r"].map(|part| format!("%g{part}{}", self.addresses));
            self.line(&format!("mov.u64 {raw}, {array};"));
            self.line(&format!("cvta.shared.u64 {begin}, {raw};"));
            self.line(&format!("mad.wide.u32 {address}, {number}, 4, {begin};"));
            return address;
        }
        let (address, begin) = (self.temporary(), self.temporary());
        self.line(&format!("mov.u32 {begin}, {array};"));
        if self.random.chance(2) {
            // A register is seldom written twice.
            let by = if self.random.chance(6) {
                address.clone()
            } else {
                self.temporary()
            };
            self.line(&format!("shl.b32 {by}, {number}, 2;"));
            self.line(&format!("add.s32 {address}, {begin}, {by};"));
        } else {
            self.line(&format!("mad.lo.s32 {address}, {number}, 4, {begin};"));
        }
        address
    }

    fn load(&mut self, style: Style, (address, past): &Slot) -> String {
        let result = self.temporary();
        let (volatile, space) = style.words();
        self.line(&format!(
            "ld{volatile}{space}.u32 {result}, [{address}+{}];",
            4 * past
        ));
        result
    }

    fn keep_in(&mut self, style: Style, (address, past): &Slot, value: &str) {
        let (volatile, space) = style.words();
        self.line(&format!(
            "st{volatile}{space}.u32 [{address}+{}], {value};",
            4 * past
        ));
    }

    /// What may order lanes, right or wrong; or nothing.
    fn ordering(&mut self, mask: &str) {
        // Not all lanes come here.
        if self.is_apart && mask == "-1" && !self.random.chance(16) {
            return;
        }
        let unused = self.temporary();
        let wrong = *self.random.pick(&["0xffff", "3", "0x55555555"]);
        match self.random.below(12) {
            0..=3 => self.line(&format!("bar.warp.sync {mask};")),
            4 => self.line(&format!("shfl.sync.idx.b32 {unused}, {unused}, 0, 31, {mask};")),
            5 => self.line(&format!("match.any.sync.b32 {unused}, {unused}, {mask};")),
            6 if mask == "-1" => self.line("bar.sync 0;"),
            7 if mask == "-1" => {
                // Lanes of a part meet each other alone.
                let (lane, shifted, inside, after) =
                    (self.temporary(), self.temporary(), self.predicate(), self.label());
                self.line(&format!("mov.u32 {lane}, %laneid;"));
                self.line(&format!("shr.u32 {shifted}, {wrong}, {lane};"));
                self.line(&format!("and.b32 {shifted}, {shifted}, 1;"));
                self.line(&format!("setp.eq.u32 {inside}, {shifted}, 0;"));
                self.line(&format!("@{inside} bra {after};"));
                self.line(&format!("bar.warp.sync {wrong};"));
                self.line(&format!("{after}:"));
            }
            8 if mask == "-1" => self.line("barrier.sync 1;"),
            9 => {
                let address = self.temporary();
                self.line(&format!("mov.u32 {address}, counts;"));
                self.line(&format!("atom.shared.add.u32 {unused}, [{address}+128], 1;"));
            }
            // The machine takes lanes that have executed different numbers of them for ordered.
            10 if mask == "-1" && !self.is_apart => {
                let to = self.temporary();
                self.line(&format!("mov.u32 {to}, counts;"));
                self.line(&format!("cp.async.ca.shared.global [{to}], [%a0], 4;"));
                self.line("cp.async.wait_all;");
            }
            _ => {}
        }
    }

    /// The unrolled end of a reduction, in a branch of half a warp or of a whole one.
    fn tail(&mut self, style: Style, depth: usize) {
        let (thread, inside, end) = (self.thread(), self.predicate(), self.label());
        let (width, mask) = *self
            .random
            .pick(&[(32, "-1"), (32, "-1"), (16, "65535"), (64, "-1")]);
        let is_branch = self.random.chance(2);
        if is_branch {
            self.line(&format!("setp.ge.u32 {inside}, {thread}, {width};"));
            self.line(&format!("@{inside} bra {end};"));
        }
        let mask = if is_branch { mask } else { "-1" };
        let address = self.slot(style, &thread);
        // With the sum in a register, a step reads one word.
        let mut kept = if self.random.chance(2) {
            Some(self.load(style, &(address.clone(), 0)))
        } else {
            None
        };
        let care = self.random.below(4);
        let mut by = *self.random.pick(&[16, 16, 8, 4]);
        while by > 0 {
            let own = match &kept {
                Some(own) => own.clone(),
                None => self.load(style, &(address.clone(), 0)),
            };
            let other = self.load(style, &(address.clone(), by));
            let sum = self.temporary();
            self.line(&format!("add.s32 {sum}, {own}, {other};"));
            if care == 0 || care == 1 && self.random.chance(2) {
                self.ordering_or(mask, care == 0);
            }
            self.keep_in(style, &(address.clone(), 0), &sum);
            if care <= 1 || care == 2 && self.random.chance(2) {
                self.ordering_or(mask, care == 0);
            }
            kept = kept.map(|_| sum);
            by /= 2;
            if depth > 1 || self.random.chance(4) {
                break;
            }
        }
        if is_branch {
            self.line(&format!("{end}:"));
        }
    }

    fn ordering_or(&mut self, mask: &str, is_right: bool) {
        if is_right && !(self.is_apart && mask == "-1") {
            self.line(&format!("bar.warp.sync {mask};"));
        } else {
            self.ordering(mask);
        }
    }

    /// Steps of a scan: lanes from some number on add what a lane before them has.
    fn scan(&mut self, style: Style) {
        let thread = self.thread();
        let address = self.slot(style, &thread);
        let value = self.value();
        self.keep_in(style, &(address.clone(), 16), &value);
        let care = self.random.below(3);
        for by in [1, 2, 4] {
            self.ordering_or("-1", care == 0);
            let (first, sum) = (self.predicate(), self.temporary());
            let has_guard = self.random.chance(2);
            let skip = self.label();
            self.line(&format!("setp.lt.u32 {first}, {thread}, {by};"));
            self.line(&format!("mov.b32 {sum}, 0;"));
            if has_guard {
                let (volatile, space) = style.words();
                self.line(&format!(
                    "@!{first} ld{volatile}{space}.u32 {sum}, [{address}+{}];",
                    64 - 4 * by
                ));
            } else {
                self.line(&format!("@{first} bra {skip};"));
                let other = self.load(style, &(address.clone(), 16 - by));
                self.line(&format!("mov.b32 {sum}, {other};"));
                self.line(&format!("{skip}:"));
            }
            self.line(&format!("add.s32 {sum}, {sum}, {value};"));
            self.ordering_or("-1", care == 0);
            self.keep_in(style, &(address.clone(), 16), &sum);
            if self.random.chance(3) {
                break;
            }
        }
    }

    /// One lane writes where all read, or all hand in what one reads.
    fn queue(&mut self, style: Style) {
        let (thread, is_owner, after) = (self.thread(), self.predicate(), self.label());
        let owner = *self.random.pick(&[0, 0, 1, 31]);
        let place = self.random.below(8) as i64;
        self.line(&format!("setp.ne.u32 {is_owner}, {thread}, {owner};"));
        let begin = self.temporary();
        self.line(&format!("mov.b32 {begin}, 0;"));
        let fixed = self.slot(style, &begin);
        if self.random.chance(2) {
            self.line(&format!("@{is_owner} bra {after};"));
            let value = self.value();
            self.keep_in(style, &(fixed.clone(), place), &value);
            self.line(&format!("{after}:"));
            self.ordering("-1");
            let result = self.load(style, &(fixed, place));
            let variable = self.variable();
            self.line(&format!("mov.b32 {variable}, {result};"));
        } else {
            let own = self.slot(style, &thread);
            let value = self.value();
            self.keep_in(style, &(own, 0), &value);
            self.ordering("-1");
            self.line(&format!("@{is_owner} bra {after};"));
            self.load(style, &(fixed, place));
            self.line(&format!("{after}:"));
        }
    }

    /// Each lane writes its own row, and reads that of another.
    fn transposed(&mut self, style: Style) {
        let (thread, other) = (self.thread(), self.temporary());
        let by = *self.random.pick(&[0, 1, 8, 16, 31, 32]);
        self.line(&format!("xor.b32 {other}, {thread}, {by};"));
        let (own, value) = (self.slot(style, &thread), self.value());
        self.keep_in(style, &(own, 0), &value);
        self.ordering("-1");
        let from = self.slot(style, &other);
        self.load(style, &(from, 0));
        if self.random.chance(2) {
            self.ordering("-1");
            self.touch(style);
        }
    }

    /// A word of each thread's own.
    fn owned(&mut self, style: Style) {
        let thread = self.temporary();
        self.line(&format!("mov.u32 {thread}, %tid.x;"));
        let own = (self.slot(style, &thread), 0);
        for _ in 0..2 {
            let value = self.load(style, &own);
            self.line(&format!("add.s32 {value}, {value}, 1;"));
            self.keep_in(style, &own, &value);
        }
    }

    /// A table that nothing writes.
    fn looked_up(&mut self) {
        let style = Style {
            array: "table",
            is_volatile: false,
            is_generic: self.random.chance(2),
        };
        let number = self.place();
        let address = self.slot(style, &number);
        let result = self.load(style, &(address, 0));
        let variable = self.variable();
        self.line(&format!("mov.b32 {variable}, {result};"));
    }

    /// All write to one word: the same value, or not.
    fn written_by_all(&mut self, style: Style) {
        let begin = self.temporary();
        self.line(&format!("mov.b32 {begin}, {};", self.labels % 8));
        let address = (self.slot(style, &begin), 0);
        let value = match self.random.below(4) {
            0 | 1 => self.random.below(3).to_string(),
            2 => self.thread(),
            _ => self.value(),
        };
        self.keep_in(style, &address, &value);
        if self.random.chance(2) {
            self.ordering("-1");
        }
        if self.random.chance(2) {
            self.load(style, &address);
        }
    }

    fn counted(&mut self) {
        let style = Style {
            array: "counts",
            is_volatile: false,
            is_generic: false,
        };
        let number = self.place();
        let address = self.slot(style, &number);
        let result = self.temporary();
        let line = match self.random.below(3) {
            0 => format!("atom.shared.add.u32 {result}, [{address}], 1;"),
            1 => format!("red.shared.add.u32 [{address}], 1;"),
            _ => format!("atom.shared.exch.b32 {result}, [{address}], 5;"),
        };
        self.line(&line);
    }

    /// Lanes in one arm of a branch write, those in the other read.
    fn arms(&mut self, style: Style) {
        let (predicate, otherwise, end) = (self.condition(), self.label(), self.label());
        self.line(&format!("@{predicate} bra {otherwise};"));
        self.touch(style);
        if self.random.chance(2) {
            self.touch(style);
        }
        self.line(&format!("bra.uni {end};"));
        self.line(&format!("{otherwise}:"));
        self.touch(style);
        self.line(&format!("{end}:"));
        if self.random.chance(2) {
            self.ordering("-1");
            self.touch(style);
        }
    }

    /// A loop in whose rounds each lane writes its word, and reads that of another.
    fn rounds_of_steps(&mut self, style: Style) {
        let (by, done, head, end) = (self.temporary(), self.predicate(), self.label(), self.label());
        let thread = self.thread();
        let address = self.slot(style, &thread);
        let care = self.random.below(3);
        let is_shifted = self.random.chance(2);
        self.line(&format!("mov.b32 {by}, {};", if is_shifted { 16 } else { 3 }));
        self.line(&format!("{head}:"));
        self.line(&format!("setp.eq.u32 {done}, {by}, 0;"));
        self.line(&format!("@{done} bra {end};"));
        let other = if is_shifted {
            let place = self.temporary();
            self.line(&format!("add.s32 {place}, {thread}, {by};"));
            (self.slot(style, &place), 0)
        } else {
            (address.clone(), 1 + self.random.below(4) as i64)
        };
        let (own, other) = (self.load(style, &(address.clone(), 0)), self.load(style, &other));
        self.line(&format!("add.s32 {own}, {own}, {other};"));
        self.ordering_or("-1", care == 0);
        self.keep_in(style, &(address, 0), &own);
        self.ordering_or("-1", care == 0);
        match is_shifted {
            true => self.line(&format!("shr.u32 {by}, {by}, 1;")),
            false => self.line(&format!("sub.s32 {by}, {by}, 1;")),
        }
        self.line(&format!("bra.uni {head};"));
        self.line(&format!("{end}:"));
    }

    /// The number of a word: below 64, for what a thread's number and constants make.
    fn place(&mut self) -> String {
        let (thread, result) = (self.thread(), self.temporary());
        let by = *self.random.pick(&[1, 2, 4, 8, 15, 16, 31]);
        match self.random.below(9) {
            0 => self.line(&format!("add.s32 {result}, {thread}, {by};")),
            1 => self.line(&format!("xor.b32 {result}, {thread}, {by};")),
            2 => self.line(&format!("and.b32 {result}, {thread}, {by};")),
            3 => self.line(&format!("shr.u32 {result}, {thread}, 1;")),
            4 => self.line(&format!("sub.s32 {result}, 63, {thread};")),
            5 => self.line(&format!("mov.b32 {result}, {by};")),
            6 => {
                let value = self.value();
                self.line(&format!("and.b32 {result}, {value}, 63;"));
            }
            _ => return thread,
        }
        result
    }

    /// A load or a store of any size, with a guard or not.
    fn touch(&mut self, style: Style) {
        let number = self.place();
        let address = self.slot(style, &number);
        let guard = if self.random.chance(4) {
            format!("@{} ", self.condition())
        } else {
            String::new()
        };
        let (volatile, space) = style.words();
        let (result, more) = (self.temporary(), self.temporary());
        let is_store = self.random.chance(2);
        let line = match (self.random.below(8), is_store) {
            (0, true) => format!("st{volatile}{space}.u8 [{address}], {result};"),
            (0, false) => format!("ld{volatile}{space}.u8 {result}, [{address}+1];"),
            (1, true) => format!("st{volatile}{space}.u16 [{address}+2], {result};"),
            (1, false) => format!("ld{volatile}{space}.u16 {result}, [{address}];"),
            (2, true) if number.starts_with('%') => {
                format!(
                    "st{volatile}.shared.v2.u32 [{}+16], {{{result}, {more}}};",
                    style.array
                )
            }
            (2, _) => format!(
                "ld{volatile}.shared.v2.u32 {{{result}, {more}}}, [{}+16];",
                style.array
            ),
            (_, true) => {
                let value = if self.random.chance(3) {
                    number
                } else {
                    self.value()
                };
                format!("st{volatile}{space}.u32 [{address}], {value};")
            }
            (_, false) => format!("ld{volatile}{space}.u32 {result}, [{address}];"),
        };
        self.line(&format!("{guard}{line}"));
    }
}

impl Style {
    /// Of an opcode.
    const fn words(self) -> (&'static str, &'static str) {
        (
            if self.is_volatile { ".volatile" } else { "" },
            if self.is_generic { "" } else { ".shared" },
        )
    }
}
