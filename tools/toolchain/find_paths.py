"""Exits with 1 and lists the places if PTX files hold one of the paths, as text or as `.b8` bytes.

usage: find_paths.py FILE.ptx... PATH...
"""

import re
import sys

files = [a for a in sys.argv[1:] if a.endswith(".ptx")]
paths = [a for a in sys.argv[1:] if not a.endswith(".ptx")]
found = False
for name in files:
    with open(name, encoding="utf-8") as f:
        text = f.read()
    numbers = re.findall(r"^\s*\.b8\s+([\d, ]+)", text, re.M)
    data = bytes(int(n) & 255 for line in numbers for n in re.findall(r"\d+", line))
    for path in paths:
        if path in text or path.encode() in data:
            print(f"{name}: {path}")
            found = True
sys.exit(found)
