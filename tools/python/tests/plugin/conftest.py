"""Numba without CUDA's runtime compiler, which it asks for no more than the name of an architecture."""

from __future__ import annotations

import os
import site

site.addsitedir(os.environ["PTXCHECK_TEST_PACKAGES"])


def pytest_configure() -> None:
    from numba.cuda import cuda_paths
    from numba.cuda.cudadrv import nvrtc

    nvrtc.get_arch_option = lambda major, minor, arch="": f"compute_{major}{minor}{arch}"
    cuda_paths._get_nvrtc_path = lambda: cuda_paths._env_path_tuple("none", None)
