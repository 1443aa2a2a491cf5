"""Modules that ``migrate`` writes into a project. They import torch, so npuify itself never imports them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from npuify.language import ENGLISH, spoken

MARK: Final = "npuify: ignore-file - written by `npuify migrate"
"""Stands in the first line of each, by which it is known again and passed over."""

CPU_FALLBACK: Final = "npuify_on_cpu"
"""The name of the module that moves calls to the CPU."""
STAND_INS: Final = "npuify_stand_ins"
"""The name of the module that holds stand-ins for what a release lacks."""
KERNELS: Final = "npuify_kernels"
"""The name of the package that holds what takes the place of CUDA extensions."""
PADDING: Final = "npuify_padding"
"""The name of the module that holds flash_attn's functions for padding."""

PACKAGES: Final = {
    "npuify_activations": "activations",
    "npuify_apex": "apex_contrib",
    "npuify_bitsandbytes": "bitsandbytes",
    "npuify_cluster": "cluster",
    "npuify_ctc": "ctc",
    "npuify_losses": "losses",
    "npuify_norms": "norms",
    "npuify_nvml": "nvml",
    "npuify_rotary": "rotary",
    "npuify_scatter": "scatter",
    "npuify_sparse": "sparse",
    "npuify_xformers": "xformers_ops",
}
"""The names of the modules that take the place of packages, and their files in ``helpers/packages``."""

_FILES: Final = {
    CPU_FALLBACK: ("cpu_fallback.py", " --cpu-fallback"),
    STAND_INS: ("stand_ins.py", " --replace-unsupported"),
    PADDING: ("padding.py", ""),
    **{module: (f"packages/{name}.py", "") for module, name in PACKAGES.items()},
}


def helper_text(module: str) -> bytes:
    """What is written into a project as ``module``, its comments in the user's language."""
    name, option = _FILES[module]
    return _marked(Path(__file__).parent / name, option, spoken())


def kernel_text(module: str) -> bytes:
    """What is written into a project as a module of ``npuify_kernels``.

    Args:
        module: its name in ``helpers/replacements``.
    """
    return _marked(_kernel_files()[module], " --replace-kernels", spoken())


def kernel_module(family: str) -> str:
    """Where the module of a family lies below ``helpers``, with dots: the folders group them by what they compute."""
    return ".".join(_kernel_files()[family].relative_to(Path(__file__).parent).with_suffix("").parts)


@cache
def _kernel_files() -> dict[str, Path]:
    """The modules of ``helpers/replacements`` and its folders by their names, which no two share."""
    top = Path(__file__).parent / "replacements"
    found = {path.stem: path for path in [*top.glob("*/[!_]*.py"), *top.glob("*.py")]}
    # What a package computes is the same where a project holds the package's own sources.
    return found | {"scatter": top.with_name("packages") / "scatter.py"}


@cache
def _marked(path: Path, option: str, language: str) -> bytes:
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert head.startswith("# mypy:")
    if language != ENGLISH:
        from npuify.language.code import code_in_language

        rest = code_in_language(rest)
    return f"# {MARK}{option}`\n{rest}".encode()
