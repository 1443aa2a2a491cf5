"""Plant changes in the code of known kernels, and see which of them are still taken for the kernels that were read.

    python -m tools.kernel_changes CORPUS... [--only FAMILY]... [--changes 12] [--harmless 5] [--seed 0] [--log FILE]

CORPUS are folders that hold the projects which the tables of replacements name, under the project's name or as
``owner+name``. For each family operators of known copies are drawn, and in the code that each reaches (kernels, what
launches them, functions, macros, types) one thing is changed by chance: a number, an operator, a comparison, the
arguments of a call, a name for another, a statement left out. Harmless changes (comments, blanks, other names of
variables, a check more) must keep an operator known. What is accepted is printed with its place: it is to be read by
hand, whether the change alters a result. Nothing of a project is compiled or run.
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.third_party.replacements import families
from npuify.project.files import find_files
from npuify.project.survey import KINDS
from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.extensions.operators import Operators
from npuify.source.native.form import form_of
from npuify.source.native.reader import read_native

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.rules.packages.extensions.build import Build
    from npuify.source.native.file import Binding, NativeFile

_SKIPPED = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#[ \t]*(?:include|pragma|error)[^\n]*", re.S | re.M
)
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?=[fFuUlL]*\b|[^\w.])")
_SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "min": "max", "max": "min", "floor": "ceil", "exp": "log",
    "fmaxf": "fminf", "fminf": "fmaxf", "floorf": "ceilf", "expf": "logf", "x": "y", "y": "x", "atomicAdd": "atomicMax",
}  # fmt: skip
_SWAPPED = re.compile(
    r"(?<=[\w)\]] )(?:[-+*/]|<=?|>=?)(?= [\w(-])|[=!]=|&&|\|\||[-+]=|(?<=[\w)\]])[*/](?=[\w(])"
    r"|\b(?:min|max|floor|ceil|exp|fmaxf|fminf|floorf|expf|atomicAdd)(?=\()|(?<=(?:Idx|Dim)\.)[xy]\b"
)
_PAIR = re.compile(
    r"(?<=[(,] )([A-Za-z_][\w.\->]*)(, )([A-Za-z_][\w.\->]*)(?=[,)])|(?<=\()([A-Za-z_]\w*)(, ?)([A-Za-z_]\w*)(?=[,)])"
)
_STATEMENT = re.compile(r"(?<=[;{}\n])[ \t]*[A-Za-z_][\w.\[\]>*-]*(?:\[[^;\n]*\])?\s*(?:[-+*/]?=)[^=;{}][^;{}]*;")
_NAME = re.compile(r"\b[a-z_]\w{2,}\b")
_LOCAL = re.compile(r"\b(?:int|float|scalar_t|const int|auto)\s+([a-z_]\w*)\s*(?==)")
_WORDS = frozenset(
    "auto break case char const double else float for half if int long return sizeof static this void while".split()
)


class Change(NamedTuple):
    """One change of one file."""

    kind: str
    file: str
    place: int
    old: str
    new: str


class Project:
    """The native code of a project, read once; what is asked of a changed file costs that file only."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._read = {
            file.relative: file.path.read_bytes()
            for file in find_files([folder], kinds=set(KINDS), errors=[])
            if file.kind in ("python", "cuda", "native")
        }
        python = {name: data for name, data in self._read.items() if name.endswith(".py")}
        self._builds: list[Build] = [build for name, data in python.items() for build in builds_in(name, data)]
        self._native: dict[str, NativeFile] = {
            name: read_native(data) for name, data in self._read.items() if name not in python
        }
        self.operators = Operators(self._native, self._builds, self._read.__getitem__)

    def known(self) -> Iterator[tuple[str, str, Binding]]:
        """The family, the file and the binding of each operator that is replaced."""
        for relative, file in sorted(self.operators.files.items()):
            for binding in file.bindings:
                family = self._family(self.operators, relative, binding)
                if family:
                    yield family, relative, binding

    def still_known(self, relative: str, binding: Binding, change: Change) -> bool:
        """Whether an operator counts as known once a file is changed."""
        text = self._read[change.file].decode("utf-8", "replace")
        made = text[: change.place] + change.new + text[change.place + len(change.old) :]
        data = made.encode()
        read = {**self._read, change.file: data}
        native = {**self._native, change.file: read_native(data)}
        operators = Operators(native, self._builds, read.__getitem__)
        # Bound under one name as the case may be, all of them have to be known.
        now = [one for one in operators.files[relative].bindings if one.name == binding.name]
        return bool(now) and all(self._family(operators, relative, one) for one in now)

    def reached(self, relative: str, binding: Binding) -> list[tuple[str, int, str]]:
        """The files, places and texts of all that an operator's code names."""
        prints = self.operators.fingerprints()
        pending = [(relative, name) for name in binding.targets]
        seen: set[tuple[str, str]] = set()
        found = []
        while pending and len(seen) < 200:
            place, name = pending.pop()
            for file, text in prints.texts_of(place, name):
                if (file, text) in seen:
                    continue
                seen.add((file, text))
                form = form_of(text)
                pending += [(file, one) for one in dict.fromkeys((*form.holes, *form.qualified, *form.launched))]
                at = self._read[file].decode("utf-8", "replace").find(text)
                if at >= 0 and len(text) > 3:
                    found.append((file, at, text))
        return found

    def line(self, change: Change) -> str:
        """The line of a change, with its number."""
        text = self._read[change.file].decode("utf-8", "replace")
        begin, end = text.rfind("\n", 0, change.place) + 1, text.find("\n", change.place)
        return f"{change.file}:{text.count(chr(10), 0, change.place) + 1}: {text[begin:end].strip()}"

    @staticmethod
    def _family(operators: Operators, relative: str, binding: Binding) -> str:
        return operators._replacement(relative, binding, by_code=True)[0].partition(".")[0]


