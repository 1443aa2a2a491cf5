"""Which files of a project are started, and by what: main guards, launchers, console scripts, documentation.

Files are read as text or as a syntax tree; nothing is imported or executed. A command counts only where it names a file
that the project has, so that a sentence which merely sounds like a command does no harm.
"""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from npuify.language import mark
from npuify.model import EntryPoint, Mention
from npuify.project.import_graph import ImportGraph

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from npuify.project.files import ProjectFile
    from npuify.project.traces import Trace

_LARGEST: Final = 1_000_000
"""Bytes. A launcher or page longer than this is data, and is not read."""
_MOST_PAGES: Final = 300
"""Pages of documentation to read: those nearest the root."""
_MOST_MENTIONS: Final = 8
"""Places kept for one entry point."""
_SHOWN: Final = 160
"""Characters of a command that are kept."""

_STARTS: Final = re.compile(
    r"\b(?:python[\d.]*|torchrun|deepspeed|accelerate|horovodrun|ipython|colossalai|fleetrun)\b"
)
_WORDS: Final = re.compile(r"""[^\s"'`\[\],;|&<>()]+""")
_LAUNCHING: Final = (
    *("torch.", "accelerate.", "deepspeed.", "paddle.distributed."),
    *("pip", "pytest", "venv", "build", "http."),
)
_REFERENCE: Final = re.compile(r"\s*[\w.-]+\s*=\s*(?P<module>[A-Za-z_][\w.]*)\s*(?::\s*[\w.]+)?\s*(?:\[.*\])?\s*")
_ORDER: Final = (
    mark("launcher"),
    mark("console script"),
    mark("installed script"),
    mark("documentation"),
    mark("main guard"),
    mark("top-level code"),
    mark("usual name"),
)
_USUAL: Final = re.compile(
    r"(?:main|run|(?:pre)?train(?:ing)?|fine_?tune|infer|inference|predict|eval|evaluate|generate|sample|demo)(?:_\w+)?\.py"
)
"""Names of files that people start. They count where nothing else tells what is started."""

_WORKS: Final = re.compile(r"^(?:(?:for|while)\b[^\n]*:|(?P<name>[A-Za-z_]\w*)\()", re.MULTILINE)
"""A loop, or a call of a function, that is no part of anything else. In a string of several lines, too."""
_TAKING: Final = re.compile(r"^from (?P<package>\w+)(?:\.\w+)* import (?P<names>[^\n]*)", re.MULTILINE)
_NAMES: Final = re.compile(r"\w+")
_OF_TOOLS: Final = frozenset(("setup.py", "conftest.py", "conf.py", "hubconf.py", "noxfile.py", "fabfile.py"))


def entry_points(
    files: Sequence[ProjectFile], traces: Mapping[str, Trace], graph: ImportGraph | None = None
) -> tuple[EntryPoint, ...]:
    """The entry points, the best attested first: launchers, installed commands, documentation, then main guards, then
    scripts without one, which nothing imports and which work as they are read.

    Where there is none of these, a script is known by its usual name, and by a framework that it imports. Tests are
    left out, and so is setup.py.

    Args:
        files: the project's files of all kinds; launchers and pages that cannot be read are passed over.
        traces: what its Python files show, by relative path.
        graph: what these import of each other; without it, it is read.
    """
    python = {file.relative: file for file in files if file.kind == "python"}
    modules = _Modules(iter(python))
    found: dict[str, list[Mention]] = {}
    for target, mention in (*_launched(files, modules), *_installed(files, modules)):
        mentions = found.setdefault(target, [])
        if (mention.kind, mention.file, mention.text) not in {(one.kind, one.file, one.text) for one in mentions}:
            mentions.append(mention)
    for relative, seen in traces.items():
        if seen.guard and not _is_for_test_runner(relative, python):
            found.setdefault(relative, []).append(Mention("main guard", relative, seen.guard))
    for mention in _working(python, [one for one in traces if one not in found], traces, graph):
        found[mention.file] = [mention]
    if not found:
        found = {one.file: [one] for one in _named_usually(traces)}
    points = [
        EntryPoint(file, tuple(sorted(mentions, key=lambda one: (_ORDER.index(one.kind), one))[:_MOST_MENTIONS]))
        for file, mentions in found.items()
        if file.rsplit("/", 1)[-1] != "setup.py"
    ]
    return tuple(sorted(points, key=lambda one: (_ORDER.index(one.mentions[0].kind), one.file.count("/"), one.file)))


