"""PaddlePaddle's wheel for the CPU, on which the plug-in for Ascend stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.paddle import STABLE
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile

_BUILD = re.compile(r"^==\s*(?P<version>\d+(?:\.\d+)*(?:(?:rc|a|b)\d+)?)(?:\.?post\d+)?(?:\+[\w.]+)?$")


_CUDA_INDEX = re.compile(r"paddlepaddle\.org\.cn/packages/(?:stable|nightly)/(cu\d+)\b")


def _paddle_without_plugin(node: object, file: object) -> Iterator[Finding]:
    """A command installs PaddlePaddle for CUDA; the plug-in for NPUs is installed by a call after it.

    Before::

        pip install paddlepaddle-gpu==3.0.0 -i https://www.paddlepaddle.org.cn/packages/stable/cu126/

    After::

        pip install paddlepaddle==3.0.0 -i https://www.paddlepaddle.org.cn/packages/stable/cpu/ && pip install paddle-custom-npu==3.0.0 -i https://www.paddlepaddle.org.cn/packages/stable/npu/
    """  # noqa: E501 - one command
    raise NotImplementedError


WITHOUT_PLUGIN = list_rule(
    Rule(
        "NPU954",
        "paddle-without-plugin",
        Safety.REVIEW,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "PaddlePaddle/PaddleX: docs/other_devices_support/paddlepaddle_install_NPU.en.md at 6cdd597b32",
        (),
        (),
        _paddle_without_plugin,
        example_file="install.sh",
    )
)


def _paddle_with_cuda(node: object, file: object) -> Iterator[Finding]:
    """On NPUs, PaddlePaddle is its wheel for the CPU with the plug-in paddle-custom-npu of the same version.

    The plug-in is not on the public package index: it is installed by a second call, from Paddle's own index. Where no
    version is required, it is the newest with a documented plug-in.

    Before::

        paddlepaddle-gpu==2.6.2.post120
        tqdm

    After::

        paddlepaddle==2.6.2
        tqdm
    """
    raise NotImplementedError


PADDLE = list_rule(
    Rule(
        "NPU950",
        "paddle-with-cuda",
        Safety.REVIEW,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "PaddlePaddle/PaddleX: docs/other_devices_support/paddlepaddle_install_NPU.en.md at 6cdd597b32",
        (),
        (),
        _paddle_with_cuda,
        example_file="requirements.txt",
    )
)


def judge_paddle(file: DependencyFile) -> Iterator[Finding]:
    """What has to change for PaddlePaddle."""
    for entry in file.named("paddlepaddle-gpu"):
        version = paddle_version(entry.specifier or "")
        spots: list[Spot | None] = [Spot(*entry.name_span, "paddlepaddle")] if entry.name_span is not None else [None]
        if version and f"=={version}" != entry.specifier:
            spots.append(file.version(entry, f"=={version}"))
        yield file.report(
            PADDLE,
            entry,
            "PaddlePaddle runs on NPUs as its wheel for the CPU, with the plug-in paddle-custom-npu of that version",
            spots=spots if entry.dialect != "conda" else None,
            subject="paddlepaddle-gpu",
            advice=phrase(
                "afterwards, from Paddle's own index for NPUs: paddle-custom-npu=={version}; {stable} with CANN 8.0 is "
                "the newest documented pair",
                version=version or phrase("the same version"),
                stable=STABLE,
            ),
        )

    yield from _plugin_of_another(file)
    for match in _CUDA_INDEX.finditer(file.document.text):
        yield file.report(
            PADDLE,
            match.span(1),
            phrase("{group} is Paddle's index of builds for CUDA", group=match.group(1)),
            spots=[Spot(*match.span(1), "cpu")],
            subject="paddlepaddle-gpu",
        )


def _plugin_of_another(file: DependencyFile) -> Iterator[Finding]:
    """The plug-in is built against one Paddle: of another number it is not loaded."""
    wanted = [_BUILD.match(one.specifier or "") for one in file.named("paddlepaddle", "paddlepaddle-gpu")]
    pinned = {match["version"] for match in wanted if match is not None}
    for entry in file.named("paddle-custom-npu"):
        match = _BUILD.match(entry.specifier or "")
        if len(pinned) != 1 or (match is not None and match["version"] in pinned):
            continue
        version = min(pinned)
        yield file.report(
            PADDLE,
            entry,
            phrase("the plug-in has to have Paddle's own version, {version}: another is not loaded", version=version),
            spots=[file.version(entry, f"=={version}")] if entry.dialect != "conda" else None,
            evidence=Evidence.REPORTED,
            source="PaddlePaddle/Paddle#74020",
            subject="paddle-custom-npu",
            advice="it comes from Paddle's own index for NPUs, by a call of pip after that for Paddle",
        )


def paddle_version(specifier: str) -> str:
    """The version to require in the place of a build for CUDA: without its build; empty where a range stays."""
    if not specifier:
        return STABLE
    match = _BUILD.match(specifier)
    return match["version"] if match is not None else ""
