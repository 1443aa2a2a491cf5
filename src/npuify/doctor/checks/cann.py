"""CANN: installed, loaded once, with operators for this chip, and with the Python packages that it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.doctor.probes.versions import same
from npuify.knowledge.machine.drivers import cann_packages
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts

_LAYOUT = "facts of public CANN installations; torch_npu/utils/collect_env.py reads ASCEND_HOME_PATH"


@check("cann.installed", "CANN is installed")
def cann_installed(facts: Facts) -> Iterator[Result]:
    """At least one installation is found in the places where installers put it."""
    if facts.cann.installed:
        return
    if not facts.files_known:
        yield result(
            "cann.installed",
            Status.SKIPPED,
            phrase("nothing is known of CANN: what was given holds no files of a machine"),
            advice=phrase("capture the machine with: npuify doctor --capture FILE"),
            source=_LAYOUT,
        )
        return
    chip = facts.chip.package if facts.chip is not None else "<chip>"
    yield result(
        "cann.installed",
        Status.ERROR,
        phrase("CANN was not found in /usr/local/Ascend, in ~/Ascend, or at ASCEND_HOME_PATH"),
        advice=phrase("install the toolkit and the operator package for this chip, or use an image that contains them"),
        mend=Mend(
            (
                f"# ./Ascend-cann-toolkit_<version>_linux-{facts.host.architecture or '<arch>'}.run --install",
                "# "
                + phrase(
                    "and its operators: Ascend-cann-kernels-{chip} before CANN 8.5, Ascend-cann-{chip}-ops since",
                    chip=chip,
                ),
            ),
            root=True,
        ),
        source=_LAYOUT,
    )


@check("cann.environment", "CANN is loaded in this shell", after=("cann.installed",), live=True)
def cann_environment(facts: Facts) -> Iterator[Result]:
    """``set_env.sh`` was sourced, and points at an installation that is there."""
    loaded = facts.cann.loaded
    best = max(facts.cann.installed, key=lambda one: one.path)
    script = best.set_env or f"{best.shown}/set_env.sh"
    if not loaded.home:
        yield result(
            "cann.environment",
            Status.ERROR,
            phrase(
                "CANN {version} is installed in {shown}, but not loaded: ASCEND_HOME_PATH is not set",
                version=best.version,
                shown=best.shown,
            ),
            advice=phrase(
                "source its script in the shell that starts the program, and add that to ~/.bashrc or the image"
            ),
            mend=Mend((f"source {script}",), place="shell"),
            source=_LAYOUT,
        )
    elif facts.cann.active is None:
        what = (
            phrase("which does not exist") if not loaded.home_exists else phrase("which is not a complete installation")
        )
        yield result(
            "cann.environment",
            Status.ERROR,
            phrase(
                "ASCEND_HOME_PATH is {home}, {what}; CANN {version} is in {shown}",
                home=loaded.home,
                what=what,
                version=best.version,
                shown=best.shown,
            ),
            advice=phrase("open a new shell and source the script of that installation"),
            mend=Mend((f"source {script}",), place="shell"),
            source=_LAYOUT,
        )
    elif facts.cann.active.path not in loaded.homes:
        yield result(
            "cann.environment",
            Status.ERROR,
            phrase("ASCEND_HOME_PATH is {home}, but LD_LIBRARY_PATH contains none of its libraries", home=loaded.home),
            advice=phrase("LD_LIBRARY_PATH was replaced after CANN was loaded; source the script again, last"),
            mend=Mend((f"source {facts.cann.active.set_env or script}",), place="shell"),
            source=_LAYOUT,
        )


_SAME: Final = {"arm64": "aarch64", "amd64": "x86_64"}


@check(
    "cann.architecture",
    "CANN is made for this CPU",
    after=("cann.environment",),
    needs=lambda facts: bool(facts.cann.active and facts.cann.active.architecture and facts.host.architecture),
)
def cann_architecture(facts: Facts) -> Iterator[Result]:
    """The installer's package was that for the host's CPU."""
    active, host = facts.cann.active, facts.host.architecture
    if active is None or not active.architecture or not host:
        return
    made_for = _SAME.get(active.architecture, active.architecture)
    if made_for != _SAME.get(host, host):
        yield result(
            "cann.architecture",
            Status.ERROR,
            phrase(
                "CANN {version} in {shown} is made for {architecture}, but this machine is {host}",
                version=active.version,
                shown=active.shown,
                architecture=active.architecture,
                host=host,
            ),
            advice=phrase(
                "install the toolkit and operators for {host}; the name of a package ends in linux-{host}.run",
                host=host,
            ),
            mend=Mend((f"# ./Ascend-cann-toolkit_{active.version}_linux-{host}.run --install",), root=True),
            source="arch= in ascend_toolkit_install.info",
            evidence=Evidence.PACKAGE,
        )


@check("cann.loaded-twice", "CANN is loaded once", after=("cann.environment",), live=True)
def cann_loaded_twice(facts: Facts) -> Iterator[Result]:
    """``LD_LIBRARY_PATH`` holds one installation, once."""
    loaded, active = facts.cann.loaded, facts.cann.active
    if active is None:
        return
    others = [one for one in facts.cann.installed if one.path in loaded.homes and one.path != active.path]
    if others:
        yield result(
            "cann.loaded-twice",
            Status.ERROR,
            phrase("libraries of two CANN installations are in LD_LIBRARY_PATH: {version} and ", version=active.version)
            + ", ".join(one.version for one in others),
            advice=phrase(
                "open a new shell and source only one set_env.sh; look for another in ~/.bashrc and /etc/profile.d"
            ),
            mend=Mend(("grep -rn set_env.sh ~/.bashrc ~/.profile ~/.bash_profile /etc/profile.d 2>/dev/null",)),
            evidence=Evidence.ASSUMED,
        )
    elif loaded.opp_of and loaded.opp_of != active.path:
        other = next(one for one in facts.cann.installed if one.path == loaded.opp_of)
        yield result(
            "cann.loaded-twice",
            Status.ERROR,
            phrase(
                "ASCEND_OPP_PATH is {opp}, which belongs to CANN {version}; loaded is {version2}",
                opp=loaded.opp,
                version=other.version,
                version2=active.version,
            ),
            advice=phrase(
                "open a new shell and source only one set_env.sh; look for another in ~/.bashrc and /etc/profile.d"
            ),
            mend=Mend((f"source {active.set_env or f'{active.shown}/set_env.sh'}",), place="shell"),
            evidence=Evidence.ASSUMED,
        )
    elif loaded.python_of and loaded.python_of[0] != active.path:
        other = next(one for one in facts.cann.installed if one.path == loaded.python_of[0])
        yield result(
            "cann.loaded-twice",
            Status.ERROR,
            phrase(
                "PYTHONPATH begins with the Python packages of CANN {version}, and loaded is {version2}: compiler and "
                "libraries would be of two releases",
                version=other.version,
                version2=active.version,
            ),
            advice=phrase(
                "open a new shell and source only one set_env.sh; look for another in ~/.bashrc and /etc/profile.d"
            ),
            mend=Mend((f"source {active.set_env or f'{active.shown}/set_env.sh'}",), place="shell"),
            evidence=Evidence.ASSUMED,
        )
    elif loaded.repeated > 1:
        yield result(
            "cann.loaded-twice",
            Status.WARNING,
            phrase(
                "set_env.sh was sourced {repeated} times: LD_LIBRARY_PATH lists its folders as many times",
                repeated=loaded.repeated,
            ),
            advice=phrase("harmless, but every start searches them all; source it only once"),
            mend=Mend(("grep -rn set_env.sh ~/.bashrc ~/.profile ~/.bash_profile /etc/profile.d 2>/dev/null",)),
            evidence=Evidence.ASSUMED,
        )


@check("cann.several", "One CANN is installed", after=("cann.installed",))
def cann_several(facts: Facts) -> Iterator[Result]:
    """Only told; that several lie side by side is usual."""
    if len(facts.cann.installed) > 1:
        shown = ", ".join(f"{one.version} ({one.path})" for one in facts.cann.installed)
        used = facts.cann.active.version if facts.cann.active is not None else "none"
        yield result(
            "cann.several",
            Status.INFO,
            phrase("several are installed: {shown}; loaded: {used}", shown=shown, used=used),
            evidence=Evidence.ASSUMED,
        )


@check(
    "cann.kernels",
    "Operators for this chip are installed",
    after=("cann.environment", "cards.seen"),
    needs=lambda facts: facts.chip is not None,
)
def cann_kernels(facts: Facts) -> Iterator[Result]:
    """The active CANN has compiled operators for the chip."""
    active, chip = facts.cann.active, facts.chip
    if active is None or not active.opp:
        if active is not None:
            yield result(
                "cann.kernels",
                Status.ERROR,
                phrase("CANN in {shown} has no opp folder, and so no operators", shown=active.shown),
                advice=phrase("install the full toolkit, not only the runtime"),
                source=_LAYOUT,
            )
        return
    if chip is None or not chip.kernels or chip.kernels in active.kernels:
        return
    there = ", ".join(active.kernels) or "none"
    package = (
        f"Ascend-cann-{chip.package}-ops_{active.version}_linux-{facts.host.architecture or '<arch>'}.run"
        if _new_layout(active.version)
        else f"Ascend-cann-kernels-{chip.package}_{active.version}_linux-{facts.host.architecture or '<arch>'}.run"
    )
    yield result(
        "cann.kernels",
        Status.ERROR,
        phrase(
            "CANN {version} has no compiled operators for {product} ({kernels}); there: {there}",
            version=active.version,
            product=chip.product,
            kernels=chip.kernels,
            there=there,
        ),
        advice=phrase(
            "install the operator package for {package} from exactly CANN {version}",
            package=chip.package,
            version=active.version,
        ),
        mend=Mend((f"# ./{package} --install",), root=True),
        evidence=Evidence.REPORTED,
        source="hiyouga/LlamaFactory#3779, #5189: Op Cast does not has any binary",
    )


def _new_layout(version: str) -> bool:
    from npuify.doctor.probes.versions import key

    return key(version) >= key("8.5.0")


@check(
    "cann.parts",
    "Parts of CANN have the same version",
    after=("cann.environment",),
    needs=lambda facts: bool(facts.cann.active and facts.cann.active.parts.get("opp_kernel")),
)
def cann_parts(facts: Facts) -> Iterator[Result]:
    """The operator package belongs to the toolkit."""
    active = facts.cann.active
    if active is None:
        return
    kernels = active.parts.get("opp_kernel", "")
    if kernels and active.version and not same(kernels, active.version):
        yield result(
            "cann.parts",
            Status.ERROR,
            phrase(
                "the operator package is from CANN {kernels}, the toolkit from {version}",
                kernels=kernels,
                version=active.version,
            ),
            advice=phrase("install the same version of both"),
            source="version.cfg of the installation",
            evidence=Evidence.PACKAGE,
        )


@check(
    "cann.python-packages",
    "CANN's Python packages are installed",
    after=("cann.installed", "python.found"),
    needs=lambda facts: bool(facts.python.packages),
)
def python_packages(facts: Facts) -> Iterator[Result]:
    """The operator compiler finds what it imports."""
    packages = facts.python.packages
    missing = [row for row in cann_packages() if row.name not in packages]
    if missing and packages:
        names = [row.name for row in missing]
        pins = ["numpy<2" if name == "numpy" else name for name in names]
        yield result(
            "cann.python-packages",
            Status.ERROR,
            phrase("the program's Python lacks packages that CANN imports: {names}", names=commas(names)),
            advice=phrase("install them into the same environment as torch"),
            mend=Mend(("pip install " + " ".join(f"'{pin}'" if "<" in pin else pin for pin in pins),)),
            evidence=missing[0].evidence,
            source=missing[0].source,
        )


@check(
    "nnal.environment",
    "The acceleration library matches",
    after=("cann.environment", "python.found"),
    live=True,
)
def nnal_environment(facts: Facts) -> Iterator[Result]:
    """Where nnal is loaded, it is the build for torch's C++ ABI."""
    loaded = facts.cann.loaded.nnal
    built = f"cxx_abi_{facts.python.torch_abi}"
    if loaded and facts.python.torch_abi and "cxx_abi_" in loaded and built not in loaded:
        yield result(
            "nnal.environment",
            Status.ERROR,
            phrase(
                "torch is built with the C++11 ABI {torch_abi}, but nnal is loaded from {loaded}",
                torch_abi=facts.python.torch_abi,
                loaded=loaded,
            ),
            advice=phrase("source its script again after activating the environment with torch, or specify the ABI"),
            mend=Mend(
                (f"source /usr/local/Ascend/nnal/atb/set_env.sh --cxx_abi={facts.python.torch_abi}",),
                place="shell",
            ),
            evidence=Evidence.REPORTED,
            source="vllm-project/vllm-ascend#117",
        )
    elif facts.cann.nnal and not loaded:
        yield result(
            "nnal.environment",
            Status.INFO,
            phrase(
                "nnal is installed in {nnal}, but not loaded; only vLLM and ATB operators need it",
                nnal=facts.cann.nnal[0],
            ),
            mend=Mend((f"source {facts.cann.nnal[0]}/set_env.sh",), place="shell"),
            source="vllm-ascend installation.md",
        )
