//! Small kernels with asynchronous copies, as PTX text: pieces of right code in which something is left out, twice, or in another
//! order, for all threads or for one. Equal seeds make equal kernels.

use std::fmt::Write as _;

pub use crate::random::Random;

/// Threads of a block.
pub const THREADS: u32 = 64;

/// Tiles in shared memory, of a word for each thread.
const TILES: usize = 2;

/// Barriers in shared memory.
const BARRIERS: usize = 2;

/// Bytes that bulk copies have; the first is a whole tile.
const SIZES: [u32; 4] = [256, 256, 128, 16];

/// The threads that execute a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    All,
    /// One thread, by its number.
    One(u32),
    /// The warp with this number.
    Warp(u32),
}

/// A word of a tile.
#[derive(Clone, Copy, Debug)]
enum Word {
    /// With the number of the thread.
    Own,
    /// Of the next thread.
    Neighbour,
    /// The first.
    First,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Store(usize, Word),
    Load(usize, Word),
    /// True if it covers shared memory.
    Fence(bool),
    Barrier,
    /// The element of the thread, to this tile.
    Copy(usize),
    Commit {
        is_bulk: bool,
    },
    Wait {
        is_bulk: bool,
        under_way: u32,
        read_only: bool,
    },
    WaitAll,
    BulkOut(usize, u32),
    BulkIn {
        tile: usize,
        bytes: u32,
        barrier: usize,
    },
    Init(usize, u32),
    Expect(usize, u32),
    Arrive(usize),
    Track(usize),
    Phase(usize, u32),
    /// Until [`Act::Join`], unless the parameter is 0.
    Unless,
    Join,
    /// Until [`Act::Again`], so many times; 0: as often as the parameter says.
    Rounds(u32),
    Again,
}

type Piece = (Role, Act);

/// A kernel.
pub struct Kernel {
    /// Its text.
    pub text: String,
    /// Nothing of it was changed.
    pub is_right: bool,
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let mut pieces = Vec::new();
    let parts = 1 + random.below(2);
    let mut used = [0; BARRIERS];
    for part in 0..parts {
        pieces.extend(right(&mut random, part, &mut used));
    }
    let changes = random.below(4);
    for _ in 0..changes {
        change(&mut random, &mut pieces);
    }
    Kernel {
        text: text(&pieces),
        is_right: changes == 0,
    }
}

