//! Small kernels whose warps have roles, as PTX text: stages with named barriers and with barriers in memory, right by construction, or
//! with one defect after which some thread waits for ever, in any order of the threads. Equal seeds make equal kernels.

use std::fmt::Write as _;

pub use crate::random::Random;

/// Most stages that a kernel has by chance.
const STAGES: usize = 3;

/// Bytes of a slot of a ring.
const SLOT: u32 = 64;

/// A kernel.
pub struct Kernel {
    /// Its text.
    pub text: String,
    /// Threads of a block.
    pub threads: u32,
    /// Its defect, if it has one.
    pub defect: Option<Defect>,
    /// The least value of its parameter with which the defect shows.
    pub rounds: u32,
}

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// A barrier counts a warp more than come, or an arrival more.
    CountsMore,
    /// One of the warps that are counted does not come.
    WarpMissing,
    /// Two roles reach two barriers in crossed order, or both wait before they arrive.
    Crossed,
    /// Nobody gives the slots of a ring back.
    NotReleased,
    /// One role of a ring has a round less than the other one.
    OneRoundLess,
    /// More bytes are expected than are copied.
    MoreBytes,
    /// A phase is waited for after the last one.
    OnePhaseMore,
}

/// All of them.
pub const DEFECTS: [Defect; 7] = [
    Defect::CountsMore,
    Defect::WarpMissing,
    Defect::Crossed,
    Defect::NotReleased,
    Defect::OneRoundLess,
    Defect::MoreBytes,
    Defect::OnePhaseMore,
];

struct Writer {
    random: Random,
    text: String,
    /// Arrivals of the barriers in memory.
    arrivals: Vec<u32>,
    labels: usize,
    warps: u32,
    /// See [`Kernel::rounds`].
    needs: u32,
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let defect = (!random.chance(2)).then(|| *random.pick(&DEFECTS));
    let mut writer = Writer {
        warps: 2 + random.below(5) as u32,
        random,
        text: String::new(),
        arrivals: Vec::new(),
        labels: 0,
        needs: 0,
    };
    let before = writer.random.below(STAGES);
    for _ in 0..before {
        writer.any_stage();
    }
    if let Some(defect) = defect {
        writer.stage_with(defect);
    }
    for _ in 0..writer.random.below(STAGES - before) {
        writer.any_stage();
    }
    if writer.text.is_empty() {
        writer.any_stage();
    }
    Kernel {
        threads: writer.warps * 32,
        defect,
        rounds: writer.needs,
        text: writer.finish(),
    }
}

impl Writer {
    fn any_stage(&mut self) {
        match self.random.below(6) {
            0 => self.meeting(None),
            1 => self.crossing(false),
            2 => self.named_ring(None),
            3 | 4 => self.ring(None),
            _ => self.phases(None),
        }
    }

