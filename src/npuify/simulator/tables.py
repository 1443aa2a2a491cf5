"""The generated tables of torch_npu releases, read with nothing but the standard library."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from npuify.knowledge.release.correction import corrections

_DATA = Path(__file__).resolve().parent.parent / "knowledge" / "data"
_RELEASES = _DATA / "releases"


def numbers(version: str) -> tuple[int, ...]:
    digits = version.replace("post", "").split("+")[0].split(".")
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in digits)


def known_releases() -> list[str]:
    """Versions of torch_npu with a table, oldest first."""
    return sorted((path.stem for path in _RELEASES.glob("*.json")), key=numbers)


@cache
def release_table(torch_npu: str) -> dict[str, Any]:
    """The table of one release, as ``npuify.knowledge.schema.ReleaseFile`` describes it.

    Where the real package was imported and asked, its answers have been put in; ``live`` holds all of them.

    Raises:
        ValueError: there is none of that version.
    """
    path = _RELEASES / f"{torch_npu}.json"
    if torch_npu not in known_releases():
        raise ValueError(f"npuify has no table of torch_npu {torch_npu}; it has {', '.join(known_releases())}")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    answers = _DATA / "live" / path.name
    if answers.is_file():
        live: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))
        table = {**table, **corrections(table, live), "live": live}
    return table


@cache
def _own(name: str) -> dict[str, Any]:
    """The rows of one of the simulator's own files of facts."""
    path = Path(__file__).resolve().parent / "data" / f"{name}.json"
    rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    rows.pop("_about")
    return rows


def release_facts() -> dict[str, Any]:
    """What differs between releases and is in none of their tables; each row names the releases ``in`` it."""
    return _own("releases")


def npu_only() -> dict[str, frozenset[str]]:
    """Arguments that may not even be a CPU tensor without dimensions, by operator, and by its forms that write."""
    found: dict[str, frozenset[str]] = {}
    for name, arguments in _own("cpu_scalars")["refused"].items():
        plain, dot, overload = name.partition(".")
        written = f"{plain}.{overload}_out" if overload else f"{plain}.out"
        for one in (name, f"{plain}_{dot}{overload}", written):
            found[one] = frozenset(arguments)
    found["aten::_index_put_impl_"] = found["aten::index_put_"]
    # Indices may be on the host, what is indexed may not: torch_npu 2.13.0 begins with a cast that the CPU lacks.
    found["aten::index.Tensor"] = frozenset({"self"})
    return found


def kernels_by_key(torch_npu: str) -> dict[str, list[str]]:
    """Dispatch key → operators that have a kernel under it, as asked of the imported package.

    Of a release that was not asked: what the last one before it answered that was, else the first after it. From 2.6 to
    2.14 the answers for sparse tensors, for which this is used, differ in six operators of 160.
    """
    asked = sorted((path.stem for path in (_DATA / "live").glob("*.json")), key=numbers)
    before = [version for version in asked if numbers(version) <= numbers(torch_npu)]
    found: dict[str, list[str]] = release_table(before[-1] if before else asked[0])["live"]["keys"]
    return found


def soc(name: str) -> dict[str, Any]:
    """What is known of a chip.

    Raises:
        ValueError: it is not known.
    """
    rows = _own("socs")
    if name not in rows:
        raise ValueError(f"npuify cannot simulate a chip called {name}; it knows {', '.join(rows)}")
    found: dict[str, Any] = rows[name]
    return found


def release_for(torch: str, wanted: str = "") -> str:
    """The release that stands beside ``torch`` (its version), or the ``wanted`` one; 2.13 may stand for 2.13.0.

    Raises:
        ValueError: no release is known of that name, or none for that torch.
    """
    known = known_releases()
    if wanted:
        for version in reversed(known):
            if version == wanted or version.startswith(wanted + "."):
                return version
        raise ValueError(f"npuify knows no torch_npu {wanted}; it knows {', '.join(known)}")
    for version in reversed(known):
        if numbers(version)[:2] == numbers(torch)[:2]:
            return version
    if numbers(torch)[:2] < numbers(known[0])[:2]:
        oldest = ".".join(str(part) for part in numbers(known[0])[:2])
        raise ValueError(f"npuify simulates an NPU for PyTorch {oldest} and newer; this is {torch}")
    raise ValueError(
        f"npuify knows no torch_npu for torch {torch}; it knows {', '.join(known)}, and --torch-npu takes one of them"
    )
