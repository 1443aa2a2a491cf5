"""Which CUDA extensions of a project are replaced, and by what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from npuify.rules.opt_ins import ReplacedExtension

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from npuify.model import NativeOperator


def replaced_extensions(
    operators: Iterable[NativeOperator], python: Mapping[str, bytes]
) -> tuple[ReplacedExtension, ...]:
    """The extensions of a project of which at least one operator has a replacement.

    Args:
        operators: all of the project.
        python: the texts of its Python files, by path.
    """
    by_module: dict[str, list[NativeOperator]] = {}
    for one in operators:
        if one.module and not one.has_npu and not _is_registered_for(one.module, python):
            by_module.setdefault(one.module, []).append(one)
    found = []
    lasts = [module.rpartition(".")[2] for module in by_module]
    for module, group in sorted(by_module.items()):
        functions = tuple((one.name, *_split(one.replacement)) for one in group if one.replacement)
        if any(one.replacement and one.difficulty != "host" for one in group):
            last = module.rpartition(".")[2]
            name = last if lasts.count(last) == 1 else module.replace(".", "_")
            # Functions without a kernel are a part of the extension, too, and go with it.
            missing = tuple(one.name for one in group if not one.replacement)
            calling = {place.rpartition(":")[0] for one in group for place in one.calls}
            files = sorted(calling.union(_importing(module, python)))
            ways = {file: _way_of_import(file, python) for file in files}
            by_name, either = (tuple(file for file in files if ways[file] == way) for way in ("name", "either"))
            found.append(ReplacedExtension(module, name, functions, missing, by_name, either, tuple(files)))
    return tuple(found)


def _is_registered_for(module: str, python: Mapping[str, bytes]) -> bool:
    """Whether Python registers more for the operators of a library of torch's: then they have to be there."""
    library = module.removeprefix("torch.ops.").encode()
    pattern = re.compile(rb"[\"']%b::\w|\bLibrary\(\s*[\"']%b[\"']" % (re.escape(library), re.escape(library)))
    return module.startswith("torch.ops.") and any(library in data and pattern.search(data) for data in python.values())


def _importing(module: str, python: Mapping[str, bytes]) -> Iterator[str]:
    """The files that import an extension by its whole name: some call nothing, and only see whether it is there."""
    if "." in module or f"{module}.py" in {path.rpartition("/")[2] for path in python}:
        return
    plain = re.compile(rb"^[ \t]*import %b(?:[ \t]+as[ \t]+\w+)?[ \t]*(?:#[^\n]*)?\r?$" % module.encode(), re.MULTILINE)
    for path, data in python.items():
        if module.encode() in data and path.rpartition("/")[2] != "setup.py" and plain.search(data):
            yield path


def _way_of_import(relative: str, python: Mapping[str, bytes]) -> str:
    """How a project imports a file: by its ``name`` alone, as part of a ``package``, or perhaps ``either`` way."""
    folder, _, last = relative.rpartition("/")
    if not folder:
        return "name"
    name, above = last.removesuffix(".py").encode(), folder.rpartition("/")[2].encode()
    plain = re.compile(rb"^[ \t]*(?:from %b import |import %b\b)" % (name, name), re.MULTILINE)
    dotted = re.compile(
        rb"^[ \t]*(?:from|import) (?:[\w.]*\.)?(?:%b\.%b\b|%b import [^\n]*\b%b\b)" % (above, name, above, name)
        + rb"|^[ \t]*from \.+(?:%b| import [^\n]*\b%b)\b" % (name, name),
        re.MULTILINE,
    )
    by_name = any(plain.search(data) for data in python.values())
    by_package = any(dotted.search(data) for data in python.values())
    if by_name != by_package:
        return "name" if by_name else "package"
    return "package" if not by_name and f"{folder}/__init__.py" in python else "either"


def as_replaced(
    operators: Sequence[NativeOperator], extensions: Sequence[ReplacedExtension]
) -> tuple[NativeOperator, ...]:
    """The operators of a project as they are once extensions are replaced."""
    done = {(one.module, name) for one in extensions for name, _, _ in one.functions}
    return tuple(
        msgspec.structs.replace(one, has_npu=True) if (one.module, one.name) in done else one for one in operators
    )


def _split(replacement: str) -> tuple[str, str]:
    family, _, function = replacement.partition(".")
    return family, function
