"""What verifications saw, read from the JSON that they wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HARDWARE: Final = "hardware"
SIMULATION: Final = "simulation"
CPU: Final = "cpu"
NOT_RUN: Final = "not run"

_LARGEST: Final = 50_000_000
"""Bytes. Captures beside the results hold tensors and are no results."""
_DEEPEST: Final = 3


class VerificationResult(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried, and what came of it."""

    subject: str
    """A stable name: ``forward``, ``backward``, ``compare``, ``iterations``, ``loss``, ``resume``, ``cards``,
    ``profile``."""
    outcome: str
    """``passed``, ``failed``, ``unclear`` or ``not run``."""
    where: str
    """``hardware``, ``simulation``, ``cpu``, or ``not run``; empty where it is not said."""
    text: str
    """In a sentence."""
    file: str
    """The result's file."""
    command: str = ""
    asked: tuple[str, ...] = ()
    """Of an acceptance: the options that it was asked for with."""


def read_results(places: Sequence[Path], *, required: Sequence[Path] = ()) -> tuple[VerificationResult, ...]:
    """Every result in files and folders, each file once, in the order of their names.

    Args:
        places: files, and folders that are searched.
        required: those among them that have to be there, and to hold a result.

    Raises:
        NpuifyError: one of ``required`` does not exist, or holds nothing that is known.
    """
    found: dict[Path, list[VerificationResult]] = {}
    for place in places:
        if place in required and not place.exists():
            raise NpuifyError("no such result", file=str(place))
        known = 0
        for path in _files(place):
            if path.resolve() not in found:
                found[path.resolve()] = list(_in_file(path, place))
            known += len(found[path.resolve()])
        if place in required and not known:
            raise NpuifyError(
                "contains no verification result", advice="pass the JSON output of npuify verify", file=str(place)
            )
    return tuple(seen for results in found.values() for seen in results)


def _files(place: Path, depth: int = 0) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir() and depth <= _DEEPEST:
        for path in sorted(place.iterdir()):
            if path.is_dir() or path.suffix == ".json":
                yield from _files(path, depth + 1)


def _in_file(path: Path, place: Path) -> Iterator[VerificationResult]:
    try:
        if path.stat().st_size > _LARGEST:
            return
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(data, dict):
        file = path.relative_to(place.parent).as_posix() if path != place else path.name
        yield from read_result(data, file)


def read_result(data: dict[str, Any], file: str) -> Iterator[VerificationResult]:
    """What one document says; nothing where its form is not known."""
    if {"reference", "target", "verdict", "tolerance", "said"} <= data.keys():
        yield _loss(data, file)
    elif {"entry", "steps", "devices", "target"} <= data.keys():
        yield from _steps(data, file)
    elif {"agrees", "verdict", "a", "b", "points"} <= data.keys():
        yield _comparison(data, file)
    elif {"kind", "device", "step_time", "fallbacks", "said"} <= data.keys():
        yield _profile(data, file)


_PLACES: Final = {"hardware": HARDWARE, "simulation": SIMULATION, "the host's CPU": CPU, "nowhere": NOT_RUN}


def _steps(data: dict[str, Any], file: str) -> Iterator[VerificationResult]:
    """The acceptance, step by step."""
    asked = data.get("asked")
    words = tuple(map(str, asked)) if isinstance(asked, list) else ()
    for step in data["steps"] if isinstance(data["steps"], list) else []:
        if isinstance(step, dict) and isinstance(step.get("name"), str):
            commands = step.get("commands")
            yield VerificationResult(
                subject=step["name"],
                outcome=_OUTCOMES.get(str(step.get("status")), "unclear"),
                where=_PLACES.get(str(step.get("where")), ""),
                text=str(step.get("message", "")),
                file=file,
                command=str(commands[0]) if isinstance(commands, list) and commands else "",
                asked=words,
            )


_OUTCOMES: Final = {"passed": "passed", "failed": "failed", "not run": NOT_RUN}


def _comparison(data: dict[str, Any], file: str) -> VerificationResult:
    target = data["b"] if isinstance(data["b"], dict) else {}
    where = SIMULATION if target.get("simulated") else where_of(str(target.get("device", "")))
    outcome = "passed" if data["agrees"] is True else "failed"
    return VerificationResult(subject="compare", outcome=outcome, where=where, text=str(data["verdict"]), file=file)


def _profile(data: dict[str, Any], file: str) -> VerificationResult:
    """That a profile was read is what its point asks; what is in it is for a person."""
    said = data["said"]
    device = str(data["device"])
    return VerificationResult(
        subject="profile",
        outcome="passed" if device == "NPU" else "unclear",
        where=HARDWARE if device == "NPU" else "",
        text=str(said[0]) if isinstance(said, list) and said else phrase("a profile of {device}", device=device),
        file=file,
    )


_LOSS: Final = {"aligned": "passed", "different": "failed"}


def _loss(data: dict[str, Any], file: str) -> VerificationResult:
    target = data["target"] if isinstance(data["target"], dict) else {}
    said = data["said"]
    return VerificationResult(
        subject="loss",
        outcome=_LOSS.get(str(data["verdict"]), "unclear"),
        where=where_of(str(target.get("device", ""))),
        text=str(said[0]) if isinstance(said, list) and said else str(data["verdict"]),
        file=file,
    )


def where_of(device: str) -> str:
    """``npu (simulated)`` is a simulation; an ``npu`` is hardware."""
    if "simulat" in device:
        return SIMULATION
    if device.startswith(("npu", "cuda")):
        return HARDWARE
    return CPU if device.startswith("cpu") else ""
