"""Libraries around PyTorch: which releases know the NPU, and what a project on them changes, keeps and gives up."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from npuify.knowledge.hand_written import DATA, read_rows
from npuify.model import Evidence, Safety, Severity  # noqa: TC001 - the types of fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Spelling = Literal["option", "python", "setting"]


class Stack(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/stacks.toml``."""

    name: str
    names: tuple[str, ...]
    """How pip, Python and shells call it and what belongs to it."""
    support: Literal["native", "plugin", "partial", "none"]
    set: tuple[str, ...]
    """The versions that belong together."""
    changes: tuple[str, ...]
    stays: tuple[str, ...]
    refused: tuple[str, ...]
    evidence: Evidence
    source: str
    since: str = ""
    """The first release that knows the NPU; empty: none does, or it does not matter."""


class StackArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/stack_arguments.toml``; its head says what the fields mean."""

    stack: str
    names: tuple[str, ...]
    spelled: tuple[Spelling, ...]
    action: Literal["set", "tell", "add", "remove"]
    """``add``: what is said, and written, where the argument is not given. ``remove``: of Python's arguments only."""
    safety: Safety
    severity: Severity
    message: str
    evidence: Evidence
    source: str
    values: tuple[str, ...] = ()
    becomes: str = ""
    advice: str = ""
    flag: bool = False
    only_in: tuple[str, ...] = ()
    """Of ``add``: words of which the command says one, methods of which one is called; empty: all."""

    def means(self, value: str | None) -> bool:
        """Whether a value is one that the row is about; None: nobody knows the value."""
        return not self.values or (value is not None and any(fnmatchcase(value, one) for one in self.values))


class StackProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of ``frameworks/stack_programs.toml``: how a stack is started, and what it is called with."""

    stack: str
    commands: tuple[str, ...] = ()
    """Words that stand one behind another; the first is compared without its folder."""
    options: tuple[str, ...] = ()
    """Options that no other program has: where one stands, the command is the stack's."""
    calls: tuple[str, ...] = ()
    """Patterns of qualified names in Python whose keywords the rows are about."""
    keys: tuple[str, ...] = ()
    """Keys of which two at the top of a file of settings tell that the file is the stack's."""
    source: str

    def starts(self, words: Sequence[str]) -> int:
        """Behind which word of a command its options begin; -1 where it is another's."""
        for command in self.commands:
            parts = command.split()
            for at in range(len(words) - len(parts) + 1):
                head = words[at].rpartition("/")[2]
                if fnmatchcase(head, parts[0]) and list(words[at + 1 : at + len(parts)]) == parts[1:]:
                    return at + len(parts)
        return 0 if any(word.partition("=")[0] in self.options for word in words) else -1


@cache
def stacks() -> Mapping[str, Stack]:
    """Every row, by each of its names, in lower case and with ``-`` for ``_``."""
    rows = read_rows(DATA / "frameworks" / "stacks.toml", "stack", Stack)
    return {name: row for row in rows for name in (row.name.lower(), *row.names)}


def may_start_a_stack(words: Sequence[str]) -> bool:
    """Whether a command has a word with which one of a stack's begins, or an option of one: most have none."""
    heads, options = _beginnings()
    return any(heads.match(word.rpartition("/")[2]) or word.partition("=")[0] in options for word in words)


@cache
def _beginnings() -> tuple[re.Pattern[str], frozenset[str]]:
    """What commands of stacks begin with, and their options."""
    heads = {command.split()[0] for program in stack_programs() for command in program.commands}
    options = frozenset(option for program in stack_programs() for option in program.options)
    return re.compile("|".join(map(translate, sorted(heads)))), options


@cache
def stack_programs() -> tuple[StackProgram, ...]:
    """How each stack is started and called."""
    return tuple(read_rows(DATA / "frameworks" / "stack_programs.toml", "program", StackProgram))


@cache
def stack_rows(stack: str) -> tuple[StackArgument, ...]:
    """The rows of a stack's options, keywords and settings."""
    rows = read_rows(DATA / "frameworks" / "stack_arguments.toml", "argument", StackArgument)
    return tuple(row for row in rows if row.stack == stack)


@cache
def stack_arguments(stack: str, spelled: Spelling) -> Mapping[str, tuple[StackArgument, ...]]:
    """The rows of a stack for one way of writing them, by name with ``_``."""
    found: dict[str, tuple[StackArgument, ...]] = {}
    for row in stack_rows(stack):
        if spelled in row.spelled and row.action != "add":
            for name in row.names:
                found[name] = (*found.get(name, ()), row)
    return found


@cache
def stack_additions(stack: str, spelled: Spelling) -> tuple[StackArgument, ...]:
    """The rows of arguments that have to be given."""
    return tuple(row for row in stack_rows(stack) if spelled in row.spelled and row.action == "add")


def stack_argument(stack: str, spelled: Spelling, name: str, value: str | None) -> StackArgument | None:
    """What is known of an argument with a value; None where it stays, or where it is not known."""
    return next((row for row in stack_arguments(stack, spelled).get(name, ()) if row.means(value)), None)


def stack_of_settings(keys: Sequence[str]) -> str:
    """The stack whose settings a file with these keys at its top is; empty for any other."""
    given = set(keys)
    return next((one.stack for one in stack_programs() if len(given & set(one.keys)) > 1), "")
