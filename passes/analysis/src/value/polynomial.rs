//! Polynomials of quantities that are not negative, with whole coefficients, in exact arithmetic.

use smallvec::SmallVec;

/// Factors of a term, in order: a quantity as often as its exponent says.
pub(crate) type Factors<Q> = SmallVec<[Q; 4]>;

/// Terms with their coefficients, none of which is 0, in the order of their factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Polynomial<Q> {
    terms: Vec<(Factors<Q>, i128)>,
}

/// Most terms of a polynomial.
const MAX_TERMS: usize = 12;

/// Most factors of a term.
const MAX_DEGREE: usize = 4;

/// Greatest absolute value of a coefficient.
const MAX_COEFFICIENT: i128 = 1 << 64;

impl<Q: Copy + Ord> Polynomial<Q> {
    pub(crate) fn of_number(number: i128) -> Self {
        let terms = if number == 0 {
            Vec::new()
        } else {
            vec![(Factors::new(), number)]
        };
        Self { terms }
    }

    pub(crate) fn of_quantity(quantity: Q) -> Self {
        Self {
            terms: vec![(Factors::from_slice(&[quantity]), 1)],
        }
    }

    /// The terms: their factors and coefficients.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&[Q], i128)> + Clone {
        self.terms.iter().map(|(factors, by)| (&factors[..], *by))
    }

    /// The number that it is, if it has no quantities.
    pub(crate) fn number(&self) -> Option<i128> {
        match &self.terms[..] {
            [] => Some(0),
            [(factors, by)] if factors.is_empty() => Some(*by),
            _ => None,
        }
    }

    /// The sum; `None` if it is too large to be kept, as below.
    pub(crate) fn sum(&self, other: &Self) -> Option<Self> {
        let mut terms = self.terms.clone();
        for (factors, by) in &other.terms {
            add_term(&mut terms, factors.clone(), *by)?;
        }
        Self::kept(terms)
    }

    pub(crate) fn product(&self, other: &Self) -> Option<Self> {
        let mut terms = Vec::new();
        for (factors, by) in &self.terms {
            for (more, times) in &other.terms {
                let mut all = factors.clone();
                all.extend_from_slice(more);
                if all.len() > MAX_DEGREE {
                    return None;
                }
                all.sort_unstable();
                add_term(&mut terms, all, by.checked_mul(*times)?)?;
            }
        }
        Self::kept(terms)
    }

    fn kept(mut terms: Vec<(Factors<Q>, i128)>) -> Option<Self> {
        terms.retain(|(_, by)| *by != 0);
        (terms.len() <= MAX_TERMS).then_some(Self { terms })
    }

    /// Its value where each quantity has a value; `None` if 128 bits have no room for it.
    pub(crate) fn value_at(&self, value_of: impl Fn(Q) -> i128) -> Option<i128> {
        self.terms.iter().try_fold(0_i128, |sum, (factors, by)| {
            let term = factors
                .iter()
                .try_fold(*by, |term, &factor| term.checked_mul(value_of(factor)))?;
            sum.checked_add(term)
        })
    }
}

fn add_term<Q: Copy + Ord>(terms: &mut Vec<(Factors<Q>, i128)>, factors: Factors<Q>, by: i128) -> Option<()> {
    let sum = match terms.binary_search_by(|(known, _)| known.cmp(&factors)) {
        Ok(at) => {
            terms[at].1 = terms[at].1.checked_add(by)?;
            terms[at].1
        }
        Err(at) => {
            terms.insert(at, (factors, by));
            by
        }
    };
    (sum.abs() <= MAX_COEFFICIENT).then_some(())
}

#[cfg(test)]
mod tests {
    use super::{MAX_TERMS, Polynomial};

    fn sum(of: &[Polynomial<u8>]) -> Polynomial<u8> {
        let sum = of
            .iter()
            .try_fold(Polynomial::of_number(0), |sum, one| sum.sum(one));
        sum.unwrap()
    }

    #[test]
    fn values_of_sums_and_products_are_sums_and_products_of_values() {
        let (x, y) = (Polynomial::of_quantity(0), Polynomial::of_quantity(1));
        let samples = [
            Polynomial::of_number(0),
            Polynomial::of_number(-7),
            x.clone(),
            sum(&[x.clone(), y.clone(), Polynomial::of_number(-1)]),
            x.product(&y).unwrap(),
            sum(&[x.product(&x).unwrap(), Polynomial::of_number(3)]),
        ];
        for at in [[0, 0], [1, 5], [1 << 31, 1024]] {
            let value = |of: &Polynomial<u8>| of.value_at(|quantity| at[usize::from(quantity)]).unwrap();
            for one in &samples {
                for other in &samples {
                    assert_eq!(value(&one.sum(other).unwrap()), value(one) + value(other));
                    assert_eq!(value(&one.product(other).unwrap()), value(one) * value(other));
                }
            }
        }
    }

    #[test]
    fn terms_that_cancel_each_other_are_gone() {
        let x = Polynomial::of_quantity(3_u8);
        let none = x.sum(&x.product(&Polynomial::of_number(-1)).unwrap()).unwrap();
        assert_eq!((none.number(), none.terms().count()), (Some(0), 0));
    }

    #[test]
    fn large_ones_are_not_kept() {
        let x = Polynomial::of_quantity(0_u8);
        let square = x.product(&x).unwrap();
        assert!(square.product(&square).is_some());
        assert!(square.product(&square).unwrap().product(&x).is_none());
        let most = Polynomial::<u8>::of_number(1 << 64);
        assert!(most.sum(&most).is_none() && most.product(&most).is_none());
        let many: Vec<_> = (0..MAX_TERMS as u8 + 1).map(Polynomial::of_quantity).collect();
        let sum = many
            .iter()
            .try_fold(Polynomial::of_number(0), |sum, one| sum.sum(one));
        assert!(sum.is_none());
    }
}
