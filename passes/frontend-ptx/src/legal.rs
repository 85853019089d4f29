//! Instructions that are not legal for the `.target` and the `.version` of their module: the assembler and the driver refuse the
//! module, and with it every kernel.
//!
//! Source: PTX ISA, "PTX ISA Notes" and "Target ISA Notes" of each instruction. Each row is tried with ptxas in the tests. An
//! opcode without a row is taken to be legal.

use memchr::memmem;
use ptxcheck_common::shown;
use ptxcheck_ir::facts::Illegal;
use ptxcheck_ir::places::{Located, Location};
use ptxcheck_ptx_parser::ast::{StatementKind, Tree};
use ptxcheck_ptx_parser::{LineIndex, parse};

/// Targets that have an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    /// This number and later ones, with and without a letter.
    From(u32),
    /// Those with a letter: this one (`sm_90a`), where there is one, and the architectures of these families, by their number
    /// without the last digit (10 for `sm_100a`, `sm_103f`).
    Lettered(Option<u32>, &'static [u32]),
}

impl Targets {
    fn has(self, number: u32, is_lettered: bool, is_own: bool) -> bool {
        match self {
            Self::From(first) => number >= first,
            Self::Lettered(own, families) => {
                is_lettered && families.contains(&(number / 10)) || is_own && own == Some(number)
            }
        }
    }

    /// `sm_80 or later`.
    #[must_use]
    fn describe(self) -> String {
        match self {
            Self::From(first) => format!("sm_{first} or later"),
            Self::Lettered(own, families) => {
                let own = own.map(|number| format!("sm_{number}a"));
                let families = families.iter().map(|family| format!("sm_{family}0f"));
                let all: Vec<String> = own.into_iter().chain(families).collect();
                format!(
                    "{} or another architecture of its family with a letter",
                    all.join(", ")
                )
            }
        }
    }
}

/// An instruction, and the targets and versions that have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The first part of the opcode.
    pub opcode: &'static str,
    /// Another part that it has, anywhere; empty for all instructions with the opcode.
    pub qualifier: &'static str,
    /// The first `.version`.
    pub isa: (u32, u32),
    /// The targets.
    pub targets: Targets,
}

const fn row(opcode: &'static str, qualifier: &'static str, isa: (u32, u32), first: u32) -> Row {
    Row {
        opcode,
        qualifier,
        isa,
        targets: Targets::From(first),
    }
}

const fn lettered(
    opcode: &'static str,
    qualifier: &'static str,
    isa: (u32, u32),
    own: Option<u32>,
    families: &'static [u32],
) -> Row {
    Row {
        opcode,
        qualifier,
        isa,
        targets: Targets::Lettered(own, families),
    }
}

/// By opcode. An instruction has to be legal by all rows that it fits.
const ROWS: [Row; 40] = [
    row("activemask", "", (6, 2), 0),
    row("alloca", "", (7, 3), 52),
    row("barrier", "cluster", (7, 8), 90),
    row("bmsk", "", (7, 6), 70),
    row("clusterlaunchcontrol", "", (8, 6), 100),
    row("cp", "async", (7, 0), 80),
    row("cp", "bulk", (8, 0), 90),
    row("cp", "reduce", (8, 0), 90),
    row("createpolicy", "", (7, 4), 80),
    row("discard", "", (7, 4), 80),
    row("elect", "", (8, 0), 90),
    row("fence", "", (6, 0), 70),
    row("fence", "proxy", (7, 5), 70),
    row("fence", "mbarrier_init", (8, 0), 90),
    row("griddepcontrol", "", (7, 8), 90),
    row("ldmatrix", "", (6, 5), 75),
    row("mapa", "", (7, 8), 90),
    row("match", "", (6, 0), 70),
    row("mbarrier", "", (7, 0), 80),
    row("mbarrier", "try_wait", (7, 8), 90),
    row("mbarrier", "expect_tx", (8, 0), 90),
    row("mma", "", (6, 4), 70),
    row("mma", "m16n8k8", (6, 5), 75),
    row("mma", "m16n8k16", (7, 0), 80),
    lettered("mma", "block_scale", (8, 7), None, &[12]),
    row("movmatrix", "", (7, 8), 75),
    row("multimem", "", (8, 1), 90),
    row("nanosleep", "", (6, 2), 70),
    row("red", "async", (8, 1), 90),
    row("redux", "", (7, 0), 80),
    lettered("redux", "f32", (8, 6), None, &[10]),
    lettered("setmaxnreg", "", (8, 0), Some(90), &[10, 11, 12]),
    row("st", "async", (8, 1), 90),
    row("st", "bulk", (8, 6), 100),
    row("stmatrix", "", (7, 8), 90),
    row("tanh", "", (7, 0), 75),
    lettered("tcgen05", "", (8, 6), None, &[10, 11]),
    lettered("tensormap", "replace", (8, 3), Some(90), &[10, 11, 12]),
    lettered("wgmma", "", (8, 0), Some(90), &[]),
    row("wmma", "", (6, 0), 70),
];

/// The `.target` and the `.version` of a module.
struct Module {
    number: u32,
    letter: Option<u8>,
    isa: (u32, u32),
}

impl Module {
    fn of(tree: &Tree<'_>) -> Option<Self> {
        let word = tree.target().find(|word| word.starts_with(b"sm_"))?;
        let name = std::str::from_utf8(&word[3..]).ok()?;
        let digits = name.trim_end_matches(['a', 'f']);
        Some(Self {
            number: digits.parse().ok()?,
            letter: name.as_bytes().get(digits.len()).copied(),
            isa: tree.version()?,
        })
    }

