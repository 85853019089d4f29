//! Masks with some known bits, ballots used in either arm of branches on the same value, and masks from collectives of
//! known values.

use super::Generator;

impl Generator {
    /// An unknown mask, or an unknown number to make one of.
    fn unknown_mask(&mut self) -> String {
        let result = self.temporary();
        match self.random.below(6) {
            0 | 1 => self.line(&format!("ld.param.u32 {result}, [m];")),
            2 => {
                let width = *self.random.pick(&["u16", "u8", "s16"]);
                self.line(&format!("ld.global.{width} {result}, [%a0+{}];", 4096));
            }
            3 => self.line(&format!("activemask.b32 {result};")),
            4 => {
                let predicate = self.condition();
                self.line(&format!("vote.sync.ballot.b32 {result}, {predicate}, -1;"));
            }
            _ => return self.value(),
        }
        result
    }

    /// The bit of the lane, or of one nearby.
    fn own_bit(&mut self) -> String {
        let (lane, result) = (self.temporary(), self.temporary());
        match self.random.below(4) {
            0 => self.line(&format!("mov.u32 {result}, %lanemask_eq;")),
            1 => {
                self.line(&format!("mov.u32 {lane}, %tid.x;"));
                self.line(&format!("and.b32 {lane}, {lane}, 31;"));
                self.line(&format!("shl.b32 {result}, 1, {lane};"));
            }
            2 => {
                self.line(&format!("mov.u32 {lane}, %tid.x;"));
                self.line(&format!("shl.b32 {result}, 1, {lane};"));
            }
            _ => {
                self.line(&format!("mov.u32 {lane}, %laneid;"));
                self.line(&format!("xor.b32 {lane}, {lane}, 1;"));
                self.line(&format!("shl.b32 {result}, 1, {lane};"));
            }
        }
        result
    }

    /// A mask of which some bits are known.
    pub(super) fn partial_mask(&mut self) -> String {
        let (mask, result) = (self.unknown_mask(), self.temporary());
        let number = *self.random.pick(&[
            "0xff",
            "0xffff",
            "0xffffff0f",
            "0xf0",
            "256",
            "0x80000000",
            "0xffff0000",
            "0xaaaaaaaa",
            "1",
        ]);
        match self.random.below(15) {
            0..=2 => self.line(&format!("and.b32 {result}, {mask}, {number};")),
            3 => self.line(&format!("or.b32 {result}, {mask}, {number};")),
            4 => self.line(&format!("shr.u32 {result}, {mask}, 16;")),
            5 => {
                self.line(&format!("and.b32 {result}, {mask}, {number};"));
                self.line(&format!("brev.b32 {result}, {result};"));
            }
            6 => {
                let own = self.own_bit();
                self.line(&format!("not.b32 {own}, {own};"));
                self.line(&format!("and.b32 {result}, {mask}, {own};"));
            }
            7 => {
                let own = self.own_bit();
                self.line(&format!("or.b32 {result}, {mask}, {own};"));
            }
            8 => return self.own_bit(),
            9 => {
                let (other, predicate) = (self.unknown_mask(), self.condition());
                self.line(&format!("and.b32 {other}, {other}, 0xff0;"));
                self.line(&format!("and.b32 {mask}, {mask}, {number};"));
                self.line(&format!("selp.b32 {result}, {mask}, {other}, {predicate};"));
            }
            10 => {
                let table = *self.random.pick(&["0x08", "0x80", "0xfe", "0xca", "0x3c"]);
                let other = self.unknown_mask();
                self.line(&format!("lop3.b32 {result}, {mask}, {other}, {number}, {table};"));
            }
            11 => {
                let length = *self.random.pick(&[4, 8, 16]);
                self.line(&format!(
                    "bfi.b32 {result}, {mask}, {number}, {length}, {length};"
                ));
            }
            12 => self.line(&format!("xor.b32 {result}, {mask}, {mask};")),
            13 => {
                self.line(&format!("not.b32 {result}, {mask};"));
                if self.random.chance(2) {
                    self.line(&format!("and.b32 {result}, {result}, {mask};"));
                }
            }
            _ => {
                self.line(&format!("and.b32 {result}, {mask}, {number};"));
                let by = self.random.below(20);
                self.line(&format!("shl.b32 {result}, {result}, {by};"));
            }
        }
        result
    }