/// Right code. `used`: the phases of each barrier that are waited for so far.
fn right(random: &mut Random, part: usize, used: &mut [u32; BARRIERS]) -> Vec<Piece> {
    use Role::{All, One};
    let tile = if random.chance(4) {
        random.below(TILES)
    } else {
        part % TILES
    };
    let one = One(*random.pick(&[0, 0, 0, 32, 5]));
    let bytes = *random.pick(&SIZES);
    let read_only = random.chance(2);
    let out = [
        (one, Act::BulkOut(tile, bytes)),
        (one, Act::Commit { is_bulk: true }),
        (
            one,
            Act::Wait {
                is_bulk: true,
                under_way: 0,
                read_only,
            },
        ),
    ];
    let element = |tile| [(All, Act::Copy(tile)), (All, Act::Commit { is_bulk: false })];
    let wait = |under_way| {
        let act = Act::Wait {
            is_bulk: false,
            under_way,
            read_only: false,
        };
        (All, act)
    };
    let word = *random.pick(&[Word::Own, Word::Neighbour, Word::First]);
    let sent = |random: &mut Random| {
        let fence = if random.chance(3) {
            vec![(All, Act::Barrier), (one, Act::Fence(true))]
        } else {
            vec![(All, Act::Fence(true)), (All, Act::Barrier)]
        };
        let mut pieces = vec![(All, Act::Store(tile, Word::Own))];
        pieces.extend(fence);
        pieces.extend(out);
        pieces
    };
    let barrier = part % BARRIERS;
    let brought = |random: &mut Random, pieces: &mut Vec<Piece>, used: &mut [u32; BARRIERS]| {
        let parity = used[barrier] & 1;
        used[barrier] += 1;
        let expect = (one, Act::Expect(barrier, bytes));
        let copy = (one, Act::BulkIn { tile, bytes, barrier });
        pieces.extend([expect, copy]);
        let who = if random.chance(4) { one } else { All };
        pieces.push((who, Act::Phase(barrier, parity)));
        if who != All {
            pieces.push((All, Act::Barrier));
        }
    };
    let mut pieces = Vec::new();
    match random.below(9) {
        0 | 1 => pieces = sent(random),
        2 => {
            pieces.extend(element(tile));
            pieces.push(if random.chance(3) {
                (All, Act::WaitAll)
            } else {
                wait(0)
            });
            pieces.push((All, Act::Barrier));
            pieces.push((All, Act::Load(tile, word)));
        }
        3 => {
            let other = (tile + 1) % TILES;
            pieces.extend(element(tile));
            pieces.extend(element(other));
            pieces.push(wait(1));
            pieces.push((All, Act::Load(tile, Word::Own)));
            pieces.push(wait(0));
            pieces.push((All, Act::Load(other, Word::Own)));
        }
        4 => {
            let threads = THREADS;
            pieces.push((One(0), Act::Init(barrier, threads)));
            pieces.push((All, Act::Barrier));
            let parity = used[barrier] & 1;
            used[barrier] += 1;
            pieces.extend([
                (All, Act::Copy(tile)),
                (All, Act::Track(barrier)),
                (All, Act::Phase(barrier, parity)),
                (All, Act::Load(tile, word)),
            ]);
        }
        5 | 6 => {
            used[barrier] = 0;
            pieces.push((one, Act::Init(barrier, 1)));
            pieces.push((All, Act::Barrier));
            brought(random, &mut pieces, used);
            pieces.push((All, Act::Load(tile, word)));
            if random.chance(2) {
                pieces.push((All, Act::Barrier));
                pieces.extend(sent(random));
            } else if random.chance(2) {
                pieces.push((All, Act::Barrier));
                brought(random, &mut pieces, used);
                pieces.push((Role::Warp(1), Act::Load(tile, word)));
            }
        }
        7 => {
            let rounds = *random.pick(&[2, 3, 0]);
            pieces.push((All, Act::Rounds(rounds)));
            pieces.extend(sent(random));
            pieces.push((All, Act::Barrier));
            pieces.push((All, Act::Again));
        }
        _ => {
            pieces.extend(sent(random));
            pieces.push((All, Act::Barrier));
            pieces.extend(sent(random));
        }
    }
    pieces.push((All, Act::Barrier));
    if random.chance(6) {
        pieces.insert(0, (All, Act::Unless));
        pieces.push((All, Act::Join));
    }
    pieces
}

/// Makes the code another, which may be wrong.
fn change(random: &mut Random, pieces: &mut Vec<Piece>) {
    let at = random.below(pieces.len());
    // Begins and ends stay together.
    let is_frame = |piece: &Piece| matches!(piece.1, Act::Unless | Act::Join | Act::Rounds(_) | Act::Again);
    if is_frame(&pieces[at]) {
        return;
    }
    match random.below(8) {
        0..=2 => {
            pieces.remove(at);
        }
        3 | 4 if at + 1 < pieces.len() && !is_frame(&pieces[at + 1]) => pieces.swap(at, at + 1),
        5 => {
            let more = pieces[at];
            if !matches!(more.1, Act::Phase(..)) {
                pieces.insert(at, more);
            }
        }
        // The sender writes the source of its copy, after the copy and its group.
        6 if matches!(pieces[at].1, Act::BulkOut(..)) => {
            if let (role, Act::BulkOut(tile, _)) = pieces[at] {
                let behind = (at + 1 + random.below(2)).min(pieces.len());
                pieces.insert(behind, (role, Act::Store(tile, Word::First)));
            }
        }
        6 => {
            let tile = random.below(TILES);
            let more = match random.below(4) {
                0 => (Role::All, Act::Store(tile, Word::Own)),
                1 => (Role::One(0), Act::Store(tile, Word::First)),
                2 => (Role::All, Act::Load(tile, Word::Own)),
                _ => (Role::All, Act::Fence(random.chance(2))),
            };
            pieces.insert(at, more);
        }
        _ => match &mut pieces[at].1 {
            Act::Fence(covers) => *covers = false,
            Act::Wait { under_way, .. } if *under_way == 0 => *under_way = 1,
            Act::Wait { is_bulk, .. } => *is_bulk = !*is_bulk,
            Act::Expect(barrier, bytes) if *bytes > 16 => {
                pieces[at].1 = if random.chance(2) {
                    Act::Arrive(*barrier)
                } else {
                    Act::Expect(*barrier, *bytes / 2)
                }
            }
            Act::Store(tile, _) | Act::Load(tile, _) => *tile = (*tile + 1) % TILES,
            Act::Phase(barrier, _) | Act::Init(barrier, _) => *barrier = (*barrier + 1) % BARRIERS,
            _ => {}
        },
    }
}

