"""Checks of bytes and paths."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, get_type_hints

import ptxcheck

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
WRONG = f"{HEAD}.visible .entry k() {{ bar.warp.sync 0; ret; }}\n".encode()
RIGHT = f"{HEAD}.visible .entry k() {{ bar.warp.sync -1; ret; }}\n".encode()
SCHEMAS = Path(__file__).resolve().parents[3] / "passes" / "report" / "schema"


def codes(report: ptxcheck.Report) -> list[str]:
    return [finding.code for finding in report.findings]


class Checks(unittest.TestCase):
    def setUp(self) -> None:
        self.checker = ptxcheck.Checker(processes=2)
        self.addCleanup(self.checker.close)

    def test_bytes_are_checked(self) -> None:
        report = self.checker.check(WRONG)
        self.assertEqual(codes(report), ["PTX407"])
        self.assertFalse(report.is_clean)
        finding = report.findings[0]
        self.assertEqual((finding.kernel, finding.level, finding.certainty), ("k", "error", "definite"))
        self.assertEqual(finding.data["mask"], 0)
        self.assertTrue(str(finding).startswith("input:4:"), str(finding))
        self.assertTrue(self.checker.check(RIGHT).is_clean)

    def test_inputs_have_names(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "k.ptx"
            path.write_bytes(WRONG)
            other = WRONG.replace(b" k()", b" other()").replace(b"sync 0", b"sync  0")
            report = self.checker.check([("a.ptx", other), bytearray(RIGHT), path])
        names = {one.path: one.status for one in report.inputs}
        self.assertEqual(names, {str(path): "checked", "a.ptx": "checked", "input 2": "checked"})
        self.assertEqual({finding.input for finding in report.findings}, {str(path), "a.ptx"})
        with self.assertRaises(TypeError):
            self.checker.check([3])  # type: ignore[list-item]

    def test_what_is_no_input_is_refused(self) -> None:
        with tempfile.TemporaryFile("w+") as file:
            others = [WRONG.decode(), [WRONG.decode()], {"k.ptx": WRONG}, file, file.buffer, None, 5, [None], [[WRONG]], ("k.ptx", WRONG.decode())]
            for other in others:
                with self.subTest(other=other), self.assertRaisesRegex(TypeError, "^(an input is bytes|a str is a path)"):
                    self.checker.check(other)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, r"give its path, or what read\(\) returns$"):
            self.checker.check(sys.stdin)
        with self.assertRaisesRegex(TypeError, "no dict$"):
            self.checker.check(WRONG, {"warn": ["potential"]})  # type: ignore[arg-type]
        two = self.checker.check((WRONG, bytearray(RIGHT)))
        self.assertEqual([one.path for one in two.inputs], ["input 1", "input 2"])
        self.assertEqual(codes(self.checker.check("nothing.ptx")), ["PTX901"])

    def test_limits_of_time_are_positive_and_finite(self) -> None:
        for seconds in (0, -1, float("nan"), float("inf"), 1e30):
            with self.subTest(seconds=seconds):
                with self.assertRaises(ValueError):
                    self.checker.check(WRONG, timeout=seconds)
                with self.assertRaises(ValueError):
                    self.checker.check(WRONG, ptxcheck.Settings(input_timeout=seconds))
        with self.assertRaises(TypeError):
            self.checker.check(WRONG, timeout="5")  # type: ignore[arg-type]
        self.assertEqual(codes(self.checker.check(WRONG, timeout=threading.TIMEOUT_MAX)), ["PTX407"])

    def test_settings_are_options(self) -> None:
        allowed = ptxcheck.Settings(allow=["PTX407"])
        self.assertEqual(codes(self.checker.check(WRONG, allowed)), [])
        given = ptxcheck.Settings(
            deny=["all"], warn=["potential"], launch_blocks=[(16, 16)], assume=["k:0 > 1"], input_timeout=60, jobs=0
        )
        self.assertIn("PTX407", codes(self.checker.check(WRONG, given)))
        for wrong in (["--frobnicate"], ["--output", "json=a"]):
            with self.assertRaises(ptxcheck.UsageError):
                self.checker.check(WRONG, ptxcheck.Settings(options=wrong))
        with self.assertRaises(TypeError):
            ptxcheck.Settings(allow="PTX407").to_options()

    def test_what_cannot_be_read_is_a_finding(self) -> None:
        report = self.checker.check(["/nowhere.ptx", b"no device code at all", b".version"])
        self.assertIn("PTX901", codes(report))
        self.assertIn("PTX902", codes(report))

    def test_audits_and_comparisons(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            old, new = Path(folder) / "old.ptx", Path(folder) / "new.ptx"
            old.write_bytes(RIGHT)
            new.write_bytes(RIGHT.replace(b" k()", b" other()"))
            audit = self.checker.audit(old, ptxcheck.Settings(options=["--gpu", "9.0"]))
            self.assertEqual([kernel.name for kernel in audit.inputs[0].kernels], ["k"])
            assert audit.forecast is not None
            self.assertEqual([cell.state for cell in audit.forecast], ["jit"])
            diff = self.checker.diff(old, new)
            self.assertEqual([(one.old_name, one.name, one.fate) for one in diff.kernels], [("k", "other", "renamed")])
            with self.assertRaises(ptxcheck.PtxcheckError):
                self.checker.diff(old, "/nowhere")

    def test_time_that_is_over_is_a_finding(self) -> None:
        self.assertEqual(codes(self.checker.check(WRONG, timeout=1e-9)), ["PTX903"])
        self.assertEqual(codes(self.checker.check(WRONG)), ["PTX407"])

    def test_a_process_that_dies_is_replaced(self) -> None:
        self.checker.check(RIGHT)
        worker = self.checker._idle[0]
        worker._process.send_signal(signal.SIGKILL)
        worker._process.wait()
        self.assertEqual(codes(self.checker.check(WRONG)), ["PTX407"])

    def test_threads_share_a_checker(self) -> None:
        found: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda: found.append(codes(self.checker.check(WRONG))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [["PTX407"]] * 8)
        self.assertLessEqual(len(self.checker._idle), 2)

    def test_asyncio_goes_on_meanwhile(self) -> None:
        async def many() -> list[ptxcheck.Report]:
            return await asyncio.gather(*(self.checker.check_async(WRONG) for _ in range(4)))

        self.assertEqual([codes(report) for report in asyncio.run(many())], [["PTX407"]] * 4)

    def test_a_closed_checker_says_so(self) -> None:
        self.checker.close()
        with self.assertRaises(ptxcheck.CheckFailed):
            self.checker.check(WRONG)

    @unittest.skipUnless(hasattr(os, "fork"), "processes are not forked here")
    def test_forked_processes_have_processes_of_their_own(self) -> None:
        self.checker.check(RIGHT)
        child = os.fork()
        if child == 0:
            os._exit(0 if codes(self.checker.check(WRONG)) == ["PTX407"] else 1)
        self.assertEqual(codes(self.checker.check(WRONG)), ["PTX407"])
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_check_takes_little_time(self) -> None:
        self.checker.check(RIGHT)
        started = time.monotonic()
        for _ in range(50):
            self.checker.check(RIGHT)
        # A process for each check would take longer than this.
        self.assertLess((time.monotonic() - started) / 50, 0.1)

    def test_the_module_runs_the_program(self) -> None:
        command = [sys.executable, "-m", "ptxcheck", "--version"]
        output = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertTrue(output.stdout.startswith("ptxcheck "))


class Schemas(unittest.TestCase):
    """Classes and schemas have the same fields."""

    CLASSES: dict[str, tuple[str, type]] = {
        "input": ("check-v2", ptxcheck.Input),
        "image": ("check-v2", ptxcheck.Image),
        "error": ("check-v2", ptxcheck.Problem),
        "finding": ("check-v2", ptxcheck.Finding),
        "location": ("check-v2", ptxcheck.Location),
        "source": ("check-v2", ptxcheck.Source),
        "frame": ("check-v2", ptxcheck.Frame),
        "related": ("check-v2", ptxcheck.Related),
        "suppression": ("check-v2", ptxcheck.Suppression),
        "fix": ("check-v2", ptxcheck.Fix),
        "place": ("check-v2", ptxcheck.Place),
        "kernel": ("audit-v2", ptxcheck.Kernel),
        "definition": ("audit-v2", ptxcheck.Definition),
        "resources": ("audit-v2", ptxcheck.Resources),
        "host": ("audit-v2", ptxcheck.Host),
        "cell": ("audit-v2", ptxcheck.Cell),
        "loads": ("audit-v2", ptxcheck.Loads),
        "unread": ("audit-v2", ptxcheck.Unread),
        "release": ("diff-v1", ptxcheck.Release),
        "change": ("diff-v1", ptxcheck.Change),
        "target": ("diff-v1", ptxcheck.ChangedTarget),
    }

    def test_fields_are_those_of_the_schemas(self) -> None:
        for name, (schema, kind) in self.CLASSES.items():
            with self.subTest(schema=schema, definition=name):
                properties = self.definition(schema, name)["properties"]
                self.assertEqual(set(properties), {one.name for one in dataclasses.fields(kind)})
                hints = get_type_hints(kind)
                for field, described in properties.items():
                    is_open = self.may_be_null(described)
                    self.assertEqual(is_open, "None" in str(hints[field]), f"{name}.{field}")

    def may_be_null(self, described: Any) -> bool:
        kinds = described.get("type", [])
        variants = described.get("anyOf", described.get("oneOf", []))
        return (
            kinds == "null"
            or (isinstance(kinds, list) and "null" in kinds)
            or None in described.get("enum", [])
            or any(self.may_be_null(variant) for variant in variants)
        )

    def definition(self, schema: str, name: str) -> dict[str, Any]:
        document = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
        found: dict[str, Any] = document["$defs"][name]
        return found

    def test_documents_with_further_keys_are_read(self) -> None:
        report = {"inputs": [], "findings": [], "summary": {}, "more": 1}
        self.assertEqual(ptxcheck.from_document(ptxcheck.Report, report).findings, ())
        with self.assertRaises(ValueError):
            ptxcheck.from_document(ptxcheck.Report, "{}")


if __name__ == "__main__":
    unittest.main()
