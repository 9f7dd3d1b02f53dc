"""The environment variables that can change results, without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from yardarm.secrecy import is_secret

__all__ = ["NO_MATTER", "influential_variables"]

PREFIXES = (
    # Linear algebra: kernels, threads, and MKL's reproducibility setting (MKL_CBWR).
    *("MKL_", "OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_", "DNNL_", "ONEDNN_"),
    # Networks: torch, its libraries, and others that a policy may use.
    *("TORCH", "PYTORCH_", "ATEN_", "CUDA_", "CUBLAS", "CUDNN_", "NVIDIA_", "NCCL_", "TRITON_"),
    *("XLA_", "JAX_", "TF_", "NUMBA_", "NPY_", "NUMPY_"),
    # Pixels: which renderer, and how it draws.
    *("MUJOCO_", "PYOPENGL_", "LIBGL_", "MESA_", "GALLIUM_", "LP_", "EGL_", "__EGL", "__GL", "VK_", "SDL_"),
)
NAMES = frozenset(
    (
        # Which libraries and modules are loaded, and the order of sets of strings.
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONPATH"),
        "PYTHONHASHSEED",
        # glibc's choice of kernels.
        "GLIBC_TUNABLES",
    )
)
SECRET_VALUE = re.compile(r"\b(?:hf_|sk-|nvapi-|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA)\w{8,}|://[^/\s]*@")
NO_MATTER = frozenset(
    (
        # Which of several equal devices is used.
        *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "MUJOCO_EGL_DEVICE_ID"),
        "EGL_DEVICE_ID",
        # Where something is stored or found; versions of modules are recorded separately.
        *("CUDA_HOME", "CUDA_CACHE_PATH", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"),
        *("NUMBA_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "PYTHONPATH"),
        # A display that is not used.
        "SDL_VIDEODRIVER",
    )
)
"""Variables that are recorded, but whose change needs no warning."""


def influential_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that can change results, even if only in the last bits; never those that look like secrets."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if (name in NAMES or name.startswith(PREFIXES)) and not is_secret(name) and not SECRET_VALUE.search(value)
    }
