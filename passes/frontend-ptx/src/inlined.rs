//! The calls that inlined code stands in place of, from the debug data of a module (DWARF, DW_TAG_inlined_subroutine).
//!
//! nvcc -G inlines functions that are `__forceinline__`, as Cooperative Groups' are, and writes `.loc`s without `inlined_at`:
//! `.debug_info` alone says which call a range of code stands for. Addresses there are labels of the text, so a range here is one of
//! offsets in the text.

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, DebugInfoOffset, DebugStr, EndianSlice, LittleEndian};
use rustc_hash::FxHashMap;

use ptxcheck_ir::limits::MAX_INLINE_DEPTH;
use ptxcheck_ptx_parser::ast::{StatementKind, Tree};
use ptxcheck_ptx_parser::debug_info::{Item, Value, items};

use crate::limits::{MAX_DEBUG_BYTES, MAX_INLINED_CALLS};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a, 'e> = gimli::DebuggingInformationEntry<Bytes<'a>>;

/// A call that was replaced by the code of its callee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InlinedCall {
    /// The function that is called, as its symbol would be named.
    pub(crate) callee: Option<String>,
    /// Number of the file that calls, 1-based line, and column, 0 where there is none.
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The inlined calls of a module, by the offsets of their code.
#[derive(Debug, Default)]
pub(crate) struct InlinedCalls {
    ranges: Vec<Range>,
    /// Offsets from which on the innermost range is another one, in ascending order.
    segments: Vec<(u64, Option<usize>)>,
}

#[derive(Debug)]
struct Range {
    low: u64,
    high: u64,
    call: InlinedCall,
    /// The range around it.
    outer: Option<usize>,
}

impl InlinedCalls {
    /// Those that the debug data of `tree` names; none if it has none, or it is malformed.
    pub(crate) fn new(tree: &Tree<'_>) -> Self {
        let info = section(tree, b".debug_info", true);
        if info.is_empty() {
            return Self::default();
        }
        let abbreviations = section(tree, b".debug_abbrev", false);
        let strings = section(tree, b".debug_str", false);
        let mut reader = Reader {
            strings: DebugStr::new(&strings, LittleEndian),
            names: FxHashMap::default(),
            found: Vec::new(),
        };
        reader.read(&info, &abbreviations);
        Self::nested(reader.ranges())
    }

    /// The calls around an offset in the text, innermost first.
    pub(crate) fn around(&self, offset: u32) -> impl Iterator<Item = &InlinedCall> {
        let after = self
            .segments
            .partition_point(|(start, _)| *start <= u64::from(offset));
        let innermost = after
            .checked_sub(1)
            .and_then(|segment| self.segments.get(segment)?.1);
        std::iter::successors(innermost, |&range| self.ranges[range].outer)
            .take(MAX_INLINE_DEPTH)
            .map(|range| &self.ranges[range].call)
    }

    /// Ranges that lie in each other as their bounds say; a range that extends past the enclosing one is cut at its end.
    fn nested(mut ranges: Vec<Range>) -> Self {
        ranges.sort_by_key(|range| (range.low, std::cmp::Reverse(range.high)));
        let mut segments: Vec<(u64, Option<usize>)> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for number in 0..ranges.len() {
            let low = ranges[number].low;
            while let Some(&last) = open.last()
                && ranges[last].high <= low
            {
                open.pop();
                segments.push((ranges[last].high, open.last().copied()));
            }
            let outer = open.last().copied();
            let end = outer.map_or(u64::MAX, |outer| ranges[outer].high);
            let range = &mut ranges[number];
            range.outer = outer;
            range.high = range.high.min(end);
            segments.push((low, Some(number)));
            open.push(number);
        }
        while let Some(last) = open.pop() {
            segments.push((ranges[last].high, open.last().copied()));
        }
        Self { ranges, segments }
    }
}

/// An inlined call as it was read: the entry of its callee is looked up when all are known.
struct Found {
    low: u64,
    high: u64,
    callee: Option<DebugInfoOffset>,
    file: u32,
    line: u32,
    column: u32,
}