    /// A ballot of one comparison of a value, or of two, and a branch on another one.
    pub(super) fn related(&mut self) {
        let (value, mask) = (self.temporary(), self.temporary());
        let of = self.value();
        self.line(&format!("mov.b32 {value}, {of};"));
        let [first, second, both] = std::array::from_fn(|_| self.predicate());
        let comparisons = ["gt.s32", "le.s32", "lt.u32", "ge.u32", "eq.s32", "ne.s32"];
        for predicate in [&first, &second] {
            let comparison = *self.random.pick(&comparisons);
            let number = *self.random.pick(&[0, 1, 2, 8, 16, 20]);
            self.line(&format!("setp.{comparison} {predicate}, {value}, {number};"));
        }
        let asked = match self.random.below(4) {
            0 => {
                let other = self.condition();
                let word = *self.random.pick(&["and", "or"]);
                self.line(&format!("{word}.pred {both}, {first}, {other};"));
                &both
            }
            _ => &first,
        };
        self.line(&format!("vote.sync.ballot.b32 {mask}, {asked}, -1;"));
        match self.random.below(5) {
            0 => self.line(&format!("not.b32 {mask}, {mask};")),
            1 => {
                let own = self.own_bit();
                self.line(&format!("not.b32 {own}, {own};"));
                self.line(&format!("and.b32 {mask}, {mask}, {own};"));
            }
            _ => {}
        }
        let tested = match self.random.below(4) {
            0 => &second,
            1 => {
                let bit = self.temporary();
                self.line(&format!("mov.u32 {bit}, %laneid;"));
                self.line(&format!("shr.u32 {bit}, {mask}, {bit};"));
                self.line(&format!("and.b32 {bit}, {bit}, 1;"));
                self.line(&format!("setp.ne.s32 {both}, {bit}, 0;"));
                &both
            }
            _ => &first,
        };
        let after = self.label();
        let sign = *self.random.pick(&["", "!"]);
        self.line(&format!("@{sign}{tested} bra {after};"));
        if self.random.chance(2) {
            let (value, result) = (self.value(), self.variable());
            self.line(&format!("redux.sync.add.s32 {result}, {value}, {mask};"));
        } else {
            self.line(&format!("bar.warp.sync {mask};"));
        }
        if self.random.chance(2) {
            self.store();
        }
        self.line(&format!("{after}:"));
        self.masks.push(mask);
    }

    /// Values that collectives give where all lanes are, of which those of the lanes are known.
    pub(super) fn gathered(&mut self) {
        let (value, result) = (self.temporary(), self.temporary());
        let register = *self.random.pick(&["%laneid", "%tid.x"]);
        self.line(&format!("mov.u32 {value}, {register};"));
        match self.random.below(4) {
            0 => {
                let by = self.random.below(6);
                self.line(&format!("shr.u32 {value}, {value}, {by};"));
                self.line(&format!("match.any.sync.b32 {result}, {value}, -1;"));
                self.masks.push(result);
            }
            1 => {
                let (outcome, by) = (self.predicate(), 3 + self.random.below(3));
                self.line(&format!("shr.u32 {value}, {value}, {by};"));
                self.line(&format!("match.all.sync.b32 {result}|{outcome}, {value}, -1;"));
                self.keep(&outcome);
            }
            _ => {
                let variable = self.variable();
                let (mode, by, control) = *self.random.pick(&[
                    ("idx", 0, 31),
                    ("idx", 3, 31),
                    ("bfly", 1, 31),
                    ("bfly", 16, 31),
                    ("down", 8, 31),
                    ("up", 4, 0),
                    ("idx", 2, 0x181f),
                ]);
                self.line(&format!(
                    "shfl.sync.{mode}.b32 {variable}, {value}, {by}, {control}, -1;"
                ));
            }
        }
    }
}
