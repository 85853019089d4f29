//! Values of the coordinates of threads.

use super::Generator;

impl Generator {
    /// A coordinate of the thread, a side of the block, or what is computed of them.
    pub(super) fn coordinate(&mut self) -> String {
        let result = self.temporary();
        let registers = ["%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%tid.x"];
        match self.random.below(10) {
            place @ 0..6 => self.line(&format!("mov.u32 {result}, {};", registers[place])),
            6 | 7 => {
                // The number of the thread.
                let [x, y, z, width, depth] = std::array::from_fn(|_| self.temporary());
                for (register, special) in [(&x, 'x'), (&y, 'y'), (&z, 'z')] {
                    self.line(&format!("mov.u32 {register}, %tid.{special};"));
                }
                self.line(&format!("mov.u32 {width}, %ntid.x;"));
                self.line(&format!("mov.u32 {depth}, %ntid.y;"));
                self.line(&format!("mad.lo.s32 {y}, {depth}, {z}, {y};"));
                self.line(&format!("mad.lo.s32 {result}, {y}, {width}, {x};"));
            }
            8 => {
                let [x, y] = std::array::from_fn(|_| self.temporary());
                self.line(&format!("mov.u32 {x}, %ntid.x;"));
                self.line(&format!("mov.u32 {y}, %ntid.y;"));
                self.line(&format!("mul.lo.u32 {result}, {x}, {y};"));
                if self.random.chance(2) {
                    self.line(&format!("mov.u32 {y}, %ntid.z;"));
                    self.line(&format!("mul.lo.u32 {result}, {result}, {y};"));
                }
            }
            _ => {
                // Whole warps of the row, or whether the thread is in one of them.
                let [width, thread] = std::array::from_fn(|_| self.temporary());
                self.line(&format!("mov.u32 {width}, %ntid.x;"));
                self.line(&format!("mov.u32 {thread}, %tid.x;"));
                match self.random.below(3) {
                    0 => self.line(&format!("and.b32 {result}, {width}, -32;")),
                    1 => self.line(&format!("xor.b32 {result}, {width}, {thread};")),
                    _ => {
                        let predicate = self.predicate();
                        self.line(&format!("and.b32 {width}, {width}, -32;"));
                        self.line(&format!("setp.ge.u32 {predicate}, {thread}, {width};"));
                        self.line(&format!("selp.b32 {result}, 1, 0, {predicate};"));
                    }
                }
            }
        }
        result
    }
}
