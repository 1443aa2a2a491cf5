"""Make the TensorFlow tables from the adapter's sources. Files are read; nothing is imported."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

import msgspec

from npuify.knowledge.tensorflow.schema import FORMAT, AdapterFile, StatusFile
from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PACKAGES: Final = {"npu_bridge": "tf_adapter/python", "npu_device": "tf_adapter_2.x/python"}
_LISTS: Final = {
    "1.15": "convert_tf2npu/tf1.15_api_support_list.xlsx",
    "2.6": "convert_tf2npu/v2/TF2.6_api_support_list.xlsx",
}
_STATUS: Final = (
    ("支持（无需迁移", "supported"),
    ("不影响迁移", "no effect"),
    ("不支持", "unsupported"),
    ("废弃", "deprecated"),
    ("API功能支持", "supported after an edit"),
    ("训练功能打通", "runs after an edit"),
)
"""What a status in the vendor's lists holds; the first that fits counts. "In analysis" and "compatible" are none."""
_CELLS: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LARGEST: Final = 50_000_000
"""Bytes of a part of a list that are read."""
_LONGEST_DEFAULT: Final = 40


def generate_tensorflow(sources: Path, *, commit: str, output: Path) -> tuple[Path, ...]:
    """Write the tables of the adapter, and return their paths.

    Args:
        sources: a checkout of the TensorFlow adapter's repository.
        commit: the name of the commit that was checked out, for the tables to say.
        output: the folder to write to; made if it is not there.

    Raises:
        NpuifyError: the folder is no such checkout, or a file of it cannot be read.
    """
    output.mkdir(parents=True, exist_ok=True)
    written = []
    for package, folder in _PACKAGES.items():
        modules = dict(_modules(sources / folder, package))
        names = {module: spec for module, tree in sorted(modules.items()) if (spec := _names(module, tree, modules))}
        file = AdapterFile(FORMAT, package, commit, names, _options(modules))
        written.append(_write(output / f"{package}.json", file))
    for version, place in _LISTS.items():
        status = StatusFile(FORMAT, version, commit, _status(sources / place))
        written.append(_write(output / f"api_{version}.json", status))
    return tuple(written)


def _write(path: Path, content: msgspec.Struct) -> Path:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
    return path


def _modules(root: Path, package: str) -> Iterator[tuple[str, ast.Module]]:
    files = sorted((root / package).rglob("*.py"))
    if not files:
        raise NpuifyError(
            phrase("there is no package {package}", package=package),
            file=str(root),
            advice="give a checkout of the TensorFlow adapter",
        )
    for path in files:
        parts = PurePosixPath(path.relative_to(root).as_posix()).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        try:
            yield name, ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from error


def _names(module: str, tree: ast.Module, modules: dict[str, ast.Module]) -> dict[str, str]:
    """The specs of the public names that a module binds, and of the methods of its classes."""
    package = module.partition(".")[0]
    found: dict[str, str] = {}
    for item in tree.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[item.name] = f"f({_parameters(item.args)})"
        elif isinstance(item, ast.ClassDef):
            found.update(_class(item))
        elif isinstance(item, ast.ImportFrom) and not item.level and item.module:
            origin = "hccl" if item.module.startswith("hccl.") else package
            if item.module.partition(".")[0] == origin:
                found.update({each.asname or each.name: f"={item.module}.{each.name}" for each in item.names})
        elif isinstance(item, ast.Assign):
            found.update({target.id: "v" for target in item.targets if isinstance(target, ast.Name)})
    return {name: spec for name, spec in sorted(found.items()) if not name.startswith("_")}


def _class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    made = ""
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            if item.name == "__init__":
                made = f"({_parameters(item.args, bound=True)})"
            elif not item.name.startswith("_"):
                yield f"{node.name}.{item.name}", f"m({_parameters(item.args, bound=True)})"
    yield node.name, f"c{made}"


def _parameters(args: ast.arguments, *, bound: bool = False) -> str:
    """Parameters as Python writes them, without annotations; ``bound`` leaves the first out."""
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*([None] * (len(plain) - len(args.defaults))), *args.defaults]
    parts = [_parameter(arg, value) for arg, value in zip(plain, defaults, strict=True)][1 if bound else 0 :]
    if args.vararg:
        parts.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        parts.append("*")
    parts += [_parameter(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return ", ".join([*parts, f"**{args.kwarg.arg}"] if args.kwarg else parts)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return arg.arg
    text = ast.unparse(default)
    return f"{arg.arg}={text if len(text) <= _LONGEST_DEFAULT else '...'}"


def _options(modules: dict[str, ast.Module]) -> dict[str, str]:
    """The options that classes of a package set up as ``self.name = OptionValue(default, values)``."""
    found: dict[str, str] = {}
    for tree in modules.values():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            target, made = node.targets[0], node.value
            kind = made.func.id if isinstance(made.func, ast.Name) else ""
            if isinstance(target, ast.Attribute) and kind in ("OptionValue", "DeprecatedValue"):
                first = [] if kind == "OptionValue" else ["deprecated"]
                found[target.attr] = "|".join([*first, *(ast.unparse(arg) for arg in made.args)])
    return dict(sorted(found.items()))


def _status(path: Path) -> dict[str, str]:
    """What a list of the vendor's says of names, as :class:`StatusFile` has it."""
    found: dict[str, list[str]] = {}
    for row in _rows(path):
        name, said = (row[1].strip(), row[2].strip()) if len(row) > 2 else ("", "")
        status = next((status for start, status in _STATUS if start in said), "")
        if status and re.fullmatch(r"tf(\.\w+)+", name):
            found.setdefault(status, []).append(name.removeprefix("tf."))
    return {status: " ".join(sorted(set(names))) for status, names in sorted(found.items())}


def _rows(path: Path) -> Iterator[Sequence[str]]:
    """The rows of the first sheet of a workbook, as text."""
    try:
        with zipfile.ZipFile(path) as book:
            shared = [
                "".join(text.text or "" for text in item.iter(f"{_CELLS}t"))
                for item in _part(book, "xl/sharedStrings.xml").iter(f"{_CELLS}si")
            ]
            sheet = _part(book, "xl/worksheets/sheet1.xml")
    except (OSError, KeyError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from error
    for row in sheet.iter(f"{_CELLS}row"):
        cells: dict[str, str] = {}
        for cell in row.iter(f"{_CELLS}c"):
            value = cell.findtext(f"{_CELLS}v") or ""
            column = (cell.get("r") or "?").rstrip("0123456789")
            cells[column] = shared[int(value)] if cell.get("t") == "s" and value else value
        yield [cells.get(column, "") for column in "ABCD"]


def _part(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with book.open(name) as stream:
        data = stream.read(_LARGEST)
    if b"<!DOCTYPE" in data[:2000]:
        raise NpuifyError(phrase("{name} declares entities, which no list does", name=name))
    return ElementTree.fromstring(data)