def commands(text: str) -> Iterator[tuple[int, str, str]]:
    """The Python programs that lines of ``text`` start: line (from 1), command, and the script or ``-m`` module.

    Lines that end in a backslash go on in the next one.
    """
    if ".py" not in text and "-m" not in text:
        return
    number, whole = 0, ""
    for at, line in enumerate(text.splitlines(), start=1):
        # Nearly all lines end here.
        if not whole and ".py" not in line and "-m" not in line and line[-1:] != "\\":
            continue
        number = number if whole else at
        whole += line.rstrip("\\") + " " if line.endswith("\\") else line
        if line.endswith("\\"):
            continue
        command, whole = whole.strip(), ""
        # Asking for words costs a tenth of what the pattern costs.
        if (".py" in command or "-m" in command) and _STARTS.search(command):
            for part in re.split(r"&&|\|\||;", command):
                start = _STARTS.search(part)
                # What stands before the program is prose, a prompt or variables; what follows a backtick is prose.
                run = part[start.start() :].split("`", 1)[0] if start else ""
                target = _target(run)
                if target:
                    yield number, _without_loose_quotes(" ".join(run.split())), target


def _without_loose_quotes(command: str) -> str:
    """Quotes at the end whose beginning stands before the program, as in YAML and JSON."""
    while command[-1:] in ("'", '"') and command.count(command[-1]) % 2:
        command = command[:-1]
    return command


def _target(command: str) -> str:
    words: list[str] = _WORDS.findall(command)
    for before, word in zip(words, words[1:], strict=False):
        if before in {"-m", "--module"} and re.fullmatch(r"[A-Za-z_][\w.]*", word):
            if not (word + ".").startswith(_LAUNCHING):
                return word
        elif word.endswith(".py"):
            return word
    return ""


class _Modules:
    """The Python files of a project, asked for as a command or an import names them."""

    def __init__(self, files: Iterator[str]) -> None:
        self._files = set(files)
        self._by_name: dict[str, list[str]] = {}
        for file in self._files:
            self._by_name.setdefault(file.rsplit("/", 1)[-1], []).append(file)

    def script(self, path: str, folder: str) -> str:
        """The file that ``path`` means, as written in a file of ``folder``; empty where there is none, or several."""
        # $(dirname "$0")/train.py and ${ROOT}/tools/train.py are told by what follows the variable.
        plain = re.sub(r"^.*[$}%)]\w*/", "", path) if re.search(r"[$%{]", path) else path
        for base in (folder, ""):
            file = _joined(base, plain)
            if file in self._files:
                return file
        return self._unique(posixpath.normpath(plain).lstrip("./"))

    def module(self, name: str, folder: str = "") -> str:
        """The file of a module: ``pkg.train`` is pkg/train.py or pkg/train/__main__.py, also below src/."""
        path = name.replace(".", "/")
        for end in (".py", "/__main__.py", "/__init__.py"):
            for base in (folder, "", "src"):
                file = _joined(base, path + end)
                if file in self._files:
                    return file
        return self._unique(path + ".py") if "." in name else ""

    def _unique(self, path: str) -> str:
        name = path.rsplit("/", 1)[-1]
        same = [file for file in self._by_name.get(name, ()) if file == path or file.endswith("/" + path)]
        return same[0] if len(same) == 1 else ""


def _launched(files: Sequence[ProjectFile], modules: _Modules) -> Iterator[tuple[str, Mention]]:
    pages = [
        file
        for file in files
        if file.kind == "text" and file.relative.lower().endswith((".md", ".rst")) and file.relative[:1] != "."
    ]
    pages.sort(key=lambda file: (file.relative.count("/"), file.relative))
    launchers = [file for file in files if file.kind in {"shell", "docker", "make"}]
    for kind, group in (("launcher", launchers), ("documentation", pages[:_MOST_PAGES])):
        for file in group:
            folder = posixpath.dirname(file.relative)
            for line, command, wanted in commands(_text(file)):
                target = modules.script(wanted, folder) if wanted.endswith(".py") else modules.module(wanted, folder)
                if target and not _is_test(target):
                    yield target, Mention(kind, file.relative, line, _shortened(command))


def _installed(files: Sequence[ProjectFile], modules: _Modules) -> Iterator[tuple[str, Mention]]:
    readers = {"pyproject.toml": _in_pyproject, "setup.cfg": _in_setup_cfg, "setup.py": _in_setup_py}
    for file in files:
        folder, name = posixpath.split(file.relative)
        if name not in readers:
            continue
        text = _text(file)
        for declared in readers[name](text):
            reference = _REFERENCE.fullmatch(declared)
            shown = declared.rpartition("=")[2].strip()
            line = next((at for at, one in enumerate(text.splitlines(), start=1) if shown in one), 0)
            if declared.endswith(".py"):
                target, kind = modules.script(declared, folder), "installed script"
            elif reference is not None:
                target, kind = modules.module(reference["module"], folder), "console script"
            else:
                continue
            if target:
                yield target, Mention(kind, file.relative, line, _shortened(declared.strip()))


