//! Unknown masks, and the branches on the paths to the collectives that they are passed to.
//!
//! ```text
//! facts(n)      the predicates of the branches of which one edge dominates n, with their outcomes
//! in(n, v)      the numbers that a value v may be at n, as far as facts compare it with numbers
//! names(m)      for each arriving lane, whether m names it: for a ballot, whether its predicate holds, given the facts
//! ```
//!
//! If that is not certain, and the predicate of a ballot compares a value with a number that facts compare with another one:
//!
//! ```text
//! in(n, v) ⊄ numbers of the ballot      lanes may arrive that it does not name
//! numbers of the ballot ⊄ in(n, v)      it may name lanes that do not arrive
//! ```

use rustc_hash::FxHashMap;

use crate::lanes::flow::Flow;
use crate::lanes::graph::Test;
use crate::lanes::meaning::{Meaning, Meanings, Name};
use crate::lanes::numbers::Numbers;
use crate::limits::{MAX_FACT_STEPS, MAX_MEANING_DEPTH};
use ptxcheck_ir::Logic;

/// Relation of an unknown mask with the lanes that pass it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Relation {
    /// It names each arriving lane, or none of them, if that is certain.
    pub names: Option<bool>,
    /// Lanes may arrive that it does not name.
    pub may_leave_out: bool,
    /// It may name lanes that do not arrive.
    pub may_name_others: bool,
}

/// Knowledge about the lanes that reach a place.
#[derive(Default)]
struct Facts {
    outcomes: FxHashMap<Name, bool>,
    /// By value and bits of the comparison.
    numbers: FxHashMap<(Name, u8), Numbers>,
}

/// The relation of a mask with the lanes that pass it at a node.
pub(super) fn relation_at(flow: &Flow<'_>, node: u32, mask: Name) -> Relation {
    let nothing = Relation::default();
    let Some(meanings) = &flow.pool.meanings else {
        return nothing;
    };
    if mask == Name::NONE || !meanings.may_name_lanes(mask) {
        return nothing;
    }
    let facts = Facts::at_node(flow, meanings, node);
    let outcome = |name: Name| facts.outcome_of(meanings, name);
    if let Some(names) = meanings.names_lane(mask, &outcome) {
        return Relation {
            names: Some(names),
            may_name_others: names && facts.may_leave_lanes_out(meanings, mask),
            ..nothing
        };
    }
    let Some((own, here)) = facts.compared_numbers(meanings, mask) else {
        return nothing;
    };
    Relation {
        names: None,
        may_leave_out: !here.is_subset_of(own),
        may_name_others: !own.is_subset_of(here),
    }
}

impl Facts {
    /// The outcomes of the branches whose edges dominate a node.
    fn at_node(flow: &Flow<'_>, meanings: &Meanings, node: u32) -> Self {
        let (graph, order) = (flow.graph, flow.order);
        let mut facts = Self::default();
        let mut target = node;
        for _ in 0..MAX_FACT_STEPS {
            let branch = order.immediate_dominator(target);
            if branch == target {
                break;
            }
            let current = &graph.nodes[branch as usize];
            if let (&[edge], Test::Guard(_)) = (graph.incoming_edges(target), &current.test)
                && graph.sources[edge as usize] == branch
                && current.edges.len() == 2
            {
                let test = flow.pool.get(flow.tests[branch as usize]);
                facts.add_outcome(meanings, test.name, edge == current.edges.start, 0);
            }
            target = branch;
        }
        facts
    }

    /// Takes the outcome of a predicate, and those that follow from it.
    fn add_outcome(&mut self, meanings: &Meanings, predicate: Name, holds: bool, depth: usize) {
        if depth > MAX_MEANING_DEPTH || predicate == Name::NONE {
            return;
        }
        self.outcomes.insert(predicate, holds);
        match *meanings.meaning_of(predicate) {
            Meaning::Not(of, 1) => self.add_outcome(meanings, of, !holds, depth + 1),
            Meaning::Number(of) => self.add_outcome(meanings, of, holds, depth + 1),
            Meaning::Both(logic, a, b)
                if (logic, holds) == (Logic::And, true) || (logic, holds) == (Logic::Or, false) =>
            {
                self.add_outcome(meanings, a, holds, depth + 1);
                self.add_outcome(meanings, b, holds, depth + 1);
            }
            Meaning::Among(value, bits, ref all) => {
                let these = if holds { all.clone() } else { all.complement(bits) };
                let known = self
                    .numbers
                    .entry((value, bits))
                    .or_insert_with(|| Numbers::all_of_width(bits));
                *known = known.intersection(&these);
            }
            _ => {}
        }
    }

    /// The outcome of a predicate, if it is among these facts or follows from the possible numbers of its value.
    fn outcome_of(&self, meanings: &Meanings, name: Name) -> Option<bool> {
        if let Some(&known) = self.outcomes.get(&name) {
            return Some(known);
        }
        let Meaning::Among(value, bits, ref all) = *meanings.meaning_of(name) else {
            return None;
        };
        let here = self.numbers.get(&(value, bits)).filter(|here| !here.is_empty())?;
        if here.is_subset_of(all) {
            return Some(true);
        }
        here.intersection(all).is_empty().then_some(false)
    }

    /// The numbers of a value for which a mask names a lane, and the numbers that the value may be here, if facts compare
    /// it, too.
    fn compared_numbers<'m>(
        &'m self,
        meanings: &'m Meanings,
        mask: Name,
    ) -> Option<(&'m Numbers, &'m Numbers)> {
        let Meaning::Ballot(predicate) = *meanings.meaning_of(mask) else {
            return None;
        };
        let Meaning::Among(value, bits, ref all) = *meanings.meaning_of(predicate) else {
            return None;
        };
        let here = self.numbers.get(&(value, bits)).filter(|here| !here.is_empty())?;
        Some((all, here))
    }

    /// True if lanes may arrive whose numbers are not among those that the mask names.
    fn may_leave_lanes_out(&self, meanings: &Meanings, mask: Name) -> bool {
        let compared = self.compared_numbers(meanings, mask);
        compared.is_some_and(|(own, here)| !own.is_subset_of(here))
    }
}
