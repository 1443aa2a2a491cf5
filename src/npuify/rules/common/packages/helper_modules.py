"""Where modules that npuify writes into a project lie, and how files import them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.project import module_name
from npuify.helpers import CPU_FALLBACK, PACKAGES, PADDING, STAND_INS, helper_text
from npuify.language import phrase
from npuify.model import Edit, Finding
from npuify.rules.common.span_findings import span_finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.registry import Rule
    from npuify.source.python import PythonSource


def home_of(relative: str, project: ProjectIndex) -> str:
    """The folder, with a final slash or empty, in which a file's helper modules lie.

    For a file of a package it is the package's own folder, the topmost one with an ``__init__.py``, or the one that a
    setup.py installs as a package of its own; for a script it is the folder of the script, where Python looks first.
    """
    folders = relative.split("/")[:-1]
    home = folders
    files = frozenset(project.modules.values())
    installed = _installed_as(folders, files, project)
    while folders and "/".join([*folders, "__init__.py"]) in files:
        home = folders
        if "/".join(folders) in installed:
            break
        folders = folders[:-1]
    return "/".join(home) + "/" if home else ""


def import_of(module: str, home: str, project: ProjectIndex, source: PythonSource | None = None) -> str:
    """How a helper module in ``home`` is imported: by its package, or by its name alone.

    A folder without ``__init__.py`` is a package all the same where ``source``, the file that imports, takes names of
    its neighbours by relative imports: then the name begins with a dot. So a package may lie in one of these
    (``src/tts/model/__init__.py``), and be known as ``tts.model``: the name is then the one by which ``source`` imports
    from it, else a relative one where ``source`` has these.
    """
    folder = home.rstrip("/")
    files = frozenset(project.modules.values())
    if folder and f"{folder}/__init__.py" in files:
        package = _installed_as(folder.split("/"), files, project).get(folder)
        if package is None and source is not None and "." in module_name(f"{folder}/__init__.py"):
            package = _known_as(folder, source)
        package = package or folder.rpartition("/")[2]
        return f"{package}{module}" if package.endswith(".") else f"{package}.{module}"
    if source is not None and any(isinstance(one, ast.ImportFrom) and one.level for one in source.tree.body):
        return f".{module}"
    return module


def _known_as(folder: str, source: PythonSource) -> str | None:
    """The name by which a file of a package imports from it: ``tts.model``, or dots; None where it does neither."""
    names: list[str] = []
    is_relative = False
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            is_relative = is_relative or bool(node.level)
            names += [node.module] if node.module and not node.level else []
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    own = folder.split("/")
    known = [
        ".".join(parts[:size])
        for parts in (name.split(".") for name in names)
        for size in range(1, len(parts) + 1)
        if parts[:size] == own[-size:]
    ]
    if known:
        return max(known, key=len)
    return "." * (source.relative.count("/") - folder.count("/")) if is_relative else None


def import_text(full: str) -> str:
    """The statement that imports a module as :func:`import_of` names it."""
    package, dot, module = full.rpartition(".")
    return f"from {package if package.strip('.') else package + dot} import {module}" if dot else f"import {module}"


def _installed_as(folders: list[str], files: frozenset[str], project: ProjectIndex) -> dict[str, str]:
    """The packages as which each setup.py above installs folders of other names (``package_dir``)."""
    found = {}
    for depth in range(len(folders) + 1):
        setup = "/".join([*folders[:depth], "setup.py"])
        if setup in files:
            project.dependencies.add(setup)
            found.update({"/".join([*folders[:depth], at]): name for name, at in _package_dir(setup, project)})
    return found


def _package_dir(setup: str, project: ProjectIndex) -> list[tuple[str, str]]:
    """What a setup.py writes as ``package_dir``: names of packages, and folders below its own."""
    key = ("helper_modules.package_dir", setup)
    known: list[tuple[str, str]] | None = project.remembered.get(key)
    if known is None:
        known = project.remembered[key] = []
        try:
            text = (project.root / setup).read_bytes()
            tree = ast.parse(text) if b"package_dir" in text else None
        except (OSError, SyntaxError, ValueError):
            tree = None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.keyword) and node.arg == "package_dir" and isinstance(node.value, ast.Dict):
                for name, at in zip(node.value.keys, node.value.values, strict=True):
                    if isinstance(name, ast.Constant) and isinstance(at, ast.Constant) and name.value and at.value:
                        known.append((str(name.value), str(at.value).strip("./")))
    return known


def import_finding(source: PythonSource, rule: Rule, module: str, name: str, full: str) -> list[Finding]:
    """``from full import name`` after the last import at the top of a file, unless the file has it.

    Without a name the module itself is imported, under its own name.
    """
    tree = source.tree
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == module:
            return []
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(alias.name == module for alias in node.names):
            return []
    after: ast.stmt | None = None
    for statement in tree.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (is_text and after is None):
            after = statement
        elif not is_text:
            break
    newline = source.text.newline
    text = f"from {full} import {name}" if name else import_text(full)
    if after is None:
        offset, text = 0, text + newline
    else:
        starts, line = source.text.line_starts, after.end_lineno or after.lineno
        if line < len(starts):
            offset, text = starts[line], text + newline
        else:
            offset, text = len(source.data), newline + text
    return [
        span_finding(
            rule,
            source,
            (offset, offset),
            phrase(
                "{value} comes from {module}.py, which is written into the project", value=name or module, module=module
            ),
            subject=name or module,
            edits=(Edit(offset, offset, "", text),),
        )
    ]


def used_helpers(contents: Mapping[str, bytes], project: ProjectIndex) -> dict[str, bytes]:
    """The helper modules that migrated files import, by the path at which each has to lie."""
    wanted = {}
    for relative, data in contents.items():
        for module in (CPU_FALLBACK, PADDING, STAND_INS, *PACKAGES):
            if module.encode() in data and re.search(
                rb"(?:from |import )(?:[\w.]+\.)?" + module.encode() + rb"\b", data
            ):
                wanted[f"{home_of(relative, project)}{module}.py"] = helper_text(module)
    return wanted
