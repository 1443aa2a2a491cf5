"""The identifiers that mean something to CUDA: names of torch, and of the packages that are made for it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from npuify.engine.ledger.vocabulary import is_named

if TYPE_CHECKING:
    from npuify.knowledge import ReleaseTable

_PACKAGES = (
    # Import names; "nccl" and "cuda", which also name a backend and a device, are not asked about as packages.
    *("apex", "bitsandbytes", "cupy", "cuda", "flash_attn", "pynvml", "tensorrt", "transformer_engine"),
    *("triton", "xformers", "nvidia", "pycuda"),
)
_OF_TENSORS = ("cuda", "is_cuda", "cudnn", "nccl")


def cuda_packages() -> frozenset[str]:
    """Import names of packages that are made for CUDA and whose names mean nothing else."""
    return frozenset(_PACKAGES) - {"cuda", "nvidia"} | {"cudnn"}


@lru_cache(maxsize=4)
def cuda_identifiers(release: ReleaseTable) -> frozenset[str]:
    """Parts of the qualified names that the torch of a release has, of those that hold a word of the vocabulary."""
    names: set[str] = {*_PACKAGES, *_OF_TENSORS}
    content = release.content
    for module, members in content.cuda.items():
        names.update(part for name in (module, *members) for part in name.split("."))
    for name in (*content.patched, *content.transfer_patches, *content.operators):
        names.update(name.split("."))
    return frozenset(name for name in names if is_named(name))
