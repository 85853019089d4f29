//! The ways in which code hands values from lane to lane.

use super::{Generator, Style};

impl Generator {
    /// The unrolled end of a reduction, in a branch of half a warp or of a whole one.
    pub(super) fn tail(&mut self, style: Style, depth: usize) {
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
    pub(super) fn scan(&mut self, style: Style) {
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
    pub(super) fn queue(&mut self, style: Style) {
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
            let is_right = !self.is_apart && self.random.chance(2);
            self.ordering_or("-1", is_right);
            let result = self.load(style, &(fixed, place));
            // The analysis takes what lanes load from one address for one value, as long as no lane writes there meanwhile.
            if is_right {
                let variable = self.variable();
                self.line(&format!("mov.b32 {variable}, {result};"));
            }
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
    pub(super) fn transposed(&mut self, style: Style) {
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
    pub(super) fn owned(&mut self, style: Style) {
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
    pub(super) fn looked_up(&mut self) {
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
    pub(super) fn written_by_all(&mut self, style: Style) {
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

    pub(super) fn counted(&mut self) {
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
    pub(super) fn arms(&mut self, style: Style) {
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
    pub(super) fn rounds_of_steps(&mut self, style: Style) {
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
}