struct Writer {
    text: String,
    numbers: usize,
    /// Labels of what is open: the start of a loop, or the end of an alternative.
    open: Vec<String>,
    closed: Vec<String>,
}

fn text(pieces: &[Piece]) -> String {
    let mut writer = Writer {
        text: String::from(
            ".version 8.6\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n.reqntid 64\n{\n",
        ),
        numbers: 0,
        open: Vec::new(),
        closed: Vec::new(),
    };
    for tile in 0..TILES {
        writer.line(&format!(".shared .align 128 .b8 tile{tile}[256];"));
    }
    for barrier in 0..BARRIERS {
        writer.line(&format!(".shared .align 8 .b64 full{barrier};"));
    }
    for line in [
        ".reg .b32 %t, %n, %v, %l, %a<4>, %o<2>, %r<999>;",
        ".reg .b64 %g, %h, %w, %q;",
        ".reg .pred %p<999>;",
        "ld.param.u64 %h, [k_param_0];",
        "ld.param.u32 %n, [k_param_1];",
        "cvta.to.global.u64 %g, %h;",
        "mov.u32 %t, %tid.x;",
        "mul.wide.u32 %q, %t, 4;",
        "add.s64 %w, %q, %g;",
        "mov.u32 %v, 7;",
        "mov.u32 %l, 0;",
    ] {
        writer.line(line);
    }
    for tile in 0..TILES {
        writer.line(&format!("mov.u32 %a{}, tile{tile};", 2 + tile));
        writer.line(&format!("shl.b32 %o{tile}, %t, 2;"));
        writer.line(&format!("add.s32 %a{tile}, %o{tile}, %a{};", 2 + tile));
    }
    let mut role = Role::All;
    let mut end = String::new();
    for &(by, what) in pieces {
        if by != role {
            writer.leave(&end);
            end = writer.enter(by);
            role = by;
        }
        writer.piece(what);
    }
    writer.leave(&end);
    writer.line("ret;\n}");
    writer.text
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// A branch around what one thread or a warp executes; the label at its end.
    fn enter(&mut self, role: Role) -> String {
        let number = self.number();
        let end = format!("L{number}");
        match role {
            Role::All => return String::new(),
            Role::One(thread) => self.line(&format!("setp.ne.u32 %p{number}, %t, {thread};")),
            Role::Warp(warp) => {
                self.line(&format!("shr.u32 %r{number}, %t, 5;"));
                self.line(&format!("setp.ne.u32 %p{number}, %r{number}, {warp};"));
            }
        }
        self.line(&format!("@%p{number} bra {end};"));
        end
    }

    fn leave(&mut self, end: &str) {
        if !end.is_empty() {
            self.line(&format!("{end}:"));
        }
    }

    /// The operand of a word of a tile.
    fn word(&mut self, tile: usize, word: Word) -> String {
        match word {
            Word::Own => format!("[%a{tile}]"),
            Word::First => format!("[%a{}]", 2 + tile),
            Word::Neighbour => {
                let number = self.number();
                self.line(&format!("xor.b32 %r{number}, %a{tile}, 4;"));
                format!("[%r{number}]")
            }
        }
    }

    fn piece(&mut self, what: Act) {
        let kind = |is_bulk: bool| if is_bulk { "cp.async.bulk" } else { "cp.async" };
        match what {
            Act::Store(tile, word) => {
                let word = self.word(tile, word);
                self.line(&format!("st.shared.u32 {word}, %v;"));
            }
            Act::Load(tile, word) => {
                let word = self.word(tile, word);
                let number = self.number();
                self.line(&format!("ld.shared.u32 %r{number}, {word};"));
                self.line(&format!("st.global.u32 [%w], %r{number};"));
            }
            Act::Fence(true) => self.line("fence.proxy.async.shared::cta;"),
            Act::Fence(false) => self.line("fence.proxy.async.global;"),
            Act::Barrier => self.line("bar.sync 0;"),
            Act::Copy(tile) => self.line(&format!("cp.async.ca.shared.global [%a{tile}], [%w], 4;")),
            Act::Commit { is_bulk } => self.line(&format!("{}.commit_group;", kind(is_bulk))),
            Act::Wait {
                is_bulk,
                under_way,
                read_only,
            } => {
                let read = if is_bulk && read_only { ".read" } else { "" };
                self.line(&format!("{}.wait_group{read} {under_way};", kind(is_bulk)));
            }
            Act::WaitAll => self.line("cp.async.wait_all;"),
            Act::BulkOut(tile, bytes) => self.line(&format!(
                "cp.async.bulk.global.shared::cta.bulk_group [%g], [%a{}], {bytes};",
                2 + tile
            )),
            Act::BulkIn {
                tile,
                bytes,
                barrier,
            } => self.line(&format!(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a{}], [%g], {bytes}, [full{barrier}];",
                2 + tile
            )),
            Act::Init(barrier, count) => {
                self.line(&format!("mbarrier.init.shared::cta.b64 [full{barrier}], {count};"));
            }
            Act::Expect(barrier, bytes) => self.line(&format!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full{barrier}], {bytes};"
            )),
            Act::Arrive(barrier) => {
                self.line(&format!("mbarrier.arrive.shared::cta.b64 _, [full{barrier}];"));
            }
            Act::Track(barrier) => self.line(&format!(
                "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full{barrier}];"
            )),
            Act::Phase(barrier, parity) => {
                let number = self.number();
                self.line(&format!("L{number}:"));
                self.line(&format!(
                    "mbarrier.try_wait.parity.shared::cta.b64 %p{number}, [full{barrier}], {parity};"
                ));
                self.line(&format!("@!%p{number} bra L{number};"));
            }
            Act::Unless => {
                let number = self.number();
                self.line(&format!("setp.eq.u32 %p{number}, %n, 0;"));
                self.line(&format!("@%p{number} bra L{number};"));
                self.open.push(format!("L{number}"));
            }
            Act::Join => {
                if let Some(end) = self.open.pop() {
                    self.line(&format!("{end}:"));
                }
            }
            Act::Rounds(rounds) => {
                let number = self.number();
                let most = if rounds == 0 { "%n".to_owned() } else { rounds.to_string() };
                self.line("mov.u32 %l, 0;");
                self.line(&format!("L{number}:"));
                self.open.push(format!("L{number}"));
                self.closed.push(most);
            }
            Act::Again => {
                let number = self.number();
                if let (Some(begin), Some(most)) = (self.open.pop(), self.closed.pop()) {
                    self.line("add.s32 %l, %l, 1;");
                    let _ = writeln!(self.text, "setp.lt.u32 %p{number}, %l, {most};");
                    self.line(&format!("@%p{number} bra {begin};"));
                }
            }
        }
    }
}