    fn stage_with(&mut self, defect: Defect) {
        let planted = Some(defect);
        match defect {
            Defect::CountsMore => match self.random.below(4) {
                0 => self.meeting(planted),
                1 => self.named_ring(planted),
                2 => self.ring(planted),
                _ => self.phases(planted),
            },
            Defect::WarpMissing if self.random.chance(2) => self.meeting(planted),
            Defect::WarpMissing | Defect::OnePhaseMore => self.phases(planted),
            Defect::Crossed => self.crossing(true),
            Defect::NotReleased | Defect::OneRoundLess if self.random.chance(2) => self.named_ring(planted),
            Defect::NotReleased | Defect::OneRoundLess | Defect::MoreBytes => self.ring(planted),
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A barrier in memory that takes so many arrivals: its address.
    fn mbarriers(&mut self, count: u32, arrivals: u32) -> u32 {
        let first = self.arrivals.len() as u32;
        self.arrivals.extend((0..count).map(|_| arrivals));
        first * 8
    }

    /// Two disjoint groups of warps, none of them empty.
    fn two_groups(&mut self) -> [Vec<u32>; 2] {
        loop {
            let mut groups = [Vec::new(), Vec::new()];
            for warp in 0..self.warps {
                match self.random.below(5) {
                    0 | 1 => groups[0].push(warp),
                    2 | 3 => groups[1].push(warp),
                    _ => {}
                }
            }
            if groups.iter().all(|group| !group.is_empty()) {
                return groups;
            }
        }
    }

    /// Code that some warps execute.
    fn role(&mut self, warps: &[u32], code: &str) {
        let mask = warps.iter().fold(0, |mask, warp| mask | 1_u32 << warp);
        let end = self.label();
        self.line(&format!(
            "and.b32 %r0, %m, {mask};\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra {end};"
        ));
        self.text.push_str(code);
        self.line(&format!("{end}:"));
    }

    /// The end of a stage, where all warps meet.
    fn end_stage(&mut self) {
        self.line("bar.sync 0;");
    }

    /// Warps meet at a named barrier, some of them without waiting.
    fn meeting(&mut self, defect: Option<Defect>) {
        let [first, second] = self.two_groups();
        let number = 1 + self.random.below(15);
        let all = (first.len() + second.len()) as u32;
        let count = 32 * (all + u32::from(defect == Some(Defect::CountsMore)));
        let word = if self.random.chance(2) { "bar" } else { "barrier" };
        let arrive = format!("{word}.arrive {number}, {count};\n");
        let sync = format!("{word}.sync {number}, {count};\n");
        // One that is missing is one of those that need not wait, or leaves one that does.
        let is_missing = defect == Some(Defect::WarpMissing);
        let (come, stay) = match (is_missing, first.len(), second.len()) {
            (true, 1, 1) => (Vec::new(), second),
            (true, 1, _) => (first, second[1..].to_vec()),
            (true, ..) => (first[1..].to_vec(), second),
            (false, ..) => (first, second),
        };
        let act = if self.random.chance(3) { &sync } else { &arrive };
        if !come.is_empty() {
            self.role(&come, act);
        }
        self.role(&stay, &sync);
        self.end_stage();
    }

    /// Two groups reach two barriers, or wait for each other's phases.
    fn crossing(&mut self, is_crossed: bool) {
        let [first, second] = self.two_groups();
        if self.random.chance(2) {
            let count = 32 * (first.len() + second.len());
            let order = |numbers: [u32; 2]| {
                numbers
                    .map(|number| format!("bar.sync {number}, {count};\n"))
                    .concat()
            };
            self.role(&first, &order([3, 7]));
            self.role(&second, &order(if is_crossed { [7, 3] } else { [3, 7] }));
        } else {
            let arrivals = |group: &[u32]| 32 * group.len() as u32;
            let of_first = self.mbarriers(1, arrivals(&first));
            let of_second = self.mbarriers(1, arrivals(&second));
            let arrive = |at: u32| format!("mbarrier.arrive.shared.b64 _, [bars+{at}];\n");
            let wait = self.wait(&format!("bars+{of_second}"), "0");
            let code = if is_crossed {
                wait + &arrive(of_first)
            } else {
                arrive(of_first) + &wait
            };
            self.role(&first, &code);
            let code = self.wait(&format!("bars+{of_first}"), "0") + &arrive(of_second);
            self.role(&second, &code);
        }
        self.end_stage();
    }

    /// A wait for a phase, in one of the forms that code has.
    fn wait(&mut self, barrier: &str, parity: &str) -> String {
        let (again, end) = (self.label(), self.label());
        match self.random.below(5) {
            0 => format!(
                "{again}:\nmbarrier.test_wait.parity.shared.b64 %p1, [{barrier}], {parity};\n@!%p1 bra {again};\n"
            ),
            1 => format!(
                "{again}:\nmbarrier.try_wait.parity.shared.b64 %p1, [{barrier}], {parity}, 5000;\n@!%p1 bra {again};\n"
            ),
            2 => format!(
                "{again}:\nmbarrier.try_wait.parity.shared.b64 %p1, [{barrier}], {parity};\n@%p1 bra {end};\n\
                 nanosleep.u32 40;\nbra {again};\n{end}:\n"
            ),
            // A look before the loop.
            3 => format!(
                "mbarrier.try_wait.parity.shared.b64 %p1, [{barrier}], {parity};\n@%p1 bra {end};\n{again}:\n\
                 mbarrier.try_wait.parity.shared.b64 %p1, [{barrier}], {parity};\n@!%p1 bra {again};\n{end}:\n"
            ),
            _ => format!(
                "{again}:\nmbarrier.try_wait.parity.shared.b64 %p1, [{barrier}], {parity};\n@!%p1 bra {again};\n"
            ),
        }
    }

    /// The number of rounds of a loop, as an operand. `least`: those that a defect needs.
    fn rounds(&mut self, defect: Option<Defect>, least: u32) -> String {
        if self.random.chance(2) {
            if defect.is_some() {
                self.needs = least;
            }
            return "%n".to_owned();
        }
        let more = self.random.below(6) as u32;
        let rounds = if defect.is_some() { least + more } else { more };
        rounds.to_string()
    }

    /// A loop over rounds, with the slot in `%s` and the parity of its use in `%f`.
    fn rounds_of(&mut self, (first, rounds): (u32, &str), depth: u32, body: &str) -> String {
        let (again, end) = (self.label(), self.label());
        let (start, next) = if self.random.chance(2) {
            let start = "mov.u32 %s, 0;\nmov.u32 %f, 0;\n".to_owned();
            let next = format!(
                "add.u32 %s, %s, 1;\nsetp.eq.u32 %p2, %s, {depth};\nselp.u32 %s, 0, %s, %p2;\nselp.u32 %r1, 1, 0, %p2;\nxor.b32 %f, %f, %r1;\n"
            );
            (start, next)
        } else {
            let start = "mov.u32 %s, 0;\nmov.u32 %f, 0;\nmov.u32 %u, 0;\n".to_owned();
            let next = format!(
                "add.u32 %u, %u, 1;\nrem.u32 %s, %u, {depth};\ndiv.u32 %f, %u, {depth};\nand.b32 %f, %f, 1;\n"
            );
            (start, next)
        };
        format!(
            "{start}mov.u32 %i, {first};\n{again}:\nsetp.ge.u32 %p3, %i, {rounds};\n@%p3 bra {end};\n{body}{next}add.u32 %i, %i, 1;\nbra {again};\n{end}:\n"
        )
    }

    /// A ring whose slots are full and empty by named barriers.
    fn named_ring(&mut self, defect: Option<Defect>) {
        let [producers, consumers] = self.two_groups();
        let depth = 1 + self.random.below(3) as u32;
        let all = (producers.len() + consumers.len()) as u32;
        let count = 32 * (all + u32::from(defect == Some(Defect::CountsMore)));
        let is = |one| defect == Some(one);
        // With a count too great, nobody passes the last waits either.
        let rounds = self.rounds(defect, u32::from(!is(Defect::CountsMore)));
        // Barriers 1 and on: full; 4 and on: empty.
        let produce = format!(
            "add.u32 %r2, %s, 4;\nbar.sync %r2, {count};\nadd.u32 %r2, %s, 1;\nbar.arrive %r2, {count};\n"
        );
        let mut code = self.rounds_of((u32::from(is(Defect::OneRoundLess)), &rounds), depth, &produce);
        // The slots are empty in the end.
        for _ in 0..depth {
            let _ = write!(
                code,
                "add.u32 %r2, %s, 4;\nbar.sync %r2, {count};\nadd.u32 %s, %s, 1;\nsetp.eq.u32 %p2, %s, {depth};\nselp.u32 %s, 0, %s, %p2;\n"
            );
        }
        self.role(&producers, &code);
        let release = if is(Defect::NotReleased) {
            String::new()
        } else {
            format!("add.u32 %r2, %s, 4;\nbar.arrive %r2, {count};\n")
        };
        let consume = format!("add.u32 %r2, %s, 1;\nbar.sync %r2, {count};\n{release}");
        let first: String = (0..depth)
            .map(|slot| format!("bar.arrive {}, {count};\n", 4 + slot))
            .collect();
        let code = first + &self.rounds_of((0, &rounds), depth, &consume);
        self.role(&consumers, &code);
        self.end_stage();
    }

    /// A ring whose slots are full and empty by barriers in memory.
    fn ring(&mut self, defect: Option<Defect>) {
        let [mut producers, consumers] = self.two_groups();
        let is = |one| defect == Some(one);
        let depth = 1 + self.random.below(4) as u32;
        let has_bytes = is(Defect::MoreBytes) || self.random.chance(3);
        if has_bytes {
            producers.truncate(1);
        }
        let least = if is(Defect::NotReleased) { depth + 1 } else { 1 };
        let rounds = self.rounds(defect, least);
        // One lane of each warp arrives, or all of them.
        let lanes = |is_one: bool| if is_one { 1 } else { 32 };
        let (one_fills, one_frees) = (has_bytes || self.random.chance(2), self.random.chance(2));
        let of_full = producers.len() as u32 * lanes(one_fills) + u32::from(is(Defect::CountsMore));
        let of_empty = consumers.len() as u32 * lanes(one_frees);
        let full = self.mbarriers(depth, of_full);
        let empty = self.mbarriers(depth, of_empty);
        let slot = |at: u32| {
            format!("mov.u32 %b, bars;\nadd.u32 %b, %b, {at};\nshl.b32 %r3, %s, 3;\nadd.u32 %b, %b, %r3;\n")
        };
        let fill = if has_bytes {
            let more = if is(Defect::MoreBytes) { 16 } else { 0 };
            format!(
                "mov.u32 %d, tile;\nshl.b32 %r3, %s, 6;\nadd.u32 %d, %d, %r3;\n\
                 mbarrier.arrive.expect_tx.shared.b64 _, [%b], {};\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d], [%g], {SLOT}, [%b];\n",
                SLOT + more
            )
        } else {
            "mbarrier.arrive.shared.b64 _, [%b];\n".to_owned()
        };
        // All lanes have waited before one of them arrives for them.
        let by_one = |writer: &mut Self, code: &str| {
            let end = writer.label();
            format!("bar.warp.sync 0xffffffff;\n@%p4 bra {end};\n{code}{end}:\nbar.warp.sync 0xffffffff;\n")
        };
        // The lane that fills does everything alone, or the others wait, too.
        let is_alone = one_fills && self.random.chance(2);
        let mut produce = slot(empty) + "xor.b32 %r4, %f, 1;\n" + &self.wait("%b", "%r4") + &slot(full);
        produce += &if one_fills && !is_alone {
            by_one(self, &fill)
        } else {
            fill
        };
        let mut code = self.rounds_of((u32::from(is(Defect::OneRoundLess)), &rounds), depth, &produce);
        if is_alone {
            let end = self.label();
            code = format!("@%p4 bra {end};\n{code}{end}:\nbar.warp.sync 0xffffffff;\n");
        }
        self.role(&producers, &code);
        let free = "mbarrier.arrive.shared.b64 _, [%b];\n";
        let mut consume = slot(full) + &self.wait("%b", "%f") + &slot(empty);
        if !is(Defect::NotReleased) {
            consume += &if one_frees {
                by_one(self, free)
            } else {
                free.to_owned()
            };
        }
        let code = self.rounds_of((0, &rounds), depth, &consume);
        self.role(&consumers, &code);
        self.end_stage();
    }

    /// Warps that meet in phases of one barrier in memory; some may leave it after the first.
    fn phases(&mut self, defect: Option<Defect>) {
        let [first, second] = self.two_groups();
        let is = |one| defect == Some(one);
        let phases = 1 + self.random.below(3) as u32;
        let all = 32 * (first.len() + second.len()) as u32;
        let barrier = self.mbarriers(1, all + u32::from(is(Defect::CountsMore)));
        let at = format!("bars+{barrier}");
        let has_copies = self.random.chance(3);
        let arrive = |writer: &mut Self| match (has_copies, writer.random.below(3)) {
            (true, 0) => format!(
                "mov.u32 %d, tile;\ncp.async.ca.shared.global [%d], [%g], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [{at}];\n"
            ),
            (true, 1) => format!(
                "mov.u32 %d, tile;\ncp.async.ca.shared.global [%d], [%g], 4;\ncp.async.mbarrier.arrive.shared.b64 [{at}];\n\
                 mbarrier.arrive.shared.b64 _, [{at}];\n"
            ),
            _ => format!("mbarrier.arrive.shared.b64 _, [{at}];\n"),
        };
        let one = |writer: &mut Self, phase: u32| {
            if writer.random.chance(4) {
                let again = writer.label();
                return format!(
                    "mbarrier.arrive.shared.b64 %q, [{at}];\n{again}:\nmbarrier.try_wait.shared.b64 %p1, [{at}], %q;\n@!%p1 bra {again};\n"
                );
            }
            arrive(writer) + &writer.wait(&at, &(phase & 1).to_string())
        };
        let mut code: String = (0..phases).map(|phase| one(self, phase)).collect();
        if is(Defect::OnePhaseMore) {
            code += &self.wait(&at, &(phases & 1).to_string());
        }
        // A warp of the second group has a phase less.
        let missing = if is(Defect::WarpMissing) { 1 } else { 0 };
        let leaves = missing == 0 && defect.is_none() && phases > 1 && self.random.chance(3);
        if leaves {
            let left = one(self, 0) + &format!("mbarrier.arrive_drop.shared.b64 %q, [{at}];\n");
            self.role(&first, &code);
            self.role(&second, &left);
        } else {
            self.role(&first, &code);
            let less: String = (0..phases - missing).map(|phase| one(self, phase)).collect();
            let less = if is(Defect::OnePhaseMore) { code } else { less };
            self.role(&second, &less);
        }
        self.end_stage();
    }

    fn finish(self) -> String {
        let bars = self.arrivals.len().max(1) * 8;
        let mut text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u32 n)\n.reqntid {}\n{{\n\
             .shared .align 8 .b8 bars[{bars}];\n.shared .align 128 .b8 tile[256];\n\
             .reg .b32 %t, %w, %m, %n, %s, %f, %u, %i, %b, %d, %r<8>;\n.reg .b64 %g, %q;\n.reg .pred %p<8>;\n\
             ld.param.u64 %g, [in];\nld.param.u32 %n, [n];\ncvta.to.global.u64 %g, %g;\n\
             mov.u32 %t, %tid.x;\nshr.u32 %w, %t, 5;\nmov.u32 %m, 1;\nshl.b32 %m, %m, %w;\n\
             and.b32 %r5, %t, 31;\nsetp.ne.u32 %p4, %r5, 0;\nsetp.ne.u32 %p5, %t, 0;\n@%p5 bra BEGIN;\n",
            self.warps * 32
        );
        for (number, arrivals) in self.arrivals.iter().enumerate() {
            let _ = writeln!(
                text,
                "mbarrier.init.shared.b64 [bars+{}], {arrivals};",
                8 * number
            );
        }
        text + "BEGIN:\nbar.sync 0;\n" + &self.text + "ret;\n}\n"
    }
}
