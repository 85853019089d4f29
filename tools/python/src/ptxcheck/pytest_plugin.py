"""pytest plugin: checks what compilers of kernels make while tests run.

`pytest --ptxcheck` takes the PTX of each kernel that Triton, Numba and numba-cuda-mlir compile, and `--ptxcheck-dir DIR` what a folder gains: caches and
dumps of other compilers. Each content is checked once, and the test during which it came first fails for its errors. What comes while
tests are collected counts for the run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ._checker import Checker
from ._errors import PtxcheckError
from ._report import Finding, Report
from ._settings import Settings

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

SUFFIXES = frozenset({".ptx", ".ll", ".llir", ".bc", ".mlir", ".cubin", ".fatbin"})
"""Files of a folder that are checked."""

MAX_FILE_BYTES = 256 << 20
"""Larger files of a folder are left out."""

MAX_LISTED = 20
"""Findings that a failing test lists."""


@dataclass(frozen=True)
class Kernel:
    """Device code that came during a test: its name in reports, and its content."""

    name: str
    content: bytes

    @property
    def digest(self) -> str:
        """A name of the content."""
        return hashlib.sha256(self.content).hexdigest()


class Collector:
    """Device code since it was last taken; compilers add to it from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[Kernel] = []

    def add(self, name: str, content: str | bytes) -> None:
        """Adds the text or the bytes of a kernel."""
        content = content.encode() if isinstance(content, str) else bytes(content)
        with self._lock:
            self._new.append(Kernel(name, content))

    def take(self) -> list[Kernel]:
        """Takes what has come."""
        with self._lock:
            new, self._new = self._new, []
        return new


class Folder:
    """A folder, and the files that it had when it was last looked at."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = dict(self._files())

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder, _, names in os.walk(self._path):
            for name in names:
                if os.path.splitext(name)[1] not in SUFFIXES:
                    continue
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                yield path, (status.st_mtime_ns, status.st_size)

    def new(self) -> Iterator[Kernel]:
        """The files that are new or have changed."""
        for path, state in list(self._files()):
            if self._known.get(path) == state or state[1] > MAX_FILE_BYTES:
                continue
            try:
                content = Path(path).read_bytes()
            except OSError:
                # Compilers rename and remove files while they work.
                continue
            self._known[path] = state
            yield Kernel(path, content)


class TritonHook:
    """Takes what Triton compiles, by its compilation listener; one that is there is called, too."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._knobs: Any = None
        self._previous: Any = None

    def install(self) -> None:
        """Listens, if Triton is imported and not yet listened to."""
        if self._knobs is not None or "triton.knobs" not in sys.modules:
            return
        knobs = sys.modules["triton.knobs"]
        compilation = getattr(knobs, "compilation", None)
        if compilation is None or not hasattr(compilation, "listener"):
            return
        self._knobs, self._previous = compilation, compilation.listener
        compilation.listener = self._listen

    def remove(self) -> None:
        """Listens no more."""
        if self._knobs is not None and self._knobs.listener == self._listen:
            self._knobs.listener = self._previous
        self._knobs = None

    def _listen(self, **event: Any) -> None:
        if self._previous is not None:
            self._previous(**event)
        name = str(event.get("metadata", {}).get("name", "kernel"))
        for file, path in dict(event.get("metadata_group", {})).items():
            if file.endswith(".ptx"):
                try:
                    self._collector.add(f"triton/{name}.ptx", Path(path).read_bytes())
                except OSError:
                    continue


class NumbaHook:
    """Takes the PTX that Numba makes, by a wrapper around the method of its code library that makes it."""

    MODULES = ("numba.cuda.codegen", "numba_cuda.numba.cuda.codegen")

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._wrapped: list[tuple[Any, str, Any]] = []

    def install(self) -> None:
        """Wraps the method, if Numba is imported and that was not done."""
        if self._wrapped:
            return
        for module in self.MODULES:
            library = getattr(sys.modules.get(module), "CUDACodeLibrary", None)
            # Older releases have the latter alone.
            name = next((one for one in ("get_asm_strs", "get_asm_str") if hasattr(library, one)), None)
            if library is None or name is None:
                continue
            original = getattr(library, name)
            if any(known is library for known, _, _ in self._wrapped):
                continue
            setattr(library, name, self._wrapper(original))
            self._wrapped.append((library, name, original))

    def remove(self) -> None:
        """Takes the wrappers off."""
        for library, name, original in self._wrapped:
            setattr(library, name, original)
        self._wrapped = []

    def _wrapper(self, original: Any) -> Any:
        def get_asm(library: Any, *args: Any, **options: Any) -> Any:
            made = original(library, *args, **options)
            name = getattr(library, "_entry_name", None) or getattr(library, "name", "kernel")
            for text in [made] if isinstance(made, str) else made:
                self._collector.add(f"numba/{name}.ptx", text)
            return made

        return get_asm