def _in_pyproject(text: str) -> Iterator[str]:
    from npuify.project.toml import TOMLDecodeError, parse

    try:
        document = parse(text)
    except (TOMLDecodeError, UnicodeError, RecursionError):
        return
    project, poetry = _dict(document.get("project")), _dict(_dict(document.get("tool")).get("poetry"))
    for table in (project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")):
        for name, wanted in _dict(table).items():
            if isinstance(wanted, dict):
                wanted = wanted.get("callable") or wanted.get("reference")
            if isinstance(wanted, str):
                yield f"{name} = {wanted}"


def _in_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section, key in (("options.entry_points", "console_scripts"), ("options", "scripts")):
        for line in parser.get(section, key, fallback="").splitlines():
            if line.strip():
                yield line.strip()


def _in_setup_py(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in {"scripts", "entry_points"}:
            for item in ast.walk(node.value):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield from (line.strip() for line in item.value.splitlines() if line.strip())


def _joined(folder: str, path: str) -> str:
    return str(posixpath.normpath(posixpath.join(folder, path)))


def _working(
    python: Mapping[str, ProjectFile],
    candidates: Sequence[str],
    traces: Mapping[str, Trace],
    graph: ImportGraph | None,
) -> Iterator[Mention]:
    """Files of no package that nothing imports, and that loop or call what they define or import.

    They use a framework, or import a file of the project that does.
    """
    own = {part for relative in python for part in (relative.partition("/")[0], _stem(relative))}
    scripts = {}
    for relative in candidates:
        folder, name = posixpath.split(relative)
        # One that a package has beside it, tests and settings of tools are read by others.
        alone = posixpath.join(folder, "__init__.py") not in python and not _is_test(relative)
        if alone and name not in _OF_TOOLS and relative in python:
            line = _works_in(_text(python[relative]), own)
            if line:
                scripts[relative] = line
    if not scripts:
        return
    if graph is None:
        graph = ImportGraph(python, lambda one: _text(python[one]).encode("utf-8", "surrogateescape"), anywhere=True)
    imported = {target for file in python for target in graph.targets(file) if target != file}
    for relative, line in scripts.items():
        uses = traces[relative].imports or any(one in traces and traces[one].imports for one in graph.reached(relative))
        if uses and relative not in imported:
            yield Mention("top-level code", relative, line)


def _works_in(text: str, own: Collection[str]) -> int:
    """The line that does something as a file is read: a loop, or a call of what the file defines or takes from a module
    of the project, of which ``own`` are the names; 0 where there is none.
    """
    taken: dict[str, str] | None = None
    for one in _WORKS.finditer(text):
        name = one["name"]
        if name and f"def {name}(" not in text:
            if taken is None:
                taken = _taken(text)
            if taken.get(name) not in own:
                continue
        return text.count("\n", 0, one.start()) + 1
    return 0


def _taken(text: str) -> dict[str, str]:
    """The names that a file takes from packages at its left margin, each with the first such package."""
    found: dict[str, str] = {}
    for statement in _TAKING.finditer(text):
        for name in _NAMES.findall(statement["names"]):
            found.setdefault(name, statement["package"])
    return found


def _stem(relative: str) -> str:
    return posixpath.splitext(posixpath.basename(relative))[0]


def _named_usually(traces: Mapping[str, Trace]) -> list[Mention]:
    """Scripts with a usual name, in the uppermost folder that has any."""
    named = [
        Mention("usual name", relative, seen.imports[0][1])
        for relative, seen in traces.items()
        if seen.imports and _USUAL.fullmatch(relative.rsplit("/", 1)[-1]) and not _is_test(relative)
    ]
    upper = min((one.file.count("/") for one in named), default=0)
    return [one for one in named if one.file.count("/") == upper]


def _is_test(relative: str) -> bool:
    *folders, name = relative.lower().split("/")
    return not {"test", "tests", "unit_tests"}.isdisjoint(folders) or name.startswith("test_") or name == "conftest.py"


_FOR_TEST_RUNNER: Final = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:unittest|pytest)\b|^[ \t]*(?:async )?def test_", re.MULTILINE
)


def _is_for_test_runner(relative: str, python: Mapping[str, ProjectFile]) -> bool:
    """Whether a file is one of tests. Its name alone does not tell: programs are called ``test_net.py``, too."""
    folders, name = posixpath.split(relative.lower())
    if _is_test(f"{folders}/x.py") or name == "conftest.py":
        return True
    if not name.startswith("test_") and not name.endswith(("_test.py", "_tests.py", "unittest.py", "unittests.py")):
        return False
    return relative not in python or _FOR_TEST_RUNNER.search(_text(python[relative])) is not None


def _text(file: ProjectFile) -> str:
    try:
        with file.path.open("rb") as stream:
            raw = stream.read(_LARGEST + 1)
    except OSError:
        return ""
    return raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff") if len(raw) <= _LARGEST else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
