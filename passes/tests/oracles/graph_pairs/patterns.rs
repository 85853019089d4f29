//! Kernels in the manner of graph codes: threads, warps or blocks work on vertices, their neighbours, worklists and trees.

use super::program::{
    Atomic, Comparison, Condition, Expr, Kernel, Operation, Statement, add, at, index, n, op, p, stride, v,
    volatile,
};
use Statement::{Barrier, Fence, If, Set, ShuffleDown, Store, Update, While};

/// Who works on a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    Thread,
    Warp,
    Block,
}

/// How workers come to their vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// One each.
    Once,
    /// One after the other, at a distance of all workers.
    Stride,
    /// From a list.
    List,
    /// The next one that nobody has, by a counter.
    Counter,
}

/// A kernel that is built, with its sites.
struct Builder {
    worker: Worker,
    schedule: Schedule,
    sites: Vec<&'static str>,
    shared: Vec<(&'static str, u32)>,
}

fn atomic(kind: Atomic, array: &'static str, index: Expr, value: Expr) -> Statement {
    Statement::Atomic(kind, array, index, value, None)
}

fn atomic_into(old: &'static str, kind: Atomic, array: &'static str, index: Expr, value: Expr) -> Statement {
    Statement::Atomic(kind, array, index, value, Some(old))
}

const fn is(comparison: Comparison, a: Expr, b: Expr) -> Condition {
    Condition(comparison, a, b)
}

impl Builder {
    fn site(&mut self, what: &'static str, right: Vec<Statement>, wrong: Vec<Statement>) -> Statement {
        self.sites.push(what);
        Statement::Site(self.sites.len() - 1, right, wrong)
    }

    /// An atomic, or a plain update in its place.
    fn update(&mut self, kind: Atomic, array: &'static str, place: Expr, value: Expr) -> Statement {
        let operation = match kind {
            Atomic::Min => Operation::Min,
            Atomic::Max => Operation::Max,
            Atomic::Or => Operation::Or,
            _ => Operation::Add,
        };
        let right = vec![atomic(kind, array, place.clone(), value.clone())];
        let wrong = match operation {
            Operation::Min => vec![
                Set("new", value.clone()),
                If(
                    is(Comparison::Lt, v("new"), at(array, place.clone())),
                    vec![Store(array, place, v("new"))],
                ),
            ],
            _ => vec![Update(array, place, operation, value)],
        };
        self.site("atomic", right, wrong)
    }

    fn barrier(&mut self) -> Statement {
        self.site("barrier", vec![Barrier], Vec::new())
    }

    fn guarded(&mut self, condition: Condition, body: Vec<Statement>) -> Statement {
        let right = vec![If(condition, body.clone())];
        self.site("guard", right, body)
    }

    fn lane(&self) -> Expr {
        match self.worker {
            Worker::Thread => n(0),
            Worker::Warp => op(Operation::And, Expr::Thread, n(31)),
            Worker::Block => Expr::Thread,
        }
    }

    fn lanes(&self) -> Expr {
        match self.worker {
            Worker::Thread => n(1),
            Worker::Warp => n(32),
            Worker::Block => Expr::Threads,
        }
    }

    /// Calls the body for each vertex of a worker: it is in the variable `v`.
    fn for_vertices(&self, body: Vec<Statement>) -> Vec<Statement> {
        let own = match self.worker {
            Worker::Thread => index(),
            Worker::Warp => op(Operation::Div, index(), n(32)),
            Worker::Block => Expr::Block,
        };
        let all = match self.worker {
            Worker::Thread => stride(),
            Worker::Warp => op(Operation::Div, stride(), n(32)),
            Worker::Block => Expr::Blocks,
        };
        match self.schedule {
            Schedule::Once if self.worker == Worker::Block => {
                let mut once = vec![Set("v", own)];
                once.extend(body);
                once
            }
            Schedule::Once => vec![Set("v", own), If(is(Comparison::Lt, v("v"), p("n")), body)],
            Schedule::Stride => {
                let mut round = body;
                round.push(Set("v", add(v("v"), all)));
                vec![Set("v", own), While(is(Comparison::Lt, v("v"), p("n")), round)]
            }
            Schedule::List => {
                let mut round = vec![Set("v", at("list", v("i")))];
                round.extend(body);
                round.push(Set("i", add(v("i"), all)));
                vec![Set("i", own), While(is(Comparison::Lt, v("i"), p("m")), round)]
            }
            Schedule::Counter => {
                let next = || atomic_into("v", Atomic::Add, "count", n(3), n(1));
                let mut round = body;
                round.push(next());
                vec![next(), While(is(Comparison::Lt, v("v"), p("n")), round)]
            }
        }
    }