class NumbaMlirHook:
    """Takes the PTX of kernels that numba-cuda-mlir compiles, by a wrapper around the function that ends each compilation."""

    PACKAGE = "numba_cuda_mlir"

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._module: Any = None
        self._original: Any = None

    def install(self) -> None:
        """Wraps the function, if the package is imported and that was not done."""
        if self._module is not None or self.PACKAGE not in sys.modules:
            return
        try:
            # The package imports it when it first compiles.
            module: Any = importlib.import_module(f"{self.PACKAGE}.mlir_optimization")
        except ImportError:
            return
        if hasattr(module, "optimize") and hasattr(module, "get_ptx"):
            self._module, self._original = module, module.optimize
            module.optimize = self._optimize

    def remove(self) -> None:
        """Takes the wrapper off."""
        if self._module is not None and self._module.optimize == self._optimize:
            self._module.optimize = self._original
        self._module = None

    def _optimize(self, compiled: Any, *args: Any, **options: Any) -> Any:
        module, done = self._module, self._original(compiled, *args, **options)
        try:
            # With link-time optimisation, PTX is made for those who ask for it.
            text = compiled.metadata.get("ptx") or module.get_ptx(compiled)
            name = compiled.metadata.get("func_name") or "kernel"
        except Exception:
            # A compilation that works must not fail for a look at it.
            return done
        if text:
            self._collector.add(f"numba-cuda-mlir/{name}.ptx", text)
        return done


