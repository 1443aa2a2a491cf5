"""What an option on a command line means: found in the project's own argparse, click or typer declarations, or among
the fields of dataclasses that a parser makes options of.

A launcher's ``--device cuda`` may change only where the program takes ``--device npu`` after its own migration.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.project import is_test
from npuify.knowledge.frameworks.variables import framework_in
from npuify.model import Safety
from npuify.rules.option_syntax import (
    allowed_values,
    called_by,
    choices_of,
    compared_with,
    declares_option,
    destination_of,
    field_of,
    members_of,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.run import Analyse

_DECLARING = frozenset(("add_argument", "option", "Option", "add_option"))
_PARSERS = re.compile(
    rb"HfArgumentParser|TrlParser|OmegaConf|omegaconf|ConfigStore|tyro|simple_parsing|draccus|jsonargparse|pyrallis"
)
"""Names of what makes options of the fields of a dataclass."""
_STARTED = re.compile(rb"hydra\.main|__main__")
"""Names of what a program has that is started."""
_MOST_DECLARATIONS = 6
"""Files that are looked at for one option: those nearest the program."""


class OptionUse(NamedTuple):
    """How the project's Python takes a value of an option.

    ``takes`` says whether the value is taken before the migration; ``will_take`` whether its counterpart is taken
    after it, and ``safety`` how safe the edits are that bring this about.
    """

    place: str
    """``file:line`` of the declaration."""
    takes: bool
    will_take: bool
    safety: Safety
    choices: tuple[str, ...]


_LAUNCHING = ("torch.", "accelerate.", "deepspeed.", "pip", "pytest", "paddle.distributed.")
"""How modules begin that start a program which is named behind them."""


class ProgramOptions:
    """The options that the project's programs declare. One for each worker.

    Args:
        project: the project's files.
        analyse: shows a program to the rules.
        contents: of files, by their path, that are not to be read from the disk.
        is_migrated: the programs will not be edited any more.
    """

    def __init__(
        self,
        project: ProjectIndex,
        analyse: Analyse,
        contents: Mapping[str, bytes] | None = None,
        *,
        is_migrated: bool = False,
    ) -> None:
        self.project = project.view()
        """The project's files. What any answer rests on is noted there."""
        self._analyse = analyse
        self._is_migrated = is_migrated
        self._contents = contents or {}
        self._python = frozenset(project.modules.values())
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        for file in self._python:
            self._named[file.rpartition("/")[2]].append(file)
        self._files: dict[str, list[str]] = {}
        self._uses: dict[tuple[str, str, str, str], OptionUse | None] = {}
        self._edited: dict[str, dict[tuple[int, int], Safety]] = {}

    def read(self, file: str) -> bytes:
        """The content of a file of the project.

        Raises:
            OSError: it cannot be read.
        """
        known = self._contents.get(file)
        return known if known is not None else self.project.read(file)

    def framework(self, program: str) -> str:
        """The framework that a program imports, where it has words of its own; see :func:`framework_in`."""
        try:
            return framework_in(self.read(program))
        except OSError:
            return ""

    def program(self, words: list[str], folder: str) -> str:
        """The file of the project that a command starts; empty where that cannot be told.

        Args:
            words: the command's words, for example ``["torchrun", "--nproc_per_node=8", "tools/train.py"]``.
            folder: of the launcher, relative to the project's root.
        """
        files = self._python
        for before, word in zip(["", *words], words, strict=False):
            if word.endswith(".py"):
                plain = word.rpartition("\0")[2].lstrip("/") if "\0" in word else word
                for base in (folder, ""):
                    file = posixpath.normpath(posixpath.join(base, plain))
                    if file in files:
                        return file
                same = [file for file in self._named[plain.rpartition("/")[2]] if file.endswith("/" + plain)]
                return same[0] if len(same) == 1 else ""
            if before == "-m" and not word.startswith(_LAUNCHING):
                return self.project.file_of(word) or self.project.file_of(f"{word}.__main__") or ""
        return ""

    def use(self, option: str, value: str, counterpart: str, program: str, folder: str) -> OptionUse | None:
        """How the project takes ``value`` of ``option``; None where it declares no such option.

        Args:
            option: as it is written on the command line, with its dashes.
            value: what the launcher passes.
            counterpart: what the launcher is to pass on an NPU.
            program: the file that the command starts; empty where that is not known.
            folder: of the launcher: the declaration nearest to it counts.
        """
        key = (option, value, counterpart, program or folder)
        if key not in self._uses:
            self._uses[key] = self._find(option, value, counterpart, program, folder)
        return self._uses[key]

    def use_of_field(self, name: str, owner: str, value: str, counterpart: str, program: str) -> OptionUse | None:
        """As :meth:`use`, of the field of a dataclass that a program registers or builds its settings by.

        Args:
            name: of the field.
            owner: the setting that holds it, as ``trainer`` in ``trainer.device``; empty where none does.
            value, counterpart: as in :meth:`use`.
            program: the file that the command starts.
        """
        files = [file for file in self._with_field(f"--{name}") if self._may_register(file, program)]
        files.sort(key=lambda file: (file != program, -_common(file, program), file))
        found: list[tuple[str, OptionUse]] = []
        for file in files[:_MOST_DECLARATIONS]:
            found += self._fields_in(file, name, value, counterpart, program)
        holders = {holder for file in files for holder in self._types_of(file, owner)} if owner else set()
        # Without a class that is known to hold the setting, only the program's own can be meant.
        chosen = [use for holder, use in found if holder in holders] or [
            use for _, use in found if use.place.rpartition(":")[0] == program
        ]
        return min(chosen, key=lambda use: (use.will_take, use.safety is Safety.SAFE)) if chosen else None

    def _may_register(self, file: str, program: str) -> bool:
        """Whether a file is the program, or registers settings and is no other program."""
        if file == program:
            return True
        raw = self.read(file)
        return _PARSERS.search(raw) is not None and _STARTED.search(raw) is None

    def _types_of(self, file: str, owner: str) -> Iterator[str]:
        """The names of the classes that a field ``owner`` is declared to have."""
        tree = self._tree(file)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.AnnAssign) and name_of(node.target) == owner:
                yield from (
                    name_of(one) for one in ast.walk(node.annotation) if isinstance(one, (ast.Name, ast.Attribute))
                )

    def _tree(self, file: str) -> ast.Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.read(file))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _find(self, option: str, value: str, counterpart: str, program: str, folder: str) -> OptionUse | None:
        declaring = self._declaring(option)
        fields = self._with_field(option) if program not in declaring else []
        if program in declaring or program in fields:
            declaring = [program]
        declaring = declaring or fields
        if not declaring:
            return None
        near = program or folder + "/x"
        declaring = sorted(declaring, key=lambda file: (-_common(file, near), file.count("/"), file))
        closest = _common(declaring[0], near)
        found = [
            use
            for file in declaring[:_MOST_DECLARATIONS]
            if _common(file, near) == closest
            for use in self._uses_in(file, option, value, counterpart, program)
        ]
        if not found:
            return None
        return min(found, key=lambda use: (use.will_take, use.safety is Safety.SAFE))

    def _declaring(self, option: str) -> list[str]:
        """Files, tests aside, whose text has the option as a string."""
        quotes = "\"'"
        return self._files_with(option, re.compile(rf"([{quotes}]){re.escape(option)}\1".encode()))

    def _with_field(self, option: str) -> list[str]:
        """Files, tests aside, in which a class may have a field of the option's name."""
        name = field_of(option)
        return (
            self._files_with(name, re.compile(rf"^[ \t]+{re.escape(name)}[ \t]*:".encode(), re.MULTILINE))
            if name
            else []
        )

    def _files_with(self, key: str, pattern: re.Pattern[bytes]) -> list[str]:
        if key not in self._files:
            found = []
            able = {*self.project.files_with(key.encode()), *self._contents}
            for file in self.project.modules.values():
                if is_test(file) or file not in able:
                    continue
                try:
                    raw = self.read(file)
                except OSError:
                    continue
                if pattern.search(raw):
                    found.append(file)
            self._files[key] = found
        return list(self._files[key])

    def _uses_in(self, file: str, option: str, value: str, counterpart: str, program: str) -> Iterator[OptionUse]:
        self.project.dependencies.add(file)
        tree = self._tree(file)
        if tree is None:
            return
        raw = self.read(file)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in _DECLARING and declares_option(node, option):
                yield self._one(
                    file, raw, tree, node.lineno, choices_of(node), destination_of(node, option), value, counterpart
                )
        for _, use in self._fields_in(file, field_of(option), value, counterpart, program):
            yield use

    def _fields_in(
        self, file: str, name: str, value: str, counterpart: str, program: str
    ) -> Iterator[tuple[str, OptionUse]]:
        """The dataclasses of a file that have a field of this name, by their names, and what each takes for it."""
        self.project.dependencies.add(file)
        tree = self._tree(file)
        if tree is None or not name:
            return
        raw = self.read(file)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(
                "dataclass" in name_of(called_by(one)) for one in node.decorator_list
            ):
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and name_of(field.target) == name:
                        allowed = allowed_values(field) or members_of(field, tree)
                        use = self._one(file, raw, tree, field.lineno, allowed, name, value, counterpart)
                        is_parsed = self._parses_fields(raw, program)
                        yield node.name, use if is_parsed else use._replace(safety=Safety.REVIEW)

    def _parses_fields(self, raw: bytes, program: str) -> bool:
        """Whether this file, or the program, has something that makes options of fields."""
        if _PARSERS.search(raw):
            return True
        try:
            return program != "" and _PARSERS.search(self.read(program)) is not None
        except OSError:
            return False

    def _one(
        self,
        file: str,
        raw: bytes,
        tree: ast.Module,
        line_number: int,
        choices: list[ast.Constant],
        destination: str,
        value: str,
        counterpart: str,
    ) -> OptionUse:
        texts = tuple(str(choice.value) for choice in choices)
        matter = [choice for choice in choices if choice.value == value]
        matter += compared_with(tree, destination, value)
        lines = raw.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        edited = self._edits(file, raw) if matter else {}
        safety = Safety.SAFE
        for constant in matter:
            begin = starts[constant.lineno - 1] + constant.col_offset
            spans = [how for (start, _), how in edited.items() if begin <= start < begin + len(value) + 6]
            if not spans or any(how is not Safety.SAFE for how in spans):
                safety = Safety.REVIEW if spans or not choices else Safety.MANUAL
        will_take = not choices or counterpart in texts or (value in texts and safety is not Safety.MANUAL)
        place = f"{file}:{line_number}"
        return OptionUse(place, not choices or value in texts, will_take, safety, texts)

    def _edits(self, file: str, raw: bytes) -> dict[tuple[int, int], Safety]:
        """Where the rules for Python change this file, and how safely."""
        if self._is_migrated:
            return {}
        if file not in self._edited:
            result = self._analyse(file, raw, whole=False, kind="python")
            self.project.dependencies |= result.dependencies
            self._edited[file] = {
                (edit.start, edit.end): finding.safety for finding in result.findings for edit in finding.edits
            }
        return self._edited[file]


def _common(file: str, other: str) -> int:
    """How many folders two paths have in common at their beginning."""
    count = 0
    for mine, yours in zip(file.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != yours:
            break
        count += 1
    return count
