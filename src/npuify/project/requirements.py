"""Which torch a project asks for, as its own requirement files say.

Read as text or as a syntax tree; nothing is installed, imported or executed.
"""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


class TorchRequirement(msgspec.Struct, frozen=True):
    """One place that asks for torch."""

    specifier: str
    """As PEP 440 writes it ("==2.1.0", ">=2.0,<2.4"), without a local version such as "+cu118"; empty for any."""
    file: str
    """Path relative to the project's root, with forward slashes."""
    line: int
    """From 1; 0 where it is not known."""

    @property
    def pins(self) -> bool:
        """Whether it says which releases are too new (``==``, ``~=`` or an upper bound)."""
        return bool(re.search(r"==|~=|<", self.specifier))


def torch_requirement(root: Path | str) -> TorchRequirement | None:
    """What the project at ``root`` asks of torch, or None where it does not say.

    Looked at in this order: requirements*.txt (also in ``requirements/``), pyproject.toml (PEP 621, dependency groups,
    Poetry), setup.cfg, setup.py (literal values only), *environment*.yml, Pipfile, what a Dockerfile beside them pins
    where it calls pip. The first that pins wins; where none
    pins, the first that names torch. A file that cannot be read or understood is passed over.
    """
    folder = Path(root)
    if not folder.is_dir():
        folder = folder.parent
    first: TorchRequirement | None = None
    for found in _all(folder):
        if found.pins:
            return found
        first = first or found
    return first


def _all(folder: Path) -> Iterator[TorchRequirement]:
    for file in _requirement_files(folder):
        for specifier, line in _in_requirements(_text(file)):
            yield TorchRequirement(specifier, _name(file, folder), line)
    for name, read in (
        ("pyproject.toml", _in_pyproject),
        ("setup.cfg", _in_setup_cfg),
        ("setup.py", _in_setup_py),
    ):
        file = folder / name
        if file.is_file():
            for specifier, line in read(_text(file)):
                yield TorchRequirement(specifier, name, line)
    for pattern in ("*environment*.yml", "*environment*.yaml", "*conda*.yml", "*conda*.yaml"):
        for file in sorted(folder.glob(pattern)):
            for specifier, line in _in_environment(_text(file)):
                yield TorchRequirement(specifier, _name(file, folder), line)
    if (folder / "Pipfile").is_file():
        for specifier, line in _in_pipfile(_text(folder / "Pipfile")):
            yield TorchRequirement(specifier, "Pipfile", line)
    for file in sorted(folder.glob("*Dockerfile*")):
        if file.is_file():
            for specifier, line in _in_dockerfile(_text(file)):
                yield TorchRequirement(specifier, _name(file, folder), line)


_DEVELOPERS = frozenset(
    {
        "build",
        "ci",
        "dev",
        "develop",
        "development",
        "doc",
        "docs",
        "format",
        "lint",
        "linting",
        "mypy",
        "quality",
        "readthedocs",
        "style",
        "test",
        "testing",
        "tests",
        "tooling",
        "typing",
    }
)


def _requirement_files(folder: Path) -> Iterator[Path]:
    plain = folder / "requirements.txt"
    if plain.is_file():
        yield plain
    for pattern in ("*requirements*.txt", "requirements/*.txt", "constraints.txt"):
        for file in sorted(folder.glob(pattern)):
            if file != plain and file.is_file() and not _for_developers(file.stem):
                yield file


def _for_developers(name: str) -> bool:
    """Whether a file or group of requirements serves tests, documentation or the like, whose pins say little."""
    words = re.split(r"[\W_]+", name.lower())
    return not _DEVELOPERS.isdisjoint(words)


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    except OSError:
        return ""


_PIP_INSTALL = re.compile(r"\bpip3?\s+install\s(?:[^\n\\&|;]|\\\r?\n)*")
_PINNED_TORCH = re.compile(r"(?<=[\s\"'])torch==[\w.+]+")