    /// Calls the body for each neighbour of `v` that is a lane's: it is in the variable `u`, and its edge in `e`.
    fn for_neighbours(&self, body: Vec<Statement>) -> Vec<Statement> {
        let mut round = vec![Set("u", at("to", v("e")))];
        round.extend(body);
        round.push(Set("e", add(v("e"), self.lanes())));
        vec![
            Set("e", add(at("first", v("v")), self.lane())),
            Set("end", at("first", add(v("v"), n(1)))),
            While(is(Comparison::Lt, v("e"), v("end")), round),
        ]
    }

    /// The sum over the lanes of a worker of the variable `sum`: in its first lane.
    fn reduce(&mut self) -> Vec<Statement> {
        let shuffles = |all: &mut Vec<Statement>| {
            for delta in [16, 8, 4, 2, 1] {
                all.push(ShuffleDown("other", "sum", delta));
                all.push(Set("sum", add(v("sum"), v("other"))));
            }
        };
        let mut all = Vec::new();
        match self.worker {
            Worker::Thread => {}
            Worker::Warp => shuffles(&mut all),
            Worker::Block => {
                self.shared = vec![("sums", 32)];
                let warp = op(Operation::Div, Expr::Thread, n(32));
                let lane = op(Operation::And, Expr::Thread, n(31));
                shuffles(&mut all);
                all.push(If(
                    is(Comparison::Eq, lane, n(0)),
                    vec![Store("sums", warp, v("sum"))],
                ));
                all.push(self.barrier());
                let mut last = vec![
                    Set("sum", n(0)),
                    If(
                        is(
                            Comparison::Lt,
                            Expr::Thread,
                            op(Operation::Div, Expr::Threads, n(32)),
                        ),
                        vec![Set("sum", at("sums", Expr::Thread))],
                    ),
                ];
                shuffles(&mut last);
                all.push(If(is(Comparison::Lt, Expr::Thread, n(32)), last));
            }
        }
        all
    }

    /// What the first lane of a worker does; for a single thread, what it does.
    fn by_first_lane(&mut self, body: Vec<Statement>) -> Vec<Statement> {
        match self.worker {
            Worker::Thread => body,
            _ => {
                let lane = self.lane();
                vec![self.guarded(is(Comparison::Eq, lane, n(0)), body)]
            }
        }
    }

