"""PaddlePaddle, where the project or the judged Python is on it: its wheel for the CPU, its plug-in, and CANN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.doctor.sets import base_version
from npuify.knowledge.frameworks.paddle import INDEX, STABLE, WITH_PLUGIN
from npuify.language import commas, phrase
from npuify.report.doctor import Mend, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts
    from npuify.report.doctor import Result

ANY: Final = "any"
"""The version of a project on PaddlePaddle that requires none."""
_INDEX_FOR_CPU: Final = "https://www.paddlepaddle.org.cn/packages/stable/cpu/"
_GPU: Final = "paddlepaddle-gpu"
_PLUGIN: Final = "paddle-custom-npu"
_SOURCE: Final = "PaddlePaddle/PaddleX: docs/other_devices_support/paddlepaddle_install_NPU.en.md at 6cdd597b32"
_LOADS: Final = "PaddlePaddle/Paddle#74020: a plug-in of another version does not load"
_WITH_CANN: Final = {
    "3.0.0": ("8.0", _SOURCE),
    "3.3.0": ("8.0", "PaddlePaddle/PaddleCustomDevice#2452: for CANN 8.0.0, it does not load with 8.5.1"),
}
"""The CANN of plug-ins of which it is known, and the source."""


def is_for_paddle(facts: Facts) -> bool:
    """Whether the project is on PaddlePaddle, or else the judged Python is one for it and has nothing of PyTorch."""
    if facts.paddle or facts.tensorflow:
        return bool(facts.paddle)
    packages = facts.python.packages
    has_torch = "torch" in packages or "torch-npu" in packages
    return not has_torch and any(name in packages for name in ("paddlepaddle", _GPU, _PLUGIN))


@check(
    "paddle.plugin",
    "PaddlePaddle and its plug-in are installed",
    after=("python.found",),
    needs=is_for_paddle,
)
def paddle_plugin(facts: Facts) -> Iterator[Result]:
    """Both are there, and PaddlePaddle is the wheel for the CPU; the plug-in is on Paddle's own index only."""
    if not is_for_paddle(facts):
        return
    packages = facts.python.packages
    names = ("paddlepaddle", _PLUGIN)
    missing = [name for name in names if name not in packages]
    version = _wanted(facts)
    commands = (
        *((f"pip uninstall -y {_GPU}",) if _GPU in packages else ()),
        _install("paddlepaddle", version, _INDEX_FOR_CPU),
        _install(_PLUGIN, version, INDEX),
    )
    advice = (
        phrase("PaddlePaddle's wheel for the CPU, then the plug-in of the same version, in two calls")
        if version in WITH_PLUGIN
        else phrase(
            "no plug-in is known for PaddlePaddle {version}, only for {versions}",
            version=version,
            versions=commas(WITH_PLUGIN),
        )
    )
    mend = Mend(commands) if version in WITH_PLUGIN else None
    if _GPU in packages:
        yield result(
            "paddle.plugin",
            Status.ERROR,
            phrase(
                "paddlepaddle-gpu {version} is installed in {executable}: on NPUs it is the wheel for the CPU",
                version=packages[_GPU],
                executable=facts.python.executable,
            ),
            advice=advice,
            mend=mend,
            source=_SOURCE,
        )
    elif missing:
        yield result(
            "paddle.plugin",
            Status.ERROR,
            phrase(
                "not installed in {executable}, and PaddlePaddle needs both on NPUs: {missing}",
                executable=facts.python.executable,
                missing=commas(missing),
            ),
            advice=advice,
            mend=mend,
            source=_SOURCE,
        )


@check(
    "paddle.set",
    "PaddlePaddle, its plug-in and CANN match",
    after=("paddle.plugin", "cann.environment"),
    needs=is_for_paddle,
)
def paddle_set(facts: Facts) -> Iterator[Result]:
    """The plug-in is of the same version as PaddlePaddle, which the project admits, and of the loaded CANN."""
    if not is_for_paddle(facts):
        return
    packages = facts.python.packages
    paddle, plugin = base_version(packages.get("paddlepaddle", "")), base_version(packages.get(_PLUGIN, ""))
    if paddle != plugin:
        yield result(
            "paddle.set",
            Status.ERROR,
            phrase(
                "paddle-custom-npu {plugin} does not load under paddlepaddle {paddle}: both must be of one version",
                plugin=plugin,
                paddle=paddle,
            ),
            mend=Mend((_install("paddlepaddle", plugin, _INDEX_FOR_CPU),)),
            source=_LOADS,
        )
    elif facts.paddle not in ("", ANY, paddle):
        yield result(
            "paddle.set",
            Status.WARNING,
            phrase(
                "the project requires PaddlePaddle {wanted}, and {paddle} is installed",
                wanted=facts.paddle,
                paddle=paddle,
            ),
            advice=phrase("the releases of which a plug-in is known are {versions}", versions=commas(WITH_PLUGIN)),
            source=_SOURCE,
        )
    cann = facts.cann.active.version if facts.cann.active is not None else ""
    wanted, source = _WITH_CANN.get(plugin, ("", ""))
    if cann and wanted and not cann.startswith(f"{wanted}."):
        yield result(
            "paddle.set",
            Status.WARNING,
            phrase(
                "paddle-custom-npu {plugin} is made for CANN {wanted}, and CANN {cann} is loaded",
                plugin=plugin,
                wanted=wanted,
                cann=cann,
            ),
            advice=phrase("load that CANN, or build the plug-in from its sources for this one"),
            source=source,
        )


def _wanted(facts: Facts) -> str:
    """The version to install: the one that the project requires, else that of what is there, else the documented."""
    if facts.paddle not in ("", ANY):
        return facts.paddle
    packages = facts.python.packages
    found = next((base_version(packages[name]) for name in (_PLUGIN, "paddlepaddle") if name in packages), "")
    return found if found in WITH_PLUGIN else STABLE


def _install(package: str, version: str, index: str) -> str:
    return " ".join(("pip install", f"{package}=={version}", "-i", index))
