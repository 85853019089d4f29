#!/usr/bin/env python3
"""Prints the licences of what is linked into the programs: crates, LLVM, zlib, zstd and the library of C++.

usage: notices.py     for the machine that it runs on

The texts are those that lie in the crates' folders, and what Debian's packages say of the archives. A crate without a text
stands with the licence that its manifest names. Exit codes: 0 printed, 1 something that is linked names no licence.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LLVM_CONFIG = ROOT / "tools/python/static-llvm/bin/llvm-config"
PROGRAMS = ("ptxcheck", "ptxcheck-llvm")
FILES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
RULE = "=" * 80


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def linked_crates():
    """Crates of others that the programs are made of, sorted, without what only builds need."""
    target = next(line.split()[1] for line in output("rustc", "-vV").splitlines() if line.startswith("host:"))
    metadata = json.loads(output("cargo", "metadata", "--quiet", "--format-version", "1", "--locked", "--filter-platform", target,
                                 "--manifest-path", str(ROOT / "Cargo.toml")))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found = {identity for identity, package in packages.items() if package["name"] in PROGRAMS}
    left = list(found)
    while left:
        for dependency in nodes[left.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"]) and not is_macro(packages[dependency["pkg"]])
            if is_linked and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                left.append(dependency["pkg"])
    others = [packages[identity] for identity in found if packages[identity]["source"]]
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def of_crate(crate):
    """The heading of a crate and the texts in its folder."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.upper().startswith(FILES))
    if not files and not crate["license"]:
        sys.exit(f"notices.py: {crate['name']} {crate['version']} names no licence")
    heading = f"{crate['name']} {crate['version']}: {crate['license'] or 'see below'}"
    return heading, [file.read_text(encoding="utf-8", errors="replace").strip() for file in files]


def of_archive(archive):
    """The heading of an archive and what the package that it comes from says."""
    try:
        package = output("dpkg-query", "--search", archive).split(":")[0]
        version = output("dpkg-query", "--show", "--showformat=${Version}\n", package).splitlines()[0]
        text = Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"notices.py: no package of Debian says what the licence of {archive} is")
    return f"{Path(archive).name}, of Debian's {package} {version}", [text]


def main():
    parts = [of_crate(crate) for crate in linked_crates()]
    parts += [of_archive(archive) for archive in sorted(output(str(LLVM_CONFIG), "--archives").split())]
    parts.append((f"the standard library of {output('rustc', '--version').strip()}: MIT OR Apache-2.0", []))
    print(f"What is linked into {' and '.join(PROGRAMS)} besides their own code, and the licences of it. A text that several have stands once.\n")
    known = {}
    for heading, texts in parts:
        print(f"{RULE}\n{heading}")
        for text in texts:
            first = known.setdefault(text, heading)
            print(f"\n{text}\n" if first == heading else f"    a text as that of {first.split(':')[0]}")
        if not texts:
            print("    its package has no text")


if __name__ == "__main__":
    main()
