//! Results of collectives.
//!
//! ```text
//! where all lanes arrive, once, with masks that are known (M of lane l):
//!   ballot p            { j ∈ M | p(j) }, where p is known in all of M; else known in the lanes in which p is
//!   any, all, uni p     likewise
//!   shuffle v           v(j) of the lane j that l reads, if M names it
//!   match v             { j ∈ M | v(j) = v(l) }, where v is known in each
//! elsewhere, with one mask for all lanes that arrive
//!   votes, reductions   one unknown value
//! ```

use super::super::meaning::{Meaning, Name};
use super::super::shuffle;
use super::super::transfer::Application;
use super::super::value::{Lanes, Rest, ValueId, Vector, WARP, lane_set, lanes_in_set};
use super::{Flow, State};
use crate::value::Bits;
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{Collective, Match, MemberMask, Op, Shuffle, Value, Vote};

/// The operands of a collective that all lanes reach, once.
struct Gathering {
    kind: Collective,
    /// The lanes that arrive.
    here: Lanes,
    /// By lane: the lanes that exist and that its mask names, where known.
    named: [Option<Lanes>; WARP],
    value: Vector,
    /// For a shuffle: source lane or delta, and control.
    from: Option<(Vector, Vector)>,
}

impl Flow<'_> {
    pub(super) fn collective_result(
        &mut self,
        node: u32,
        state: &State,
        kind: Collective,
        uses: &[Value],
        number: usize,
        site: Application,
    ) -> ValueId {
        let mut operand = |place: usize| {
            let of = uses.get(place).copied().unwrap_or(Value::Unknown);
            self.operand_value(node, state, of)
        };
        let (mask, value, source, control) = (operand(0), operand(1), operand(2), operand(3));
        let name = self.pool.number_of_unknown(site.key);
        let (mask, value) = (self.pool.get(mask), self.pool.get(value));
        let (source, control) = (self.pool.get(source), self.pool.get(control));
        let mut result = if is_result_same_in_all_lanes(kind, (mask, source, control), number, site.here) {
            Vector::of_unknown_uniform(name, 0, [0; WARP])
        } else {
            Vector::UNKNOWN
        };
        // Ballots and matches answer with lanes that the mask names.
        if number == 0 && names_lanes(kind) {
            result = result.restricted_to_lane_set(mask.lanes_named_at_most(site.here));
        }
        if self.always[node as usize] {
            let existing = self.launch.analysed_lanes();
            let is_shuffle = matches!(kind, Collective::Shuffle(_));
            let gathering = Gathering {
                kind,
                here: site.here,
                named: std::array::from_fn(|lane| {
                    mask.value_in_lane(lane).map(|mask| mask as Lanes & existing)
                }),
                value: value.clone(),
                from: is_shuffle.then(|| (source.clone(), control.clone())),
            };
            gathering.add_known_results(number, &mut result);
        }
        if kind == Collective::Vote(Vote::Ballot) {
            let predicate = value.name;
            if let Some(meanings) = self.pool.meanings.as_mut().filter(|_| predicate != Name::NONE) {
                result.name = meanings.composed_name(Meaning::Ballot(predicate), [predicate]);
            }
        }
        self.pool.intern(result)
    }

    /// The lanes that a ballot or a match may answer with.
    pub(crate) fn possible_answer_lanes(&mut self, node: u32) -> Option<Lanes> {
        let body = self.graph.context_of_node(node).body;
        let instruction = body.instruction(self.graph.instruction_of_node(node));
        let (kind, uses) = match instruction.op {
            Op::Collective(kind, MemberMask::Operand) => (kind, body.uses(instruction)),
            _ => return None,
        };
        let here = self.may[node as usize];
        let mask = self.operand_of_node(node, *uses.first()?);
        let names = self.pool.get(mask).lanes_named_at_most(here);
        match (kind, uses.get(1)) {
            (Collective::Vote(Vote::Ballot), Some(&predicate)) if self.always[node as usize] => {
                let predicate = self.operand_of_node(node, predicate);
                let predicate = self.pool.get(predicate);
                let is_against =
                    |lane: &usize| predicate.value_in_lane(*lane).is_some_and(|value| value & 1 == 0);
                let against = lanes_in_set(here).filter(is_against);
                Some(against.fold(names, |names, lane| names & !(1 << lane)))
            }
            _ => names_lanes(kind).then_some(names),
        }
    }
}

impl Gathering {
    /// Adds the known facts about a result, by lane.
    fn add_known_results(&self, number: usize, result: &mut Vector) {
        let mut open = 0;
        for lane in lanes_in_set(self.here) {
            match self.named[lane].and_then(|named| self.result_in_lane(lane, named, number)) {
                Some(value) => {
                    result.exact |= 1 << lane;
                    result.bits[lane] = value;
                }
                None => open |= 1 << lane,
            }
        }
        // The result would be known if the index of the warp were known.
        result.warp = self.value.warp && !matches!(self.kind, Collective::Reduce | Collective::Elect);
        match self.kind {
            _ if open == 0 => {
                let some = result.bits[self.here.trailing_zeros().min(31) as usize];
                for lane in lanes_in_set(!self.here) {
                    result.bits[lane] = some;
                }
                result.exact = u32::MAX;
            }
            Collective::Vote(Vote::Ballot) => self.add_known_ballot_bits(open, result),
            Collective::Shuffle(_) if number == 0 => self.add_source_bits(open, result),
            _ => {}
        }
    }

