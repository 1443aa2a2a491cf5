"""What a migration does to files as a whole: modules that migrated files import are added, line ends made Linux's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.helpers import compute_device
from npuify.language import phrase
from npuify.model import Change, Position
from npuify.rules.common.packages.helper_modules import used_helpers
from npuify.rules.environment.line_ends import NORMALIZED, normalized
from npuify.rules.environment.line_ends import RULE as LINE_ENDS
from npuify.rules.packages.extensions.replacing import RULE as REPLACING
from npuify.rules.packages.extensions.written_kernels import used_kernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.engine.prepared import PreparedScan
    from npuify.project import ProjectFile

_WINDOWS: Final = b"\r\n"


class NewContents(NamedTuple):
    """New contents of files by relative path, and the changes that say so."""

    contents: Mapping[str, bytes]
    changes: Sequence[Change]


def stand_ins(prepared: PreparedScan, rewritten: Mapping[str, bytes]) -> NewContents:
    """The modules with stand-ins that rewritten files import, and that are not there yet."""
    wanted = used_helpers(rewritten, prepared.project)
    missing = sorted(name for name in wanted if not (prepared.root / name).exists())
    message = "a module that migrated files import"
    return NewContents(
        {name: wanted[name] for name in missing},
        [_added(name, "NPU650", "call-without-npu-kernel", message) for name in missing],
    )


def replaced_kernels(prepared: PreparedScan, rewritten: Mapping[str, bytes]) -> NewContents:
    """The modules that take the place of extensions, which rewritten files import and that are not there yet."""
    wanted = used_kernels(rewritten, prepared.selection.opt_ins.extensions)
    missing = sorted(name for name in wanted if not (prepared.root / name).exists())
    message = "a module in the place of a CUDA extension, or what such a module needs"
    return NewContents(
        {name: wanted[name] for name in missing},
        [_added(name, REPLACING.code, REPLACING.name, message) for name in missing],
    )


def device_helpers(prepared: PreparedScan, contents: Mapping[str, bytes]) -> NewContents:
    """The helper modules that name the device, which files with new contents import and that are not there yet."""
    plan = prepared.plan
    used = set()
    for relative, raw in contents.items():
        if relative in plan.homes and re.search(rb"^[ \t]*(?:from|import) [^\n]*\b" + plan.helper.encode(), raw, re.M):
            used.add(plan.homes[relative].helper)
    missing = sorted(name for name in used if not (prepared.root / name).exists())
    message = "the helper module that names the device"
    return NewContents(
        dict.fromkeys(missing, compute_device.text()),
        [_added(name, "NPU118", "device-helper-not-imported", message) for name in missing],
    )


def _added(relative: str, code: str, name: str, message: str) -> Change:
    return Change(
        file=relative,
        code=code,
        name=name,
        start=Position(1, 1),
        end=Position(1, 1),
        before="",
        after="a new file",
        message=phrase(message),
    )


def linux_line_ends(files: Sequence[ProjectFile], contents: Mapping[str, bytes]) -> NewContents:
    """The shell and Python files of the project, with the line ends of Linux.

    Args:
        files: those of the project.
        contents: new contents of some of them.
    """
    changed: dict[str, bytes] = {}
    changes = []
    for file in files:
        if file.kind not in NORMALIZED:
            continue
        try:
            old = contents.get(file.relative) or file.path.read_bytes()
        except OSError:
            continue
        new = normalized(old)
        if new == old:
            continue
        changed[file.relative] = new
        changes.append(
            Change(
                file=file.relative,
                code=LINE_ENDS.code,
                name=LINE_ENDS.name,
                start=Position(1, 1),
                end=Position(1, 1),
                before="\\r\\n",
                after="\\n",
                message=phrase("{count_} lines had Windows line ends", count_=old.count(_WINDOWS)),
            )
        )
    return NewContents(changed, changes)
