"""The guide that lets the next person, or coding agent, repeat a project's move: SKILL.md and what lies beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.engine.catalog import all_rules
from npuify.handover import attachments
from npuify.handover.checklist import checklist
from npuify.handover.origin import Origin, origin
from npuify.handover.packages import Packages, packages
from npuify.handover.pages import markdown
from npuify.handover.patch import Patch, between, of_text
from npuify.handover.sections import body
from npuify.handover.starts import Start, starts
from npuify.handover.texts import Texts
from npuify.model import Safety
from npuify.rewrite.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from npuify.handover.checklist import Checklist
    from npuify.handover.record import Record

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024


class Guide(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the guide is written from."""

    name: str
    record: Record
    checklist: Checklist
    packages: Packages
    starts: tuple[Start, ...]
    patch: Patch | None
    """None where the project before its migration is not there."""
    origin: Origin
    unsafe: bool
    """Whether edits were made, or are planned, that are right in the usual case only."""
    by_hand: tuple[str, ...]
    """Files that are not as the migration would leave them: a person, or another tool, has changed them."""


def skill_files(
    record: Record, *, name: str = "", language: str = "en", commands: Sequence[str] = ()
) -> tuple[str, dict[str, bytes]]:
    """The files of the guide.

    Args:
        record: what is known of the project's migration.
        name: of the skill; empty makes one of the project's name.
        language: ``en`` or ``zh``.
        commands: what starts the migrated project, as it is really used; they are steps of the guide.

    Returns:
        The skill's name, and its files by path relative to its folder.

    Raises:
        NpuifyError: there is no such language, or the project cannot be read.
    """
    say = Texts(language)
    guide = _gathered(record, name or skill_name(record.name), commands)
    files = {"SKILL.md": f"{_front_matter(guide, say)}\n{body(guide, say)}".encode("utf-8", "backslashreplace")}
    files |= attachments.scripts(guide)
    files |= attachments.references(guide, say)
    files["references/checklist.md"] = markdown(guide.checklist).encode("utf-8", "backslashreplace")
    return guide.name, files


def skill_name(project: str) -> str:
    """``move-my-model-to-npu`` for ``My_Model``: small letters, digits and single hyphens."""
    slug = re.sub(r"[^a-z0-9]+", "-", project.lower()).strip("-")
    room = LONGEST_NAME - len("move--to-npu")
    return f"move-{slug[:room].strip('-') or 'project'}-to-npu"


def _gathered(record: Record, name: str, commands: Sequence[str]) -> Guide:
    if record.planned is not None:
        patch: Patch | None = of_text(record.planned.diff, record.planned.changed_files)
    else:
        patch = between(record.source, record.root) if record.source is not None else None
    before = record.source if record.migration is not None and record.source is not None else record.root
    unsafe, by_hand = _made_how(record, patch)
    return Guide(
        name=name,
        record=record,
        checklist=checklist(record),
        packages=packages(record.root, record.scan.release),
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


def _front_matter(guide: Guide, say: Texts) -> str:
    """YAML by hand: every value is a JSON string, which YAML reads alike, and none can end it early."""
    from npuify import __version__

    release = guide.record.scan.release
    project = _shown(guide.record.name)
    description = say("description", project=project, torch_npu=release.torch_npu, cann=release.cann or "?")
    fields = {
        "name": guide.name,
        "description": description[:LONGEST_DESCRIPTION],
        "compatibility": say("compatibility", cann=release.cann or "?", torch_npu=release.torch_npu),
    }
    metadata = {"generator": f"npuify {__version__}", "torch-npu": release.torch_npu, "torch": release.torch}
    lines = ["---", *(f"{key}: {_quoted(value)}" for key, value in fields.items()), "metadata:"]
    lines += [f"  {key}: {_quoted(value)}" for key, value in metadata.items()]
    return "\n".join([*lines, "---", ""])


def _quoted(text: str) -> str:
    plain = text if re.fullmatch(r"[a-z][a-z0-9-]*", text) else ""
    return plain or msgspec.json.encode(text).decode("utf-8")


def _shown(name: str) -> str:
    """A name without what skills' descriptions must not hold."""
    return re.sub(r"[<>\x00-\x1f]+", " ", name).strip() or "project"