    fn end_of_round(&mut self) -> Vec<Statement> {
        match (self.worker, self.schedule) {
            (Worker::Block, Schedule::Stride | Schedule::List) => vec![Barrier],
            _ => Vec::new(),
        }
    }
}

/// Builds the body of a kernel; empty if there is none for this worker and schedule.
type Kind = fn(&mut Builder) -> Vec<Statement>;

/// The kinds of kernels.
const KINDS: [(&str, Kind); 19] = [
    ("total", total),
    ("extreme", extreme),
    ("push", push),
    ("relax", relax),
    ("relax_checked", relax_checked),
    ("pull", pull),
    ("degrees", degrees),
    ("worklist", worklist),
    ("claim", claim),
    ("peel", peel),
    ("union", union),
    ("compress", compress),
    ("locked", locked),
    ("bitmap", bitmap),
    ("changed", changed),
    ("residual", residual),
    ("histogram", histogram),
    ("last_block", last_block),
    ("rounds_of_grid", rounds_of_grid),
];

/// All kernels.
pub fn kernels() -> Vec<Kernel> {
    let mut all = Vec::new();
    for (kind, body) in KINDS {
        for worker in [Worker::Thread, Worker::Warp, Worker::Block] {
            for schedule in [
                Schedule::Once,
                Schedule::Stride,
                Schedule::List,
                Schedule::Counter,
            ] {
                // A counter is for the threads of one worker alike only if it is one thread.
                if schedule == Schedule::Counter && worker != Worker::Thread {
                    continue;
                }
                let mut builder = Builder {
                    worker,
                    schedule,
                    sites: Vec::new(),
                    shared: Vec::new(),
                };
                let body = body(&mut builder);
                if body.is_empty() {
                    continue;
                }
                all.push(Kernel {
                    name: format!("{kind}, {worker:?}, {schedule:?}"),
                    shared: builder.shared,
                    body,
                    sites: builder.sites,
                });
            }
        }
    }
    all
}

/// The sum of a value over all vertices, in one cell.
fn total(b: &mut Builder) -> Vec<Statement> {
    let mut body = vec![Set("sum", n(0))];
    body.extend(b.for_neighbours(vec![Set("sum", add(v("sum"), at("value", v("u"))))]));
    body.extend(b.reduce());
    let one = b.update(Atomic::Add, "cell", n(0), v("sum"));
    let lane = b.lane();
    match b.worker {
        Worker::Thread => body.push(one),
        _ => body.push(If(is(Comparison::Eq, lane, n(0)), vec![one])),
    }
    body.extend(b.end_of_round());
    b.for_vertices(body)
}

/// The least and the greatest value, each in one cell.
fn extreme(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread {
        return Vec::new();
    }
    let body = vec![
        Set("own", at("value", v("v"))),
        b.update(Atomic::Min, "cell", n(0), v("own")),
        b.update(Atomic::Max, "cell", n(1), v("own")),
    ];
    b.for_vertices(body)
}

/// A vertex adds its part to each neighbour.
fn push(b: &mut Builder) -> Vec<Statement> {
    let one = b.update(Atomic::Add, "next", v("u"), v("own"));
    let mut body = vec![Set("own", at("value", v("v")))];
    body.extend(b.for_neighbours(vec![one]));
    b.for_vertices(body)
}

/// A step of shortest paths, from a copy of the distances.
fn relax(b: &mut Builder) -> Vec<Statement> {
    let one = b.update(Atomic::Min, "next", v("u"), add(v("own"), at("length", v("e"))));
    let mut body = vec![Set("own", at("value", v("v")))];
    body.extend(b.for_neighbours(vec![one]));
    b.for_vertices(body)
}

/// The same in place: distances are read by volatile loads, and compared before the atomic.
fn relax_checked(b: &mut Builder) -> Vec<Statement> {
    let own = b.site(
        "atomic load",
        vec![Set("own", volatile("value", v("v")))],
        vec![Set("own", at("value", v("v")))],
    );
    let lower = |found: Expr| {
        If(
            is(Comparison::Lt, v("new"), found),
            vec![atomic(Atomic::Min, "value", v("u"), v("new"))],
        )
    };
    let check = b.site(
        "atomic load",
        vec![lower(volatile("value", v("u")))],
        vec![lower(at("value", v("u")))],
    );
    let mut body = vec![own];
    body.extend(b.for_neighbours(vec![Set("new", add(v("own"), at("length", v("e")))), check]));
    b.for_vertices(body)
}

/// A vertex takes the sum of its neighbours.
fn pull(b: &mut Builder) -> Vec<Statement> {
    let mut body = vec![Set("sum", n(0))];
    body.extend(b.for_neighbours(vec![Set("sum", add(v("sum"), at("value", v("u"))))]));
    body.extend(b.reduce());
    body.extend(b.by_first_lane(vec![Update("next", v("v"), Operation::Add, v("sum"))]));
    body.extend(b.end_of_round());
    if b.schedule == Schedule::List {
        // A vertex of a list is the place of nobody else, which no code shows.
        return Vec::new();
    }
    b.for_vertices(body)
}

/// The number of edges to each vertex.
fn degrees(b: &mut Builder) -> Vec<Statement> {
    if b.worker == Worker::Block {
        return Vec::new();
    }
    let one = b.update(Atomic::Add, "mark", v("u"), n(1));
    let body = b.for_neighbours(vec![one]);
    b.for_vertices(body)
}

/// Neighbours with a mark come into the next list.
fn worklist(b: &mut Builder) -> Vec<Statement> {
    let slot = b.site(
        "atomic",
        vec![atomic_into("slot", Atomic::Add, "count", n(0), n(1))],
        vec![
            Set("slot", at("count", n(0))),
            Store("count", n(0), add(v("slot"), n(1))),
        ],
    );
    let body = b.for_neighbours(vec![If(
        is(Comparison::Eq, at("mark", v("u")), n(1)),
        vec![slot, Store("next", v("slot"), v("u"))],
    )]);
    b.for_vertices(body)
}

/// A step of a breadth-first search: who marks a vertex first owns it.
fn claim(b: &mut Builder) -> Vec<Statement> {
    let inner = || {
        vec![
            atomic_into("slot", Atomic::Add, "count", n(0), n(1)),
            Store("next", v("slot"), v("u")),
            Store("parent", v("u"), v("v")),
        ]
    };
    let claim = b.site(
        "atomic",
        vec![
            atomic_into("old", Atomic::Cas(0), "mark", v("u"), n(1)),
            If(is(Comparison::Eq, v("old"), n(0)), inner()),
        ],
        vec![
            Set("old", at("mark", v("u"))),
            If(is(Comparison::Eq, v("old"), n(0)), {
                let mut all = vec![Store("mark", v("u"), add(v("v"), n(1)))];
                all.extend(inner());
                all
            }),
        ],
    );
    let body = b.for_neighbours(vec![claim]);
    b.for_vertices(body)
}

/// The degree of each neighbour falls, and those that fall to a bound come into the next list.
fn peel(b: &mut Builder) -> Vec<Statement> {
    let fall = b.site(
        "atomic",
        vec![atomic_into("old", Atomic::Add, "mark", v("u"), n(-1))],
        vec![
            Set("old", at("mark", v("u"))),
            Store("mark", v("u"), add(v("old"), n(-1))),
        ],
    );
    let body = b.for_neighbours(vec![
        fall,
        If(
            is(Comparison::Eq, v("old"), p("m")),
            vec![
                atomic_into("slot", Atomic::Add, "count", n(0), n(1)),
                Store("next", v("slot"), v("u")),
            ],
        ),
    ]);
    b.for_vertices(body)
}

/// The root of the tree of a variable.
fn find(name: &'static str) -> Vec<Statement> {
    vec![
        Set("up", volatile("parent", v(name))),
        While(
            is(Comparison::Ne, v("up"), v(name)),
            vec![Set(name, v("up")), Set("up", volatile("parent", v(name)))],
        ),
    ]
}

/// Trees of both ends of each edge are joined.
fn union(b: &mut Builder) -> Vec<Statement> {
    let mut inner = vec![Set("a", v("v")), Set("b", v("u"))];
    inner.extend(find("a"));
    inner.extend(find("b"));
    inner.push(b.site(
        "atomic",
        vec![atomic(Atomic::Min, "parent", v("a"), v("b"))],
        vec![If(
            is(Comparison::Lt, v("b"), v("a")),
            vec![Store("parent", v("a"), v("b"))],
        )],
    ));
    let body = b.for_neighbours(inner);
    b.for_vertices(body)
}

/// Each vertex is hung below its root, which a plain loop looks for.
fn compress(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread {
        return Vec::new();
    }
    let hang = b.site(
        "atomic",
        vec![atomic(Atomic::Min, "parent", v("a"), v("v"))],
        vec![Store("parent", v("a"), v("v"))],
    );
    let mut body = vec![Set("a", at("length", v("v")))];
    body.extend(find("a"));
    body.push(hang);
    b.for_vertices(body)
}

/// A lock around the update of the best vertex and its value.
fn locked(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread || b.schedule == Schedule::Counter {
        return Vec::new();
    }
    let update = || {
        If(
            is(Comparison::Lt, v("own"), at("cell", n(0))),
            vec![Store("cell", n(0), v("own")), Store("cell", n(1), v("v"))],
        )
    };
    let critical = b.site(
        "atomic",
        vec![
            Set("done", n(0)),
            While(
                is(Comparison::Eq, v("done"), n(0)),
                vec![
                    atomic_into("old", Atomic::Cas(0), "lock", n(0), n(1)),
                    If(
                        is(Comparison::Eq, v("old"), n(0)),
                        vec![
                            Fence,
                            update(),
                            Fence,
                            atomic(Atomic::Exch, "lock", n(0), n(0)),
                            Set("done", n(1)),
                        ],
                    ),
                ],
            ),
        ],
        vec![update()],
    );
    let body = vec![Set("own", at("value", v("v"))), critical];
    b.for_vertices(body)
}

/// Bits of visited vertices in shared words.
fn bitmap(b: &mut Builder) -> Vec<Statement> {
    let word = op(Operation::Div, v("u"), n(32));
    let one = b.update(Atomic::Or, "mark", word, v("u"));
    let body = b.for_neighbours(vec![one]);
    b.for_vertices(body)
}

/// A round that says whether anything changed, and counts the changes.
fn changed(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread {
        return Vec::new();
    }
    let count = b.update(Atomic::Add, "count", n(0), n(1));
    let mut body = vec![Set("sum", n(0))];
    body.extend(b.for_neighbours(vec![Set(
        "sum",
        op(Operation::Max, v("sum"), at("value", v("u"))),
    )]));
    body.push(If(
        is(Comparison::Ne, v("sum"), at("value", v("v"))),
        vec![Store("next", v("v"), v("sum")), Store("cell", n(0), n(1)), count],
    ));
    b.for_vertices(body)
}

/// The residual of a vertex goes to its neighbours, and its own is cleared.
fn residual(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread {
        return Vec::new();
    }
    let take = b.site(
        "atomic",
        vec![atomic_into("own", Atomic::Exch, "value", v("v"), n(0))],
        vec![Set("own", at("value", v("v"))), Store("value", v("v"), n(0))],
    );
    let give = b.update(Atomic::Add, "value", v("u"), v("own"));
    let mut body = vec![take];
    body.extend(b.for_neighbours(vec![give]));
    b.for_vertices(body)
}

/// A histogram of labels in shared memory, added to one in global memory.
fn histogram(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread || b.schedule == Schedule::Counter {
        return Vec::new();
    }
    b.shared = vec![("bins", 256)];
    let clear = vec![
        Set("k", Expr::Thread),
        While(
            is(Comparison::Lt, v("k"), n(256)),
            vec![Store("bins", v("k"), n(0)), Set("k", add(v("k"), Expr::Threads))],
        ),
    ];
    let (first, second) = (b.barrier(), b.barrier());
    let count = b.update(
        Atomic::Add,
        "bins",
        op(Operation::And, at("mark", v("v")), n(255)),
        n(1),
    );
    let flush = b.update(Atomic::Add, "count", v("k"), at("bins", v("k")));
    let mut all = clear;
    all.push(first);
    all.extend(b.for_vertices(vec![count]));
    all.push(second);
    all.extend([
        Set("k", Expr::Thread),
        While(
            is(Comparison::Lt, v("k"), n(256)),
            vec![flush, Set("k", add(v("k"), Expr::Threads))],
        ),
    ]);
    all
}

/// A sum by blocks, of which the last one adds the parts.
fn last_block(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Block || b.schedule == Schedule::List {
        return Vec::new();
    }
    let mut all = vec![Set("sum", n(0)), Set("v", index())];
    all.push(While(
        is(Comparison::Lt, v("v"), p("n")),
        vec![
            Set("sum", add(v("sum"), at("value", v("v")))),
            Set("v", add(v("v"), stride())),
        ],
    ));
    all.extend(b.reduce());
    b.shared.push(("is_last", 1));
    let first = is(Comparison::Eq, Expr::Thread, n(0));
    let write = b.guarded(first.clone(), vec![Store("part", Expr::Block, v("sum"))]);
    all.push(write);
    let count = b.site(
        "atomic",
        vec![atomic_into("old", Atomic::Add, "count", n(0), n(1))],
        vec![
            Set("old", at("count", n(0))),
            Store("count", n(0), add(v("old"), n(1))),
        ],
    );
    all.push(If(
        first.clone(),
        vec![Fence, count, Store("is_last", n(0), v("old"))],
    ));
    all.push(Barrier);
    all.push(If(
        is(Comparison::Eq, at("is_last", n(0)), add(Expr::Blocks, n(-1))),
        vec![If(
            first,
            vec![
                Set("sum", n(0)),
                Set("k", n(0)),
                While(
                    is(Comparison::Lt, v("k"), Expr::Blocks),
                    vec![
                        Set("sum", add(v("sum"), at("part", v("k")))),
                        Set("k", add(v("k"), n(1))),
                    ],
                ),
                Update("cell", n(0), Operation::Add, v("sum")),
                Store("count", n(0), n(0)),
            ],
        )],
    ));
    all
}

/// One thread of the grid counts the rounds, and all do their part.
fn rounds_of_grid(b: &mut Builder) -> Vec<Statement> {
    if b.worker != Worker::Thread || matches!(b.schedule, Schedule::List | Schedule::Counter) {
        return Vec::new();
    }
    let count = b.guarded(
        is(Comparison::Eq, index(), n(0)),
        vec![Update("cell", n(0), Operation::Add, n(1))],
    );
    let mut all = vec![count];
    all.extend(b.for_vertices(vec![Update("value", v("v"), Operation::Add, n(1))]));
    all
}
