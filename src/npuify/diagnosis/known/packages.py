"""Packages that a line of a log names, and what the tables know of them."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.knowledge.hand_written import packages
from npuify.knowledge.third_party.dependencies import dependencies
from npuify.language import phrase
from npuify.model import Evidence, Severity

from .installers import INSTALLS, asked_of_installers
from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.diagnosis.model import Frame

ASKS: Final = re.compile(
    r"No module named|cannot import name|not found in your environment|package metadata|not(?: be)? installed|"
    r"pip install|[Pp]lease install|required?s?\b|Error\b|\.so\b|'_OpNamespace'|\w::\w|" + INSTALLS.pattern
)
"""Lines that may name a package that is asked for."""

_NAMES: Final = (
    re.compile(r"No module named '?([\w.]+)"),
    re.compile(r"cannot import name '\w+' from '?([\w.]+)"),
    re.compile(r"not found in your environment: ((?:[\w.-]+, )*[\w.-]+)"),
    re.compile(r"No package metadata was found for (?:The )?'?([\w.-]+)"),
    re.compile(r"pip3? install (?:-\S+ (?:https?://\S+ )?)*[`'\"]?([A-Za-z][\w.-]*)"),
    re.compile(r"(?:package|module|library|dependency) [`'\"]?([A-Za-z][\w.-]*)[`'\"]?"),
    re.compile(
        r"[`'\"]?\b([A-Za-z][\w.-]*)[`'\"]?(?: package| library| module)?"
        r" (?:is not|is required|not|must be|to be) installed"
    ),
    re.compile(r"(?:requires?|[Uu]sing|[Ii]nstall)(?: the)?(?: \w+ of)? [`'\"]([A-Za-z][\w.-]*)[`'\"]"),
    re.compile(r"(?:must|need to|have to|[Pp]lease) install ([A-Za-z][\w.-]+)"),
    re.compile(r"DistributionNotFound: The '([A-Za-z][\w.-]*)"),
    re.compile(r"[`'\"]?\b([A-Za-z][\w.-]*)[`'\"]? is required\b"),
)
_OPERATORS: Final = (
    re.compile(r"[' ](\w+)::\w+"),
    re.compile(r"'_OpNamespace' '(\w+)' object has no attribute"),
)
"""Operators that a package registers with torch under its own name."""
_OPERATOR_LACKS: Final = re.compile(
    r"Could not run|_OpNamespace|[Nn]o such operator|[Uu]nknown builtin op|does not exist|not implemented"
)
_LIBRARY: Final = re.compile(r"/(?:site|dist)-packages/(\w+?)(?=_\d+_cuda|_cuda|_C\b|[/.-])")
_FOR_GPUS: Final = {"none", "fork", "replacement"}
_EXTENSION: Final = re.compile(
    r"No module named '?(?P<module>(?:[\w.]*_cuda(?:_\w+)?|cuda_\w+|_?MultiScaleDeformableAttention|[A-Z]\w+_ext"
    r"|(?:\w+\.)+gpu_\w+"
    r"|(?!mmcv|torch|triton|vllm)\w+(?:\.\w+)*\._C))'?$"
    r"|(?P<library>[\w.-]*cuda[\w.-]*\.so)[\w.]*: (?:undefined symbol|cannot open)"
    r"|module '(?P<owner>\w+_cuda(?:_\w+)?|cuda_\w+)' has no attribute"
    r"|undefined symbol: \w*(?P<symbol>4cuda|cuda[A-Z]\w+|cublas\w+|cudnn\w+|nccl[A-Z]\w+)"
)
"""Compiled parts that are of CUDA by their names, whatever package they belong to."""
_ABOUT_CUDA: Final = re.compile(
    r"(?i)\bcuda|\bnvcc\b|\bcudnn|\bcublas|\bgpus?\b|libcud|nvml|"
    r"not (?:been )?(?:built|compiled|available|supported|enabled|importable)|wasn't (?:build|built|compiled)"
)
"""Messages that say that something of CUDA's is missing."""
_ASKS_TORCH: Final = re.compile(r"Torch not compiled with CUDA|NVIDIA driver|No CUDA GPUs|CUDA_HOME|\bnvcc\b")
"""What torch says to a package that asks it for CUDA."""
_STANDARD_LIBRARY: Final = re.compile(r"/lib(?:64)?/python\d[\d.]*/(?!(?:site|dist)-packages/)|^<")
_WORD: Final = re.compile(r"[A-Za-z][\w-]*")
_ORDINARY_WORDS: Final = {"cuda", "composer", "rapids", "nccl", "cudnn", "triton", "numba", "jax", "flax", "awq"}
"""Names of packages that messages use as words of their own."""
_OTHERWISE_KNOWN: Final = {"torch", "torch_npu", "triton", "mmcv", "numpy"}


