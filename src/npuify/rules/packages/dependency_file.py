"""One file of requirements under analysis: its entries, the release aimed at, and how to report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm import VllmAim
from npuify.language import phrase, semicolons
from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.source.requirements import Entry, Spot
from npuify.source.requirements.entry import normal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.knowledge import ReleaseTable
    from npuify.rules.registry import Rule
    from npuify.source.requirements import Document
    from npuify.source.text import Text

NO_AIM = VllmAim()
_HASHES = "its hashes belong to the old versions: regenerate the file from the migrated input"
_FOR_OTHERS = frozenset(("amd", "ascend", "cpu", "hpu", "mac", "macos", "mps", "neuron", "npu", "rocm", "tpu", "xpu"))
_POETRY_EXTRAS = re.compile(r"^\[tool\.poetry\.extras\][^\n]*\n(?P<rows>(?:(?!\[)[^\n]*(?:\n|\Z))*)", re.MULTILINE)
_QUOTED = re.compile(r"[\"']([\w.-]+)[\"']")
_FOR_PROSE = frozenset(("doc", "docs", "lint", "linting", "quality", "readthedocs", "style", "typing"))


class DependencyFile:
    """A file of requirements.

    Attributes:
        document: its entries.
        release: the torch_npu release aimed at.
        vllm: the vLLM aimed at.
        on_tensorflow: the project computes with TensorFlow.
        leaving: how safe it is to require a package no longer, as npuify's modules take the place of all its imports;
            None where it is still imported.
        with_paddle: the programs beside it are PaddlePaddle's, whose plug-in opens the NPU.
        is_without_torch: PyTorch's plug-in has no say in its Python: the programs are Paddle's or JAX's.
    """

    def __init__(
        self,
        relative: str,
        text: Text,
        document: Document,
        release: ReleaseTable,
        vllm: VllmAim = NO_AIM,
        on_tensorflow: bool = False,
        leaving: Callable[[str], Safety | None] = lambda _: None,
        with_paddle: bool = False,
        is_without_torch: bool = False,
    ) -> None:
        self.relative = relative
        self.text = text
        self.document = document
        self.release = release
        self.vllm = vllm
        self.on_tensorflow = on_tensorflow
        self.leaving = leaving
        self.with_paddle = with_paddle
        self.is_without_torch = is_without_torch
        words = set(re.split(r"[\W_]+", "/".join(relative.lower().split("/")[-2:])))
        self.is_for_other_devices = not words.isdisjoint(_FOR_OTHERS)
        self.is_for_prose = not words.isdisjoint(_FOR_PROSE)
        self.entries = [entry for entry in document.entries if self._applies(entry)]

    def _applies(self, entry: Entry) -> bool:
        """Whether an entry's marker holds on any Linux machine with an NPU."""
        if not entry.marker:
            return True
        from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

        try:
            marker = Marker(entry.marker.replace("\\\n", " "))
            return any(
                marker.evaluate(
                    {
                        "extra": "",
                        "implementation_name": "cpython",
                        "os_name": "posix",
                        "platform_machine": machine,
                        "platform_python_implementation": "CPython",
                        "platform_system": "Linux",
                        "python_full_version": f"{python}.0",
                        "python_version": python,
                        "sys_platform": "linux",
                    }
                )
                for machine in ("aarch64", "x86_64")
                for python in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
            )
        except (InvalidMarker, UndefinedEnvironmentName):
            return True

    def named(self, *names: str) -> list[Entry]:
        """The entries of these packages."""
        return [entry for entry in self.entries if entry.name in names]

    def written(self, entry: Entry) -> str:
        """An entry as it stands in the file, in one line."""
        text = self.text.data[entry.start : entry.end].decode("utf-8", "replace")
        return re.sub(r"\s*\\?\s+", " ", text.partition(";")[0].rstrip(" \"'")).strip()

    def version(self, entry: Entry, specifier: str) -> Spot | None:
        """Puts ``==2.1`` or ``>=2.1`` in the place of an entry's version, in the manner of the file."""
        if entry.version_span is None:
            return None
        start, end = entry.version_span
        text = in_dialect(entry, specifier)
        if entry.name_span is None:
            return Spot(start, end, f"{entry.name}{text}")
        if re.match(r"[<>=!~]+\s", self.document.text[start:end]):
            text = re.sub(r"^([<>=!~]+)", r"\1 ", text)
        return Spot(start, end, text)

    def report(
        self,
        rule: Rule,
        place: Entry | tuple[int, int],
        message: str,
        *,
        spots: Iterable[Spot | None] | None = None,
        safety: Safety | None = None,
        severity: Severity | None = None,
        evidence: Evidence | None = None,
        source: str | None = None,
        subject: str = "",
        advice: str = "",
    ) -> Finding:
        """A finding; without ``spots``, or where one of them is None, it is left to a person."""
        start, end = (place.start, place.end) if isinstance(place, Entry) else place
        wanted = list(spots or ())
        chosen = [spot for spot in wanted if spot is not None]
        if isinstance(place, Entry) and place.has_hashes and chosen:
            chosen, advice = [], semicolons(phrase(part) for part in (advice, _HASHES) if part)
        if len(chosen) < len(wanted):
            chosen = []
        edits = tuple(
            sorted(
                Edit(spot.start, spot.end, self.text.data[spot.start : spot.end].decode("utf-8"), spot.text)
                for spot in _merged(chosen)
            )
        )
        return Finding(
            code=rule.code,
            name=rule.name,
            severity=severity or rule.severity,
            safety=(safety or rule.safety) if edits else Safety.MANUAL,
            file=self.relative,
            start=Position(*self.text.position(start)),
            end=Position(*self.text.position(end)),
            message=phrase(message),
            evidence=evidence or rule.evidence,
            source=rule.source if source is None else source,
            subject=subject,
            advice=phrase(advice),
            edits=edits,
        )


