"""pyproject.toml (PEP 621, dependency groups, uv, Poetry, PDM, Hatch, Rye) and Pipfile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tomli

from npuify.language import phrase
from npuify.source.requirements.entry import (
    Dialect,
    Document,
    Entry,
    Spot,
    UnreadableRequirements,
    checked,
    newline,
    normal,
    without_line,
)
from npuify.source.requirements.items import quoted_item
from npuify.source.toml_spans import String, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAIN = ("project", "dependencies", "#")
_UV_LISTS = ("constraint-dependencies", "dev-dependencies", "override-dependencies")


def read_pyproject(text: str) -> Document:
    """The requirements of a pyproject.toml. What building alone needs (``build-system``) is not looked at."""
    return Document(text, list(_pyproject(text, _strings(text))))


def read_pipfile(text: str) -> Document:
    """The requirements of a Pipfile."""
    values = _strings(text)
    return Document(text, [*_tables(text, values, _pipfile_table, "pipenv"), *_pipfile_python(text, values)])


def _pipfile_python(text: str, values: list[String]) -> Iterator[Entry]:
    """The Python that pipenv is to make the environment with, as the package ``python``."""
    for value in values:
        version = text[value.start + 1 : value.end - 1]
        if value.path == ("requires", "python_version") and re.fullmatch(r"\d+\.\d+", version):
            yield Entry(
                name="python",
                specifier=f"=={version}.*",
                start=value.key_start,
                end=value.statement_end,
                name_span=None,
                version_span=(value.start + 1, value.end - 1),
                dialect="pipenv",
                url="",
                group="requires",
                is_main=False,
                removal=None,
                following=None,
            )


def _strings(text: str) -> list[String]:
    try:
        tomli.loads(text.encode("latin-1").decode("utf-8", "replace"))
        return list(strings(text))
    except tomli.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise UnreadableRequirements(
            phrase("is not valid TOML: {error}", error=error), int(line.group(1)) if line else 0
        ) from None
    except (ValueError, IndexError, RecursionError):
        raise UnreadableRequirements("is TOML that npuify cannot follow") from None


def _pyproject(text: str, values: list[String]) -> Iterator[Entry]:
    for value in values:
        if _is_list_item(value.path):
            group = ".".join(value.path[:-1])
            entry = quoted_item(text, value.start, value.end, group, is_main=value.path == _MAIN)
            if entry is not None:
                yield entry
    yield from _tables(text, values, _poetry_table, "poetry")


def _is_list_item(path: tuple[str, ...]) -> bool:
    if path == _MAIN or (len(path) == 4 and path[:2] == ("project", "optional-dependencies") and path[3] == "#"):
        return True
    if len(path) == 3 and path[0] == "dependency-groups" and path[2] == "#":
        return True
    if len(path) < 4 or path[0] != "tool" or path[-1] != "#":
        return False
    tool, *rest, _ = path[1:]
    if tool == "hatch":
        return len(rest) == 3 and rest[0] == "envs" and rest[2] in ("dependencies", "extra-dependencies")
    if tool == "pdm":
        return len(rest) == 2 and rest[0] == "dev-dependencies"
    return len(rest) == 1 and (
        (tool == "uv" and rest[0] in _UV_LISTS) or (tool == "rye" and rest[0] == "dev-dependencies")
    )


def _poetry_table(path: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    """(group, package, rest of the path) where ``path`` leads into a table of Poetry's dependencies."""
    if path[:2] != ("tool", "poetry"):
        return None
    for length, main in ((3, "dependencies"), (3, "dev-dependencies"), (5, "")):
        if len(path) <= length:
            continue
        if length == 3 and path[2] == main:
            return main, path[3], path[4:]
        if length == 5 and path[2] == "group" and path[4] == "dependencies":
            return path[3], path[5], path[6:]
    return None


def _pipfile_table(path: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    if len(path) < 2 or path[0] not in ("packages", "dev-packages"):
        return None
    return ("dependencies" if path[0] == "packages" else path[0]), path[1], path[2:]


def _tables(text: str, values: list[String], table: object, dialect: Dialect) -> Iterator[Entry]:
    """The packages that are keys of tables: ``torch = "^2.1"``, ``torch = { version = "^2.1", source = "x" }``."""
    assert callable(table)
    seen: set[tuple[str, str]] = set()
    for value in values:
        place = table(value.path)
        if place is None:
            continue
        group, package, rest = place
        if rest not in ((), ("version",), ("url",), ("git",)) or (group, package) in seen:
            continue
        seen.add((group, package))
        key = text[value.key_start : value.key_end]
        is_key = normal(key.strip("\"'")) == normal(package)
        written = text[value.start + 1 : value.end - 1]
        is_version = rest in ((), ("version",))
        removal = without_line(text, value.key_start, value.statement_end) if is_key else None
        stop = _line_stop(text, value.statement_end)
        following = (Spot(stop, stop, f"{newline(text)}{{}}"),) if is_key else None
        yield Entry(
            name=normal(package),
            specifier=_version(written, dialect) if is_version else None,
            start=value.key_start,
            end=value.statement_end,
            name_span=(value.key_start, value.key_end) if is_key else None,
            version_span=(value.start + 1, value.end - 1) if is_version else None,
            dialect=dialect,
            url="" if is_version else written,
            group=group,
            is_main=group == "dependencies",
            removal=removal,
            following=following,
        )


def _line_stop(text: str, at: int) -> int:
    match = re.compile(r"[^\r\n]*").match(text, at)
    return match.end() if match else at


def _version(written: str, dialect: Dialect) -> str | None:
    if written.strip() in ("*", ""):
        return ""
    return checked(written) if dialect == "pipenv" else _from_poetry(written)


def _from_poetry(written: str) -> str | None:
    """``^2.1`` and ``~2.1`` as PEP 440 says them."""
    if "||" in written or " or " in written:
        return None
    parts: list[str] = []
    for part in re.split(r"\s*,\s*", written.strip()):
        match = re.fullmatch(r"(\^|~(?!=))\s*(\d+(?:\.\d+)*)(\S*)", part)
        if match:
            numbers = [int(number) for number in match.group(2).split(".")]
            keep = min(1 if match.group(1) == "^" and numbers[0] else 2, len(numbers))
            upper = [*numbers[: keep - 1], numbers[keep - 1] + 1]
            parts += [f">={match.group(2)}{match.group(3)}", "<" + ".".join(map(str, upper))]
        elif part[:1].isdigit():
            parts.append(f"=={part}")
        elif part not in ("*", ""):
            parts.append(part)
    return checked(",".join(parts))
