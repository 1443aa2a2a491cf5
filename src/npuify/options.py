"""What a user can choose, for every command that scans or migrates."""

from __future__ import annotations

import msgspec

from npuify.language import commas, phrase
from npuify.model import NpuifyError

STYLES = ("npu", "portable", "auto")


def check_style(style: str) -> str:
    """``style``, if there is such a one.

    Raises:
        NpuifyError: it is none of ``STYLES``.
    """
    if style not in STYLES:
        raise NpuifyError(
            phrase("there is no style {style!r}", style=style), advice=phrase("one of {STYLES}", STYLES=commas(STYLES))
        )
    return style


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Choices of one run, from the command line and ``[tool.npuify]``.

    Attributes:
        torch_npu: the torch_npu release aimed at; None takes it from the project's requirements, else the newest.
        target_vllm: the vLLM aimed at; None takes the set of versions that fits the project's own requirement.
        soc: the chip aimed at, as :func:`npuify.knowledge.product` takes it; None aims at all of them.
        tf_adapter: the TensorFlow whose adapter is aimed at, 1.15 or 2.6.5; None: what the project asks for.
        style: how the migrated code reads: ``npu``, ``portable`` (CUDA, NPU and CPU) or ``auto`` (``transfer_to_npu``).
        language: of findings and all other text for people, ``en`` or ``zh``; empty: that which the process speaks.
        place_on_npu: give programs that name no device one, and place model, data and loss on it.
        device_default: ``npu`` makes this the default of the options by which a program that supports an NPU chooses
            its device; empty leaves them.
        select: only findings whose code starts with one of these; empty means all.
        ignore: no findings whose code starts with one of these.
        exclude: patterns, as in .gitignore, of files not to look at.
        unsafe: also apply edits that are right in the usual case only.
        rules: files of the user's own rules: TOML, or the JSON of the vendor's migration tool.
        cpu_fallback: put what only the CPU can compute there, with the copies around it.
        replace_kernels: put modules of PyTorch in the place of CUDA extensions whose code is known.
        third_party: folders with the source of packages that the project uses, to follow its calls into.
        replace_unsupported: take stand-ins for what the release aimed at lacks.
        normalize_newlines: give shell and Python files the line ends of Linux when migrating.
        vendor_reports: the folder that also gets the vendor tool's result files; None writes none.
        from_trace: what ``npuify run --trace`` wrote: an edit of whose meaning the program was seen to be is safe.
        jobs: worker processes; 0 means one a core.
        cache: keep results of unchanged files between runs.
    """

    torch_npu: str | None = None
    target_vllm: str | None = None
    soc: str | None = None
    tf_adapter: str | None = None
    style: str = "npu"
    language: str = ""
    place_on_npu: bool = False
    device_default: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unsafe: bool = False
    rules: tuple[str, ...] = ()
    cpu_fallback: bool = False
    replace_unsupported: bool = False
    replace_kernels: bool = False
    third_party: tuple[str, ...] = ()
    normalize_newlines: bool = False
    vendor_reports: str | None = None
    from_trace: str = ""
    jobs: int = 0
    cache: bool = True
