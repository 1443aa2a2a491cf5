"""Python and its packages: torch, torch_npu, CANN and Python as one set, and what does not belong here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.doctor.probes.versions import key
from npuify.doctor.sets import base_version, install_commands, judge_set, nearest_set, set_is_known, torch_for_cpu
from npuify.knowledge.frameworks.vllm import vllm_sets
from npuify.knowledge.third_party.dependencies import dependency
from npuify.language import alternatives, phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result
from .paddle import is_for_paddle
from .tensorflow import is_for_tensorflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts


@check("python.found", "Python runs")
def python_found(facts: Facts) -> Iterator[Result]:
    """The interpreter can be asked."""
    if facts.python.problem and not facts.python.executable:
        yield result(
            "python.found",
            Status.SKIPPED,
            phrase("nothing is known of the program's Python: what was given does not hold its packages"),
            advice=phrase("capture the machine with: npuify doctor --capture FILE --python PYTHON"),
            evidence=Evidence.ASSUMED,
        )
    elif facts.python.problem:
        yield result(
            "python.found",
            Status.ERROR,
            phrase(
                "{executable} cannot list its packages: {problem}",
                executable=facts.python.executable,
                problem=facts.python.problem,
            ),
            advice=phrase("specify the interpreter that the program runs with: --python"),
            evidence=Evidence.ASSUMED,
        )


def _needs_torch(facts: Facts) -> bool:
    """Whether torch and torch_npu are asked for here: not for other frameworks, and not where vLLM's set is judged."""
    return not (is_for_tensorflow(facts) or is_for_paddle(facts) or facts.vllm)


@check(
    "python.torch",
    "torch and torch_npu are installed",
    after=("python.found",),
    needs=lambda facts: _needs_torch(facts),
)
def torch_installed(facts: Facts) -> Iterator[Result]:
    """Both are there."""
    if not _needs_torch(facts):
        return
    missing = [name for name in ("torch", "torch-npu") if name not in facts.python.packages]
    if missing:
        chosen = nearest_set(facts)
        yield result(
            "python.torch",
            Status.ERROR,
            phrase(
                "not installed in {executable}: {missing}",
                executable=facts.python.executable,
                missing=" and ".join(missing),
            ),
            advice=phrase(
                "torch {torch} with torch_npu {torch_npu} matches this machine",
                torch=chosen.torch,
                torch_npu=chosen.torch_npu,
            )
            if chosen
            else "",
            mend=Mend(install_commands(chosen, facts)) if chosen else None,
            evidence=chosen.evidence if chosen else Evidence.DOCUMENTED,
            source=chosen.source if chosen else "",
        )


@check(
    "versions.set",
    "torch, torch_npu, CANN and Python match",
    after=("python.torch", "cann.environment"),
    needs=lambda facts: set_is_known(facts),
)
def version_set(facts: Facts) -> Iterator[Result]:
    """The four are one of the sets that the vendor lists."""
    found = judge_set(facts)
    if found is None:
        return
    chosen = nearest_set(facts)
    fits = ""
    if chosen is not None:
        fits = phrase(
            "the closest working combination: torch {torch}, torch_npu {torch_npu}, CANN {cann}, Python {pythons}",
            torch=chosen.torch,
            torch_npu=chosen.torch_npu,
            cann=chosen.cann,
            pythons=" or ".join(chosen.pythons),
        )
    yield result(
        "versions.set",
        Status.ERROR if found.certain else Status.WARNING,
        found.message,
        advice=fits,
        mend=Mend(install_commands(chosen, facts)) if chosen is not None else None,
        evidence=found.evidence,
        source=found.source,
    )


@check(
    "python.torch-build",
    "torch is the CPU build",
    after=("python.torch",),
    needs=lambda facts: facts.python.torch_for is not None or "+" in facts.python.packages.get("torch", ""),
)
def torch_build(facts: Facts) -> Iterator[Result]:
    """torch_npu for x86 asks for the ``+cpu`` build; a CUDA build brings CUDA's libraries and Triton with it."""
    version = facts.python.packages.get("torch", "")
    base, _, local = version.partition("+")
    x86 = facts.host.architecture in {"x86_64", "amd64"} or facts.python.machine in {"x86_64", "AMD64"}
    built_for = facts.python.torch_for
    if built_for is None:
        left = x86 and not local and any(name.startswith("nvidia-cuda-runtime") for name in facts.python.packages)
        built_for = "GPUs" if local.startswith(("cu", "rocm")) or left else ""
    if not built_for:
        return
    yield result(
        "python.torch-build",
        Status.ERROR if x86 else Status.WARNING,
        phrase(
            "torch {version} is a build for {built_for}; torch_npu on {value} is made ",
            version=version,
            built_for=built_for,
            value=facts.host.architecture or "this machine",
        )
        + (f"for torch=={base}+cpu" if x86 else phrase("for the build without CUDA")),
        advice=phrase("replace it with the CPU build"),
        mend=Mend(
            (
                "pip uninstall -y torch",
                *torch_for_cpu(base),
            )
        ),
        evidence=Evidence.PACKAGE,
        source="Requires-Dist of torch_npu 2.7.1.post2 for x86_64: torch==2.7.1+cpu",
    )


