//! Small kernels with warp collectives and barriers under random control flow, as PTX text. Equal seeds make equal
//! kernels.

mod coordinates;
mod exchanges;
mod loops;
mod masks;
mod objects;

use std::fmt::Write as _;

pub use crate::random::Random;

/// Seeds with this bit make kernels that may have cycles which are entered at two places.
pub const CYCLES: u64 = 1 << 40;

/// Seeds with this bit make kernels for blocks of two and three dimensions, and for blocks that are smaller than a warp.
pub const ROWS: u64 = 1 << 41;

/// Seeds with this bit make kernels with masks of which some bits are known, and with ballots about what branches test.
pub const MASKS: u64 = 1 << 42;

/// Seeds with this bit make kernels with loops that each lane goes round as often as its number says.
pub const ROUNDS: u64 = 1 << 43;

/// Seeds with this bit make kernels with loops that all threads of a block go round together, with barriers in them.
pub const TILES: u64 = 1 << 44;

/// Seeds with this bit make kernels whose lanes hand values to each other through shared memory.
pub const EXCHANGES: u64 = 1 << 45;

/// Seeds with this bit make kernels with objects on the stack that functions fill through pointers.
pub const OBJECTS: u64 = 1 << 46;

/// Blocks with a multiple of 32 threads, for kernels that read `%tid.y` or `%tid.z` and do not say theirs.
const FOLDED: [[u32; 3]; 14] = [
    [16, 4, 1],
    [8, 8, 1],
    [4, 8, 1],
    [4, 4, 4],
    [2, 16, 1],
    [1, 32, 1],
    [1, 1, 64],
    [20, 8, 1],
    [48, 2, 1],
    [3, 32, 1],
    [32, 2, 1],
    [16, 3, 2],
    [12, 8, 1],
    [64, 1, 1],
];

/// Blocks smaller than a warp.
const SMALL: [[u32; 3]; 5] = [[16, 1, 1], [8, 2, 1], [4, 2, 2], [8, 1, 1], [5, 3, 1]];

/// Variables that statements assign.
const VARIABLES: usize = 4;

/// Blocks of kernels that say theirs, in x, y and z.
const BLOCKS: [[u32; 3]; 8] = [
    [64, 1, 1],
    [8, 8, 1],
    [16, 3, 1],
    [48, 1, 1],
    [20, 1, 1],
    [4, 4, 4],
    [5, 7, 1],
    [32, 2, 1],
];

/// The functions that kernels call: each takes its mask from its caller.
const FUNCTIONS: &str = "\
.func meet(.param .b32 meet_param_0)
{
.reg .b32 %m;
ld.param.u32 %m, [meet_param_0];
bar.warp.sync %m;
ret;
}
.func (.param .b32 pick_return) pick(.param .b32 pick_param_0, .param .b32 pick_param_1, .param .b32 pick_param_2)
{
.reg .b32 %m, %x, %s, %r;
ld.param.u32 %m, [pick_param_0];
ld.param.u32 %x, [pick_param_1];
ld.param.u32 %s, [pick_param_2];
shfl.sync.idx.b32 %r, %x, %s, 31, %m;
st.param.b32 [pick_return+0], %r;
ret;
}
.func meet_if(.param .b32 meet_if_param_0, .param .b32 meet_if_param_1)
{
.reg .b32 %m, %x, %k;
.reg .pred %p;
ld.param.u32 %m, [meet_if_param_0];
ld.param.u32 %x, [meet_if_param_1];
and.b32 %k, %x, 16;
setp.eq.s32 %p, %k, 0;
@%p bra LEAVE;
{
.param .b32 p0;
st.param.b32 [p0+0], %m;
call.uni meet, (p0);
}
LEAVE:
ret;
}
.func (.param .b32 half_return) half(.param .b32 half_param_0)
{
.reg .b32 %x, %r;
ld.param.u32 %x, [half_param_0];
and.b32 %r, %x, 16;
st.param.b32 [half_return+0], %r;
ret;
}
";

