"""TensorFlow's wheel without CUDA, in one of the two versions that there is an adapter for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.knowledge.tensorflow.lines import choose_adapter
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.tensorflow.schema import Adapter
    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.source.requirements import Entry

NAMES: Final = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")


def _tensorflow_without_npu(node: object, file: object) -> Iterator[Finding]:
    """On NPUs, TensorFlow is 1.15.0 or 2.6.5 without CUDA, with the adapter's wheel beside it.

    The wheel, ``npu_bridge`` or ``npu_device``, is on no package index: it comes from the adapter's release page. Where
    the requirement does not tell which of the two is meant, ``--tf-adapter`` does.

    Before::

        tensorflow-gpu==1.12
        tqdm

    After::

        tensorflow-cpu==1.15.0
        tqdm
    """
    raise NotImplementedError


TENSORFLOW = list_rule(
    Rule(
        "NPU920",
        "tensorflow-without-npu-version",
        Safety.REVIEW,
        Severity.ERROR,
        Evidence.DOCUMENTED,
        "TensorFlow adapter: installation guides",
        (),
        (),
        _tensorflow_without_npu,
        example_file="requirements.txt",
    )
)


def is_on_tensorflow(file: DependencyFile) -> bool:
    """Whether a file of requirements is one of a TensorFlow project: beside torch or JAX it prepares data."""
    return bool(file.named(*NAMES)) and not file.named("torch", "jax", "jaxlib", "flax")


def judge_tensorflow(file: DependencyFile, line: str) -> Iterator[Finding]:
    """What has to change for TensorFlow.

    Args:
        file: one that :func:`is_on_tensorflow` holds for.
        line: the line of TensorFlow aimed at, as :class:`npuify.rules.run.Run` has it.
    """
    for entry in file.named(*NAMES):
        adapter = next((one for one in adapters() if one.line == line), None)
        adapter = adapter or choose_adapter(None, entry.specifier).adapter
        if adapter is None:
            yield file.report(
                TENSORFLOW,
                entry,
                phrase(
                    "TensorFlow runs on NPUs as 1.15.0 or 2.6.5; {written} does not tell which is meant",
                    written=file.written(entry),
                ),
                severity=Severity.WARNING,
                subject=entry.name,
                advice="say --tf-adapter 1.15 or --tf-adapter 2.6.5",
            )
            continue
        name, _, version = adapter.tensorflow.partition("==")
        if entry.name == name and entry.specifier == f"=={version}":
            continue
        yield file.report(
            TENSORFLOW,
            entry,
            phrase(
                "TensorFlow runs on NPUs as {tensorflow}, with {package} of the adapter",
                tensorflow=adapter.tensorflow,
                package=adapter.package,
            ),
            spots=_spots(entry, adapter, file) if entry.dialect != "conda" else None,
            subject=entry.name,
            advice=phrase(
                "Python {python}; {also}; the wheel {package} is on no index, it comes from the adapter's release page",
                python=adapter.python.replace("|", " or "),
                also=commas(adapter.also),
                package=adapter.package,
            ),
        )


def _spots(entry: Entry, adapter: Adapter, file: DependencyFile) -> list[Spot | None]:
    name, _, version = adapter.tensorflow.partition("==")
    if entry.name_span is None:
        return [Spot(entry.start, entry.end, adapter.tensorflow)] if not entry.url else [None]
    if entry.version_span is None:
        if entry.dialect in ("poetry", "pipenv"):
            return [None]
        return [Spot(*entry.name_span, adapter.tensorflow)]
    return [Spot(*entry.name_span, name), file.version(entry, f"=={version}")]
