"""torch, torch_npu, CANN and Python as one set: whether they belong together, and the nearest set that works."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from packaging.version import InvalidVersion, Version

from npuify.knowledge.machine.drivers import cann_ranges
from npuify.knowledge.release.versions import releases
from npuify.language import phrase
from npuify.model import Evidence

from .probes.versions import key, same

if TYPE_CHECKING:
    from npuify.knowledge.schema import ReleaseInfo

    from .facts import Facts


class SetProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why the four do not belong together."""

    message: str
    certain: bool
    """False where only nobody lists the set."""
    evidence: Evidence
    source: str


def base_version(version: str) -> str:
    """Without what follows ``+``: the 2.7.1 of 2.7.1+cpu."""
    return version.partition("+")[0]


def judge_set(facts: Facts) -> SetProblem | None:
    """The first thing that does not fit; None where all fits, or too little is known."""
    torch = base_version(facts.python.packages.get("torch", ""))
    torch_npu = base_version(facts.python.packages.get("torch-npu", ""))
    if not torch or not torch_npu:
        return None
    made_for = _torch_of(torch_npu)
    if made_for and _release(torch) != _release(made_for):
        return SetProblem(
            message=phrase(
                "torch_npu {torch_npu} is built for torch {made_for}, but torch {torch} is installed",
                torch_npu=torch_npu,
                made_for=made_for,
                torch=torch,
            ),
            certain=True,
            evidence=Evidence.PACKAGE,
            source="Requires-Dist of the torch_npu wheels",
        )
    row = _row(torch_npu)
    if row is None:
        return None
    python = facts.python.minor
    if python and python not in row.pythons:
        return SetProblem(
            message=phrase(
                "torch_npu {torch_npu} is built for Python {pythons} to {pythons2}, not for {python}",
                torch_npu=torch_npu,
                pythons=row.pythons[0],
                pythons2=row.pythons[-1],
                python=python,
            ),
            certain=True,
            evidence=row.evidence,
            source=row.source,
        )
    cann = facts.cann.active.version if facts.cann.active is not None else ""
    if not cann or not row.cann or _cann_fits(cann, row.cann):
        return None
    other = [one for one in facts.cann.installed if _cann_fits(one.version, row.cann)]
    hint = (
        phrase(
            "; CANN {version} is installed too, in {shown}: source its set_env.sh",
            version=other[0].version,
            shown=other[0].shown,
        )
        if other
        else ""
    )
    older = key(cann) < key(row.cann)
    return SetProblem(
        message=phrase(
            "torch_npu {torch_npu} needs CANN {cann}, but CANN {cann2} is loaded{hint}",
            torch_npu=torch_npu,
            cann=row.cann,
            cann2=cann,
            hint=hint,
        ),
        # An older CANN lacks functions that the package calls; a newer one usually works.
        certain=older,
        evidence=row.evidence,
        source=row.source,
    )


def set_is_known(facts: Facts) -> bool:
    """Whether the release of torch_npu is listed, so that :func:`judge_set` can say that all fits."""
    return _row(base_version(facts.python.packages.get("torch-npu", ""))) is not None and facts.cann.active is not None


def nearest_set(facts: Facts) -> ReleaseInfo | None:
    """The listed set that asks for the least change; packages are changed most easily, CANN hardest."""
    torch = base_version(facts.python.packages.get("torch", ""))
    torch_npu = base_version(facts.python.packages.get("torch-npu", ""))
    cann = facts.cann.active.version if facts.cann.active is not None else ""
    installed = [one.version for one in facts.cann.installed]

    def cost(row: ReleaseInfo) -> tuple[int, Version]:
        price = 0
        if not row.cann or (cann and not _cann_fits(cann, row.cann)):
            price += 40 if any(_cann_fits(one, row.cann) for one in installed) else 100
        elif cann and not same(cann, row.cann):
            price += 2
        if facts.python.minor and facts.python.minor not in row.pythons:
            price += 50
        if torch and _release(torch) != _release(row.torch):
            price += 10 if torch.split(".")[:2] == row.torch.split(".")[:2] else 20
        if torch_npu and torch_npu != row.torch_npu:
            price += 1
        return price, Version(row.torch_npu)

    rows = [row for row in releases() if row.cann]
    if not rows:
        return None
    lowest = min(cost(row)[0] for row in rows)
    return max((row for row in rows if cost(row)[0] == lowest), key=lambda row: Version(row.torch_npu))


