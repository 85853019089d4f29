"""The plugin's hook for numba-cuda-mlir, with a module in its place: kernels of it are not compiled without a GPU."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
from typing import Any
from unittest import mock

HAS_PYTEST = importlib.util.find_spec("pytest") is not None


class Compiled:
    """What a compilation makes."""

    def __init__(self, name: str, ptx: str) -> None:
        self.metadata = {"func_name": name, "ptx": ptx}


def stand_in() -> types.ModuleType:
    module: Any = types.ModuleType("numba_cuda_mlir.mlir_optimization")
    module.optimize = lambda compiled: f"optimized {compiled.metadata['func_name']}"
    module.get_ptx = lambda compiled: {"late": "// late", "broken": None}[compiled.metadata["func_name"]]
    made: types.ModuleType = module
    return made


@unittest.skipUnless(HAS_PYTEST, "pytest is not installed")
class NumbaMlir(unittest.TestCase):
    def setUp(self) -> None:
        from ptxcheck import pytest_plugin

        self.module: Any = stand_in()
        self.original = self.module.optimize
        package = types.ModuleType("numba_cuda_mlir")
        modules = {"numba_cuda_mlir": package, "numba_cuda_mlir.mlir_optimization": self.module}
        patched = mock.patch.dict(sys.modules, modules)
        patched.start()
        self.addCleanup(patched.stop)
        self.collector = pytest_plugin.Collector()
        self.hook = pytest_plugin.NumbaMlirHook(self.collector)

    def test_ptx_is_taken_and_asked_for(self) -> None:
        self.hook.install()
        self.hook.install()
        for name, ptx in (("early", "// early"), ("late", ""), ("broken", ""), ("unknown", "")):
            self.assertEqual(self.module.optimize(Compiled(name, ptx)), f"optimized {name}")
        taken = [(kernel.name, kernel.content) for kernel in self.collector.take()]
        self.assertEqual(taken, [("numba-cuda-mlir/early.ptx", b"// early"), ("numba-cuda-mlir/late.ptx", b"// late")])

    def test_the_function_is_put_back(self) -> None:
        self.hook.install()
        self.assertIsNot(self.module.optimize, self.original)
        self.hook.remove()
        self.assertIs(self.module.optimize, self.original)

    def test_another_release_is_left_alone(self) -> None:
        del self.module.get_ptx
        self.hook.install()
        self.assertIs(self.module.optimize, self.original)


if __name__ == "__main__":
    unittest.main()
