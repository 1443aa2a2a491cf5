"""A project that is itself a stack around PyTorch which knows the NPU, as verl and LLaMA-Factory do.

What it needs is the right set of versions and its own settings. Its code, tests, images and requirements have a side
for each kind of device: edits would turn that for CUDA into a second one for the NPU.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import structs

from npuify.analysis.project import is_test
from npuify.knowledge.frameworks.stacks import stacks
from npuify.language import mark, phrase
from npuify.model import Safety, Severity
from npuify.project.own_name import own_name
from npuify.rules.common.npu_support import says_npu

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.analysis.project import ProjectIndex
    from npuify.model import Finding

_OWN_WORDS: Final = frozenset(("NPU750", "NPU971", "NPU972", "NPU973"))
"""Rules about the settings of stacks themselves, and the user's own."""
_PACKAGING: Final = frozenset(("docker", "requirements", "toml", "ini", "lock"))
_AROUND = re.compile(
    r"(?:^|/)(?:\.github|\.circleci|\.buildkite|\.gitlab|docker[\w.-]*|ci)/"
    r"|(?:^|/)(?:\.gitlab-ci|azure-pipelines|Jenkinsfile|(?:docker-)?compose)[\w.-]*$|(?:^|/)setup\.py$"
)
"""How the project itself is built, packed and tested."""
_ADVICE: Final = mark("check that the project's own NPU support is complete here")


def stack_of_project(root: Path) -> str:
    """The stack that knows the NPU by itself and that a project is, by the name under which it is installed.

    Args:
        root: of the project.

    Returns:
        its name in the table; empty for any other.
    """
    row = stacks().get(own_name(root))
    return row.name if row is not None and row.support == "native" else ""


def left_to_stack(
    findings: list[Finding], relative: str, raw: bytes, kind: str, project: ProjectIndex
) -> list[Finding]:
    """Findings in a file of such a project, without the edits that are its own affair; as they are for all others.

    Programs beside its package that do not treat the NPU, as among examples, are migrated as anywhere.

    Args:
        findings: what was found.
        relative: the file.
        raw: what it holds.
        kind: of the file.
        project: the project.
    """
    if not findings or not project.own_stack or not _is_its_own(relative, raw, kind, project):
        return findings
    is_python = kind == "python"
    left: list[Finding] = []
    for one in findings:
        if one.edits and one.code not in _OWN_WORDS:
            one = _left(one, project.own_stack)
        elif is_python and not one.edits and one.severity is Severity.ERROR:
            # It has another way for the NPU, by what its releases show: nothing of the side for CUDA surely stops it.
            one = structs.replace(one, severity=Severity.WARNING)
        left.append(one)
    return left


def _is_its_own(relative: str, raw: bytes, kind: str, project: ProjectIndex) -> bool:
    if is_test(relative) or kind in _PACKAGING or _AROUND.search(relative) is not None:
        return True
    if kind not in ("python", "stub", "notebook") or not project.handles_npu(relative):
        return False
    row = stacks()[project.own_stack.lower()]
    folders = relative.removeprefix("src/").split("/")
    return folders[0] in {name.replace("-", "_") for name in row.names} or says_npu(raw)


def _left(finding: Finding, stack: str) -> Finding:
    return structs.replace(
        finding,
        severity=Severity.INFO,
        safety=Safety.MANUAL,
        edits=(),
        needs_torch_npu=False,
        only_with="",
        message=phrase(
            "{message}; left unchanged, since {stack} knows the NPU by itself", message=finding.message, stack=stack
        ),
        advice=phrase(_ADVICE),
    )