def named_in_extras(entry: Entry, file: DependencyFile) -> list[tuple[int, int]]:
    """Where the extras of Poetry name a package."""
    table = _POETRY_EXTRAS.search(file.document.text) if entry.dialect == "poetry" else None
    if table is None:
        return []
    return [
        one.span(1) for one in _QUOTED.finditer(file.document.text, *table.span("rows")) if normal(one[1]) == entry.name
    ]


def _merged(spots: list[Spot]) -> list[Spot]:
    """Spots by place; those that begin where the one before ends become one with it, in the order of their making."""
    merged: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.start, spot.end)):
        if merged and spot.start == spot.end == merged[-1].end:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + spot.text)
        else:
            merged.append(spot)
    return merged


def in_dialect(entry: Entry, specifier: str) -> str:
    """A version of PEP 440 as the entry's format writes it."""
    if specifier.startswith("==") and entry.dialect == "poetry":
        return specifier[2:]
    if specifier.startswith("==") and entry.dialect == "conda":
        return specifier[1:]
    return specifier


def requirement(entry: Entry, name: str, version: str) -> str:
    """A requirement of exactly this version, as one beside ``entry`` is written, for the same machines."""
    if entry.dialect in ("poetry", "pipenv"):
        return f'{name} = "{in_dialect(entry, "==" + version)}"'
    text = f"{name}{in_dialect(entry, '==' + version)}"
    return f"{text}; {entry.marker}" if entry.marker else text


def admits(specifier: str, version: str) -> bool:
    """Whether a specifier admits a version; a local part of it, as in 2.1.0+cu118, is not the same build."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=True)


def raised(specifier: str, minimum: str) -> str:
    """``>=minimum`` with the upper bounds, and the versions left out, of a specifier that admit it."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    kept = [part for part in SpecifierSet(specifier) if part.operator in ("<", "<=") and part.contains(minimum)]
    for part in SpecifierSet(specifier):
        try:
            is_later = part.operator == "!=" and Version(part.version.removesuffix(".*")) >= Version(minimum)
        except InvalidVersion:
            continue
        if is_later:
            kept.append(part)
    return ",".join([f">={minimum}", *sorted(map(str, kept))])


def excludes_from(specifier: str, minimum: str) -> bool:
    """Whether a specifier admits no version from ``minimum`` on."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    bound = Version(minimum)
    for part in SpecifierSet(specifier):
        try:
            version = Version(part.version.removesuffix(".*"))
        except InvalidVersion:
            continue
        if part.operator in ("==", "===") and version < bound:
            # 4.* admits what begins with 4, and that may be later.
            return not part.version.endswith(".*") or bound.release[: len(version.release)] != version.release
        if part.operator == "<" and version <= bound:
            return True
        if part.operator == "<=" and version < bound:
            return True
        if part.operator == "~=":
            upper = (*version.release[:-2], version.release[-2] + 1)
            if bound.release[: len(upper)] >= upper:
                return True
    return False