struct Generator {
    random: Random,
    text: String,
    labels: usize,
    temporaries: usize,
    predicates: usize,
    left: usize,
    /// Masks that are known to be written here.
    masks: Vec<String>,
    has_barriers: bool,
    has_rows: bool,
    has_cycles: bool,
    /// See [`ROWS`].
    is_folded: bool,
    /// See [`ROUNDS`].
    has_rounds: bool,
    /// See [`TILES`].
    has_tiles: bool,
    /// See [`EXCHANGES`].
    has_exchanges: bool,
    /// See [`OBJECTS`].
    has_objects: bool,
    /// Registers with generic addresses.
    addresses: usize,
    /// Lanes may be in different arms of a branch.
    is_apart: bool,
    /// See [`MASKS`].
    has_masks: bool,
}

/// A kernel.
pub struct Kernel {
    /// Its module.
    pub text: String,
    /// The block that it says it has.
    pub block: Option<[u32; 3]>,
    /// `%tid.y` and `%tid.z`: true for one that it reads.
    reads: [bool; 2],
}

impl Kernel {
    /// A block to launch it with.
    pub fn launched(&self, random: &mut Random) -> [u32; 3] {
        let threads = *random.pick(&[32, 64, 96]);
        // A dimension that a kernel does not read, its blocks are taken not to have.
        let [y, z] = self.reads;
        let fits = |block: &[u32; 3]| (y || block[1] == 1) && (z || block[2] == 1);
        match self.block {
            Some(block) => block,
            None if y || z => {
                let fitting: Vec<_> = FOLDED.into_iter().filter(fits).collect();
                *random.pick(&fitting)
            }
            None => [threads, 1, 1],
        }
    }

    /// True if it says which threads are in which place of a warp: it states its block, or reads no other coordinate than `%tid.x`.
    pub const fn is_stated(&self) -> bool {
        self.block.is_some() || !self.reads[0] && !self.reads[1]
    }

    /// Its text without the functions that all of them have.
    pub fn code(&self) -> &str {
        let start = self.text.find(".visible").unwrap_or(0);
        &self.text[start..]
    }
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let target = if random.chance(12) { "sm_60" } else { "sm_90" };
    let left = 3 + random.below(9);
    let is_folded = seed & ROWS != 0;
    let blocks: &[_] = if is_folded { &SMALL } else { &BLOCKS };
    let block = random.chance(5).then(|| *random.pick(blocks));
    let mut generator = Generator {
        has_cycles: seed & CYCLES != 0,
        is_folded,
        has_masks: seed & MASKS != 0,
        has_rounds: seed & ROUNDS != 0,
        has_tiles: seed & TILES != 0,
        has_exchanges: seed & EXCHANGES != 0,
        has_objects: seed & OBJECTS != 0,
        addresses: 0,
        is_apart: false,
        has_barriers: random.chance(3),
        has_rows: block.is_some() || random.chance(30),
        random,
        text: String::new(),
        labels: 0,
        temporaries: 0,
        predicates: 0,
        left,
        masks: Vec::new(),
    };
    let helpers = if generator.has_objects {
        objects::functions(&mut generator.random)
    } else {
        String::new()
    };
    generator.prologue();
    generator.block(0);
    generator.line("ret;");
    let bounds = block.map_or(String::new(), |[x, y, z]| format!(" .reqntid {x}, {y}, {z}"));
    let mut text = format!(
        ".version 8.0\n.target {target}\n.address_size 64\n{FUNCTIONS}{helpers}\
         .visible .entry kernel(.param .u64 out, .param .u32 n, .param .u32 m){bounds}\n{{\n\
         .local .align 4 .b8 depot[16];\n"
    );
    if seed & EXCHANGES != 0 {
        text.push_str(exchanges::ARRAYS);
        let count = generator.addresses + 1;
        let _ = writeln!(text, ".reg .b64 %g<{count}>, %gb<{count}>, %gr<{count}>;");
    }
    if seed & OBJECTS != 0 {
        text.push_str(objects::OBJECTS);
        let _ = writeln!(text, ".reg .b64 %o<{}>;", generator.addresses + 1);
    }
    let _ = writeln!(text, ".reg .pred %p<{}>;", generator.predicates + 1);
    let _ = writeln!(text, ".reg .b32 %t<{}>;", generator.temporaries + 1);
    let _ = writeln!(text, ".reg .b32 %v<{VARIABLES}>;\n.reg .b64 %a<4>;");
    text.push_str(&generator.text);
    text.push_str("}\n");
    let reads = ["%tid.y", "%tid.z"].map(|register| generator.text.contains(register));
    Kernel { text, block, reads }
}

