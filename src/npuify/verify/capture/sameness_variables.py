"""Variables that must be set before the program starts, so that two runs of it are alike."""

from __future__ import annotations


def variables() -> dict[str, str]:
    """Name and value of each."""
    return {
        "PYTHONHASHSEED": "0",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "HCCL_DETERMINISTIC": "true",
        "LCCL_DETERMINISTIC": "1",
    }
