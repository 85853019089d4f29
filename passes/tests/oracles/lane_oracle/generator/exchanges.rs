//! Lanes that hand values to each other through shared memory, in order or not: tails of reductions, scans, queues, transposes, and
//! code that is right without synchronisation.

mod patterns;

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
            array: ["words", "words", "others"][self.random.below(3)],
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

    /// An instruction that may order lanes, right or wrong; or nothing.
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