impl Generator {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%t{}", self.temporaries)
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%p{}", self.predicates)
    }

    fn variable(&mut self) -> String {
        format!("%v{}", self.random.below(VARIABLES))
    }

    fn prologue(&mut self) {
        self.line("ld.param.u64 %a0, [out];");
        if self.has_objects {
            self.begin_objects();
        }
        for variable in 0..VARIABLES {
            let value = self.value();
            self.line(&format!("mov.b32 %v{variable}, {value};"));
        }
    }

    /// An operand that holds some number.
    fn value(&mut self) -> String {
        if self.is_folded && self.random.chance(3) {
            return self.coordinate();
        }
        if self.has_objects && self.random.chance(4) {
            return self.field();
        }
        let result = self.temporary();
        match self.random.below(12) {
            9 if self.has_rows => self.line(&format!("mov.u32 {result}, %tid.y;")),
            10 => {
                // One value for a warp.
                let warp = self.temporary();
                self.line(&format!("mov.u32 {warp}, %tid.x;"));
                self.line(&format!("shr.u32 {warp}, {warp}, 5;"));
                match self.random.below(3) {
                    0 => self.line(&format!("mov.b32 {result}, {warp};")),
                    1 => self.line(&format!("mov.u32 {result}, %warpid;")),
                    _ => {
                        self.line(&format!("mad.wide.u32 %a1, {warp}, 4, %a0;"));
                        self.line(&format!("ld.global.u32 {result}, [%a1+8192];"));
                    }
                }
            }
            11 => {
                // Kept on the stack for a while.
                let (value, at) = (self.variable(), 4 * self.random.below(4));
                self.line(&format!("st.local.u32 [depot+{at}], {value};"));
                self.line(&format!("ld.local.u32 {result}, [depot+{at}];"));
            }
            0 | 1 => self.line(&format!("mov.u32 {result}, %tid.x;")),
            2 => self.line(&format!("mov.u32 {result}, %laneid;")),
            3 => self.line(&format!("ld.param.u32 {result}, [n];")),
            4 => {
                let (other, third) = (self.temporary(), self.temporary());
                self.line(&format!("mov.u32 {other}, %ctaid.x;"));
                self.line(&format!("mov.u32 {third}, %ntid.x;"));
                let fourth = self.temporary();
                self.line(&format!("mov.u32 {fourth}, %tid.x;"));
                self.line(&format!("mad.lo.s32 {result}, {other}, {third}, {fourth};"));
            }
            5 => {
                // Differs by lane in a way that nobody knows.
                let tid = self.temporary();
                self.line(&format!("mov.u32 {tid}, %tid.x;"));
                self.line(&format!("mad.wide.u32 %a1, {tid}, 4, %a0;"));
                let offset = self.random.below(4) * 128;
                self.line(&format!("ld.global.u32 {result}, [%a1+{offset}];"));
            }
            6 => {
                let number = self.random.below(40);
                self.line(&format!("mov.b32 {result}, {number};"));
            }
            7 => {
                let offset = 4096 + 4 * self.random.below(4);
                self.line(&format!("ld.global.u32 {result}, [%a0+{offset}];"));
            }
            _ => {
                let variable = self.variable();
                self.line(&format!("mov.b32 {result}, {variable};"));
            }
        }
        result
    }

    /// An operand computed from others.
    fn expression(&mut self) -> String {
        let value = self.value();
        let result = self.temporary();
        let number = *self.random.pick(&[1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 64]);
        let operation = self.random.below(12);
        match operation {
            0 => self.line(&format!("add.s32 {result}, {value}, {number};")),
            1 => self.line(&format!("and.b32 {result}, {value}, {number};")),
            2 => self.line(&format!("shr.u32 {result}, {value}, {};", number % 8)),
            3 => self.line(&format!("shl.b32 {result}, {value}, {};", number % 8)),
            4 => self.line(&format!("xor.b32 {result}, {value}, {number};")),
            5 => self.line(&format!("mul.lo.s32 {result}, {value}, {number};")),
            6 => self.line(&format!("sub.s32 {result}, {number}, {value};")),
            7 => self.line(&format!("rem.u32 {result}, {value}, {number};")),
            8 => {
                let other = self.value();
                self.line(&format!("add.s32 {result}, {value}, {other};"));
            }
            9 => {
                let (other, predicate) = (self.value(), self.condition());
                self.line(&format!("selp.b32 {result}, {value}, {other}, {predicate};"));
            }
            10 => self.line(&format!("or.b32 {result}, {value}, {number};")),
            _ => return value,
        }
        result
    }

    /// A test of the lanes that are here, or in a mask, or of their number.
    fn question(&mut self) -> String {
        let (predicate, result) = (self.predicate(), self.temporary());
        let here = if self.masks.is_empty() || self.random.chance(2) {
            let here = self.temporary();
            self.line(&format!("activemask.b32 {here};"));
            here
        } else {
            self.random.pick(&self.masks).clone()
        };
        let numbers = match self.random.below(4) {
            0 => {
                self.line(&format!("popc.b32 {result}, {here};"));
                ["32", "16", "31", "1"]
            }
            1 => {
                self.line(&format!("and.b32 {result}, {here}, 0xffff;"));
                ["65535", "0", "255", "1"]
            }
            2 => {
                self.line(&format!("st.local.u32 [depot+12], {here};"));
                self.line(&format!("ld.local.u32 {result}, [depot+12];"));
                ["-1", "65535", "1", "0xffff0000"]
            }
            _ => {
                self.line(&format!("mov.b32 {result}, {here};"));
                ["-1", "65535", "1", "0xffff0000"]
            }
        };
        let comparison = *self
            .random
            .pick(&["eq.s32", "ne.s32", "lt.u32", "ge.u32", "gt.s32"]);
        let number = *self.random.pick(&numbers);
        self.line(&format!("setp.{comparison} {predicate}, {result}, {number};"));
        predicate
    }

    fn condition(&mut self) -> String {
        if self.random.chance(12) {
            return self.question();
        }
        let predicate = self.predicate();
        let value = if self.random.chance(2) {
            self.value()
        } else {
            self.expression()
        };
        let comparison = *self.random.pick(&[
            "lt.u32", "ge.u32", "eq.s32", "ne.s32", "lt.s32", "gt.s32", "le.u32", "gt.u32",
        ]);
        let number = *self.random.pick(&[0, 1, 2, 4, 8, 15, 16, 17, 20, 31, 32, 48, 64]);
        self.line(&format!("setp.{comparison} {predicate}, {value}, {number};"));
        if self.random.chance(8) {
            let (both, other) = (self.predicate(), self.condition());
            let word = *self.random.pick(&["and", "or", "xor"]);
            self.line(&format!("{word}.pred {both}, {predicate}, {other};"));
            return both;
        }
        predicate
    }

    fn mask(&mut self) -> String {
        let constants = [
            "-1",
            "-1",
            "-1",
            "-1",
            "65535",
            "-2",
            "1",
            "0x55555555",
            "0xffff0000",
            "0x80008000",
            "3",
            "255",
            "0x0000fffe",
        ];
        if self.has_masks && self.random.chance(2) {
            return self.partial_mask();
        }
        if self.has_objects && self.random.chance(2) {
            let mask = self.field();
            self.masks.push(mask.clone());
            return mask;
        }
        let result = self.temporary();
        match self.random.below(15) {
            0 => {
                let (lane, first) = (self.temporary(), self.temporary());
                let (size, ones) = *self.random.pick(&[(16, 65535), (24, 255), (28, 15)]);
                self.line(&format!("mov.u32 {lane}, %laneid;"));
                self.line(&format!("and.b32 {first}, {lane}, {size};"));
                self.line(&format!("shl.b32 {result}, {ones}, {first};"));
            }
            12 if !self.masks.is_empty() => return self.random.pick(&self.masks).clone(),
            13 => {
                let value = self.value();
                self.line(&format!("match.any.sync.b32 {result}, {value}, -1;"));
            }
            14 => {
                let register = *self.random.pick(&["eq", "lt", "le", "ge", "gt"]);
                self.line(&format!("mov.u32 {result}, %lanemask_{register};"));
            }
            1 => {
                let predicate = self.condition();
                self.line(&format!("vote.sync.ballot.b32 {result}, {predicate}, -1;"));
            }
            2 | 3 => self.line(&format!("activemask.b32 {result};")),
            4 => {
                let predicate = self.condition();
                let (a, b) = (*self.random.pick(&constants), *self.random.pick(&constants));
                self.line(&format!("selp.b32 {result}, {a}, {b}, {predicate};"));
            }
            5 => self.line(&format!("ld.param.u32 {result}, [m];")),
            _ => return (*self.random.pick(&constants)).to_owned(),
        }
        self.masks.push(result.clone());
        result
    }

    /// A number of 1 for a predicate, or a variable that takes it.
    fn keep(&mut self, predicate: &str) {
        let result = self.variable();
        self.line(&format!("selp.b32 {result}, 1, 0, {predicate};"));
    }

    fn collective(&mut self) {
        let mask = self.mask();
        let result = self.variable();
        match self.random.below(15) {
            0 | 1 => self.line(&format!("bar.warp.sync {mask};")),
            2 => {
                let predicate = self.condition();
                self.line(&format!("vote.sync.ballot.b32 {result}, {predicate}, {mask};"));
            }
            3 => {
                let (predicate, outcome) = (self.condition(), self.predicate());
                let mode = *self.random.pick(&["all", "any", "uni"]);
                self.line(&format!("vote.sync.{mode}.pred {outcome}, {predicate}, {mask};"));
                self.keep(&outcome);
            }
            4 => {
                let (value, source) = (self.value(), self.expression());
                self.line(&format!(
                    "shfl.sync.idx.b32 {result}, {value}, {source}, 31, {mask};"
                ));
            }
            5 => {
                let (value, source) = (self.value(), self.random.below(34));
                self.line(&format!(
                    "shfl.sync.idx.b32 {result}, {value}, {source}, 31, {mask};"
                ));
            }
            6..=8 => self.shuffle(&mask, &result),
            9 => {
                let value = self.value();
                self.line(&format!("match.any.sync.b32 {result}, {value}, {mask};"));
            }
            10 => {
                let (value, outcome) = (self.value(), self.predicate());
                self.line(&format!(
                    "match.all.sync.b32 {result}|{outcome}, {value}, {mask};"
                ));
                self.keep(&outcome);
            }
            11 => {
                let outcome = self.predicate();
                self.line(&format!("elect.sync {result}|{outcome}, {mask};"));
                self.keep(&outcome);
            }
            12 => {
                let value = self.value();
                self.line(&format!("redux.sync.add.s32 {result}, {value}, {mask};"));
            }
            _ => self.call(&mask, &result),
        }
    }

    /// Any mode and width; sometimes in a scope of its own, with the predicate that says whether it was in range.
    fn shuffle(&mut self, mask: &str, result: &str) {
        let value = self.value();
        let mode = *self.random.pick(&["down", "bfly", "up", "idx"]);
        let delta = 1 << self.random.below(5);
        let clamp = if mode == "up" { 0 } else { 31 };
        let width = *self.random.pick(&[32, 32, 32, 16, 8, 4]);
        let control = (32 - width) << 8 | clamp;
        if self.random.chance(3) {
            self.line(&format!(
                "{{\n.reg .b32 got;\n.reg .pred inside;\n\
                 shfl.sync.{mode}.b32 got|inside, {value}, {delta}, {control}, {mask};\n\
                 @inside add.s32 got, got, {value};\nmov.b32 {result}, got;\n}}"
            ));
        } else {
            self.line(&format!(
                "shfl.sync.{mode}.b32 {result}, {value}, {delta}, {control}, {mask};"
            ));
        }
    }

    /// A function that makes the call, with the mask as its argument.
    fn call(&mut self, mask: &str, result: &str) {
        let one = |function: &str| {
            format!("{{\n.param .b32 p0;\nst.param.b32 [p0+0], {mask};\ncall.uni {function}, (p0);\n}}")
        };
        let line = match self.random.below(4) {
            0 => one("meet"),
            1 => {
                let value = self.value();
                format!(
                    "{{\n.param .b32 p0;\n.param .b32 p1;\nst.param.b32 [p0+0], {mask};\n\
                     st.param.b32 [p1+0], {value};\ncall.uni meet_if, (p0, p1);\n}}"
                )
            }
            2 => {
                let value = self.value();
                format!(
                    "{{\n.param .b32 p0;\n.param .b32 q;\nst.param.b32 [p0+0], {value};\n\
                     call.uni (q), half, (p0);\nld.param.b32 {result}, [q+0];\n}}\n{}",
                    one("meet")
                )
            }
            _ => {
                let (value, source) = (self.value(), self.random.below(34));
                format!(
                    "{{\n.param .b32 p0;\n.param .b32 p1;\n.param .b32 p2;\n.param .b32 q;\n\
                     st.param.b32 [p0+0], {mask};\nst.param.b32 [p1+0], {value};\nst.param.b32 [p2+0], {source};\n\
                     call.uni (q), pick, (p0, p1, p2);\nld.param.b32 {result}, [q+0];\n}}"
                )
            }
        };
        self.line(&line);
    }

    /// A barrier of the block; with a count, of some of its threads.
    fn barrier(&mut self) {
        // The machine does not wait at those with a count, so that what lanes hand over there comes too late.
        let kinds = if self.has_exchanges { 4 } else { 6 };
        let all = [
            "bar.sync 0;",
            "bar.sync 0;",
            "barrier.sync 0;",
            "barrier.cta.sync.aligned 1;",
            "bar.sync 2, 64;",
            "bar.arrive 3, 64;",
        ];
        let line = *self.random.pick(&all[..kinds]);
        self.line(line);
    }

    /// Votes before the branch on which lanes take part, and meets them after it.
    fn guided(&mut self) {
        let (predicate, mask, after) = (self.condition(), self.temporary(), self.label());
        self.line(&format!("vote.sync.ballot.b32 {mask}, {predicate}, -1;"));
        self.line(&format!("@!{predicate} bra {after};"));
        self.line(&format!("bar.warp.sync {mask};"));
        if self.random.chance(2) {
            let (value, result) = (self.value(), self.variable());
            self.line(&format!("redux.sync.add.s32 {result}, {value}, {mask};"));
        }
        self.line(&format!("{after}:"));
    }

    fn store(&mut self) {
        let value = self.variable();
        let offset = 4 * self.random.below(16);
        if self.random.chance(6) {
            self.line(&format!("atom.global.add.u32 {value}, [%a0+{offset}], 1;"));
            return;
        }
        self.line(&format!("st.global.u32 [%a0+{offset}], {value};"));
    }

    fn block(&mut self, depth: usize) {
        let count = 1 + self.random.below(4);
        let masks = self.masks.len();
        for _ in 0..count {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.statement(depth);
        }
        self.masks.truncate(masks);
    }

    fn statement(&mut self, depth: usize) {
        let nested = depth < 3;
        if self.has_exchanges && !self.random.chance(24) {
            return match self.random.below(8) {
                0 if nested => self.branch(depth),
                1 if nested => self.tiles(depth),
                _ => self.exchange(depth),
            };
        }
        if self.has_cycles && nested && self.random.chance(4) {
            return self.cycle(depth);
        }
        if self.has_masks && self.random.chance(4) {
            return match depth {
                0 if self.random.chance(3) => self.gathered(),
                _ => self.related(),
            };
        }
        if self.has_objects && self.random.chance(3) {
            return self.objects();
        }
        if self.has_rounds && nested && self.random.chance(4) {
            return self.rounds(depth);
        }
        if self.has_tiles && nested && self.random.chance(3) {
            return self.tiles(depth);
        }
        match self.random.below(17) {
            14 if self.has_barriers => self.barrier(),
            15 if nested => self.table(depth),
            16 => self.guided(),
            0..=3 => self.collective(),
            4 | 5 => self.store(),
            6 | 7 => {
                let (variable, value) = (self.variable(), self.expression());
                self.line(&format!("mov.b32 {variable}, {value};"));
            }
            8..=10 if nested => self.branch(depth),
            11 if nested => self.repeat(depth),
            12 if depth > 0 || self.random.chance(2) => {
                // An early end.
                let (predicate, after) = (self.condition(), self.label());
                self.line(&format!("@!{predicate} bra {after};"));
                if self.random.chance(3) {
                    self.store();
                }
                self.line("ret;");
                self.line(&format!("{after}:"));
            }
            13 => {
                let (predicate, mask) = (self.condition(), self.mask());
                self.line(&format!("@{predicate} bar.warp.sync {mask};"));
            }
            _ => self.collective(),
        }
    }

    fn branch(&mut self, depth: usize) {
        let (predicate, otherwise, end) = (self.condition(), self.label(), self.label());
        let has_else = self.random.chance(2);
        let sign = if self.random.chance(2) { "!" } else { "" };
        self.line(&format!("@{sign}{predicate} bra {otherwise};"));
        let was_apart = std::mem::replace(&mut self.is_apart, true);
        self.block(depth + 1);
        if has_else {
            self.line(&format!("bra.uni {end};"));
        }
        self.line(&format!("{otherwise}:"));
        if has_else {
            self.block(depth + 1);
            self.line(&format!("{end}:"));
        }
        self.is_apart = was_apart;
    }

    /// A cycle of two arms that may be entered at either.
    fn cycle(&mut self, depth: usize) {
        let (fuel, spent) = (self.temporary(), self.predicate());
        let (first, second, end) = (self.label(), self.label(), self.label());
        self.line(&format!("mov.b32 {fuel}, 0;"));
        let enters_second = self.condition();
        self.line(&format!("@{enters_second} bra {second};"));
        self.line(&format!("{first}:"));
        self.block(depth + 1);
        if self.random.chance(2) {
            let leave = self.condition();
            self.line(&format!("@{leave} bra {end};"));
        }
        self.line(&format!("{second}:"));
        self.block(depth + 1);
        // No kernel runs long: a counter of its own bounds the rounds.
        self.line(&format!("add.s32 {fuel}, {fuel}, 1;"));
        self.line(&format!("setp.ge.u32 {spent}, {fuel}, 4;"));
        self.line(&format!("@{spent} bra {end};"));
        let again = self.condition();
        let sign = if self.random.chance(2) { "!" } else { "" };
        self.line(&format!("@{sign}{again} bra {first};"));
        self.line(&format!("{end}:"));
    }

    /// A jump table.
    fn table(&mut self, depth: usize) {
        let count = if self.random.chance(2) { 2 } else { 4 };
        let (value, index) = (self.expression(), self.temporary());
        let (table, end) = (self.label(), self.label());
        let arms: Vec<String> = (0..count).map(|_| self.label()).collect();
        self.line(&format!("and.b32 {index}, {value}, {};", count - 1));
        self.line(&format!("{table}: .branchtargets {};", arms.join(", ")));
        let guard = if self.random.chance(4) {
            format!("@{} ", self.condition())
        } else {
            String::new()
        };
        self.line(&format!("{guard}brx.idx {index}, {table};"));
        if !guard.is_empty() && self.random.chance(2) {
            self.line(&format!("bra.uni {end};"));
        }
        for arm in arms {
            self.line(&format!("{arm}:"));
            self.block(depth + 1);
            if !self.random.chance(5) {
                self.line(&format!("bra.uni {end};"));
            }
        }
        self.line(&format!("{end}:"));
    }
}
