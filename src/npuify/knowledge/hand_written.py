"""Read the tables that are written by hand: names, environment variables, packages, versions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import tomli

from npuify.language import phrase
from npuify.model import NpuifyError

from .schema import ArgumentFact, EnvironmentFact, Meaning, PackageFact, ReleaseInfo

if TYPE_CHECKING:
    from collections.abc import Mapping


DATA = Path(__file__).parent / "data"

Row = TypeVar("Row", bound=msgspec.Struct)


def read_rows(path: Path, table: str, row_type: type[Row]) -> list[Row]:
    """The rows ``[[table]]`` of a TOML file, each checked against ``row_type``.

    Raises:
        NpuifyError: the file cannot be read, is not TOML, holds anything but ``[[table]]`` rows, or a row has an
            unknown key, lacks one, or has a value of the wrong type or an empty source. It names the row's line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content: dict[str, Any] = tomli.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise NpuifyError(phrase("cannot read the table: {error}", error=error), file=str(path)) from error
    except tomli.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        raise NpuifyError(
            phrase("not valid TOML: {error}", error=error), file=str(path), line=int(match.group(1)) if match else 0
        ) from error
    unknown = sorted(set(content) - {table})
    if unknown or not isinstance(content.get(table), list):
        raise NpuifyError(
            phrase("expected only [[{table}]] rows, found {value}", table=table, value=", ".join(unknown) or "none"),
            file=str(path),
        )
    lines = _row_lines(text, table)
    rows = []
    for index, raw in enumerate(content[table]):
        line = lines[index] if index < len(lines) else 0
        try:
            row = msgspec.convert(raw, row_type, strict=True)
        except msgspec.ValidationError as error:
            raise NpuifyError(
                phrase("row {value} of [[{table}]]: {error}", value=index + 1, table=table, error=error),
                file=str(path),
                line=line,
            ) from error
        if not getattr(row, "source", "-").strip():
            raise NpuifyError(
                phrase("row {value} of [[{table}]]: a fact without a source", value=index + 1, table=table),
                file=str(path),
                line=line,
            )
        rows.append(row)
    return rows


def _row_lines(text: str, table: str) -> list[int]:
    header = re.compile(rf"\s*\[\[\s*{re.escape(table)}\s*\]\]")
    return [number for number, line in enumerate(text.splitlines(), 1) if header.match(line)]


@cache
def meanings() -> Mapping[str, tuple[Meaning, ...]]:
    """The rows of ``names.toml`` by CUDA name; several where releases differ."""
    found: dict[str, tuple[Meaning, ...]] = {}
    for row in read_rows(DATA / "names.toml", "name", Meaning):
        found[row.cuda] = (*found.get(row.cuda, ()), row)
    return found


@cache
def environment() -> Mapping[str, EnvironmentFact]:
    """The rows of ``environment.toml`` by variable; a row for several stands there for each of them."""
    path = DATA / "environment.toml"
    found: dict[str, EnvironmentFact] = {}
    for row in read_rows(path, "variable", EnvironmentFact):
        for name in (row.cuda, *row.also):
            if name in found:
                raise NpuifyError(phrase("two rows for {name}", name=name), file=str(path))
            found[name] = msgspec.structs.replace(row, cuda=name, also=())
    return found


@cache
def packages() -> Mapping[str, PackageFact]:
    """The rows of ``packages.toml`` by module, and by member where a row names members."""
    path = DATA / "packages.toml"
    found: dict[str, PackageFact] = {}
    for row in read_rows(path, "package", PackageFact):
        for name in (*row.imports, *row.names):
            if name in found:
                raise NpuifyError(phrase("two rows for {name}", name=name), file=str(path))
            found[name] = row
    return found


@cache
def arguments() -> tuple[ArgumentFact, ...]:
    """The rows of ``arguments.toml``."""
    path = DATA / "arguments.toml"
    rows = read_rows(path, "argument", ArgumentFact)
    for row in rows:
        if bool(row.keyword) == bool(row.method):
            raise NpuifyError(
                phrase("a row of {package} needs either a keyword or a method", package=row.package), file=str(path)
            )
    return tuple(rows)


@cache
def version_rows() -> tuple[ReleaseInfo, ...]:
    """The rows of ``versions.toml`` as they are written; see :func:`npuify.knowledge.releases`."""
    return tuple(read_rows(DATA / "versions.toml", "release", ReleaseInfo))
