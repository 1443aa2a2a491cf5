"""CMake files that ask for CUDA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Finding, Position, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.rules.run import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.job import Job
    from npuify.source.text import Text

_COMMANDS: Final = re.compile(
    rb"\b(?:(?P<find>find_package)\s*\(\s*(?P<package>CUDA\w*|CUDNN|NCCL|TensorRT|cub|Thrust)\b"
    rb"|(?P<enable>enable_language)\s*\([^)]*\bCUDA\b"
    rb"|(?P<project>project)\s*\([^)]*\bCUDA\b[^)]*\)"
    rb"|(?P<target>cuda_add_(?:library|executable)|cuda_compile\w*|cuda_include_directories)\s*\()",
    re.IGNORECASE,
)
_OPTIONAL = re.compile(rb"[^)]*\bQUIET\b", re.IGNORECASE)


def _documentation(node: object, file: object) -> Iterator[object]:
    """A CMake file requires CUDA: by enable_language, project, find_package, or the commands of the old FindCUDA.

    Without CUDA the configuration fails there, unless it is conditional. Make the part optional, and build Ascend
    kernels with CANN's compiler.
    """
    raise NotImplementedError("CMake files are handled by their analyser")


RULE = list_rule(
    Rule(
        "NPU633",
        "cuda-in-cmake",
        Safety.MANUAL,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "CMake's documentation of the language CUDA and of FindCUDAToolkit",
        (),
        (),
        _documentation,
    )
)


class _CMake:
    """Searches CMake files."""

    kinds = ("cmake",)

    def takes(self, relative: str, kind: str) -> bool:
        return kind == "cmake"

    def may_concern(self, lower: bytes) -> bool:
        return b"cuda" in lower or b"nccl" in lower or b"tensorrt" in lower

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        plain = re.sub(rb"#[^\n]*", lambda match: b" " * len(match.group()), text.data)
        return Result([_finding(relative, text, match, plain) for match in _COMMANDS.finditer(plain)])

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        return True


ANALYSER = _CMake()


def _finding(relative: str, text: Text, match: re.Match[bytes], plain: bytes) -> Finding:
    said = " ".join(match.group().decode("utf-8", "replace").split())
    said = said if said.endswith(")") else f"{said} …)"
    guarded = _depth_of_conditions(plain, match.start()) or (
        match.group("find") is not None and _OPTIONAL.match(plain, match.end()) is not None
    )
    return Finding(
        code=RULE.code,
        name=RULE.name,
        severity=Severity.WARNING if guarded else Severity.ERROR,
        safety=Safety.MANUAL,
        file=relative,
        start=Position(*text.position(match.start())),
        end=Position(*text.position(match.end())),
        message=phrase("{said}: without CUDA the configuration fails here", said=said)
        if not guarded
        else phrase("{said} is conditional: make sure that the condition is false on Ascend", said=said),
        evidence=RULE.evidence,
        source=RULE.source,
        subject=(match.group("package") or b"CUDA").decode(),
        advice=phrase("make it optional, and build kernels for Ascend with CANN's own compiler"),
    )


def _depth_of_conditions(plain: bytes, at: int) -> bool:
    """Whether an ``if`` of CMake is open at ``at``."""
    before = plain[:at]
    opened = len(re.findall(rb"^[ \t]*if\s*\(", before, re.MULTILINE | re.IGNORECASE))
    return opened > len(re.findall(rb"^[ \t]*endif\s*\(", before, re.MULTILINE | re.IGNORECASE))
