"""TensorFlow's wheel without CUDA, in one of the two versions that there is an adapter for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from npuify.knowledge.tensorflow.lines import choose_adapter, newest_python, pythons_of
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import alternatives, commas, phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.packages.dependency_file import admits, named_in_extras
from npuify.rules.registry import Rule, list_rule
from npuify.source.requirements import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.tensorflow.schema import Adapter
    from npuify.model import Finding
    from npuify.rules.packages.dependency_file import DependencyFile
    from npuify.source.requirements import Entry

NAMES: Final = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")
PARTS: Final = ("tensorflow-base", "tensorflow-gpu-base", "tensorflow-mkl", "tensorflow-eigen", "keras-gpu")
"""Parts and builds of conda's own TensorFlow, and Keras with it."""


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
        if adapter is not None and entry is file.named(*NAMES)[0]:
            yield from _beside(adapter, file)
            yield from _python(adapter, file)
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
            spots=_left_to_pip(entry, adapter, file)
            if entry.dialect == "conda"
            else [*_spots(entry, adapter, file), *(Spot(*one, name) for one in named_in_extras(entry, file))],
            subject=entry.name,
            advice=phrase(
                "Python {python}; {also}; the wheel {package} is on no index, it comes from the adapter's release page",
                python=alternatives(adapter.python.split("|")),
                also=commas(adapter.also),
                package=adapter.package,
            ),
        )


def judge_python(file: DependencyFile, line: str) -> Iterator[Finding]:
    """What has to change of the Python that a file of a TensorFlow project asks for, which names no TensorFlow itself.

    Args:
        file: the file.
        line: as for :func:`judge_tensorflow`.
    """
    for adapter in adapters():
        if adapter.line == line:
            yield from _python(adapter, file)


def _beside(adapter: Adapter, file: DependencyFile) -> Iterator[Finding]:
    """Pins beside TensorFlow that went with its old version, and cannot be installed with the new one."""
    for entry in file.named(*adapter.lacks):
        yield file.report(
            TENSORFLOW,
            entry,
            phrase("no version of {name} is for {tensorflow}", name=entry.name, tensorflow=adapter.tensorflow),
            evidence=Evidence.PACKAGE,
            source="the metadata of the wheels",
            subject=entry.name,
            advice="take what is used of it into the project, or move the project to TensorFlow 2.6.5",
        )
    for text in adapter.beside:
        wanted = Requirement(text)
        for entry in file.named(wanted.name):
            if not _excludes(entry.specifier or "", wanted.specifier):
                continue
            yield file.report(
                TENSORFLOW,
                entry,
                phrase(
                    "{written} does not go with {tensorflow}, which wants {wanted}",
                    written=file.written(entry),
                    tensorflow=adapter.tensorflow,
                    wanted=text,
                ),
                spots=[file.version(entry, text[len(wanted.name) :])] if entry.dialect != "conda" else None,
                evidence=Evidence.PACKAGE,
                source="the metadata of the wheels",
                subject=entry.name,
                advice=phrase("ask for {wanted}", wanted=text),
            )


def _left_to_pip(entry: Entry, adapter: Adapter, file: DependencyFile) -> list[Spot | None]:
    """conda's own TensorFlow is not the one that the adapter is for: pip installs that."""
    place = file.document.pip_list
    if place is None:
        return [None]
    spots: list[Spot | None] = [entry.removal]
    if entry is next(one for one in file.named(*NAMES) if one.dialect == "conda"):
        head, _, item = place.text.rpartition("\0")
        spots.append(place._replace(text=head + item.format(adapter.tensorflow)))
        spots += [one.removal for one in file.named(*PARTS) if one.dialect == "conda"]
    return spots


def _python(adapter: Adapter, file: DependencyFile) -> Iterator[Finding]:
    """A Python that the adapter is not for, where a file asks for one."""
    fitting = pythons_of(adapter)
    for entry in file.named("python"):
        if entry.dialect not in ("conda", "poetry", "pipenv") or not entry.specifier:
            continue
        if any(admits(entry.specifier, one) for one in fitting):
            continue
        newest = newest_python(adapter)
        spots: list[Spot | None] = [file.version(entry, f"=={newest}")]
        if entry.dialect == "pipenv" and entry.version_span is not None:
            spots = [Spot(*entry.version_span, ".".join(newest.split(".")[:2]))]
        elif entry.dialect == "poetry":
            # Poetry asks for versions of packages that fit all of a range.
            spots = [file.version(entry, adapter.python.split("|")[-1])]
        yield _other_python(adapter, file, entry, file.written(entry), spots)
    for match in _REQUIRES_PYTHON.finditer(file.document.text):
        asked = match["asked"]
        try:
            if any(admits(asked, one) for one in fitting):
                continue
        except InvalidSpecifier:
            continue
        last = adapter.python.split("|")[-1]
        yield _other_python(adapter, file, match.span(), match.group().strip(), [Spot(*match.span("asked"), last)])


_REQUIRES_PYTHON: Final = re.compile(
    r"""(?m)^[^#\n]*?(?<![\w.-])(?:requires-python|python_requires)[ \t]*=[ \t]*"""
    r"""(?P<quote>["'])(?P<asked>[<>=~!][^"'\n]*)(?P=quote)"""
)
"""What a package's own metadata ask of Python, in pyproject.toml and setup.py."""


def _other_python(
    adapter: Adapter, file: DependencyFile, place: Entry | tuple[int, int], written: str, spots: list[Spot | None]
) -> Finding:
    return file.report(
        TENSORFLOW,
        place,
        phrase(
            "{package} is for Python {python}; {written} is not among them",
            package=adapter.package,
            python=alternatives(adapter.python.split("|")),
            written=written,
        ),
        spots=spots,
        subject="python",
        advice="",
    )


def _excludes(asked: str, wanted: SpecifierSet) -> bool:
    """Whether no version fits both, as far as the bounds tell that are written."""
    least = min(Version(one.version) for one in wanted if one.operator in ("==", ">="))
    try:
        bounds = [(one.operator, Version(one.version.removesuffix(".*"))) for one in SpecifierSet(asked)]
    except (InvalidSpecifier, InvalidVersion):
        return False
    for operator, version in bounds:
        if (
            operator in ("==", "~=", ">=", ">")
            and version not in wanted
            and (operator in ("==", "~=") or version > least)
        ):
            return True
        if (operator == "<" and version <= least) or (operator == "<=" and version < least):
            return True
    return False


def _spots(entry: Entry, adapter: Adapter, file: DependencyFile) -> list[Spot | None]:
    name, _, version = adapter.tensorflow.partition("==")
    if entry.dialect in ("poetry", "pipenv"):
        # A table holds a name once: of both of TensorFlow's builds one is left.
        builds = [one for one in file.named(*NAMES) if one.group == entry.group]
        if entry is not next((one for one in builds if one.name == name), builds[0]):
            return [entry.removal]
    if entry.name_span is None:
        return [Spot(entry.start, entry.end, adapter.tensorflow)] if not entry.url else [None]
    if entry.version_span is None:
        if entry.dialect in ("poetry", "pipenv"):
            return [None]
        return [Spot(*entry.name_span, adapter.tensorflow)]
    return [Spot(*entry.name_span, name), file.version(entry, f"=={version}")]