def install_commands(row: ReleaseInfo, facts: Facts) -> tuple[str, ...]:
    """What a person types for the set; CANN cannot be installed by a command that holds everywhere."""
    commands = []
    active = facts.cann.active
    if active is None or not _cann_fits(active.version, row.cann):
        other = next((one for one in facts.cann.installed if _cann_fits(one.version, row.cann)), None)
        if other is not None:
            commands.append(f"source {other.set_env or other.shown + '/set_env.sh'}")
        else:
            chip = facts.chip.package if facts.chip is not None else "<chip>"
            system = facts.host.architecture or "<arch>"
            newer = key(row.cann) >= key("8.5.0")
            operators = f"Ascend-cann-{chip}-ops" if newer else f"Ascend-cann-kernels-{chip}"
            commands += (
                "# "
                + phrase(
                    "get CANN {cann} from the vendor: the toolkit, and the operator package for {chip}; then",
                    cann=row.cann,
                    chip=chip,
                ),
                f"bash Ascend-cann-toolkit_{row.cann}_linux-{system}.run --install",
                f"bash {operators}_{row.cann}_linux-{system}.run --install",
            )
    if facts.python.minor and facts.python.minor not in row.pythons:
        commands.append(
            "# " + phrase("make an environment with Python {version}, and go on in it", version=row.pythons[-1])
        )
    x86 = facts.host.architecture in {"x86_64", "amd64"}
    commands += torch_for_cpu(row.torch) if x86 else (f"pip install torch=={row.torch}",)
    commands.append(f"pip install torch-npu=={row.torch_npu}")
    return tuple(commands)


def torch_for_cpu(version: str) -> tuple[str, str]:
    """What a person types for torch's build for the CPU, which an index of PyTorch's own holds."""
    return (
        "# "
        + phrase(
            "set PYTORCH_CPU_INDEX to the index of CPU builds, https://download.pytorch.org/whl/cpu, or to a mirror"
        ),
        f'pip install torch=={version}+cpu --index-url "$PYTORCH_CPU_INDEX"',
    )


def _torch_of(torch_npu: str) -> str:
    """The torch that a torch_npu release is made for: its own first three numbers."""
    found = re.match(r"\d+\.\d+\.\d+", torch_npu)
    return found[0] if found else ""


def _row(torch_npu: str) -> ReleaseInfo | None:
    """The row of this release; for a build between two rows, that of the older."""
    rows = [row for row in releases() if _release(row.torch) == _release(_torch_of(torch_npu) or "0")]
    for row in rows:
        if row.torch_npu == torch_npu:
            return row
    try:
        wanted = Version(torch_npu)
    except InvalidVersion:
        return None
    if wanted.is_devrelease:
        return None
    return next((row for row in rows if Version(row.torch_npu) <= wanted), None)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _cann_fits(installed: str, wanted: str) -> bool:
    """Whether they are one version, up to patches, or are documented to be exchangeable."""
    one, other = key(installed), key(wanted)
    if one[0][:2] == other[0][:2]:
        candidates = one[1][0][0] < 0, other[1][0][0] < 0
        if candidates == (False, False) or (candidates == (True, True) and one[1][0] == other[1][0]):
            return True
    for row in cann_ranges():
        if any(same(wanted, item) for item in row.belongs) and any(same(installed, item) for item in row.works):
            return True
    return False
