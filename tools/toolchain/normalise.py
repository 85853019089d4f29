"""Takes what differs from machine to machine out of a compiled file of PTX or LLVM IR, in place.

usage: normalise.py [--cut-debug] FILE FROM=TO...

* In the text (`.file` names and comments), each path FROM becomes TO.
* In the `.b8` bytes of DWARF sections, a FROM with an absolute TO is replaced by TO, padded with slashes to the same
  length, because offsets count the bytes.
* The hashes in nvcc's `_INTERNAL_<hash>_` and `_GLOBAL__N__<hash>_` names, which depend on the directory and on the run, become zeros, in both
  places.
* `!srcloc` nodes of LLVM IR, which count the bytes of all headers before an asm statement, become zeros.
* --cut-debug removes the DWARF sections, and `debug` from `.target`, because ptxas refuses the one without the other.
"""

import re
import sys

SECTION = re.compile(r"^\t\.section\t\.debug_\w+\s*\{(?:\s*\}|.*?^\t\})\n?", re.M | re.S)
DATA = re.compile(r"^(\s*\.b8\s+)(\d[\d, ]*\d|\d)\s*(?://.*)?$|^\s*\.(?:b16|b32|b64|section)\b.*$", re.M)
HASH = re.compile(r"(?<=_INTERNAL_)[0-9a-f]{8}(?=_)|(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")
SRCLOC = re.compile(r"!srcloc (!\d+)")
HASH_BYTES = re.compile(HASH.pattern.encode())


def replace_in_dwarf(dwarf, absolute):
    """Rewrites strings that are spelled as `.b8` numbers, without changing how many there are."""
    lines = []  # (start of the numbers in the text, end, how many) or None for a gap
    data = bytearray()
    for m in DATA.finditer(dwarf):
        if m.group(1) is None:
            data.append(0)
            lines.append(None)
            continue
        numbers = [int(n) for n in m.group(2).replace(" ", "").split(",")]
        data.extend(n & 255 for n in numbers)
        lines.append((m.start(2), m.end(2), len(numbers)))
    fixed = HASH_BYTES.sub(b"00000000", bytes(data))
    for old, new in absolute:
        fixed = fixed.replace(old.encode(), new.ljust(len(old), "/").encode())
    assert len(fixed) == len(data)
    if fixed == data:
        return dwarf
    out, done, at = [], 0, 0
    for line in lines:
        if line is None:
            at += 1
            continue
        start, end, count = line
        if fixed[at : at + count] != data[at : at + count]:
            out.append(dwarf[done:start])
            out.append(",".join(str(b) for b in fixed[at : at + count]))
            done = end
        at += count
    out.append(dwarf[done:])
    return "".join(out)


def main(argv):
    cut = argv[:1] == ["--cut-debug"]
    path, *pairs = argv[1:] if cut else argv
    pairs = [tuple(pair.split("=", 1)) for pair in pairs]
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if cut:
        text = SECTION.sub("", text)
        text = re.sub(r"^(\.target .*), debug$", r"\1", text, flags=re.M)
    text = HASH.sub("00000000", text)
    for old, new in pairs:
        text = text.replace(old, new)
    for node in set(SRCLOC.findall(text)):
        text = re.sub(rf"^({node} = )!\{{[^}}]*\}}$", r"\1!{i64 0}", text, flags=re.M)
    absolute = [(old, new) for old, new in pairs if new.startswith("/") and len(new) <= len(old)]
    first = text.find("\t.section")
    if first >= 0:
        text = text[:first] + replace_in_dwarf(text[first:], absolute)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


main(sys.argv[1:])
