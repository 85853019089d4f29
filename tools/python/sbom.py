#!/usr/bin/env python3
"""Prints a bill of materials of the programs, CycloneDX 1.6: the crates and archives that are linked into them.

usage: sbom.py VERSION     for the machine that it runs on

The checksums are those of Cargo.lock, so that they are those of the registry's packages. Nothing in it depends on the time.
"""

import json
import re
import sys
import tomllib

from notices import LLVM_CONFIG, PROGRAMS, ROOT, linked_crates, of_archive, output


def checksums():
    """The SHA-256 of the packages in Cargo.lock, by name and version."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def crate_component(crate, known):
    purl = f"pkg:cargo/{crate['name']}@{crate['version'].replace('+', '%2B')}"
    component = {"type": "library", "bom-ref": purl, "name": crate["name"], "version": crate["version"], "purl": purl}
    if checksum := known.get((crate["name"], crate["version"])):
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if crate["license"]:
        # Old manifests separate alternatives by a slash.
        component["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", crate["license"])}]
    return component


def archive_component(archive):
    """An archive, as a part of the Debian package that it comes from."""
    heading, _ = of_archive(archive)
    name, package, version = re.fullmatch(r"(.*), of Debian's (\S+) (\S+)", heading).groups()
    purl = f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}"
    return {"type": "library", "bom-ref": f"{purl}#{name}", "name": name, "version": version, "purl": purl}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py VERSION")
    version, known = sys.argv[1], checksums()
    parts = [crate_component(crate, known) for crate in linked_crates()]
    parts += [archive_component(archive) for archive in sorted(output(str(LLVM_CONFIG), "--archives").split())]
    main_ref = f"ptxcheck@{version}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": main_ref,
                "name": "ptxcheck",
                "version": version,
                "description": f"The programs {' and '.join(PROGRAMS)}",
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": main_ref, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
