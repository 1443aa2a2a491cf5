"""The guide that lets the next person, or coding agent, repeat a project's move: SKILL.md and what lies beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.handover.checklist.pages import markdown
from npuify.handover.skill import attachments
from npuify.handover.skill.guide import gathered
from npuify.handover.skill.sections import body
from npuify.handover.skill.texts import Texts
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.handover.checklist.record import Record
    from npuify.handover.skill.guide import Guide

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024


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
    guide = gathered(record, name or skill_name(record.name), commands)
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


def _front_matter(guide: Guide, say: Texts) -> str:
    """YAML by hand: every value is a JSON string, which YAML reads alike, and none can end it early."""
    release = guide.record.scan.release
    project = _shown(guide.record.name)
    metadata = {"generator": f"npuify {__version__}"}
    if guide.stack.is_for_tensorflow:
        description = say("description-tensorflow", project=project, adapter=guide.stack.name)
        compatibility = say("compatibility-tensorflow", adapter=guide.stack.name)
        if guide.stack.adapter is not None:
            metadata |= {"tensorflow": guide.stack.adapter.version, "adapter": guide.stack.adapter.package}
    else:
        description = say("description", project=project, torch_npu=release.torch_npu, cann=release.cann or "?")
        compatibility = say("compatibility", cann=release.cann or "?", torch_npu=release.torch_npu)
        metadata |= {"torch-npu": release.torch_npu, "torch": release.torch}
    fields = {
        "name": guide.name,
        "description": description[:LONGEST_DESCRIPTION],
        "compatibility": compatibility,
    }
    lines = ["---", *(f"{key}: {_quoted(value)}" for key, value in fields.items()), "metadata:"]
    lines += [f"  {key}: {_quoted(value)}" for key, value in metadata.items()]
    return "\n".join([*lines, "---", ""])


def _quoted(text: str) -> str:
    plain = text if re.fullmatch(r"[a-z][a-z0-9-]*", text) else ""
    return plain or msgspec.json.encode(text).decode("utf-8")


def _shown(name: str) -> str:
    """A name without what skills' descriptions must not hold."""
    return re.sub(r"[<>\x00-\x1f]+", " ", name).strip() or "project"