class Known(NamedTuple):
    """What one of the tables says of a package."""

    status: str
    message: str
    advice: str
    evidence: Evidence
    source: str
    severe: bool


@cache
def _by_name() -> dict[str, Known]:
    """What is known, by module and by the name that pip knows."""
    found: dict[str, Known] = {}
    for row in dependencies():
        severe = row.severity is Severity.ERROR and row.action != "keep"
        for name in (row.name, *row.also):
            found[_normal(name)] = Known(row.status, row.message, row.advice, row.evidence, row.source, severe)
    for module, fact in packages().items():
        if module in fact.names:
            continue  # it is about some names of the package, not about the package
        for name in (module, *(name for name in fact.package if not module.startswith(f"{_normal(name)}."))):
            severe = fact.severity is Severity.ERROR
            found[_normal(name)] = Known(fact.status, fact.message, fact.advice, fact.evidence, fact.source, severe)
    return found


@cache
def _by_beginning() -> tuple[tuple[str, Known], ...]:
    """Families of packages, by how their names begin: CUDA's own wheels."""
    return tuple((name[:-1], row) for name, row in _by_name().items() if name.endswith("*"))


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()


def _fact(name: str) -> tuple[str, Known] | None:
    """The row of a module, or of the nearest that it lies below."""
    parts = _normal(name).strip(".").split(".")
    if parts[0] in _OTHERWISE_KNOWN:
        row = _by_name().get(".".join(parts)) if len(parts) > 1 else None
        return (".".join(parts), row) if row is not None else None
    for length in range(len(parts), 0, -1):
        row = _by_name().get(".".join(parts[:length]))
        if row is not None:
            return ".".join(parts[:length]), row
    return next(((parts[0], row) for start, row in _by_beginning() if parts[0].startswith(start)), None)


def package_fact(name: str) -> Known | None:
    """What a table says of a package; None where none has it.

    Args:
        name: of the module, or for pip.
    """
    return _by_name().get(_normal(name))


def is_known(name: str) -> bool:
    """Whether a table has a package of this name, as a module or for pip."""
    return _normal(name) in _by_name()


def _asked_for(text: str) -> Iterator[str]:
    for pattern in _NAMES:
        for found in pattern.finditer(text):
            yield from (name.rstrip(".") for name in found[1].split(", "))


def package_match(text: str, frames: Sequence[Frame], known_as: Sequence[Match]) -> Match | None:
    """What is known of a package that a message asks for, or in which a traceback ends; None where it is nothing.

    Args:
        text: the line, usually the exception that ended a traceback.
        frames: the traceback's frames; may be empty.
        known_as: what the tables of texts say of the line; where they say the same, the package's advice comes first.
    """
    found = _package(text, frames)
    if found is not None and any(one.cause == found.cause for one in known_as):
        return found._replace(weight=97)
    return found


def _package(text: str, frames: Sequence[Frame]) -> Match | None:
    for name in asked_of_installers(text, frames):
        known = _fact(name)
        if known is not None and _for_gpus(known[1]):
            return _match(*known, weight=97)._replace(loud=True)
    part = "cannot import name" in text  # the package is there, in another version
    others: list[Match] = []
    for name in _asked_for(text):
        known = _fact(name)
        if known is None:
            continue
        if _for_gpus(known[1]):
            return _match(*known, weight=94 if "unknown location" in text else 84)
        if "." not in name and not part:
            others.append(_match(*known, weight=45))
    if others:
        return others[0]
    library = _LIBRARY.search(text)
    known = (_fact(library[1]) or _fact(f"{library[1]}_cuda")) if library and ".so" in text else None
    if known is not None and _for_gpus(known[1]):
        return _match(*known, weight=96)
    if _OPERATOR_LACKS.search(text):
        for pattern in _OPERATORS:
            for found in pattern.finditer(text):
                known = _fact(found[1])
                if known is not None and _for_gpus(known[1]):
                    return _match(*known, weight=96)
    compiled = _EXTENSION.search(text)
    known = _fact_of_frames(frames) if compiled is not None or _ASKS_TORCH.search(text) else None
    if known is not None:
        return _match(*known, weight=96)
    if compiled is not None and "libtorch_cuda" not in text:
        return _extension(next(part for part in compiled.groups() if part))
    about_cuda = _ABOUT_CUDA.search(text) is not None
    known = _fact_of_frames(frames)
    if known is not None:
        return _match(*known, weight=90 if about_cuda else 52)
    named = _named_with_cuda(text) if about_cuda else None
    return _match(*named, weight=88) if named is not None else None


