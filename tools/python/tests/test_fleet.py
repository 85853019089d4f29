"""Checks of many files."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import ptxcheck
from ptxcheck import fleet
from ptxcheck._program import find_program
from ptxcheck.fleet import _engines, _parts, _rows, _tasks
from ptxcheck.fleet.__main__ import main

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
WRONG = f"{HEAD}.visible .entry k() {{ bar.warp.sync 0; ret; }}\n"
RIGHT = f"{HEAD}.visible .entry k() {{ bar.warp.sync -1; ret; }}\n"

HAS_TABLES = importlib.util.find_spec("pyarrow") is not None
HAS_DASK = importlib.util.find_spec("distributed") is not None


class Fleets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.files = self.folder / "files"
        (self.files / "more").mkdir(parents=True)
        for number in range(6):
            text = (WRONG if number % 2 else RIGHT).replace("k()", f"k{number}()")
            (self.files / f"{number}.ptx").write_text(text)
        (self.files / "more" / "broken.ptx").write_text(f"{HEAD}.entry k() {{ mov }}")
        (self.files / "more" / "notes.txt").write_text("no input")

    def run_over(self, workers: int, job: fleet.Job, engine: str = "local") -> fleet.Run:
        by = fleet.engine(engine, workers=workers, retries=2, scheduler=None)
        return fleet.run(fleet.find([str(self.files)]), job, by)

    def test_rows_are_the_same_for_any_number_of_workers(self) -> None:
        for method in ("check", "audit"):
            job = fleet.Job(method, ("--gpu=9.0",) if method == "audit" else ())
            one, two = self.run_over(1, job), self.run_over(3, job)
            self.assertEqual(one.rows, two.rows)
            self.assertEqual((one.files, one.failed), (7, 0))
            self.assertEqual(one.rows, sorted(one.rows, key=lambda row: (row["file"], row["kind"], row["number"])))
        self.assertEqual([row["kernel"] for row in one.of("kernel")], [f"k{number}" for number in range(6)] + ["k"])
        self.assertEqual({row["state"] for row in one.of("forecast")}, {"jit"})
        codes = [row["code"] for row in self.run_over(2, fleet.Job("check")).of("finding")]
        self.assertEqual(sorted(codes), ["PTX407", "PTX407", "PTX407", "PTX902"])

    def test_results_are_kept_by_content_and_settings(self) -> None:
        job = fleet.Job("check", cache=str(self.folder / "cache"))
        first = self.run_over(2, job)
        again = self.run_over(2, job)
        self.assertEqual((first.cached, again.cached), (0, 7))
        self.assertEqual(first.rows, again.rows)
        other = self.run_over(2, fleet.Job("check", ("-APTX407",), job.cache))
        self.assertEqual(other.cached, 0)
        (self.files / "0.ptx").write_text(WRONG)
        self.assertEqual(self.run_over(2, job).cached, 6)
        for entry in (self.folder / "cache").iterdir():
            entry.write_bytes(b"not whole")
        mended = self.run_over(2, job)
        self.assertEqual(mended.cached, 0)

    def test_sources_that_change_are_read_again(self) -> None:
        source = self.folder / "k.cu"
        source.write_text("bar")
        place = {"source": {"file": str(source)}}
        document = {"findings": [{"code": "PTX407", "places": [], **place}]}
        entry = self.folder / "entry"
        row = {"file": "k.ptx", "kind": "finding", "code": "PTX407"}
        kept = _tasks.Kept("k.ptx", [row], _tasks._digests(_tasks._sources(document)))
        _tasks._keep(entry, kept)
        self.assertEqual(_tasks._cached(entry), kept)
        source.write_text("bar // ptxcheck-allow PTX407")
        self.assertIsNone(_tasks._cached(entry))

    def test_files_of_one_content_have_their_own_names(self) -> None:
        twin = self.files / "twin" / "1.ptx"
        twin.parent.mkdir()
        twin.write_text((self.files / "1.ptx").read_text())
        job = fleet.Job("check", cache=str(self.folder / "cache"))
        first, again = self.run_over(1, job), self.run_over(1, job)
        self.assertEqual((first.cached, again.cached), (1, 8))
        for done in (first, again):
            self.assertEqual(done.rows, self.run_over(1, fleet.Job("check")).rows)

    def test_a_poisoned_file_is_a_row(self) -> None:
        unreadable = fleet.FleetInput(str(self.files / "gone.ptx"))
        done = fleet.run([unreadable], fleet.Job("check"), fleet.engine("local", workers=1, retries=0, scheduler=None))
        self.assertEqual([(row["kind"], row["status"]) for row in done.rows], [("input", "failed")])
        # A file that is read, and of which an input failed.
        (self.files / "broken.o").write_bytes(b"\x7fELF\x02\x01\x01")
        done = self.run_over(2, fleet.Job("check"))
        (self.files / "broken.o").unlink()
        self.assertIn("8 files, 0 of them from the cache; 1 input failed", done.summary())
        # A program that ends at once: no try has an answer.
        with mock.patch.object(_tasks, "_checker", lambda: ptxcheck.Checker(program="/bin/false")):
            done = self.run_over(2, fleet.Job("check"))
        self.assertEqual(done.failed, 7)
        self.assertTrue(all("3 tries" in row["message"] for row in done.rows))
        self.assertIn("7 inputs failed", done.summary())

    def wheel(self) -> str:
        """A wheel with two large members and two small ones; a cause has places in several."""
        path = self.folder / "x-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, text in enumerate((WRONG, WRONG, RIGHT, WRONG)):
                padding = " " * (100_000 if number < 2 else 0)
                archive.writestr(f"x/{number}.ptx", f"{text}{padding}\n")
            archive.writestr("x/__init__.py", "")
        return str(path)

    def test_large_members_of_a_wheel_are_tasks(self) -> None:
        files = fleet.find([self.wheel(), str(self.files)])
        for job in (fleet.Job("check", ("--places=all",)), fleet.Job("audit", ("--gpu", "9.0")), fleet.Job("check")):
            whole = fleet.run(files, job, fleet.engine("local", workers=1, retries=0, scheduler=None)).rows
            with mock.patch.object(_parts, "LARGE_MEMBER_BYTES", 100_000), mock.patch.object(
                _parts, "run_part", wraps=_parts.run_part
            ) as run_part, mock.patch.object(_engines, "run_part", run_part):
                wheel = next(file for file in files if file.name.endswith(".whl"))
                self.assertEqual([_parts.parts_of(file, job) for file in (wheel, files[0])], [3, 1])
                for workers in (1, 3):
                    by = fleet.engine("local", workers=workers, retries=0, scheduler=None)
                    self.assertEqual(fleet.run(files, job, by).rows, whole)
                self.assertEqual(run_part.call_count, 6)
                kept = fleet.Job(job.method, job.options, cache=str(self.folder / f"cache-{len(job.options)}"))
                runs = [fleet.run(files, kept, by) for _ in range(2)]
                self.assertEqual([done.cached for done in runs], [0, 8])
                self.assertEqual([done.rows for done in runs], [whole, whole])
                needs_all = fleet.Job("audit", (*job.options, "--check-variants"))
                self.assertEqual(_parts.parts_of(wheel, needs_all), 1)

    def test_parts_that_fail_are_a_row(self) -> None:
        files = fleet.find([self.wheel()])
        by = fleet.engine("local", workers=2, retries=1, scheduler=None)
        with mock.patch.object(_parts, "LARGE_MEMBER_BYTES", 100_000):
            with mock.patch.object(_parts, "find_program", lambda: "/bin/false"):
                done = fleet.run(files, fleet.Job("check"), by)
            with self.assertRaises(ptxcheck.UsageError):
                fleet.run(files, fleet.Job("check", ("--frobnicate",)), by)
        self.assertEqual([(row["status"], done.failed) for row in done.rows], [("failed", 1)])
        self.assertIn("2 tries", done.rows[0]["message"])

    @unittest.skipUnless(HAS_DASK, "dask.distributed is not installed")
    def test_large_members_are_tasks_of_dask(self) -> None:
        files = fleet.find([self.wheel(), str(self.files)])
        job = fleet.Job("audit", ("--gpu=9.0",))
        whole = fleet.run(files, job, fleet.engine("local", workers=1, retries=0, scheduler=None)).rows
        with mock.patch.object(_parts, "LARGE_MEMBER_BYTES", 100_000):
            done = fleet.run(files, job, fleet.engine("dask", workers=2, retries=0, scheduler=None))
        self.assertEqual(done.rows, whole)

    def dying_once(self, dies: str) -> str:
        """A program that dies in a way of its own the first time that it is asked to check, and is the right one after that."""
        program = self.folder / "program"
        died = shlex.quote(str(self.folder / "died"))
        right = shlex.quote(find_program())
        program.write_text(f'#!/bin/sh\n[ "$1" = serve ] && mkdir {died} 2>/dev/null && {dies}\nexec {right} "$@"\n')
        program.chmod(0o755)
        return str(program)

    def test_a_process_that_dies_costs_a_retry(self) -> None:
        wanted = self.run_over(1, fleet.Job("check")).rows
        checker = ptxcheck.Checker(program=self.dying_once("exit 1"))
        self.addCleanup(checker.close)
        with mock.patch.object(_tasks, "_checker", lambda: checker):
            done = self.run_over(2, fleet.Job("check"))
        self.assertTrue((self.folder / "died").is_dir())
        self.assertEqual((done.rows, done.failed), (wanted, 0))

    @unittest.skipUnless(HAS_DASK, "dask.distributed is not installed")
    def test_a_worker_of_dask_that_dies_costs_a_retry(self) -> None:
        wanted = self.run_over(1, fleet.Job("check")).rows
        # Kills the process that has started it: a worker.
        with mock.patch.dict(os.environ, {"PTXCHECK_BIN": self.dying_once("kill -9 $PPID")}):
            done = self.run_over(2, fleet.Job("check"), "dask")
        self.assertTrue((self.folder / "died").is_dir())
        self.assertEqual((done.rows, done.failed), (wanted, 0))

    @unittest.skipUnless(HAS_DASK, "dask.distributed is not installed")
    def test_a_file_that_kills_its_workers_is_a_row(self) -> None:
        program = self.folder / "program"
        program.write_text(f'#!/bin/sh\n[ "$1" = serve ] && kill -9 $PPID\nexec {shlex.quote(find_program())} "$@"\n')
        program.chmod(0o755)
        by = fleet.engine("dask", workers=1, retries=0, scheduler=None)
        files = [fleet.FleetInput(str(self.files / "1.ptx"))]
        with mock.patch.dict(os.environ, {"PTXCHECK_BIN": str(program)}):
            done = fleet.run(files, fleet.Job("check"), by)
        self.assertEqual([row["status"] for row in done.rows], ["failed"])
        self.assertIn("given up: KilledWorker", done.rows[0]["message"])
        self.assertIn("1 input failed", done.summary())

    @unittest.skipUnless(HAS_DASK, "dask.distributed is not installed")
    def test_a_cluster_without_workers_ends_the_run(self) -> None:
        import distributed

        local_cluster: Any = distributed.LocalCluster

        with local_cluster(n_workers=0, dashboard_address=None) as cluster:
            # Nothing starts this worker again, and the first file kills it.
            command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny", "--no-dashboard"]
            environment = {**os.environ, "PTXCHECK_BIN": self.dying_once("kill -9 $PPID")}
            worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            by = fleet.engine("dask", workers=1, retries=0, scheduler=cluster.scheduler_address)
            with mock.patch.object(_engines, "NO_WORKER_SECONDS", 8.0):
                done = fleet.run(fleet.find([str(self.files)]), fleet.Job("check"), by)
            self.assertNotEqual(worker.wait(), 0)
        self.assertEqual((done.files, done.failed, len(done.rows)), (7, 7, 7))
        self.assertTrue(all("has no worker" in row["message"] for row in done.rows))

    def test_options_that_make_no_sense_end_the_run(self) -> None:
        with self.assertRaises(ptxcheck.UsageError):
            self.run_over(2, fleet.Job("check", ("--frobnicate",)))

    def test_inputs_are_files_folders_and_lists(self) -> None:
        listed = self.folder / "list"
        listed.write_text(f"{self.files}\n\n{self.files / '1.ptx'}\n")
        found = [Path(one.name).name for one in fleet.find([f"@{listed}"])]
        self.assertEqual(found, [f"{number}.ptx" for number in range(6)] + ["broken.ptx"])
        for wrong in ("/nowhere", "@/nowhere"):
            with self.assertRaises(ptxcheck.PtxcheckError):
                fleet.find([wrong])

    @unittest.skipUnless(HAS_TABLES, "pyarrow is not installed")
    def test_the_command_writes_a_table(self) -> None:
        import pyarrow.parquet  # type: ignore[import-untyped]

        table = self.folder / "table.parquet"
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = main(["check", str(self.files), "--out", str(table), "--workers", "2", "--quiet"])
        self.assertEqual(code, 1)
        self.assertIn("3  PTX407 (error)", said.getvalue())
        read = pyarrow.parquet.read_table(table)
        self.assertEqual(read.column_names, list(_rows.COLUMNS))
        self.assertEqual(read["code"].to_pylist().count("PTX407"), 3)

    @unittest.skipUnless(HAS_DASK, "dask.distributed is not installed")
    def test_dask_gives_the_same_rows(self) -> None:
        job = fleet.Job("check")
        self.assertEqual(self.run_over(2, job, "dask").rows, self.run_over(1, job).rows)

    @unittest.skipUnless(importlib.util.find_spec("fsspec"), "fsspec is not installed")
    def test_addresses_are_read_by_fsspec(self) -> None:
        files = fleet.find([f"file://{self.files}"])
        self.assertEqual(len(files), 7)
        done = fleet.run(files, fleet.Job("check"), fleet.engine("local", workers=1, retries=0, scheduler=None))
        self.assertTrue(all(row["file"].startswith("file://") for row in done.rows))
        self.assertEqual(len(done.of("finding")), 4)
        self.assertTrue(all(row["input"].startswith("file://") for row in done.of("finding")))


if __name__ == "__main__":
    os.environ.setdefault("PTXCHECK_BIN", "ptxcheck")
    unittest.main()
