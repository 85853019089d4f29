//! Assumptions: bounds of kernels' integer parameters that the user states, so that witnesses keep to them.
//!
//! ```text
//! forces*:n % 128      of kernels called `forces*`, the parameter `n` is a multiple of 128
//! forces*:1 <= 1024    so is parameter 1, from 0, at most 1024
//! forces*:2+8 = 1      the integer 8 bytes into parameter 2, which is a structure
//! ```
//!
//! All that are about a parameter hold together. An integer has as many bytes as its parameter, or, in a structure, as the kernel loads
//! there, and is compared as signed.

mod assumed;
mod condition;
mod limits;
mod piece;
mod values;

use std::fmt;

use ptxcheck_common::names;
use ptxcheck_ir::{FunctionId, Module, parameter_number};
use serde::{Deserialize, Serialize};

use crate::patterns::{Pattern, Written};
pub use assumed::Assumed;
pub use condition::{BadAssumption, Condition};
use limits::ASSUMPTION_BYTES;
pub use limits::MAX_ASSUMPTIONS;
use piece::Piece;
use values::Values;

/// The assumptions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumptions {
    /// In any order: those that are about one parameter hold together.
    pub all: Vec<Assumption>,
}

/// A condition of a parameter of some kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    /// The kernels, by one of their names ([`names::is_called`]).
    pub kernels: Pattern,
    /// The parameter.
    pub parameter: AssumedParameter,
    /// Its condition.
    pub condition: Condition,
    /// The parameter and the condition, as they are written.
    pub text: String,
    /// 1-based line and column in the configuration; `None` for an option.
    pub written: Option<Written>,
}

/// A parameter of a kernel, as an assumption names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssumedParameter {
    /// Its number, from 0.
    Number(u16),
    /// An integer in a structure: the number of the parameter, and the bytes before the integer.
    Piece(u16, u32),
    /// Its name in debug information or in the module, or the one that compilers make up: `k_param_1`.
    Name(String),
}

impl AssumedParameter {
    /// Reads `1`, `2+8` or `n`.
    ///
    /// # Errors
    ///
    /// A sentence, if it is none of these.
    pub fn parse(text: &str) -> Result<Self, BadAssumption> {
        let none = || {
            BadAssumption(format!(
                "`{text}` is no parameter: a number from 0 (`1`), a number and a byte in it (`1+8`) or a name (`n`) is wanted"
            ))
        };
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return match text.split_once('+') {
                Some((number, offset)) => parse_decimal(number)
                    .zip(parse_decimal(offset))
                    .map(|(number, offset)| Self::Piece(number, offset)),
                None => parse_decimal(text).map(Self::Number),
            }
            .ok_or_else(none);
        }
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
        if text.is_empty() || !text.chars().all(is_part) {
            return Err(none());
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn parse_decimal<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

impl fmt::Display for AssumedParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "parameter {number}"),
            Self::Piece(number, offset) => write!(f, "parameter {number} at byte {offset}"),
            Self::Name(name) => write!(f, "parameter `{name}`"),
        }
    }
}

impl Assumption {
    /// An assumption about kernels that a pattern fits.
    ///
    /// # Errors
    ///
    /// A sentence, if parameter or condition are none.
    pub fn new(kernels: Pattern, parameter: &str, condition: &str) -> Result<Self, BadAssumption> {
        if parameter.len().saturating_add(condition.len()) > ASSUMPTION_BYTES {
            return Err(BadAssumption(format!(
                "an assumption has at most {ASSUMPTION_BYTES} bytes"
            )));
        }
        let (parameter, condition) = (parameter.trim(), condition.trim());
        Ok(Self {
            kernels,
            parameter: AssumedParameter::parse(parameter)?,
            condition: Condition::parse(condition)?,
            text: format!("{parameter} {condition}"),
            written: None,
        })
    }

    /// Reads `KERNEL:PARAMETER CONDITION`, as in `forces*:n % 128`. The name of the kernel may have colons itself.
    ///
    /// # Errors
    ///
    /// A sentence, if it is none.
    pub fn parse(text: &str) -> Result<Self, BadAssumption> {
        let (kernel, rest) = text
            .rsplit_once(':')
            .filter(|(kernel, _)| !kernel.trim().is_empty() && !kernel.ends_with(':'))
            .ok_or_else(|| {
                BadAssumption(format!(
                    "`{text}` is no assumption: a kernel, a colon, a parameter and a condition are wanted, as in `forces*:n % 128`"
                ))
            })?;
        let rest = rest.trim_start();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '+');
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (parameter, condition) = rest.split_at(end);
        let kernels = Pattern::name(kernel.trim()).map_err(|bad| BadAssumption(bad.to_string()))?;
        Self::new(kernels, parameter, condition)
    }

    /// The same, written here.
    #[must_use]
    pub const fn at(mut self, line: u32, column: u32) -> Self {
        self.written = Some((line, column));
        self
    }
}

/// The parameters of a kernel, which assumptions are checked against.
#[derive(Debug)]
pub struct Signature<'k> {
    /// The kernel's name in its module.
    pub kernel: &'k str,
    /// Bytes of each parameter, and its name, where it is known.
    pub params: Vec<(u64, Option<&'k str>)>,
}

impl<'k> Signature<'k> {
    /// That of a kernel of a module, with the names that [`Module::parameter_names`] has.
    fn of_kernel(module: &'k Module<'_>, kernel: FunctionId, names: &'k [Option<String>]) -> Self {
        let names = names.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        let params = module.function(kernel).params.iter().zip(names);
        Self {
            kernel: module.function_name(kernel),
            params: params.map(|(param, name)| (param.size, name)).collect(),
        }
    }
}