@check(
    "python.numpy",
    "numpy is compatible",
    after=("python.found",),
    needs=lambda facts: "numpy" in facts.python.packages,
)
def numpy_version(facts: Facts) -> Iterator[Result]:
    """numpy 2 fits neither older CANN nor older torch."""
    version = facts.python.packages.get("numpy", "")
    if not version or int(version.split(".")[0]) < 2:
        return
    torch = base_version(facts.python.packages.get("torch", ""))
    cann = facts.cann.active.version if facts.cann.active is not None else ""
    if torch and key(torch) < key("2.3.0"):
        what, evidence, source = (
            phrase("torch {torch} was built for numpy 1", torch=torch),
            Evidence.DOCUMENTED,
            phrase("torch 2.3 release notes"),
        )
    elif cann and key(cann) < key("8.3.RC1"):
        what, evidence = phrase("CANN {cann}'s operator compiler fails with it", cann=cann), Evidence.REPORTED
        source = phrase("vllm-project/vllm-ascend#2210: numpy below 2 with CANN 8.2")
    else:
        return
    yield result(
        "python.numpy",
        Status.ERROR,
        phrase("numpy {version} is installed, but {what}", version=version, what=what),
        mend=Mend(("pip install 'numpy<2'",)),
        evidence=evidence,
        source=source,
    )


@check("python.cuda-packages", "No CUDA packages are left over", after=("python.torch", "python.torch-build"))
def cuda_packages(facts: Facts) -> Iterator[Result]:
    """What can only run on NVIDIA GPUs is of no use, and some of it is in the way."""
    packages = facts.python.packages
    torch_npu = packages.get("torch-npu", "")
    if "triton" in packages and "triton-ascend" in packages:
        yield result(
            "python.cuda-packages",
            Status.ERROR,
            phrase(
                "triton {packages} and triton-ascend {packages2} are both installed, and both provide "
                "the module triton",
                packages=packages["triton"],
                packages2=packages["triton-ascend"],
            ),
            advice=phrase("remove both, and reinstall triton-ascend"),
            mend=Mend(
                (
                    "pip uninstall -y triton triton-ascend",
                    f"pip install --no-deps triton-ascend=={packages['triton-ascend']}",
                )
            ),
            evidence=Evidence.REPORTED,
            source="triton-lang/triton-ascend#306",
        )
    left = []
    for name in sorted(packages):
        if name == "triton" and "triton-ascend" in packages:
            continue
        row = dependency(name, torch_npu or "2.7.1")
        if row is not None and (row.action == "drop" or (name.endswith("-gpu") and row.action != "keep")):
            left.append(name)
    if left:
        shown = ", ".join(left[:6]) + (phrase(" and {value} more", value=len(left) - 6) if len(left) > 6 else "")
        yield result(
            "python.cuda-packages",
            Status.WARNING,
            phrase("CUDA packages are installed that nothing here can use: {shown}", shown=shown),
            advice=phrase("remove them, unless a program in this environment imports them on purpose"),
            mend=Mend(("pip uninstall -y " + " ".join(left),)),
            evidence=Evidence.DOCUMENTED,
            source="src/npuify/knowledge/data/dependencies.toml",
        )


@check("versions.vllm", "vLLM and its plug-in match", after=("python.found",))
def vllm_set(facts: Facts) -> Iterator[Result]:
    """Each release of vllm-ascend extends the releases of vLLM that it names, and no other."""
    packages = facts.python.packages
    vllm, plugin = packages.get("vllm", ""), packages.get("vllm-ascend", "")
    row = next((row for row in vllm_sets() if plugin and row.plugin == base_version(plugin)), None)
    if vllm and not plugin:
        yield result(
            "versions.vllm",
            Status.ERROR,
            phrase("vllm {vllm} is installed without its plug-in vllm-ascend, and does not know NPUs", vllm=vllm),
            advice=phrase("install vllm-ascend with the vLLM that belongs to it; npuify explain vllm lists the sets"),
            mend=Mend(("npuify explain vllm",)),
            source="vllm-project/vllm-ascend, installation",
        )
    elif vllm and row is not None and base_version(vllm) not in row.vllm:
        yield result(
            "versions.vllm",
            Status.ERROR,
            phrase(
                "vllm-ascend {plugin} extends vllm {wanted}, and vllm {vllm} is installed",
                plugin=plugin,
                wanted=alternatives(row.vllm),
                vllm=vllm,
            ),
            advice=phrase("install the vLLM that belongs to the plug-in"),
            mend=Mend((f"pip install --no-deps vllm=={row.vllm[0]}",)),
            evidence=row.evidence,
            source=row.source,
        )
