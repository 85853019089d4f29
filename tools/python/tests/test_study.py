"""Studies of releases: the download of wheels, and the tables of rows."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import ptxcheck
from ptxcheck import fleet
from ptxcheck.fleet import _study, _wheels
from ptxcheck.fleet.__main__ import main

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
WRONG = f"{HEAD}.visible .entry k() {{ bar.warp.sync 0; ret; }}\n.visible .entry other() {{ ret; }}\n"

HAS_PIP = importlib.util.find_spec("pip") is not None
HAS_TABLES = importlib.util.find_spec("pyarrow") is not None


def wheel(folder: Path, name: str, files: dict[str, str]) -> str:
    """Writes a wheel of version 1.0 that pip takes; its SHA-256."""
    about = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{file},,\n" for file in files))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def row(kind: str, **values: object) -> dict[str, object]:
    return {"file": "a.whl", "kind": kind, "number": 0, "input": "a.whl!a.so", "suppressed": None, **values}


class Tables(unittest.TestCase):
    def setUp(self) -> None:
        release, missing = _wheels.Release("a", "1.0"), _wheels.Release("b", "2.0")
        image = {"role": "loadable", "packed_bytes": 2_000_000}
        again = {"bytes": 500_000, "images": [3]}
        audited = [
            row("input", status="checked", message=None),
            row("image", image_kind="cubin", target="sm_90a", isa=None, **image),
            row("image", image_kind="cubin", target="sm_80", isa=None, **image),
            row("image", image_kind="ptx", target="sm_90", isa="8.10", **image),
            row("image", image_kind="ptx", target="sm_90", isa="8.7", **image),
            row("image", image_kind="ptx", target="sm_50", isa="6.0", **{**image, "role": "linked-at-load"}),
            row("image", image_kind="lto-ir", target=None, isa=None, **image),
            row("kernel", kernel="k", sm="sm_80,sm_90a", ptx="sm_90", copies=1, stub=None),
            row("kernel", kernel="k", sm="sm_80", ptx="", copies=2, stub="trap", input="a.whl!b.so"),
            row("forecast", gpu="12.0", state="jit", driver="570"),
            row("forecast", gpu="12.0", state="none", driver=None),
            row("forecast", gpu="9.0", state="exact", driver="520"),
            row("forecast", gpu="9.0", state="older", driver="1000"),
            row("finding", code="PTX511", level="error", certainty="definite", fingerprint="1", places=1, data=json.dumps(again)),
            row("finding", code="PTX510", level="warning", certainty="potential", fingerprint="2", places=3, data="{}"),
            row("finding", code="PTX903", level="error", certainty="definite", fingerprint="3", places=1, data="{}"),
        ]  # fmt: skip
        checked = [
            row("finding", code="PTX903", level="error", certainty="definite", fingerprint="3", places=1, data="{}"),
            row("finding", code="PTX407", level="error", certainty="definite", fingerprint="4", places=2, data="{}"),
            row("finding", code="PTX407", level="error", certainty="definite", fingerprint="5", places=1, data="{}"),
        ]
        self.study = _study.Study(
            [release, missing], {release: "a.whl"}, {missing: "gone | away"}, fleet.Run(audited), fleet.Run(checked)
        )

    def line(self, begin: str) -> list[str]:
        lines = [line for line in self.study.tables().splitlines() if line.startswith(f"| {begin} |")]
        return [line.strip("| ") for line in lines]

    def test_rows_are_counted(self) -> None:
        contents, loading, drivers, repetitions = self.line("a 1.0")
        self.assertEqual(contents, "a 1.0 | 1 | 5 | 10.0 | 80, 90a, lto-ir | 90 | 8.7 to 8.10 | 1 | 1 to 3")
        self.assertEqual(loading, "a 1.0 | 2 code | 1 JIT, 1 none")
        self.assertEqual(drivers, "a 1.0 | 1000 | 570")
        self.assertEqual(repetitions, "a 1.0 | 1 | 1 | 1 | 1 | 0.5")

    def test_findings_of_both_runs_are_counted_once(self) -> None:
        self.assertEqual(self.line("PTX407"), ["PTX407 | error | definite | 2 | 3 | a 2"])
        self.assertEqual(self.line("PTX510"), ["PTX510 | warning | potential | 1 | 3 | a"])
        self.assertEqual(self.line("PTX903"), ["PTX903 | error | definite | 1 | 1 | a"])
        self.assertEqual(self.line("PTX511"), [])

    def test_a_release_without_a_wheel_is_a_row(self) -> None:
        self.assertEqual(self.line("b 2.0"), ["b 2.0 | gone \\| away"])


class Lists(unittest.TestCase):
    def test_lines_are_requirements(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list"
            digest = "0a" * 32
            path.write_text(f"# wheels\nA.b==1.0 \\\n  --hash=sha256:{digest} # two lines\n\nc==2.0+cu13\n")
            found = fleet.read_releases(str(path))
            self.assertEqual([str(one) for one in found], ["A.b 1.0", "c 2.0+cu13"])
            self.assertEqual((found[0].digests, found[0].file_prefix()), ((digest,), "a_b-1.0-"))
            self.assertEqual(found[0].requirement(), f"A.b==1.0 --hash=sha256:{digest}")
            for wrong in ("a", "a>=1", "-r other.txt", "a==1.0 --index-url x", "a==1.0 --hash=sha256:00"):
                path.write_text(wrong)
                with self.assertRaises(ptxcheck.PtxcheckError):
                    fleet.read_releases(str(path))


@unittest.skipUnless(HAS_PIP, "pip is not installed")
class Studies(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.index = self.folder / "index"
        self.index.mkdir()
        right = wheel(self.index, "wrong_kernel", {"wrong_kernel/k.ptx": WRONG})
        wheel(self.index, "no_device_code", {"no_device_code/__init__.py": ""})
        wheel(self.index, "changed", {"changed/k.ptx": WRONG})
        self.list = self.folder / "list.txt"
        self.list.write_text(
            f"wrong-kernel==1.0 --hash=sha256:{right}\nno-device-code==1.0\n"
            f"changed==1.0 --hash=sha256:{'00' * 32}\nnot-there==1.0\n"
        )
        # Nothing but the wheels above is to be had.
        settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), "PIP_CONFIG_FILE": os.devnull}
        patched = mock.patch.dict(os.environ, settings)
        patched.start()
        self.addCleanup(patched.stop)

    def made(self) -> fleet.Study:
        by = fleet.engine("local", workers=2, retries=0, scheduler=None)
        return fleet.study(fleet.read_releases(str(self.list)), self.folder / "out", by, gpus="9.0,12.0")

    def test_wheels_are_downloaded_once_and_tables_are_the_same_again(self) -> None:
        study = self.made()
        tables = study.tables()
        lines = tables.splitlines()
        self.assertIn("| wrong-kernel 1.0 | 1 | 1 | 0.0 | – | 90 | 9.0 | 2 | 1 |", lines)
        self.assertIn("| wrong-kernel 1.0 | 2 JIT | 2 JIT |", lines)
        self.assertIn("| no-device-code 1.0 | no device code |  |  |  |  |  |  |  |", lines)
        self.assertIn("| PTX407 | error | definite | 1 | 1 | wrong-kernel |", lines)
        problems = {release.name: why for release, why in study.problems.items()}
        self.assertEqual(set(problems), {"changed", "not-there"})
        self.assertRegex(problems["changed"], "(?i)hash")
        self.assertRegex(problems["not-there"], "not-there")
        failed = [row["input"] for row in study.audit.of("input") if row["status"] == "failed"]
        self.assertEqual(failed, ["changed==1.0", "not-there==1.0"])
        for path in self.index.iterdir():
            path.unlink()
        again = self.made().tables().splitlines()
        wheels = ("wrong-kernel", "no-device-code")
        kept = [[line for line in made if any(name in line for name in wheels)] for made in (lines, again)]
        self.assertEqual(kept[0], kept[1])

    @unittest.skipUnless(HAS_TABLES, "pyarrow is not installed")
    def test_one_command_writes_rows_and_tables(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = main(["study", str(self.list), "--out", str(self.folder / "out"), "--quiet", "--option=-APTX407"])
        self.assertEqual(code, 2)
        self.assertNotIn("PTX407", said.getvalue())
        self.assertEqual((self.folder / "out" / "tables.md").read_text(), said.getvalue())
        for name in ("audit.parquet", "check.parquet"):
            self.assertTrue((self.folder / "out" / name).is_file())


if __name__ == "__main__":
    unittest.main()
