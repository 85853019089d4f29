//! Names of functions' parameters, from the debug data of a module (DWARF, DW_TAG_formal_parameter). nvcc writes them with `-G`, clang
//! with `-O0 -g`.

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, DebugInfoOffset, DebugStr, LittleEndian};
use rustc_hash::FxHashMap;

use ptxcheck_ptx_parser::ast::Tree;

use crate::inlined::{section, text};
use crate::limits::MAX_NAMED_PARAMETERS;

/// The names of parameters, by the functions as their symbols are named.
#[derive(Debug, Default)]
pub(crate) struct ParameterNames {
    functions: FxHashMap<String, Vec<Option<String>>>,
}

impl ParameterNames {
    /// Those that the debug data of `tree` has; none if it has none, or it is malformed.
    pub(crate) fn new(tree: &Tree<'_>) -> Self {
        let info = section(tree, b".debug_info", false);
        if info.is_empty() {
            return Self::default();
        }
        let abbreviations = section(tree, b".debug_abbrev", false);
        let strings = section(tree, b".debug_str", false);
        let strings = DebugStr::new(&strings, LittleEndian);
        let abbreviations = DebugAbbrev::new(&abbreviations, LittleEndian);
        let mut units = DebugInfo::new(&info, LittleEndian).units();
        let mut names = Self::default();
        let mut known = Known::default();
        let mut left = MAX_NAMED_PARAMETERS;
        while let Ok(Some(unit)) = units.next() {
            let Ok(abbreviations) = unit.abbreviations(&abbreviations) else {
                continue;
            };
            let mut entries = unit.entries(&abbreviations);
            // The function that parameters are of, and its depth in the tree.
            let mut current: Option<(isize, String)> = None;
            while let Ok(Some(entry)) = entries.next_dfs() {
                let at = entry.offset().to_debug_info_offset(&unit);
                let reference = |name| match entry.attr_value(name)? {
                    AttributeValue::UnitRef(offset) => offset.to_debug_info_offset(&unit),
                    AttributeValue::DebugInfoRef(offset) => Some(offset),
                    _ => None,
                };
                let origin = || {
                    let origins = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
                    let mut origins = origins.into_iter().filter_map(reference);
                    origins.find_map(|offset| known.get(&offset).cloned())
                };
                let depth = entry.depth();
                if current.as_ref().is_some_and(|(outer, _)| depth <= *outer) {
                    current = None;
                }
                let names_of = |kinds: &[gimli::DwAt]| {
                    let mut kinds = kinds.iter();
                    kinds.find_map(|kind| text(&strings, entry, *kind))
                };
                match entry.tag() {
                    gimli::DW_TAG_subprogram => {
                        let name = names_of(&FUNCTION_NAMES).or_else(origin);
                        // A declaration without code may be of another function with the same name.
                        let has_code = entry.attr_value(gimli::DW_AT_low_pc).is_some();
                        if let Some(name) = &name
                            && has_code
                        {
                            names.functions.insert(name.clone(), Vec::new());
                        }
                        current = name.clone().filter(|_| has_code).map(|name| (depth, name));
                        keep(&mut known, at, name);
                    }
                    gimli::DW_TAG_formal_parameter => {
                        let name = names_of(&[gimli::DW_AT_name]).or_else(origin);
                        if let Some((outer, function)) = &current
                            && depth == outer + 1
                            && let Some(parameters) = names.functions.get_mut(function)
                        {
                            parameters.push(name.clone());
                        }
                        keep(&mut known, at, name);
                        left -= 1;
                    }
                    _ => {}
                }
                if left == 0 {
                    return names;
                }
            }
        }
        names
    }

    /// The names of a function's parameters, in their order; empty if the debug data does not have it.
    pub(crate) fn of(&self, function: &str) -> &[Option<String>] {
        self.functions.get(function).map_or(&[], Vec::as_slice)
    }
}

/// Names by the entries that have them.
type Known = FxHashMap<DebugInfoOffset, String>;

/// Attributes with the name of a function, that of its symbol first.
const FUNCTION_NAMES: [gimli::DwAt; 3] = [
    gimli::DW_AT_linkage_name,
    gimli::DW_AT_MIPS_linkage_name,
    gimli::DW_AT_name,
];

fn keep(known: &mut Known, at: Option<DebugInfoOffset>, name: Option<String>) {
    if let (Some(at), Some(name)) = (at, name) {
        known.insert(at, name);
    }
}

#[cfg(test)]
mod tests {
    use super::ParameterNames;

    /// A function `k` with the parameters `n` and one without a name, in the bytes of DWARF 2.
    const UNIT: &str = ".section .debug_abbrev {\n\
        .b8 1,17,1,0,0\n.b8 2,46,1,3,8,17,1,18,1,0,0\n.b8 3,5,0,3,8,0,0\n.b8 4,5,0,0,0\n.b8 0\n}\n\
        .section .debug_info {\n.b32 33\n.b16 2\n.b32 .debug_abbrev\n.b8 8\n.b8 1\n\
        .b8 2,107,0\n.b64 0\n.b64 0\n.b8 3,110,0\n.b8 4\n.b8 0\n.b8 0\n}\n";

    fn names(debug: &str) -> Vec<Option<String>> {
        let text =
            format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ ret; }}\n{debug}");
        let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).unwrap();
        ParameterNames::new(&tree).of("k").to_vec()
    }

    #[test]
    fn parameters_are_in_their_order() {
        assert_eq!(names(UNIT), [Some("n".to_owned()), None]);
        assert_eq!(names(""), []);
    }

    #[test]
    fn malformed_data_has_no_names() {
        for end in [".b8 3,110,0\n.b8 4\n", ".b8 2,107,0\n", ".b32 33\n", ".b8 8\n"] {
            let (before, _) = UNIT.rsplit_once(end).unwrap();
            let _ = names(&format!("{before}}}\n"));
        }
        for (from, to) in [
            (".b32 33", ".b32 4294967295"),
            (".b8 1,17,1,0,0", ".b8 1"),
            (".b8 2,107,0", ".b8 9,107,0"),
        ] {
            let _ = names(&UNIT.replace(from, to));
        }
    }
}