    fn allows(&self, row: &Row) -> bool {
        let is_own = self.letter == Some(b'a');
        self.isa >= row.isa && row.targets.has(self.number, self.letter.is_some(), is_own)
    }
}

/// The first instruction of a module that is known not to be legal for its target and version; `None` if there is none, and where
/// the text has errors. The bodies in `tree` need not have been read: the text is read again where a word in it makes that
/// worth while.
#[must_use]
pub fn illegal(tree: &Tree<'_>) -> Option<Illegal> {
    let module = Module::of(tree)?;
    let source = tree.source();
    let refused: Vec<&Row> = ROWS.iter().filter(|row| !module.allows(row)).collect();
    let occurs = |row: &&Row| {
        // The longer part is the rarer.
        if row.qualifier.len() > row.opcode.len() {
            memmem::find(source, row.qualifier.as_bytes()).is_some()
        } else {
            memmem::find(source, format!("{}.", row.opcode).as_bytes()).is_some()
        }
    };
    if !refused.iter().any(occurs) {
        return None;
    }
    let whole = parse(source).ok()?;
    if !whole.errors().is_empty() {
        return None;
    }
    let instructions = whole.statements().iter();
    instructions
        .filter(|statement| statement.kind() == StatementKind::Instruction)
        .find_map(|statement| {
            let opcode = whole.name(statement);
            let row = refused.iter().find(|row| fits(row, opcode))?;
            let function = whole
                .functions()
                .iter()
                .find(|function| function.has_body && function.span.end > statement.span().start);
            let lines = LineIndex::new(source);
            let (from, to) = (
                lines.position(statement.span().start),
                lines.position(statement.span().end),
            );
            Some(Illegal {
                opcode: shown::name(opcode).into_owned(),
                isa: (module.isa < row.isa).then_some(row.isa),
                targets: (!module.allows(&Row { isa: (0, 0), ..**row })).then(|| row.targets.describe()),
                at: Located {
                    function: function.map(|one| shown::name(whole.text(one.name)).into_owned()),
                    offset: statement.span().start,
                    location: Some(Location {
                        file: String::new(),
                        line: from.line,
                        column: from.column,
                        end_line: to.line,
                        end_column: to.column,
                    }),
                    ..Located::default()
                },
            })
        })
}

/// True if an instruction is one that a row is about.
fn fits(row: &Row, opcode: &[u8]) -> bool {
    let mut parts = opcode.split(|byte| *byte == b'.');
    parts.next() == Some(row.opcode.as_bytes())
        && (row.qualifier.is_empty() || parts.any(|part| part == row.qualifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use ptxcheck_ptx_parser::parse_declarations;

    use super::*;

    fn found(version: &str, target: &str, body: &str) -> Option<Illegal> {
        let source = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n{body}\n\tret;\n}}\n"
        );
        illegal(&parse_declarations(source.as_bytes()).unwrap())
    }

    #[test]
    fn instructions_are_legal_from_a_target_and_a_version_on() {
        let shown = |found: Option<Illegal>| found.map(|one| (one.opcode, one.isa, one.targets));
        let redux = "\tredux.sync.add.s32 %r1, %r2, -1;";
        let name = "redux.sync.add.s32".to_owned();
        let later = Some("sm_80 or later".to_owned());
        assert_eq!(shown(found("7.0", "sm_80", redux)), None);
        assert_eq!(shown(found("9.0", "sm_120f", redux)), None);
        assert_eq!(
            shown(found("7.0", "sm_75", redux)),
            Some((name.clone(), None, later.clone()))
        );
        assert_eq!(
            shown(found("6.5", "sm_75", redux)),
            Some((name, Some((7, 0)), later))
        );
        for (target, is_legal) in [
            ("sm_90", false),
            ("sm_90a", true),
            ("sm_100", false),
            ("sm_100a", false),
            ("sm_120a", false),
        ] {
            assert_eq!(
                found("8.7", target, "wgmma.fence.sync.aligned;").is_none(),
                is_legal,
                "{target}"
            );
        }
        for (target, is_legal) in [
            ("sm_90a", true),
            ("sm_90", false),
            ("sm_100", false),
            ("sm_103f", true),
            ("sm_121a", true),
        ] {
            let text = "setmaxnreg.dec.sync.aligned.u32 40;";
            assert_eq!(found("8.8", target, text).is_none(), is_legal, "{target}");
        }
    }

    #[test]
    fn the_first_one_is_told_with_its_place() {
        let body = "\t// redux.sync.add.s32\n\tfence.acq_rel.gpu;\n\tredux.sync.add.s32 %r1, %r2, -1;";
        let one = found("6.0", "sm_60", body).unwrap();
        let at = one.at.location.unwrap();
        assert_eq!(
            (one.opcode.as_str(), at.line, at.column),
            ("fence.acq_rel.gpu", 7, 2)
        );
        assert_eq!(one.at.function.as_deref(), Some("k"));
    }

    #[test]
    fn what_is_not_known_is_legal() {
        assert_eq!(found("6.0", "sm_60", "\tfuture.instruction.b32 %r1, %r2;"), None);
        assert_eq!(found("6.0", "sm_60", "\tmov.u32 %redux, 1;"), None);
        assert_eq!(found("6.0", "gfx90a", "\tredux.sync.add.s32 %r1, %r2, -1;"), None);
        assert_eq!(
            found("6.0", "sm_60", "\tredux.sync.add.s32 %r1, %r2, -1; +;"),
            None
        );
    }
}