/// The name of a function, or the entry that has it.
enum Name {
    Text(String),
    Of(DebugInfoOffset),
}

struct Reader<'a> {
    strings: DebugStr<Bytes<'a>>,
    /// By the entry of the function.
    names: FxHashMap<DebugInfoOffset, Name>,
    found: Vec<Found>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, info: &'a [u8], abbreviations: &'a [u8]) {
        let abbreviations = DebugAbbrev::new(abbreviations, LittleEndian);
        let mut units = DebugInfo::new(info, LittleEndian).units();
        while let Ok(Some(unit)) = units.next() {
            let Ok(abbreviations) = unit.abbreviations(&abbreviations) else {
                continue;
            };
            let mut entries = unit.entries(&abbreviations);
            while let Ok(Some(entry)) = entries.next_dfs() {
                let reference = |name| match entry.attr_value(name)? {
                    AttributeValue::UnitRef(offset) => offset.to_debug_info_offset(&unit),
                    AttributeValue::DebugInfoRef(offset) => Some(offset),
                    _ => None,
                };
                match entry.tag() {
                    gimli::DW_TAG_subprogram => {
                        let name = [
                            gimli::DW_AT_linkage_name,
                            gimli::DW_AT_MIPS_linkage_name,
                            gimli::DW_AT_name,
                        ]
                        .into_iter()
                        .find_map(|name| self.text(entry, name))
                        .map(Name::Text)
                        .or_else(|| reference(gimli::DW_AT_specification).map(Name::Of));
                        if let (Some(at), Some(name)) = (entry.offset().to_debug_info_offset(&unit), name) {
                            self.names.insert(at, name);
                        }
                    }
                    gimli::DW_TAG_inlined_subroutine => {
                        let callee = reference(gimli::DW_AT_abstract_origin);
                        self.found.extend(found(entry, callee));
                    }
                    _ => {}
                }
                if self.found.len() >= MAX_INLINED_CALLS {
                    return;
                }
            }
        }
    }

    fn text(&self, entry: &Entry<'a, '_>, name: gimli::DwAt) -> Option<String> {
        text(&self.strings, entry, name)
    }

    fn ranges(self) -> Vec<Range> {
        let name = |entry: DebugInfoOffset| match self.names.get(&entry)? {
            Name::Text(text) => Some(text.clone()),
            Name::Of(other) => match self.names.get(other)? {
                Name::Text(text) => Some(text.clone()),
                Name::Of(_) => None,
            },
        };
        let range = |found: &Found| Range {
            low: found.low,
            high: found.high,
            call: InlinedCall {
                callee: found.callee.and_then(name),
                file: found.file,
                line: found.line,
                column: found.column,
            },
            outer: None,
        };
        self.found.iter().map(range).collect()
    }
}

/// The text of an attribute.
pub(crate) fn text<'a>(
    strings: &DebugStr<Bytes<'a>>,
    entry: &Entry<'a, '_>,
    name: gimli::DwAt,
) -> Option<String> {
    let text = match entry.attr_value(name)? {
        AttributeValue::String(text) => text,
        AttributeValue::DebugStrRef(offset) => strings.get_str(offset).ok()?,
        _ => return None,
    };
    Some(ptxcheck_common::shown::name(text.slice()).into_owned())
}

/// The range and the call of a DW_TAG_inlined_subroutine; `None` for one of several ranges, and for one without a line.
fn found(entry: &Entry<'_, '_>, callee: Option<DebugInfoOffset>) -> Option<Found> {
    let number = |name| -> Option<u32> {
        match entry.attr_value(name)? {
            AttributeValue::FileIndex(number) => u32::try_from(number).ok(),
            value => value.udata_value().and_then(|number| u32::try_from(number).ok()),
        }
    };
    let AttributeValue::Addr(low) = entry.attr_value(gimli::DW_AT_low_pc)? else {
        return None;
    };
    let high = match entry.attr_value(gimli::DW_AT_high_pc)? {
        AttributeValue::Addr(high) => high,
        value => low.checked_add(value.udata_value()?)?,
    };
    let line = number(gimli::DW_AT_call_line).filter(|&line| line > 0)?;
    (low < high && high != UNKNOWN).then_some(Found {
        low,
        high,
        callee,
        file: number(gimli::DW_AT_call_file)?,
        line,
        column: number(gimli::DW_AT_call_column).unwrap_or(0),
    })
}