/// An assumption that the parameters of a kernel cannot keep, by its number in [`Assumptions::all`], with the reason.
pub type Contradiction = (usize, String);

impl Assumptions {
    /// True if some assumption names its parameter.
    #[must_use]
    pub fn have_names(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|one| matches!(one.parameter, AssumedParameter::Name(_)))
    }

    /// The numbers of the assumptions that are about a kernel of this name.
    #[must_use]
    pub fn assumptions_about(&self, kernel: &str) -> Vec<usize> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let names = names::spellings(kernel);
        let fits = |one: &Assumption| names.iter().any(|name| one.kernels.fits(name));
        (0..)
            .zip(&self.all)
            .filter(|(_, one)| fits(one))
            .map(|(number, _)| number)
            .collect()
    }

    /// The values that the assumptions leave the parameters of a kernel of a module.
    #[must_use]
    pub fn of_function(&self, module: &Module<'_>, kernel: FunctionId) -> Assumed {
        let about = self.assumptions_about(module.function_name(kernel));
        if about.is_empty() {
            return Assumed::default();
        }
        let names = if self.have_names() {
            module.parameter_names(kernel)
        } else {
            Vec::new()
        };
        self.of_kernel(&about, &Signature::of_kernel(module, kernel, &names))
            .0
    }

    /// The values that some of the assumptions ([`Self::assumptions_about`]) leave the parameters of a kernel, and those that it contradicts, which then
    /// count for nothing. A name that no parameter has says nothing.
    #[must_use]
    pub fn of_kernel(&self, about: &[usize], kernel: &Signature<'_>) -> (Assumed, Vec<Contradiction>) {
        let mut contradictions = Vec::new();
        let mut pieces: Vec<(Piece, Vec<usize>)> = Vec::new();
        for &number in about {
            match self.all[number].piece_of_parameter(kernel) {
                Ok(None) => {}
                Ok(Some(piece)) => match pieces.iter_mut().find(|(other, _)| *other == piece) {
                    Some((_, same)) => same.push(number),
                    None => pieces.push((piece, vec![number])),
                },
                Err(reason) => contradictions.push((number, reason)),
            }
        }
        let mut assumed = Assumed::default();
        for (piece, numbers) in pieces {
            let conditions = || numbers.iter().map(|&number| &self.all[number].condition);
            let Some(values) = Values::new(conditions(), piece.bytes.unwrap_or(8)) else {
                let texts: Vec<String> = numbers
                    .iter()
                    .map(|&number| format!("`{}`", self.all[number].text))
                    .collect();
                let reason = format!(
                    "no value of it is as {} say{}",
                    texts.join(" and "),
                    if texts.len() == 1 { "s" } else { "" }
                );
                contradictions.extend(numbers.last().map(|&number| (number, reason)));
                continue;
            };
            assumed.add(piece, values);
        }
        (assumed, contradictions)
    }
}

impl Assumption {
    /// True unless it names a parameter that the kernel is not known to have.
    #[must_use]
    pub fn may_apply_to(&self, kernel: &Signature<'_>) -> bool {
        !matches!(self.piece_of_parameter(kernel), Ok(None))
    }

    /// The piece of a kernel's parameters that it is about; `None` if no parameter is known by its name.
    fn piece_of_parameter(&self, kernel: &Signature<'_>) -> Result<Option<Piece>, String> {
        let (number, offset) = match &self.parameter {
            AssumedParameter::Number(number) => (*number, None),
            AssumedParameter::Piece(number, offset) => (*number, Some(*offset)),
            AssumedParameter::Name(name) => {
                let found = kernel.params.iter().position(|(_, known)| *known == Some(name));
                let by_name = || found.and_then(|number| u16::try_from(number).ok());
                match parameter_number(kernel.kernel, name).or_else(by_name) {
                    Some(number) => (number, None),
                    None => return Ok(None),
                }
            }
        };
        let Some(&(size, ..)) = kernel.params.get(usize::from(number)) else {
            return Err(format!(
                "the kernel has {}",
                describe_parameter_count(kernel.params.len())
            ));
        };
        let piece = |offset, bytes| Piece {
            number,
            offset,
            bytes,
        };
        let piece = match (offset, size) {
            (Some(offset), _) if u64::from(offset) < size => piece(offset, None),
            (Some(_), _) => return Err(format!("the parameter has {size} bytes")),
            (None, 1 | 2 | 4 | 8) => piece(0, Some(size as u8)),
            (None, _) => {
                return Err(format!(
                    "the parameter is no integer: it has {size} bytes (an integer in a structure is named by its first byte: `{number}+8`)"
                ));
            }
        };
        let most = i64::MAX >> (64 - 8 * u32::from(piece.bytes.unwrap_or(8)));
        match self
            .condition
            .numbers()
            .iter()
            .find(|value| !(-most - 1..=most).contains(value))
        {
            Some(value) => Err(format!(
                "{value} is no signed integer of {size} byte{}",
                if size == 1 { "" } else { "s" }
            )),
            None => Ok(Some(piece)),
        }
    }
}

fn describe_parameter_count(params: usize) -> String {
    match params {
        0 => "no parameters".to_owned(),
        1 => "one parameter: number 0".to_owned(),
        _ => format!("{params} parameters: numbers 0 to {}", params - 1),
    }
}

#[cfg(test)]
mod tests;