def _in_dockerfile(text: str) -> Iterator[tuple[str, int]]:
    for command in _PIP_INSTALL.finditer(text):
        for pin in _PINNED_TORCH.finditer(text, *command.span()):
            specifier = _specifier(pin.group())
            if specifier:
                yield specifier, text.count("\n", 0, pin.start()) + 1


# --- one requirement --------------------------------------------------------------------------------------------------

_REQUIREMENT = re.compile(r"\s*torch\s*(?:\[[^\]]*\])?\s*(?P<rest>$|[@=<>!~(;#\s].*)", re.IGNORECASE | re.DOTALL)
_WHEEL = re.compile(r"torch-(\d+(?:\.\d+)*(?:\.?(?:post|rc|a|b|dev)\d+)*)", re.IGNORECASE)


def _specifier(requirement: str) -> str | None:
    """The version part of a PEP 508 requirement of torch, or None when ``requirement`` is for something else."""
    match = _REQUIREMENT.match(requirement)
    if match is None:
        return None
    rest = match["rest"].strip()
    if rest.startswith("@"):
        wheel = _WHEEL.search(rest.replace("%2B", "+"))
        return f"=={wheel[1]}" if wheel else ""
    rest = re.split(r"[;#]|\s--", rest, maxsplit=1)[0].strip().strip("()")
    return _checked(rest)