/// The address of a label that does not stand in the code.
const UNKNOWN: u64 = u64::MAX;

/// A value that stands for the address of a label or the distance of two.
struct Fixup<'t> {
    at: usize,
    width: usize,
    value: Value<'t>,
}

/// The bytes of all sections with a name, at most [`MAX_DEBUG_BYTES`]. Labels in the section are offsets in it, those in the
/// code offsets in the text if `has_code`, and names of other sections 0.
pub(crate) fn section(tree: &Tree<'_>, name: &[u8], has_code: bool) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut labels: FxHashMap<&[u8], u64> = FxHashMap::default();
    let mut fixups = Vec::new();
    let sections = tree.sections().iter();
    for section in sections.filter(|section| tree.text(section.name) == name) {
        for item in items(tree, section) {
            match item {
                Item::Label(label) => {
                    labels.entry(label).or_insert(bytes.len() as u64);
                }
                Item::Data { width, values } => {
                    for value in values {
                        let width = usize::from(width);
                        let number = match value {
                            Value::Integer(number) => number,
                            _ => {
                                fixups.push(Fixup {
                                    at: bytes.len(),
                                    width,
                                    value,
                                });
                                0
                            }
                        };
                        bytes.extend_from_slice(&number.to_le_bytes()[..width]);
                    }
                }
                _ => {}
            }
            if bytes.len() > MAX_DEBUG_BYTES {
                return Vec::new();
            }
        }
    }
    if has_code && !fixups.is_empty() {
        for label in tree
            .statements()
            .iter()
            .filter(|statement| statement.kind() == StatementKind::Label)
        {
            labels
                .entry(tree.text(label.name()))
                .or_insert_with(|| u64::from(label.span().start));
        }
    }
    let address = |label: &[u8]| match label {
        [b'.', ..] => Some(0),
        _ => labels.get(label).copied(),
    };
    for Fixup { at, width, value } in fixups {
        let number = match value {
            Value::Label(label, offset) => address(label).map(|base| base.wrapping_add_signed(offset)),
            Value::Difference(end, start) => address(end)
                .zip(address(start))
                .map(|(end, start)| end.wrapping_sub(start)),
            _ => None,
        };
        let number = number.unwrap_or(UNKNOWN).to_le_bytes();
        bytes[at..at + width].copy_from_slice(&number[..width]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{InlinedCall, InlinedCalls, Range};

    fn range(low: u64, high: u64, line: u32) -> Range {
        let call = InlinedCall {
            callee: None,
            file: 1,
            line,
            column: 0,
        };
        Range {
            low,
            high,
            call,
            outer: None,
        }
    }

    fn lines(calls: &InlinedCalls, offset: u32) -> Vec<u32> {
        calls.around(offset).map(|call| call.line).collect()
    }

    #[test]
    fn the_innermost_call_comes_first() {
        let calls = InlinedCalls::nested(vec![
            range(10, 90, 1),
            range(20, 50, 2),
            range(20, 50, 3),
            range(60, 70, 4),
            range(95, 99, 5),
        ]);
        for (offset, wanted) in [
            (0, &[][..]),
            (10, &[1]),
            (19, &[1]),
            (20, &[3, 2, 1]),
            (49, &[3, 2, 1]),
            (50, &[1]),
            (65, &[4, 1]),
            (89, &[1]),
            (90, &[]),
            (95, &[5]),
            (99, &[]),
        ] {
            assert_eq!(lines(&calls, offset), wanted, "{offset}");
        }
    }

    #[test]
    fn ranges_that_overlap_end_with_the_one_around_them() {
        let calls = InlinedCalls::nested(vec![range(10, 50, 1), range(40, 80, 2)]);
        assert_eq!(lines(&calls, 45), [2, 1]);
        assert_eq!(lines(&calls, 60), []);
        assert_eq!(lines(&InlinedCalls::default(), 5), []);
    }
}
