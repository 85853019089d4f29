//! The sizes up to which a kernel's indexes fit in 32 bits.
//!
//! ```text
//! address      the integers that are widened to 64 bits for it, and how many bytes a step of one is      offsets.rs
//! comparisons  `r < n` on each path to the access                                                        bounds.rs
//! remainder    by a number, computed by a product                                                        remainders.rs
//! integer      its largest value as a polynomial of what a launch decides, in exact arithmetic           largest.rs
//! limit        2³¹ where it is widened with its sign, 2³² where not: the polynomial reaches it, so the program's own product wraps
//! ```
//!
//! Only products count: an index that is a parameter, a loaded value or a thread's own number has no place to wrap before its type ends.
//! An integer that is itself compared with a bound is left out, too. Factors that masks, remainders, constants or the sides of a block bound are
//! numbers, so that a product of such never reaches the limit. What is a hash goes through a mask or a remainder before it is an index.

mod bounds;
mod largest;
mod offsets;
mod quantity;
mod remainders;

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};

use self::bounds::{UpperBound, UpperBounds};
use self::largest::{Largest, LargestDomain, MAX_REACHED};
use self::offsets::OffsetDomain;
pub use self::quantity::Quantity;
use self::remainders::largest_remainders;
use crate::function::Analyses;
use crate::lanes::{Launch, launches_of};
use crate::launches::{MAX_BLOCK_THREADS, Shape};
use crate::limits::MAX_INDEX_LIMITS;
use crate::shared::Shared;
use crate::value::{Evaluator, IntervalDomain, Source, ThreadNumbers};
use ptxcheck_ir::{Access, BinaryOp, Body, Class, FunctionId, InstructionId, Op, Register, Space, Value};

/// An index that wraps in 32 bits before it is widened for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexLimit {
    /// The kernel.
    pub function: FunctionId,
    /// The instruction that computes the index.
    pub index: InstructionId,
    /// An access at an address with the index.
    pub access: InstructionId,
    /// The largest index, as if nothing wrapped: terms with their factors and coefficients.
    pub largest: Vec<(Vec<Quantity>, i128)>,
    /// The first value that does not fit: 2³¹ for an index that is widened with its sign, 2³² for another.
    pub limit: u64,
    /// If the index depends on one quantity alone: the quantity, and its least value at which some thread's index does not fit.
    pub least: Option<(Quantity, u64)>,
    /// Bytes of an element: of a step of the index, or what the access reads or writes, if that is more.
    pub element_bytes: u32,
    /// Elements before the first whose index does not fit.
    pub elements: u64,
}

/// The values that the user states for a piece of a parameter of a kernel: the least and the greatest.
pub type StatedValues<'a> = &'a dyn Fn(FunctionId, u16, i32) -> Option<(i64, i64)>;

/// The indexes that wrap, in the order of the input.
pub(crate) fn find_index_limits(module: &Shared<'_>, stated: StatedValues<'_>) -> Vec<IndexLimit> {
    let mut found = Vec::new();
    for (id, function, body) in module.module.bodies() {
        if !function.is_kernel() || function.is_damaged || module.deadline.is_over_at_step() {
            continue;
        }
        let launch = Launch::common_launch(&function.launch, &launches_of(module, id, true));
        let kernel = Kernel {
            id,
            body,
            analyses: module.function(id),
            block: launch.shape,
            most_threads: launch.most.unwrap_or(MAX_BLOCK_THREADS),
            stated,
        };
        kernel.add_limits(&mut found);
    }
    found
}

struct Kernel<'a, 'm> {
    id: FunctionId,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    block: Option<Shape>,
    most_threads: u32,
    stated: StatedValues<'a>,
}

/// The evaluator of largest values.
type Sizes<'a, 'm> = Evaluator<'a, 'm, LargestDomain<'a, 'm>>;

/// The bounds that comparisons give at an access.
struct AtPlace<'a, 'm> {
    bounds: Vec<UpperBound>,
    /// The largest values of the compared values, without the comparisons.
    compared: Vec<Largest>,
    sizes: Sizes<'a, 'm>,
}

/// An integer that is widened for an address.
struct Index {
    value: Value,
    is_signed: bool,
    /// Bytes that a step of it is.
    scale: u64,
}

