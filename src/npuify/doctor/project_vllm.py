"""Whether a machine has the set of versions, and the acceleration library, that a project on vLLM needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from npuify.knowledge.frameworks.vllm import VllmSet, choose_set, vllm_sets
from npuify.language import phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .sets import base_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from npuify.project.files import ProjectFile

    from .facts import Facts

CHECK: Final = "project.vllm"
_KINDS: Final = ("python", "notebook", "shell", "docker", "requirements", "toml", "yaml")
_USES: Final = re.compile(
    rb"(?:^|[\r\n\"])[ \t]*(?:import|from)[ \t]+vllm\b|\bvllm serve\b|\bvllm\.entrypoints\b|\bvllm/vllm-openai\b"
    rb"|(?:^|[\r\n])[ \t\"]*vllm(?:\[[\w,-]*\])?[ \t]*(?:[=<>~!]=?|[\"\r\n;]|\Z)"
)
_LARGEST: Final = 2 << 20


def judge_vllm(facts: Facts, project: Path) -> list[Result]:
    """What stands between this machine and a project on vLLM; nothing where the project does not use it.

    The set is that of the installed vLLM where the project allows it, else the one for what the project requires.
    """
    from npuify.engine.vllm_target import required_vllm
    from npuify.project import find_files

    files = list(find_files([project], kinds=_KINDS))
    if not any(_uses(file) for file in files):
        return []
    required = required_vllm(files)
    row = _set_of(facts, required) or choose_set("", required).row
    return [*_versions(facts, row, required), *_nnal(facts)]


def uses_vllm(project: Path) -> bool:
    """Whether a file of a project says that it uses vLLM."""
    from npuify.project import find_files

    return any(_uses(file) for file in find_files([project], kinds=_KINDS))


def _uses(file: ProjectFile) -> bool:
    try:
        data = file.path.read_bytes() if file.path.stat().st_size < _LARGEST else b""
    except OSError:
        return False
    return b"vllm" in data and _USES.search(data) is not None


def _set_of(facts: Facts, required: str) -> VllmSet | None:
    """The set of the vLLM that is installed, where the project allows that one."""
    installed = base_version(facts.python.packages.get("vllm", ""))
    try:
        allowed = not required or SpecifierSet(required).contains(installed, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None
    if not installed or not allowed:
        return None
    plugin = facts.python.packages.get("vllm-ascend", "")
    rows = [row for row in vllm_sets() if installed in row.vllm]
    return next((row for row in rows if row.plugin == plugin), rows[0] if rows else None)


def _versions(facts: Facts, row: VllmSet, required: str) -> Iterator[Result]:
    wrong = list(_differences(facts, row))
    if not wrong:
        return
    asked = f"vllm{required}" if required else "vllm, with no version"
    yield Result(
        check=CHECK,
        status=Status.ERROR,
        message=phrase(
            "the project requires {asked}; the set vllm {vllm} with vllm-ascend {plugin} wants ",
            asked=asked,
            vllm=row.vllm[0],
            plugin=row.plugin,
        )
        + ", ".join(f"{name} {wanted} ({found or 'not installed'})" for name, wanted, found in wrong),
        advice="install vllm and then the plug-in, in two calls: the plug-in decides torch and torch_npu"
        + ("" if row.installable else "; this plug-in is not on the package index: install it from source"),
        mend=Mend((f"pip install vllm=={row.vllm[0]}", f"pip install {row.to_install}"))
        if row.installable and any(name not in ("CANN", "Python") for name, _, _ in wrong)
        else None,
        evidence=row.evidence,
        source=row.source,
    )


def _differences(facts: Facts, row: VllmSet) -> Iterator[tuple[str, str, str]]:
    """What of a set the machine has otherwise: the name, what is wanted, and what is there."""
    packages = facts.python.packages
    wanted: Iterable[tuple[str, str]] = (
        ("vllm", row.vllm[0]),
        ("vllm-ascend", row.plugin),
        ("torch", row.torch),
        ("torch-npu", row.torch_npu),
        ("triton-ascend", row.triton_ascend),
    )
    for name, version in wanted:
        found = packages.get(name, "")
        same = (
            base_version(found) in row.vllm
            if name == "vllm"
            else found.partition("+")[0] in (version, row.torch_npu_also if name == "torch-npu" else version)
        )
        if version and not same:
            yield name, version, found
    if facts.python.version and not SpecifierSet(row.python).contains(facts.python.version, prereleases=True):
        yield "Python", row.python, facts.python.version
    cann = facts.cann.active.version if facts.cann.active is not None else ""
    if cann and _release(cann) != _release(row.cann):
        yield "CANN", row.cann, cann


def _release(cann: str) -> str:
    """The version that counts for a set: ``8.3`` of ``8.3.RC1`` and of ``8.3.0``."""
    try:
        version = Version(cann.lower().replace(".rc", "rc").replace(".alpha", "a").replace(".beta", "b"))
    except InvalidVersion:
        return cann
    return f"{version.major}.{version.minor}"


def _nnal(facts: Facts) -> Iterator[Result]:
    """libatb.so, which vLLM's plug-in calls, comes with NNAL, not with CANN's toolkit."""
    if facts.cann.loaded.nnal:
        return
    there = bool(facts.cann.nnal)
    used = phrase("the project uses vLLM, whose plug-in calls libatb.so of NNAL, which is installed, but not loaded")
    lacking = phrase("the project uses vLLM, whose plug-in calls libatb.so of NNAL, which is not installed")
    script = f"{facts.cann.nnal[0]}/set_env.sh" if there else "/usr/local/Ascend/nnal/atb/set_env.sh"
    yield Result(
        check=CHECK,
        status=Status.ERROR,
        message=used if there else lacking,
        advice=phrase("load it in the shell that starts vLLM")
        if there
        else phrase("install the NNAL package of the same CANN, and load it"),
        mend=Mend((f"source {script}",), place="shell") if there else None,
        evidence=Evidence.DOCUMENTED,
        source="vllm-ascend installation.md; vllm-project/vllm-ascend#540, #262",
    )
