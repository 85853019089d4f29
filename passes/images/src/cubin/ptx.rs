//! The PTX that machine code was made from.

/// The sections with the machine code's own PTX, in `-G` and `-lineinfo` builds: lines that end with a NUL. The assembler adds a dot and a
/// number to the name, and the linker keeps the section of each object.
pub const DEBUG_PTX: &str = ".nv_debug_ptx_txt";

/// Most texts of one section; the rest is part of the last.
const MAX_TEXTS: usize = 1024;

/// The texts in these sections, with line ends. Sections that overlap are read up to the size of the file.
pub(super) fn texts(sections: &[&[u8]], file_bytes: usize) -> Vec<Vec<u8>> {
    let mut left = file_bytes;
    let fitting = sections.iter().filter(|text| match left.checked_sub(text.len()) {
        Some(rest) => {
            left = rest;
            text.iter().any(|byte| *byte != 0)
        }
        None => false,
    });
    let with_line_ends = |text: &[u8]| -> Vec<u8> {
        let bytes = text.iter();
        bytes.map(|byte| if *byte == 0 { b'\n' } else { *byte }).collect()
    };
    fitting
        .flat_map(|section| modules(section))
        .map(with_line_ends)
        .collect()
}

/// The modules in a section: a linker puts those of several objects one after the other. Each begins with a line of its own.
fn modules(section: &[u8]) -> Vec<&[u8]> {
    const BEGIN: &[u8] = b".version";
    let is_begin = |at: &usize| *at == 0 || matches!(section[at - 1], 0 | b'\n');
    let begins = memchr::memmem::find_iter(section, BEGIN).filter(is_begin);
    let mut found = Vec::new();
    let mut start = 0;
    for begin in begins.skip(1).take(MAX_TEXTS - 1) {
        found.push(&section[start..begin]);
        start = begin;
    }
    found.push(&section[start..]);
    found
}

/// True for the name of a section with PTX.
pub(super) fn is_ptx(name: &str) -> bool {
    let number = name.strip_prefix(DEBUG_PTX);
    number.is_some_and(|number| number.is_empty() || number.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn each_module_of_a_section_is_a_text() {
        let one = b"\0\0.version 8.0\0.target sm_80\0// .version\0";
        let two = b".version 8.0\0.target sm_80\0.version 8.1\0.target sm_80\0";
        let found = texts(&[one, two, &[0; 8]], 200);
        let found: Vec<&str> = found
            .iter()
            .map(|text| std::str::from_utf8(text).unwrap())
            .collect();
        assert_eq!(
            found,
            [
                "\n\n.version 8.0\n.target sm_80\n// .version\n",
                ".version 8.0\n.target sm_80\n",
                ".version 8.1\n.target sm_80\n",
            ]
        );
        // More than the file has is not read.
        assert_eq!(texts(&[one, two], one.len()).len(), 1);
        let many = b".version\0".repeat(5000);
        assert_eq!(texts(&[&many], many.len()).len(), super::MAX_TEXTS);
    }
}
