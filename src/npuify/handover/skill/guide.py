"""Everything that the guide is written from, gathered once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.engine.catalog import all_rules
from npuify.handover.checklist.points import checklist
from npuify.handover.origin import Origin, origin
from npuify.handover.packages import Packages, packages
from npuify.handover.patch import Patch, between, of_text
from npuify.handover.stack import Stack, stack_of
from npuify.handover.starts import Start, starts
from npuify.model import Safety
from npuify.rewrite.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from npuify.handover.checklist.points import Checklist
    from npuify.handover.checklist.record import Record


class Guide(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the guide is written from."""

    name: str
    record: Record
    checklist: Checklist
    stack: Stack
    packages: Packages
    starts: tuple[Start, ...]
    patch: Patch | None
    """None where the project before its migration is not there."""
    origin: Origin
    unsafe: bool
    """Whether edits were made, or are planned, that are right in the usual case only."""
    by_hand: tuple[str, ...]
    """Files that are not as the migration would leave them: a person, or another tool, has changed them."""

    @property
    def has_check(self) -> bool:
        """Whether it is known what a program that tries an NPU has to import."""
        return not self.stack.is_for_tensorflow or self.stack.adapter is not None


def gathered(record: Record, name: str, commands: Sequence[str]) -> Guide:
    """The guide of a project, under this name."""
    if record.planned is not None:
        patch: Patch | None = of_text(record.planned.diff, record.planned.changed_files)
    else:
        patch = between(record.source, record.root) if record.source is not None else None
    before = record.source if record.migration is not None and record.source is not None else record.root
    unsafe, by_hand = _made_how(record, patch)
    stack = stack_of(record.scan)
    return Guide(
        name=name,
        record=record,
        checklist=checklist(record),
        stack=stack,
        packages=packages(record.root, record.scan.release, for_tensorflow=stack.is_for_tensorflow),
        starts=starts(record.root, record.options, record.scan.survey, commands),
        patch=patch,
        origin=origin(before),
        unsafe=unsafe,
        by_hand=by_hand,
    )


def _made_how(record: Record, patch: Patch | None) -> tuple[bool, tuple[str, ...]]:
    """Migrate the source again, in memory: with which edits it comes nearest to the project, and what is otherwise.

    A report does not say whether --unsafe was asked for, and a rule's edits need not all be as safe as each other.
    """
    if record.planned is not None:
        return record.options.unsafe, ()
    if patch is None or record.source is None or record.migration is None:
        # Without the source, what the rules say of themselves is all that is known.
        rules = all_rules()
        return any(one.code in rules and rules[one.code].safety is Safety.REVIEW for one in record.changes), ()
    found: dict[bool, tuple[str, ...]] = {}
    for unsafe in (False, True):
        _, contents = plan(record.source, msgspec.structs.replace(record.options, unsafe=unsafe))
        found[unsafe] = tuple(name for name in patch.files if contents.get(name) != _content(record.root / name))
        if not found[unsafe]:
            return unsafe, ()
    nearest = len(found[True]) < len(found[False])
    return nearest, found[nearest]


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
