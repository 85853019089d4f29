//! Loops that end after a number of rounds.

use super::Generator;

impl Generator {
    /// A loop that each lane goes round as often as its number says.
    pub(super) fn rounds(&mut self, depth: usize) {
        let (counter, rounds, done) = (self.temporary(), self.temporary(), self.predicate());
        let (head, end) = (self.label(), self.label());
        match self.random.below(3) {
            0 => {
                let (part, some) = (self.condition(), 1 + self.random.below(3));
                let others = 1 + self.random.below(3);
                self.line(&format!("selp.b32 {rounds}, {some}, {others}, {part};"));
            }
            1 => {
                let by = 3 + self.random.below(2);
                self.line(&format!("mov.u32 {rounds}, %laneid;"));
                self.line(&format!("shr.u32 {rounds}, {rounds}, {by};"));
            }
            _ => self.line(&format!("mov.b32 {rounds}, 3;")),
        }
        self.line(&format!("mov.b32 {counter}, 0;"));
        self.line(&format!("{head}:"));
        self.line(&format!("setp.ge.u32 {done}, {counter}, {rounds};"));
        self.line(&format!("@{done} bra {end};"));
        if self.random.chance(2) {
            let (now, after) = (self.predicate(), self.label());
            let round = self.random.below(3);
            self.line(&format!("setp.ne.u32 {now}, {counter}, {round};"));
            self.line(&format!("@{now} bra {after};"));
            let leave = self.condition();
            self.line(&format!("@{leave} bra {end};"));
            self.line(&format!("{after}:"));
        }
        self.block(depth + 1);
        self.line(&format!("add.u32 {counter}, {counter}, 1;"));
        self.line(&format!("bra.uni {head};"));
        self.line(&format!("{end}:"));
    }

    /// A loop that all threads go round together: what they test at its end is a constant, or made of a parameter or of the size of the
    /// block.
    pub(super) fn tiles(&mut self, depth: usize) {
        let (counter, tiles, done) = (self.temporary(), self.temporary(), self.predicate());
        let (head, end) = (self.label(), self.label());
        match self.random.below(3) {
            0 => {
                self.line(&format!("ld.param.u32 {tiles}, [n];"));
                self.line(&format!("and.b32 {tiles}, {tiles}, 3;"));
            }
            1 => {
                self.line(&format!("mov.u32 {tiles}, %ntid.x;"));
                self.line(&format!("shr.u32 {tiles}, {tiles}, 5;"));
            }
            _ => {
                let count = 1 + self.random.below(3);
                self.line(&format!("mov.b32 {tiles}, {count};"));
            }
        }
        let (is_rotated, leaves) = (self.random.chance(2), self.random.chance(4));
        self.line(&format!("mov.b32 {counter}, 0;"));
        if is_rotated {
            self.line(&format!("setp.ge.u32 {done}, {counter}, {tiles};"));
            self.line(&format!("@{done} bra {end};"));
        }
        self.line(&format!("{head}:"));
        if !is_rotated {
            self.line(&format!("setp.ge.u32 {done}, {counter}, {tiles};"));
            self.line(&format!("@{done} bra {end};"));
        }
        if self.random.chance(2) {
            self.line("bar.sync 0;");
        }
        if self.random.chance(2) {
            self.branch(depth + 1);
        } else {
            self.block(depth + 1);
        }
        if leaves {
            let (now, round) = (self.predicate(), self.random.below(3));
            self.line(&format!("setp.eq.u32 {now}, {counter}, {round};"));
            self.line(&format!("@{now} bra {end};"));
        }
        if self.random.chance(2) {
            self.store();
        }
        if self.random.chance(2) {
            self.line("bar.sync 0;");
        }
        self.line(&format!("add.u32 {counter}, {counter}, 1;"));
        if is_rotated {
            self.line(&format!("setp.lt.u32 {done}, {counter}, {tiles};"));
            self.line(&format!("@{done} bra {head};"));
        } else {
            self.line(&format!("bra.uni {head};"));
        }
        self.line(&format!("{end}:"));
    }

    pub(super) fn repeat(&mut self, depth: usize) {
        let (counter, head, end, predicate) =
            (self.temporary(), self.label(), self.label(), self.predicate());
        let start = if self.random.chance(2) {
            "0".to_owned()
        } else {
            self.value()
        };
        let step = *self.random.pick(&[1, 2, 8, 16, 32]);
        let bound = if self.random.chance(3) {
            self.value()
        } else {
            (*self.random.pick(&["2", "3", "16", "32", "64", "40"])).to_owned()
        };
        self.line(&format!("mov.b32 {counter}, {start};"));
        // No kernel runs long: a counter of its own bounds the rounds.
        let (fuel, spent) = (self.temporary(), self.predicate());
        self.line(&format!("mov.b32 {fuel}, 0;"));
        self.line(&format!("{head}:"));
        self.line(&format!("setp.ge.s32 {predicate}, {counter}, {bound};"));
        self.line(&format!("@{predicate} bra {end};"));
        self.line(&format!("setp.ge.u32 {spent}, {fuel}, 4;"));
        self.line(&format!("@{spent} bra {end};"));
        self.block(depth + 1);
        if self.random.chance(4) {
            let leave = self.condition();
            self.line(&format!("@{leave} bra {end};"));
        }
        self.line(&format!("add.s32 {counter}, {counter}, {step};"));
        self.line(&format!("add.s32 {fuel}, {fuel}, 1;"));
        self.line(&format!("bra.uni {head};"));
        self.line(&format!("{end}:"));
    }
}