impl<'a, 'm> Kernel<'a, 'm> {
    fn add_limits(&self, found: &mut Vec<IndexLimit>) {
        let accesses = (0..).map(InstructionId::new).zip(&self.body.instructions);
        let accesses = accesses.filter_map(|(at, instruction)| match instruction.op {
            Op::Access(access) if matches!(access.space, Space::Global | Space::Generic | Space::Const) => {
                Some((at, access, *self.body.uses(instruction).first()?))
            }
            _ => None,
        });
        let accesses: Vec<_> = accesses.collect();
        if accesses.is_empty() {
            return;
        }
        let remainders = largest_remainders(self.body, || self.source());
        let untested = RefCell::new(self.sizes(&remainders, Vec::new()));
        let tests = UpperBounds {
            body: self.body,
            analyses: self.analyses,
            number_of: |value| {
                let largest = untested.borrow_mut().description_of(value)?;
                let greatest = i64::try_from(self.greatest(&largest)?).ok();
                greatest.filter(|greatest| *greatest <= MAX_REACHED)
            },
        };
        let Some(solution) = tests.solve() else { return };
        let mut cursor = tests.cursor(&solution);
        let mut offsets = Evaluator::new(self.source(), OffsetDomain);
        let mut at_place: Option<AtPlace<'_, 'm>> = None;
        let mut seen = FxHashSet::default();
        for (at, access, address) in accesses {
            if self.analyses.deadline().is_over_at_step() {
                return;
            }
            let Some(address) = offsets.description_of(address) else {
                continue;
            };
            if address.parts().is_empty() || !self.analyses.is_reached(at) {
                continue;
            }
            let mut bounds = cursor.state_before(at).cloned().unwrap_or_default();
            if let Some(guard) = self.body.instruction(at).guard {
                tests.bounds_implied_by((guard.register, at), !guard.negated, |bound| bounds.push(bound));
            }
            if at_place.as_ref().is_none_or(|known| known.bounds != bounds) {
                let (compared, tested) = self.largest_tested(&bounds, &mut untested.borrow_mut());
                at_place = Some(AtPlace {
                    bounds,
                    compared,
                    sizes: self.sizes(&remainders, tested),
                });
            }
            let Some(place) = &mut at_place else { continue };
            for &(widened, scale) in address.parts() {
                for index in self.indexes_in(widened, scale) {
                    let own = untested.borrow_mut().description_of(index.value);
                    if own.is_none_or(|own| place.compared.contains(&own)) {
                        continue;
                    }
                    if let Some(limit) = self.limit_of(&index, (at, access), &mut place.sizes)
                        && seen.insert((limit.largest.clone(), limit.limit, limit.elements))
                        && found.len() < MAX_INDEX_LIMITS
                    {
                        found.push(limit);
                    }
                }
            }
        }
    }

    fn source(&self) -> Source<'a, 'm> {
        Source::within_body(self.body, self.analyses)
    }

