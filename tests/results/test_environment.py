"""Variables that can change results are kept, and secrets never are."""

from __future__ import annotations

import pytest

from yardarm.results import provenance
from yardarm.results.environment import influential_variables


@pytest.mark.parametrize(
    "name",
    [
        *("MKL_CBWR", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "KMP_AFFINITY", "OPENBLAS_CORETYPE", "DNNL_MAX_CPU_ISA"),
        *("ATEN_CPU_CAPABILITY", "PYTORCH_CUDA_ALLOC_CONF", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE"),
        *("CUBLAS_WORKSPACE_CONFIG", "XLA_FLAGS", "NPY_DISABLE_CPU_FEATURES", "MUJOCO_GL", "GALLIUM_DRIVER"),
        *("LIBGL_ALWAYS_SOFTWARE", "__GLX_VENDOR_LIBRARY_NAME", "LD_PRELOAD", "PYTHONHASHSEED", "GLIBC_TUNABLES"),
    ],
)
def test_what_can_change_results_is_in_the_manifest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "a value")
    assert (provenance().environment_variables or {})[name] == "a value"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVIDIA_API_KEY", "x"),
        ("TORCH_HUB_TOKEN", "x"),
        ("JAX_PASSWORD", "x"),
        ("CUDA_AUTH", "x"),
        ("TF_SECRET_THING", "x"),
        ("MKL_NOTE", "hf_abcdefghijklmnop"),
        ("TORCH_INDEX", "https://me:word@example.org/simple"),
        ("PYTHONPATH", "/home/me/nvapi-0123456789abcdef"),
        ("HOME", "/home/me"),
        ("WANDB_API_KEY", "x"),
    ],
)
def test_secrets_and_what_changes_nothing_are_not(name: str, value: str) -> None:
    assert influential_variables({name: value, "OMP_NUM_THREADS": "2"}) == {"OMP_NUM_THREADS": "2"}