@dataclass
class Tally:
    """Results of a run, for its summary."""

    kernels: int = 0
    errors: int = 0
    warnings: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Adds the results of another process."""
        self.kernels += other.kernels
        self.errors += other.errors
        self.warnings += other.warnings
        self.outside += other.outside


class Plugin:
    """The plugin of a run."""

    def __init__(self, config: pytest.Config, claims: Path) -> None:
        self._collector = Collector()
        self._hooks = (TritonHook(self._collector), NumbaHook(self._collector), NumbaMlirHook(self._collector))
        self._folders = [Folder(Path(path)) for path in config.getoption("ptxcheck_dir") or ()]
        options = [*config.getini("ptxcheck_options"), *(config.getoption("ptxcheck_option") or ())]
        self._settings = Settings(options=options)
        self._fails_on = {"error"} | ({"warning"} if config.getoption("ptxcheck_fail_on") == "warning" else set())
        self._claims = claims
        self._seen: set[str] = set()
        self._checker = Checker(processes=1)
        self._tally = Tally()
        # Of a process of pytest-xdist: what it has found outlives it there.
        worker = getattr(config, "workerinput", {}).get("workerid")
        self._saved = None if worker is None else self._results_of(worker)

    def _results_of(self, worker: str) -> Path:
        return self._claims / f"tally-{worker}.json"

    def claim(self, kernel: Kernel) -> bool:
        """True if no test of the run, in this process or in another, has checked the content."""
        digest = kernel.digest
        if digest in self._seen:
            return False
        self._seen.add(digest)
        try:
            (self._claims / digest).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def examine(self) -> list[str]:
        """Checks what has come; the findings that make a test fail, a line each or several."""
        kernels = [kernel for kernel in self._collector.take() if self.claim(kernel)]
        for folder in self._folders:
            kernels += [kernel for kernel in folder.new() if self.claim(kernel)]
        if not kernels:
            return []
        report = self._checker.check([(kernel.name, kernel.content) for kernel in kernels], self._settings)
        self._tally.kernels += len(kernels)
        failures = self._failures(report)
        self._save()
        return failures

    def _save(self) -> None:
        if self._saved is not None:
            self._saved.write_text(json.dumps(asdict(self._tally)), encoding="utf-8")

    def _failures(self, report: Report) -> list[str]:
        failures = []
        for finding in report.counted:
            if finding.level in self._fails_on:
                failures.append(shown(finding))
            else:
                self._tally.warnings.append(str(finding))
        self._tally.errors += len(failures)
        return failures

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for hook in self._hooks:
            hook.install()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        # What was compiled since the last test is of no test: modules that were imported.
        self._tally.outside += self.examine_quietly()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        for hook in self._hooks:
            hook.install()
        try:
            result = yield
        except BaseException:
            # It fails for a reason of its own, and shows this beside it.
            failures = self.examine_quietly()
            if failures:
                item.add_report_section("call", "ptxcheck", "\n\n".join(failures))
            raise
        try:
            failures = self.examine()
        except PtxcheckError as error:
            pytest.fail(f"ptxcheck: {error}", pytrace=False)
        if failures:
            more = len(failures) - MAX_LISTED
            listed = failures[:MAX_LISTED] + ([f"and {more} more"] if more > 0 else [])
            pytest.fail("\n\n".join(listed), pytrace=False)
        return result

    def examine_quietly(self) -> list[str]:
        """The same as `examine`, with what cannot be checked as a line."""
        try:
            return self.examine()
        except PtxcheckError as error:
            return [f"ptxcheck: {error}"]

    def pytest_collection_finish(self) -> None:
        for hook in self._hooks:
            hook.install()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._tally.outside += self.examine_quietly()
        self._save()
        if self._tally.outside and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for hook in self._hooks:
            hook.remove()
        self._checker.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        saved = self._results_of(node.gateway.id)
        # A process that ended before its first kernel has none.
        if saved.is_file():
            self._tally.add(Tally(**json.loads(saved.read_text(encoding="utf-8"))))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["ptxcheck_claims"] = str(self._claims)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        tally = self._tally
        terminalreporter.section("ptxcheck")
        for text in tally.outside:
            terminalreporter.write_line(f"compiled outside of tests: {text}")
        for text in tally.warnings:
            terminalreporter.write_line(text)
        counts = f"{counted(tally.errors, 'error')}, {counted(len(tally.warnings), 'warning')}"
        terminalreporter.write_line(f"{counted(tally.kernels, 'module')} of device code checked: {counts}")


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shown(finding: Finding) -> str:
    """A finding in lines: its place and message, its notes and help."""
    lines = [str(finding)]
    lines += [f"  note: {note}" for note in finding.notes]
    lines += [f"  help: {text}" for text in finding.help]
    return "\n".join(lines)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("ptxcheck", "device code that tests compile")
    group.addoption("--ptxcheck", action="store_true", help="check the kernels that Triton, Numba and numba-cuda-mlir compile during tests")
    group.addoption(
        "--ptxcheck-dir",
        action="append",
        metavar="DIR",
        help="check the device code that this folder gains during tests, too; repeatable, implies --ptxcheck",
    )
    group.addoption(
        "--ptxcheck-option",
        action="append",
        metavar="OPTION",
        help="an option of `ptxcheck check`, as in --ptxcheck-option=-Wpotential; repeatable",
    )
    group.addoption(
        "--ptxcheck-fail-on",
        choices=("error", "warning"),
        default="error",
        help="the lowest level of a finding that makes a test fail (default: error)",
    )
    parser.addini("ptxcheck_options", "options of `ptxcheck check`", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Starts the plugin of the run, if it is asked for."""
    if not config.getoption("ptxcheck") and not config.getoption("ptxcheck_dir"):
        return
    given = getattr(config, "workerinput", {}).get("ptxcheck_claims")
    if given is None:
        folder = tempfile.TemporaryDirectory(prefix="ptxcheck-")
        config.add_cleanup(folder.cleanup)
        given = folder.name
    try:
        plugin = Plugin(config, Path(given))
    except PtxcheckError as error:
        raise pytest.UsageError(f"ptxcheck: {error}") from error
    config.pluginmanager.register(plugin, "ptxcheck-run")