def built_package(name: str) -> Match | None:
    """What is known of a package whose build failed; None where it is not one for CUDA only.

    Args:
        name: as an installer writes it.
    """
    known = _fact(name)
    return _match(*known, weight=97) if known is not None and _for_gpus(known[1]) else None


def package_of_frames(frames: Sequence[Frame]) -> Match | None:
    """What is known of the installed package in which a traceback ends; None where it is not one for CUDA only.

    Args:
        frames: the traceback's frames.
    """
    known = _fact_of_frames(frames)
    return _match(*known, weight=52) if known is not None else None


def package_in(name: str) -> Match | None:
    """What is known of a package for CUDA whose name is a part of another name; None where there is none.

    Args:
        name: of a function: _check_and_enable_flash_attn_2.
    """
    parts = _normal(name).split("_")
    for length in (2, 1):
        for start in range(len(parts) - length + 1):
            part = "_".join(parts[start : start + length])
            row = _by_name().get(part)
            if row is not None and part not in _ORDINARY_WORDS and _for_gpus(row):
                return _match(part, row, weight=52)
    return None


def _fact_of_frames(frames: Sequence[Frame]) -> tuple[str, Known] | None:
    """The row of the installed package in which a traceback ends, if it is CUDA's; Python's own is passed by."""
    for frame in reversed(frames):
        library = _LIBRARY.search(frame.file)
        if library is not None:
            if library[1] in ("torch", "torch_npu"):
                continue
            known = _fact(_below(frame.file)) or _fact(library[1])
            return known if known is not None and _for_gpus(known[1]) else None
        if not _STANDARD_LIBRARY.search(frame.file):
            return None
    return None


def _below(file: str) -> str:
    """The module of a file in site-packages: rows may be about a part of a package."""
    return (
        re.split(r"/(?:site|dist)-packages/", file)[-1].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )


def _named_with_cuda(text: str) -> tuple[str, Known] | None:
    """The row of a package for CUDA that a message names in passing: Transformer Engine, xFormers."""
    words = _WORD.findall(text)
    for name in (*words, *(f"{first}_{second}" for first, second in pairwise(words))):
        row = _by_name().get(_normal(name))
        if row is not None and _for_gpus(row) and _normal(name) not in _ORDINARY_WORDS:
            return _normal(name), row
    return None


def _for_gpus(row: Known) -> bool:
    """Whether it is CUDA's: packages without an NPU form, and those whose released wheels lack it."""
    return row.status in _FOR_GPUS or (row.status in ("partial", "cpu-only") and row.severe)


def _extension(name: str) -> Match:
    """A compiled part that is CUDA's by its name, of a package that no table has."""
    why = phrase("{name} is a part compiled for CUDA.", name=name)
    return Match(
        name="cuda-extension-by-name",
        meaning=why,
        cause="cuda-only-package",
        role="cause",
        weight=93,
        evidence=Evidence.ASSUMED,
        source="names that torch's extension builder gives",
        why=why,
        fix=phrase("Install the package without its CUDA part, or replace what it does: npuify scan names the places."),
    )


def _match(name: str, row: Known, *, weight: int) -> Match:
    for_gpus = _for_gpus(row)
    return Match(
        name=f"package-{name}",
        meaning=row.message,
        cause="cuda-only-package" if for_gpus else "missing-package",
        role="cause",
        weight=weight,
        evidence=row.evidence,
        source=row.source,
        why=row.message,
        fix=row.advice,
    )
