"""Writes the guide: all of its files, or none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.handover.skill.files import skill_files
from npuify.handover.skill.validate import LONGEST_NAME
from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.handover.checklist.record import Record


class Written(NamedTuple):
    """Where the guide is, and its files."""

    folder: Path
    files: tuple[str, ...]


def write_skill(
    record: Record,
    destination: Path,
    *,
    name: str = "",
    language: str = "en",
    commands: Sequence[str] = (),
    force: bool = False,
) -> Written:
    """Write the guide of a project.

    Args:
        record: what is known of its migration.
        destination: a folder, which gets a folder of the skill's name (or is it, where it is called so); or a path that
            ends in ``SKILL.md``, beside which the rest is put: the skill is then called like its folder, where that can
            be a skill's name.
        name: of the skill; empty makes one.
        language: ``en`` or ``zh``.
        commands: what starts the migrated project.
        force: replace files that are there.

    Raises:
        NpuifyError: the name or the language cannot be; a file already exists; something cannot be read or written.
    """
    from npuify.rewrite.tree import fill_folder

    if name and (not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > LONGEST_NAME):
        raise NpuifyError(
            phrase("{name!r} is not a valid skill name", name=name),
            advice="lowercase letters, digits and single hyphens, up to 64 characters",
        )
    as_file = destination.suffix.lower() == ".md"
    if as_file and destination.name != "SKILL.md":
        raise NpuifyError("the file must be called SKILL.md", file=str(destination))
    parent = destination.absolute().parent.name
    if as_file and not name and re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", parent) and len(parent) <= LONGEST_NAME:
        name = parent
    made, files = skill_files(record, name=name, language=language, commands=commands)
    if as_file:
        folder = destination.parent
    else:
        folder = destination if destination.absolute().name == made else destination / made
    there = [file for file in files if (folder / file).exists()]
    if there and not force:
        raise NpuifyError("already exists", advice="replace it with --force", file=str(folder / there[0]))
    fill_folder(folder, files)
    return Written(folder, tuple(sorted(files)))