    fn sizes<'s>(
        &'s self,
        known: &'s FxHashMap<Register, Largest>,
        tested: Vec<(Largest, Largest)>,
    ) -> Sizes<'s, 'm> {
        let last = self.block.map_or(self.most_threads, |[x, ..]| x).max(1) - 1;
        let intervals = Evaluator::new(self.source(), IntervalDomain(ThreadNumbers { x: (0, last) }));
        let domain = LargestDomain {
            body: self.body,
            definitions: self.analyses.definitions(),
            block: self.block,
            intervals: RefCell::new(intervals),
            known,
            tested,
        };
        Evaluator::new(self.source(), domain)
    }

    /// The largest values of the compared values, without the comparisons; and each that a comparison lowers, with the lower one.
    fn largest_tested(
        &self,
        bounds: &[UpperBound],
        untested: &mut Sizes<'_, 'm>,
    ) -> (Vec<Largest>, Vec<(Largest, Largest)>) {
        let mut compared = Vec::new();
        let mut tested: Vec<(Largest, Largest)> = Vec::new();
        for bound in bounds {
            let less = Largest::of_number(if bound.is_strict { -1 } else { 0 });
            let Some(register) = bound.register() else {
                continue;
            };
            let own = untested.description_of(Value::Register(register));
            let bounded = untested
                .description_of(bound.bound)
                .and_then(|largest| largest.sum(&less));
            let (Some(own), Some(bounded)) = (own, bounded) else {
                continue;
            };
            let (Some(most), Some(before)) = (self.greatest(&bounded), self.greatest(&own)) else {
                continue;
            };
            // A number in a comparison of unsigned ones may stand for a large one.
            if most < 0 || own.number().is_some() {
                continue;
            }
            let known = tested.iter().position(|(of, _)| *of == own);
            let before = known.map_or(Some(before), |known| self.greatest(&tested[known].1));
            if before.is_some_and(|before| most < before) {
                match known {
                    Some(known) => tested[known].1 = bounded,
                    None => tested.push((own.clone(), bounded)),
                }
            }
            compared.push(own);
        }
        (compared, tested)
    }

    /// The integers that the definition of a register widens, with the bytes that a step of each is.
    fn indexes_in(&self, widened: Register, scale: i64) -> Vec<Index> {
        let Some(definition) = self.analyses.definitions().only_writer(self.body, widened) else {
            return Vec::new();
        };
        let instruction = self.body.instruction(definition);
        let index = |value, is_signed, scale: i64| Index {
            value,
            is_signed,
            scale: scale.unsigned_abs(),
        };
        let is_register = |value: Value| matches!(value, Value::Register(_));
        match (instruction.op, self.body.uses(instruction)) {
            (Op::Convert { signed, .. }, &[value]) if is_register(value) => {
                vec![index(value, signed, scale)]
            }
            (Op::Access(access), _) if access.bits == 32 => {
                let kept = self.analyses.stored_value_read_by(definition);
                let kept = kept.filter(|value| is_register(*value));
                kept.map(|value| index(value, access.signed, scale))
                    .into_iter()
                    .collect()
            }
            (Op::Binary(op, _), &[high, Value::Integer(_)]) if is_shift_right(op) => {
                let low = self.analyses.only_writer(high);
                let low = low.map(|shift| self.body.uses(self.body.instruction(shift)));
                let low = low.and_then(|uses| uses.first()).copied();
                low.filter(|value| is_register(*value))
                    .map(|value| index(value, op.class() == Class::ShiftedRight { signed: true }, scale))
                    .into_iter()
                    .collect()
            }
            (op, &[one, other, ..])
                if let Some(op) = op.multiplication()
                    && matches!(op.class(), Class::WideProduct { .. }) =>
            {
                let factor = |value: Value| self.number(value).map(|number| scale.saturating_mul(number));
                let both = [(one, factor(other)), (other, factor(one))];
                // A number of rows, each of unknown length, has no limit in elements.
                let both = both.into_iter().filter(|(value, _)| is_register(*value));
                both.filter_map(|(value, scale)| Some(index(value, is_signed(op), scale?)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn number(&self, value: Value) -> Option<i64> {
        match self
            .analyses
            .trace_value(value, ptxcheck_ir::ops::Form::moved_number)
        {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    fn limit_of(
        &self,
        index: &Index,
        (at, access): (InstructionId, Access),
        sizes: &mut Sizes<'_, 'm>,
    ) -> Option<IndexLimit> {
        let largest = sizes.description_of(index.value)?;
        let limit: u64 = if index.is_signed { 1 << 31 } else { 1 << 32 };
        let is_product =
            |(factors, by): (&[Quantity], i128)| factors.len() > 1 || factors.len() == 1 && by > 1;
        let has_returned = |(factors, _): (&[Quantity], i128)| factors.contains(&Quantity::Returned);
        if largest.terms().any(has_returned) {
            return None;
        }
        if !largest.terms().any(is_product) || self.greatest(&largest)? < i128::from(limit) {
            return None;
        }
        let open = self.open_quantities(&largest);
        if open.is_empty() {
            return None;
        }
        let least = match open[..] {
            [only] => Some((only, self.least_reaching(&largest, only, limit)?)),
            _ => None,
        };
        let part = u32::from(access.bits / 8).max(1);
        let step = index.scale.max(1);
        let element = step.max(part.into());
        let elements = u128::from(limit) * u128::from(step) / u128::from(element);
        Some(IndexLimit {
            function: self.id,
            index: self.analyses.only_writer(index.value).unwrap_or(at),
            access: at,
            largest: largest
                .terms()
                .map(|(factors, by)| (factors.to_vec(), by))
                .collect(),
            limit,
            least,
            element_bytes: u32::try_from(element).unwrap_or(u32::MAX),
            elements: u64::try_from(elements).unwrap_or(u64::MAX),
        })
    }

    /// The quantities in a largest value that have no single value, in order. Thread numbers go with the sides of the block; that alone
    /// keeps each product small.
    fn open_quantities(&self, largest: &Largest) -> Vec<Quantity> {
        let mut open: Vec<Quantity> = largest
            .terms()
            .flat_map(|(factors, _)| factors.iter().copied())
            .filter(|quantity| !matches!(quantity, Quantity::ThreadIndex(_)))
            .filter(|quantity| {
                let (least, most) = self.range_of(*quantity);
                least < most
            })
            .collect();
        open.sort_unstable();
        open.dedup();
        if open.iter().all(|one| matches!(one, Quantity::BlockSide(_))) {
            open.clear();
        }
        open
    }

    /// The greatest value that a largest value has in any launch.
    fn greatest(&self, largest: &Largest) -> Option<i128> {
        largest.value_at(|quantity| self.range_of(quantity).1)
    }

    /// The least value of a quantity at which a largest value reaches a limit, with the least value of thread numbers.
    fn least_reaching(&self, largest: &Largest, open: Quantity, limit: u64) -> Option<u64> {
        let reaches = |at: i128| {
            let value = largest.value_at(|quantity| {
                if quantity == open {
                    return at;
                }
                match quantity {
                    Quantity::ThreadIndex(_) => 0,
                    quantity => self.range_of(quantity).1,
                }
            });
            value.is_some_and(|value| value >= i128::from(limit))
        };
        let (mut below, mut reached) = self.range_of(open);
        if !reaches(reached) {
            return None;
        }
        while below < reached {
            let middle = below + (reached - below) / 2;
            if reaches(middle) {
                reached = middle;
            } else {
                below = middle + 1;
            }
        }
        u64::try_from(reached).ok()
    }

    /// The least and the greatest value of a quantity (CUDA C++ Programming Guide, Compute Capabilities).
    fn range_of(&self, quantity: Quantity) -> (i128, i128) {
        let grid = |dimension: u8| {
            if dimension == 0 {
                i128::from(i32::MAX)
            } else {
                65_535
            }
        };
        let block = |dimension: u8| {
            let side = if dimension == 2 { 64 } else { MAX_BLOCK_THREADS };
            i128::from(side.min(self.most_threads))
        };
        let integer = |bits: u8| match bits {
            0 | 64.. => i128::from(i64::MAX),
            32 => i128::from(i32::MAX),
            bits => (1 << bits) - 1,
        };
        match quantity {
            Quantity::BlockIndex(dimension) => (0, grid(dimension) - 1),
            Quantity::GridSide(dimension) => (1, grid(dimension)),
            Quantity::ThreadIndex(dimension) => (0, block(dimension) - 1),
            Quantity::BlockSide(dimension) => (1, block(dimension)),
            Quantity::Param { number, offset, bits } => {
                let most = integer(bits);
                match (self.stated)(self.id, number, offset) {
                    Some((least, greatest)) => {
                        let least = i128::from(least).clamp(0, most);
                        (least, i128::from(greatest).clamp(least, most))
                    }
                    None => (0, most),
                }
            }
            Quantity::Register(register) => (0, self.most_held(register, integer)),
            Quantity::Returned => (0, integer(64)),
        }
    }

    /// The greatest number that a register may hold: of a narrow load that of its width.
    fn most_held(&self, register: Register, integer: impl Fn(u8) -> i128) -> i128 {
        let own = self.body.registers.bits(register);
        let loaded = self.analyses.definitions().only_writer(self.body, register);
        let loaded = loaded.and_then(|at| match self.body.instruction(at).op {
            Op::Access(access) if access.bits > 0 => Some(access.bits),
            _ => None,
        });
        integer(loaded.map_or(own, |bits| bits.min(own.max(8))))
    }
}

const fn is_shift_right(op: BinaryOp) -> bool {
    matches!(op.class(), Class::ShiftedRight { .. })
}

const fn is_signed(op: BinaryOp) -> bool {
    matches!(op.class(), Class::WideProduct { signed: true })
}

#[cfg(test)]
mod tests {
    use super::Quantity;
    use crate::testing::with_ptx;

    /// The largest indexes of a kernel with one array and an integer, as text, with the least value that is known.
    fn limits(code: &str) -> Vec<(String, Option<u64>)> {
        let text = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
             .local .align 8 .b8 frame[32];\n.reg .b64 %SP;\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n\
             ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\n{code}\nret;\n}}\n"
        );
        with_ptx(&text, |module| {
            let limits = module.index_limits(&|_, _, _| None);
            let words = |quantity: &Quantity| match quantity {
                Quantity::BlockIndex(_) => "block".to_owned(),
                Quantity::BlockSide(_) => "side".to_owned(),
                Quantity::ThreadIndex(_) => "thread".to_owned(),
                Quantity::Param { number, .. } => format!("p{number}"),
                _ => "value".to_owned(),
            };
            let term = |(factors, by): &(Vec<Quantity>, i128)| {
                let factors: String = factors.iter().map(|one| format!("·{}", words(one))).collect();
                format!("{by}{factors}")
            };
            let all = limits.iter().map(|limit| {
                let terms: Vec<String> = limit.largest.iter().map(term).collect();
                (terms.join(" + "), limit.least.map(|(_, least)| least))
            });
            all.collect()
        })
    }

    const STORE: &str = "cvt.s64.s32 %rd2, %r9;\nshl.b64 %rd3, %rd2, 2;\nadd.s64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4], %r1;";

    fn known(text: &str, least: u64) -> Vec<(String, Option<u64>)> {
        vec![(text.to_owned(), Some(least))]
    }

    #[test]
    fn products_of_what_grows_have_a_least_value() {
        let code = format!("mov.u32 %r2, %ctaid.x;\nmul.lo.s32 %r9, %r2, 34816;\n{STORE}");
        assert_eq!(limits(&code), known("34816·block", 61_681));
        let code = format!("mul.lo.s32 %r9, %r1, %r1;\n{STORE}");
        assert_eq!(limits(&code), known("1·p1·p1", 46_341));
        // A wide product does not wrap.
        let wide = "mov.u32 %r2, %ctaid.x;\nmul.wide.s32 %rd3, %r2, 34816;\nadd.s64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4], %r1;";
        assert_eq!(limits(wide), []);
    }

    #[test]
    fn the_low_half_of_a_wide_product_wraps() {
        let code = "mov.u32 %r2, %ctaid.x;\nmul.wide.s32 %rd2, %r2, 34816;\nshl.b64 %rd3, %rd2, 32;\nshr.s64 %rd5, %rd3, 30;\n\
                    add.s64 %rd4, %rd1, %rd5;\nst.global.u32 [%rd4], %r1;";
        assert_eq!(limits(code), known("34816·block", 61_681));
        let unsigned = code.replace("shr.s64", "shr.u64");
        assert_eq!(limits(&unsigned), known("34816·block", 123_362));
    }

    #[test]
    fn comparisons_bound_products() {
        let row = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n";
        let code =
            format!("{row}setp.ge.s32 %p1, %r5, %r1;\n@%p1 bra END;\nshl.b32 %r9, %r5, 2;\n{STORE}\nEND:");
        assert_eq!(limits(&code), known("-4 + 4·p1", 536_870_913));
        let code =
            format!("{row}setp.ge.s32 %p1, %r5, 1000;\n@%p1 bra END;\nshl.b32 %r9, %r5, 2;\n{STORE}\nEND:");
        assert_eq!(limits(&code), []);
        // The index itself is compared.
        let code =
            format!("{row}mov.u32 %r9, %r5;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra END;\n{STORE}\nEND:");
        assert_eq!(limits(&code), []);
    }

    #[test]
    fn comparisons_of_a_slot_bound_what_is_loaded_from_it() {
        let code = "mov.u64 %rd20, frame;\ncvta.local.u64 %SP, %rd20;\nst.b32 [%SP+8], 0;\nHEAD:\nld.b32 %r3, [%SP+8];\n\
                    setp.gt.s32 %p1, %r3, 99;\n@%p1 bra END;\nld.b32 %r4, [%SP+8];\nshl.b32 %r9, %r4, 20;\n";
        let step = "ld.b32 %r6, [%SP+8];\nadd.s32 %r7, %r6, 1;\nst.b32 [%SP+8], %r7;\nbra HEAD;\nEND:";
        assert_eq!(limits(&format!("{code}{STORE}\n{step}")), []);
        let open = code.replace("@%p1 bra END;", "");
        assert_eq!(
            limits(&format!("{open}{STORE}\n{step}")),
            known("1048576·value", 2048)
        );
    }

    #[test]
    fn rounds_of_a_loop_are_bounded_where_it_is_entered_and_where_it_repeats() {
        let code = format!(
            "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ntid.x;\nHEAD:\nmul.lo.s32 %r9, %r3, 8192;\n{STORE}\nadd.s32 %r3, %r3, %r4;\n\
             setp.lt.s32 %p1, %r3, 4096;\n@%p1 bra HEAD;"
        );
        let found = limits(&code);
        assert_eq!(found, []);
    }

    #[test]
    fn remainders_without_a_division_are_bounded() {
        let code = format!(
            "mov.u32 %r2, %ctaid.x;\nmul.hi.u32 %r3, %r2, -858993459;\nshr.u32 %r4, %r3, 3;\nmul.lo.s32 %r5, %r4, 10;\n\
             sub.s32 %r6, %r2, %r5;\nmul.lo.s32 %r9, %r6, 1048576;\n{STORE}"
        );
        assert_eq!(limits(&code), []);
        let other = code.replace("%r4, 10;", "%r4, 11;");
        assert_eq!(limits(&other), known("1048576·block", 2048));
    }
}
