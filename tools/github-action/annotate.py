#!/usr/bin/env python3
"""Prints a GitHub workflow command for each finding of a report, so that it stands on its line.

usage: annotate.py REPORT.json     a document of `ptxcheck check --format json`
GITHUB_WORKSPACE is the folder that names of files are relative to; what lies elsewhere keeps its full name.
"""

import json
import os
import sys

# A step shows ten of each level; the rest is in the log.
MOST = 50


def escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def relative(file: str) -> str:
    workspace = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.getcwd())
    full = os.path.realpath(file)
    inside = full.startswith(workspace + os.sep)
    return os.path.relpath(full, workspace) if inside else file


def annotation(finding: dict) -> str:
    place = finding["source"] or finding["location"]
    properties = {"title": f"{finding['code']} {finding['name']}"}
    if place:
        properties["file"] = relative(place["file"])
        if place["line"]:
            properties["line"] = str(place["line"])
        if place["column"]:
            properties["col"] = str(place["column"])
    lines = [finding["message"]]
    kernel = finding["function_demangled"] or finding["kernel"]
    if kernel:
        lines.append(f"kernel: {kernel}")
    lines += [f"help: {text}" for text in finding["help"]]
    level = finding["level"] if finding["level"] in ("error", "warning") else "notice"
    named = ",".join(f"{key}={escaped_property(value)}" for key, value in properties.items())
    return f"::{level} {named}::{escaped(chr(10).join(lines))}"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    findings = [finding for finding in document["findings"] if finding["suppressed"] is None]
    findings.sort(key=lambda finding: finding["level"] != "error")
    for finding in findings[:MOST]:
        print(annotation(finding))
    if len(findings) > MOST:
        print(f"::notice title=ptxcheck::{len(findings) - MOST} more findings stand in the log")


main()