    /// A result in one lane, if it is known.
    fn result_in_lane(&self, lane: usize, named: Lanes, number: usize) -> Option<u64> {
        let value = &self.value;
        // Lanes that are named but do not arrive here are elsewhere, or never arrive.
        let come = named & self.here;
        let is_all = named & !self.here == 0;
        match self.kind {
            Collective::Vote(vote) => {
                let holds =
                    lane_set(lanes_in_set(come & value.exact).filter(|&lane| value.bits[lane] & 1 == 1));
                let fails = come & value.exact & !holds;
                let is_known = is_all && named & !value.exact == 0;
                match vote {
                    Vote::Ballot => is_known.then_some(u64::from(holds)),
                    Vote::Any if holds != 0 => Some(1),
                    Vote::All if fails != 0 => Some(0),
                    Vote::Uniform if holds != 0 && fails != 0 => Some(0),
                    Vote::Any => is_known.then_some(0),
                    Vote::All | Vote::Uniform => is_known.then_some(1),
                }
            }
            Collective::Shuffle(_) if number == 0 => value.value_in_lane(self.source_lane(lane, come)?),
            Collective::Match(which, bits) => {
                let alike = |other: usize, to: usize| self.are_values_equal(other, to, bits);
                let (mut same, mut is_open): (Lanes, bool) = (0, !is_all);
                for other in lanes_in_set(come) {
                    match alike(other, lane) {
                        Some(true) => same |= 1 << other,
                        // One lane with a different value is enough.
                        Some(false) if which == Match::All => return Some(0),
                        Some(false) => {}
                        None => is_open = true,
                    }
                }
                match (which, number) {
                    _ if is_open => None,
                    (Match::All, 1) => Some(1),
                    (_, 0) => Some(u64::from(same)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The lane that a lane reads, if it is known and arrives.
    fn source_lane(&self, lane: usize, come: Lanes) -> Option<usize> {
        let (Collective::Shuffle(mode), Some((b, c))) = (self.kind, &self.from) else {
            return None;
        };
        let source = shuffle::source_lane(mode, lane, b.value_in_lane(lane)?, c.value_in_lane(lane)?);
        (source == lane || come >> source & 1 == 1).then_some(source)
    }

    /// True if the values of two lanes are equal, false if they differ.
    fn are_values_equal(&self, a: usize, b: usize, bits: u8) -> Option<bool> {
        let value = &self.value;
        let differ = (value.bits[a] ^ value.bits[b]) & ones(bits) != 0;
        match (value.exact >> a & 1, value.exact >> b & 1, value.rest) {
            _ if a == b => Some(true),
            (1, 1, _) | (0, 0, Rest::Uniform(_)) => Some(!differ),
            _ => {
                let ((low_a, x), (low_b, y)) = (value.low_bits(a), value.low_bits(b));
                ((x ^ y) & ones(low_a.min(low_b).min(bits)) != 0).then_some(false)
            }
        }
    }

    /// The bits of a ballot in the lanes `open`: those of lanes in which the predicate is known.
    fn add_known_ballot_bits(&self, open: Lanes, result: &mut Vector) {
        let value = &self.value;
        let mut all = [Bits::UNKNOWN; WARP];
        for lane in lanes_in_set(open) {
            let known = self.here & value.exact;
            let holds = lane_set(lanes_in_set(known).filter(|&lane| value.bits[lane] & 1 == 1));
            let told = Bits {
                zeros: u64::from(known & !holds),
                ones: u64::from(holds & self.named[lane].unwrap_or(0)),
            };
            all[lane] = result.bits_of(lane).refined_with(told);
        }
        result.set_known_bits(open, |lane| all[lane]);
    }

    /// For a shuffled value that is not exact, the known bits are those of the source lane.
    fn add_source_bits(&self, open: Lanes, result: &mut Vector) {
        let value = &self.value;
        let source = |lane: usize| self.source_lane(lane, self.named[lane].unwrap_or(0) & self.here);
        if lanes_in_set(open).any(|lane| source(lane).is_none()) || matches!(value.rest, Rest::Active(_)) {
            return;
        }
        let moved = |lane: usize| source(lane).unwrap_or(lane);
        (result.low, result.limit, result.least) = (value.low, value.limit, value.least);
        let is_uniform = matches!(value.rest, Rest::Uniform(_));
        if is_uniform {
            result.rest = value.rest;
        }
        for lane in lanes_in_set(open) {
            result.bits[lane] = match is_uniform {
                true => value.bits[moved(lane)],
                false => value.bits[moved(lane)] & ones(value.low),
            };
        }
        for lane in lanes_in_set(!(self.here | result.exact)) {
            result.bits[lane] = 0;
        }
        result.set_known_bits(open, |lane| value.bits_of(moved(lane)));
    }
}

/// True if all arriving lanes get the same result.
fn is_result_same_in_all_lanes(
    kind: Collective,
    (mask, source, control): (&Vector, &Vector, &Vector),
    number: usize,
    here: Lanes,
) -> bool {
    let is_one = match kind {
        Collective::Vote(_) | Collective::Reduce | Collective::Match(Match::All, _) => true,
        Collective::Elect => number == 0,
        Collective::Shuffle(Shuffle::Index) => {
            source.is_uniform_among(here)
                && lanes_in_set(here).all(|lane| control.value_in_lane(lane) == Some(31))
        }
        _ => false,
    };
    // Several groups may execute the collective here, each with its own result, unless all lanes are in one.
    let named = mask.value_in_lane(here.trailing_zeros().min(31) as usize);
    is_one && mask.is_uniform_among(here) && named.is_some_and(|named| here & !(named as Lanes) == 0)
}

/// True if the first result of a collective is a set of lanes that its mask names.
const fn names_lanes(kind: Collective) -> bool {
    matches!(kind, Collective::Vote(Vote::Ballot) | Collective::Match(..))
}
