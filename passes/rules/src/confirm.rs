//! From potential to certain: the command that shows a finding in a run on a GPU.

use std::fmt::Write as _;

use crate::finding::{Certainty, Finding, Value};
use crate::names;

/// Longest mangled name that a command has in full, in bytes: the lines of a terminal.
const SHOWN_NAME_BYTES: usize = 80;

impl Finding {
    /// The command that shows whether it happens in a run of its kernel, for a shell: `PROGRAM` stands for the program of the user's
    /// that launches the kernel. A conditional finding has the launch in a comment at its end. `None` for definite findings, which need
    /// no run, where no kernel is known, and where no tool sees it.
    #[must_use]
    pub fn confirm_command(&self) -> Option<String> {
        if self.certainty == Certainty::Definite {
            return None;
        }
        let (tool, kernel) = (self.sanitizer?, self.kernel.as_deref()?);
        let filter = filter(kernel)?;
        let mut command = format!(
            "compute-sanitizer --tool {} --kernel-name {filter} PROGRAM",
            tool.as_str()
        );
        if self.certainty == Certainty::Conditional
            && let Some(launch) = self.launch_to_run(kernel)
        {
            let _ = write!(command, "  # {launch}");
        }
        Some(command)
    }

    /// The launch of its witness: `scan<<<1, 128>>>, parameter 2 = 100`.
    fn launch_to_run(&self, kernel: &str) -> Option<String> {
        let sides = |key| match self.data.get(key) {
            Some(Value::Numbers(sides)) => Some(shape(sides)),
            _ => None,
        };
        let (grid, block) = (sides("grid")?, sides("block")?);
        let readable = names::readable(kernel);
        let mut launch = format!("{}<<<{grid}, {block}>>>", base(&readable));
        if let Some(Value::Texts(parameters)) = self.data.get("parameters") {
            for parameter in parameters {
                let _ = write!(launch, ", {parameter}");
            }
        }
        Some(launch)
    }
}

/// The filter for a kernel: its mangled name, or a part of a long one. `None` for names that a filter cannot have.
fn filter(kernel: &str) -> Option<String> {
    let is_plain = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte))
    };
    if !is_plain(kernel) {
        return None;
    }
    let quoted = |filter: String| match filter.contains('$') {
        true => format!("'{filter}'"),
        false => filter,
    };
    let readable = names::readable(kernel);
    let part = base(&readable);
    let is_part = kernel.len() > SHOWN_NAME_BYTES.max(part.len()) && is_plain(part) && kernel.contains(part);
    Some(quoted(match is_part {
        true => format!("kns={part}"),
        false => format!("kne={kernel}"),
    }))
}

/// The name of a function without namespaces, template arguments, parameters and result.
fn base(readable: &str) -> &str {
    let end = readable.find(['<', '(']).unwrap_or(readable.len());
    let name = readable[..end].trim_end();
    let start = name.rfind([':', ' ']).map_or(0, |at| at + 1);
    &name[start..]
}

/// `128`, or `dim3(32, 4, 1)`.
fn shape(sides: &[u64]) -> String {
    match sides {
        [x, 1, 1] => x.to_string(),
        _ => {
            let sides: Vec<String> = sides.iter().map(u64::to_string).collect();
            format!("dim3({})", sides.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{base, filter};
    use crate::finding::{Certainty, Finding, Value};
    use crate::rules;
    use crate::sanitizer::Sanitizer;

    fn finding(certainty: Certainty, kernel: &str) -> Finding {
        let rule = rules::find("PTX411").unwrap();
        Finding {
            kernel: Some(kernel.to_owned()),
            sanitizer: Some(Sanitizer::Synccheck),
            ..Finding::new(rule, certainty, String::new())
        }
    }

    #[test]
    fn a_finding_that_may_happen_has_a_command() {
        let potential = finding(Certainty::Potential, "_Z4scanPi");
        let command = "compute-sanitizer --tool synccheck --kernel-name kne=_Z4scanPi PROGRAM";
        assert_eq!(potential.confirm_command().as_deref(), Some(command));
        let mut conditional = finding(Certainty::Conditional, "_Z4scanPi");
        conditional.data.insert("block", Value::Numbers(vec![32, 4, 1]));
        conditional.data.insert("grid", Value::Numbers(vec![2, 1, 1]));
        let parameters = vec!["parameter 1 = 7".to_owned()];
        conditional.data.insert("parameters", Value::Texts(parameters));
        assert_eq!(
            conditional.confirm_command(),
            Some(format!(
                "{command}  # scan<<<2, dim3(32, 4, 1)>>>, parameter 1 = 7"
            ))
        );
        assert_eq!(finding(Certainty::Definite, "k").confirm_command(), None);
        assert_eq!(
            Finding {
                sanitizer: None,
                ..finding(Certainty::Potential, "k")
            }
            .confirm_command(),
            None
        );
    }

    #[test]
    fn names_are_safe_in_a_shell_and_in_a_filter() {
        assert_eq!(filter("k$1").as_deref(), Some("'kne=k$1'"));
        for wrong in ["", "a,b", "a b", "a;b", "a'b", "ö", "a=b", "a\nb"] {
            assert_eq!(filter(wrong), None, "{wrong}");
        }
        let long = format!("_ZN2ns6reduceIJ{}EEEvPi", "Li1E".repeat(40));
        assert_eq!(filter(&long).as_deref(), Some("kns=reduce"));
        let unknown = "x".repeat(200);
        assert_eq!(filter(&unknown), Some(format!("kne={unknown}")));
    }

    #[test]
    fn the_base_of_a_name_has_no_types() {
        for (readable, wanted) in [
            ("scan", "scan"),
            ("void ns::scan<int>(int*)", "scan"),
            ("ns::scan(float)", "scan"),
            ("<", ""),
            ("", ""),
        ] {
            assert_eq!(base(readable), wanted);
        }
    }
}