def _checked(specifier: str) -> str | None:
    """``specifier`` in its plain form, or None where it is none. Local versions are dropped: 2.1.0+cu118 is 2.1.0."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    parts = [re.sub(r"\+[\w.]+", "", part.strip()).replace(" ", "") for part in specifier.split(",")]
    plain = ",".join(part.replace("===", "==") for part in parts if part)
    try:
        SpecifierSet(plain)
    except InvalidSpecifier:
        return None
    return plain


# --- one kind of file each: (specifier, line) ------------------------------------------------------------------------


def _in_requirements(text: str) -> Iterator[tuple[str, int]]:
    number = 1
    for line in re.sub(r"\\\r?\n", "\\\\", text).split("\n"):
        found = _specifier(line.replace("\\", " "))
        if found is not None:
            yield found, number
        number += 1 + line.count("\\")


def _in_pyproject(text: str) -> Iterator[tuple[str, int]]:
    document = _toml(text)
    project = _dict(document.get("project"))
    groups = [project.get("dependencies")]
    for table in (project.get("optional-dependencies"), document.get("dependency-groups")):
        groups += [group for name, group in _dict(table).items() if not _for_developers(name)]
    for group in groups:
        for item in group if isinstance(group, list) else ():
            found = _specifier(item) if isinstance(item, str) else None
            if found is not None:
                yield found, _line_with(text, item)
    poetry = _dict(_dict(document.get("tool")).get("poetry"))
    tables = [poetry, *(_dict(group) for group in _dict(poetry.get("group")).values())]
    for table in tables:
        for key in ("dependencies", "dev-dependencies"):
            for name, wanted in _dict(table.get(key)).items():
                if name.lower() == "torch":
                    found = _from_poetry(wanted)
                    if found is not None:
                        yield found, _line_matching(text, r"""\s*["']?torch["']?\s*[=.]""")


def _in_setup_cfg(text: str) -> Iterator[tuple[str, int]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    values = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        values += [value for _, value in parser.items("options.extras_require")]
    for value in values:
        for item in value.splitlines():
            found = _specifier(item)
            if found is not None:
                yield found, _line_with(text, item.strip())


def _in_setup_py(text: str) -> Iterator[tuple[str, int]]:
    """Every requirement of torch among the string literals: where a setup.py keeps its lists differs too much."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    found = _specifier(item.value)
                    if found is not None:
                        yield found, item.lineno


_CONDA_ITEM = re.compile(r"""\s*-\s*(?P<quote>["']?)(?:[\w.-]+::)?(?P<name>pytorch|torch)\b(?P<rest>[^#"']*)""")


def _in_environment(text: str) -> Iterator[tuple[str, int]]:
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        key = re.match(r"(\w+)\s*:", line)
        section = key[1] if key else section
        match = _CONDA_ITEM.match(line) if section == "dependencies" else None
        if match is None or match["rest"][:1] in {"-", ".", "_"}:
            continue
        found = _specifier(match["name"] + match["rest"]) if match["name"] == "torch" else None
        if found is None:
            found = _from_conda(match["rest"])
        if found is not None:
            yield found, number


def _in_pipfile(text: str) -> Iterator[tuple[str, int]]:
    document = _toml(text)
    for section in ("packages", "dev-packages"):
        wanted = _dict(document.get(section)).get("torch")
        if isinstance(wanted, dict):
            wanted = wanted.get("version")
        if isinstance(wanted, str):
            found = "" if wanted == "*" else _checked(wanted)
            if found is not None:
                yield found, _line_matching(text, r"""\s*["']?torch["']?\s*=""")


# --- other ways to write a version -----------------------------------------------------------------------------------


def _from_conda(rest: str) -> str | None:
    """``=2.1`` (which means 2.1.*), ``==2.1.0``, ``2.1.*``, ``=2.1.0=py3.10_cuda11.8_0``, ``>=2.1,<2.3``."""
    rest = rest.strip()
    if not rest or rest == "*":
        return ""
    exact = re.fullmatch(r"(={0,2})\s*(\d[\w.]*?)(\.?\*)?(?:[=\s]\s*\S+)?", rest)
    if exact is None:
        return _checked(rest)
    operator, version, star = exact.groups()
    if star or (operator == "=" and version.count(".") < 2):
        return _checked(f"=={version}.*")
    return _checked(f"=={version}")


def _from_poetry(wanted: Any) -> str | None:
    """``^2.1`` and ``~2.1`` as PEP 440 says them; the first version of a table or of a list of tables."""
    if isinstance(wanted, list):
        versions = [found for one in wanted if (found := _from_poetry(one)) is not None]
        return versions[0] if versions else None
    if isinstance(wanted, dict):
        if isinstance(wanted.get("url"), str):
            return _specifier("torch @ " + wanted["url"])
        return _from_poetry(wanted.get("version", "*"))
    if not isinstance(wanted, str):
        return None
    parts = []
    for part in re.split(r"\s*,\s*", wanted.split("||")[0].strip()):
        if part in {"*", ""}:
            continue
        match = re.fullmatch(r"(\^|~(?!=))\s*(\d+(?:\.\d+)*)(\S*)", part)
        if match:
            numbers = [int(number) for number in match[2].split(".")]
            keep = 1 if match[1] == "^" and numbers[0] else 2
            keep = min(keep, len(numbers))
            upper = [*numbers[: keep - 1], numbers[keep - 1] + 1]
            parts += [f">={match[2]}{match[3]}", "<" + ".".join(map(str, upper))]
        elif part[0].isdigit():
            parts.append(f"=={part}")
        else:
            parts.append(part)
    return _checked(",".join(parts))


# --- TOML and lines --------------------------------------------------------------------------------------------------


def _toml(text: str) -> dict[str, Any]:
    from npuify.project.toml import TOMLDecodeError, parse

    try:
        return parse(text)
    except (TOMLDecodeError, UnicodeError, RecursionError):
        return {}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _line_with(text: str, part: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), start=1) if part in line), 0)


def _line_matching(text: str, pattern: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), start=1) if re.match(pattern, line)), 0)


def lowest_torch(specifier: str) -> str:
    """The lowest version that a specifier admits, as it is written there; empty where it sets no lower bound."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    found: list[Version] = []
    try:
        for one in SpecifierSet(specifier):
            if one.operator in (">=", "==", "~=", ">", "==="):
                found.append(Version(one.version.removesuffix(".*")))
    except (InvalidSpecifier, InvalidVersion):
        return ""
    return str(max(found)) if found else ""