def _visible(text: str) -> str:
    """The text with comments, strings and includes blanked: as long, and nothing is changed there."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", "\0", match.group()), text)


def changes(file: str, at: int, text: str) -> Iterator[Change]:
    """Changes of a text that mean something else."""
    seen = _visible(text)
    for match in _NUMBER.finditer(seen):
        number = match.group(1)
        new = str(int(number) + 1) if number.isdigit() else f"{float(number) * 1.5 + 0.25}"
        yield Change("number", file, at + match.start(1), number, new)
    for match in _SWAPPED.finditer(seen):
        old = match.group()
        if old in _SWAPS:
            yield Change("operator", file, at + match.start(), old, _SWAPS[old])
    for match in _PAIR.finditer(seen):
        one, between, other = [part for part in match.groups() if part is not None]
        if one != other:
            yield Change("arguments", file, at + match.start(), f"{one}{between}{other}", f"{other}{between}{one}")
    for match in _STATEMENT.finditer(seen):
        if "\0" not in match.group():
            yield Change("left out", file, at + match.start(), match.group(), "")
    names = sorted({one for one in _NAME.findall(seen) if one not in _WORDS})
    for match in _NAME.finditer(seen):
        if match.group() in names and len(names) > 1 and seen[match.end() : match.end() + 1] not in ("(", "<", ":"):
            new = names[(names.index(match.group()) + 1) % len(names)]
            yield Change("name", file, at + match.start(), match.group(), new)


def harmless(file: str, at: int, text: str) -> Iterator[Change]:
    """Changes of a text that mean nothing."""
    seen = _visible(text)
    for match in re.finditer(r";[ \t]*\n", seen):
        yield Change("a comment", file, at + match.start(), match.group(), f"; // as before{match.group()[1:]}")
    for match in re.finditer(r"(?<=[\w)]) ?[*+=] ?(?=[\w(])", seen):
        yield Change("blanks", file, at + match.start(), match.group(), f"  {match.group().strip()}\n  ")
    for match in _LOCAL.finditer(seen):
        name = match.group(1)
        body = re.compile(rf"(?<![\w.>]){name}\b")
        if f"{name}_npu" not in text and not re.search(rf"[.>:]{name}\b", seen):
            yield Change("a variable", file, at, text, "".join(_renamed(text, seen, body, f"{name}_npu")))


def _renamed(text: str, seen: str, pattern: re.Pattern[str], new: str) -> Iterator[str]:
    last = 0
    for match in pattern.finditer(seen):
        yield text[last : match.start()] + new
        last = match.end()
    yield text[last:]


def _folders(corpora: Iterable[Path], seen: str) -> Iterator[Path]:
    """Where projects of a list of names lie."""
    for project in seen.split(", "):
        for corpus in corpora:
            for name in (project.rpartition("/")[2], project.replace("/", "+")):
                if (corpus / name).is_dir():
                    yield corpus / name


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--only", action="append", default=[], help="families")
    parser.add_argument("--changes", type=int, default=12)
    parser.add_argument("--harmless", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--projects", type=int, default=2, help="projects of a family that are read")
    given = parser.parse_args()
    for name, family in families().items():
        if given.only and name not in given.only:
            continue
        chance = random.Random(f"{name} {given.seed}")
        seen = sorted({one for row in family.operators for one in row.copies.values()})
        folders = list(dict.fromkeys(folder for one in seen for folder in _folders(given.corpora, one)))
        chance.shuffle(folders)
        drawn: list[tuple[Project, str, Binding]] = []
        count = 0
        for folder in folders:
            project = Project(folder)
            mine = [(project, relative, binding) for which, relative, binding in project.known() if which == name]
            drawn += mine
            count += bool(mine)
            if count == given.projects:
                break
        if not drawn:
            print(f"{name}: no project with a known copy at hand")
            continue
        accepted = _plant(name, drawn, chance, given.changes, changes)
        kept = _plant(name, drawn, chance, given.harmless, harmless)
        print(
            f"{name}: {accepted[0]} of {accepted[1]} changes accepted, {kept[0]} of {kept[1]} harmless ones", flush=True
        )


def _is_anothers(change: Change, project: Project, drawn: list[tuple[Project, str, Binding]]) -> bool:
    """Whether what was changed is the code of another operator: two headers may have a type of one name."""
    others = ((relative, binding) for one, relative, binding in drawn if one is project)
    return not all(project.still_known(relative, binding, change) for relative, binding in others)


def _plant(
    name: str, drawn: list[tuple[Project, str, Binding]], chance: random.Random, count: int, kinds: object
) -> tuple[int, int]:
    """How many of so many changes were accepted, and how many were made; prints what is to be read."""
    accepted = made = tries = 0
    while made < count and tries < 4 * count:
        tries += 1
        project, relative, binding = chance.choice(drawn)
        texts = project.reached(relative, binding)
        if not texts:
            continue
        # A long kernel has more of what can be changed, and more that can go wrong.
        ((file, at, text),) = chance.choices(texts, [len(text) for _, _, text in texts])
        offered: dict[str, list[Change]] = {}
        for change in kinds(file, at, text):  # type: ignore[operator]
            offered.setdefault(change.kind, []).append(change)
        if not offered:
            continue
        change = chance.choice(offered[chance.choice(sorted(offered))])
        known = project.still_known(relative, binding, change)
        if known and kinds is changes and _is_anothers(change, project, drawn):
            continue
        made += 1
        accepted += known
        if known == (kinds is changes):
            word = "ACCEPTED" if known else "REFUSED"
            old, new = (one if len(one) < 60 else "..." for one in (change.old, change.new))
            what = f"{change.kind}: {old!r} -> {new!r} in {project.line(change)}"
            print(f"  {word} {name} {project.name} {binding.name}, {what}", flush=True)
    return accepted, made


if __name__ == "__main__":
    main()
