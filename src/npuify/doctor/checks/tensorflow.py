"""TensorFlow, where the judged Python has it: version and adapter as one set, and how a process gets its device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from npuify.doctor.sets import base_version
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import alternatives, commas, phrase, semicolons
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts
    from npuify.knowledge.tensorflow.schema import Adapter

_WHEELS: Final = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow")
_ADAPTERS: Final = {"npu-bridge": "1", "npu-device": "2"}


def is_for_tensorflow(facts: Facts) -> bool:
    """Whether the project is on TensorFlow, or else the judged Python is one for it and has nothing of PyTorch."""
    if facts.tensorflow:
        return True
    packages = facts.python.packages
    has_torch = "torch" in packages or "torch-npu" in packages
    return not has_torch and any(name in packages for name in (*_WHEELS, *_ADAPTERS))


def _has_tensorflow(facts: Facts) -> bool:
    packages = facts.python.packages
    # Beside PyTorch TensorFlow is there for its logs and data, unless an adapter says otherwise.
    return is_for_tensorflow(facts) or any(name in packages for name in _ADAPTERS)


def _installed(facts: Facts) -> tuple[str, str]:
    """The wheel of TensorFlow and its version; empty where there is none."""
    packages = facts.python.packages
    name = next((one for one in reversed(_WHEELS) if one in packages), "")
    return name, base_version(packages.get(name, ""))


def _adapter(facts: Facts) -> Adapter | None:
    """The adapter that fits: by the wheel of one that is there, else by TensorFlow's version."""
    line = next((line for name, line in _ADAPTERS.items() if name in facts.python.packages), "")
    line = line or facts.tensorflow.replace("either", "") or _installed(facts)[1][:1]
    return next((one for one in adapters() if one.line == line), None)


@check("tensorflow.adapter", "TensorFlow and its adapter are installed", after=("python.found",), needs=_has_tensorflow)
def tensorflow_adapter(facts: Facts) -> Iterator[Result]:
    """Both are there; the adapter's wheel is on no package index, and often in a folder that PYTHONPATH lacks."""
    if not _has_tensorflow(facts):
        return
    packages = facts.python.packages
    name, version = _installed(facts)
    adapter = _adapter(facts)
    found = [one for one in _ADAPTERS if one in packages]
    if not name and not found:
        wanted = adapter.tensorflow if adapter is not None else "tensorflow-cpu"
        yield result(
            "tensorflow.adapter",
            Status.ERROR,
            phrase(
                "the project is on TensorFlow, and {executable} has none: {wanted}",
                executable=facts.python.executable,
                wanted=wanted,
            ),
            advice=phrase("name the Python that the project runs with: --python"),
            source=adapter.source if adapter is not None else "",
        )
    elif not name:
        wanted = adapter.tensorflow if adapter is not None else "tensorflow-cpu"
        yield result(
            "tensorflow.adapter",
            Status.ERROR,
            phrase(
                "{found} is installed in {executable}, and TensorFlow is not",
                found=" and ".join(found),
                executable=facts.python.executable,
            ),
            mend=Mend((f"pip install {wanted}",)),
            source=adapter.source if adapter is not None else "",
        )
    elif not found:
        wheel = adapter.package if adapter is not None else "npu_bridge or npu_device"
        yield result(
            "tensorflow.adapter",
            Status.ERROR,
            phrase(
                "TensorFlow {version} is installed in {executable}, and no adapter for NPUs: it computes on the CPU",
                version=version,
                executable=facts.python.executable,
            ),
            advice=phrase(
                "install the wheel {wheel} from the adapter's release page, of this machine's CANN, into a folder, and "
                "add the folder to PYTHONPATH",
                wheel=wheel,
            ),
            source=adapter.source if adapter is not None else "",
        )
    elif len(found) > 1:
        yield result(
            "tensorflow.adapter",
            Status.ERROR,
            "npu_bridge, for TensorFlow 1.15, and npu_device, for 2.6.5, are both there: a process has one TensorFlow",
            advice="keep the folder of one of them on PYTHONPATH",
        )


@check(
    "tensorflow.set",
    "TensorFlow, its adapter and Python match",
    after=("tensorflow.adapter",),
    needs=_has_tensorflow,
)
def tensorflow_set(facts: Facts) -> Iterator[Result]:
    """The adapters are each for one TensorFlow, without CUDA, and for some versions of Python."""
    if not _has_tensorflow(facts):
        return
    name, version = _installed(facts)
    adapter = _adapter(facts)
    if adapter is None:
        yield result(
            "tensorflow.set",
            Status.ERROR,
            phrase("there is no adapter for TensorFlow {version}: NPUs take 1.15 and 2.6.5", version=version),
            source="TensorFlow adapter: installation guides",
        )
        return
    wrong = list(_wrong(facts, name, version, adapter))
    if wrong:
        python = alternatives(adapter.python.split("|"))
        yield result(
            "tensorflow.set",
            Status.ERROR,
            phrase(
                "{wrong}: {package} wants {tensorflow}, Python {python}, {also}",
                wrong=semicolons(wrong),
                package=adapter.package,
                tensorflow=adapter.tensorflow,
                python=python,
                also=commas(adapter.also),
            ),
            mend=Mend((f"pip uninstall -y {name}", "pip install " + _quoted(adapter))),
            source=adapter.source,
        )


def _wrong(facts: Facts, name: str, version: str, adapter: Adapter) -> Iterator[str]:
    minor = adapter.version.rpartition(".")[0] if adapter.line == "1" else adapter.version
    if not version.startswith(minor):
        yield phrase("TensorFlow is {version}", version=version)
    if name == "tensorflow-gpu":
        yield "tensorflow-gpu is made for CUDA"
    try:
        python = Version(facts.python.version)
        if not any(SpecifierSet(one).contains(python) for one in adapter.python.split("|")):
            yield phrase("Python is {python}", python=python)
        for also in adapter.also:
            package = also.rstrip("0123456789.").rstrip("<>=!")
            there = facts.python.packages.get(package)
            if there is not None and not SpecifierSet(also[len(package) :]).contains(Version(there)):
                yield f"{package} is {there}"
    except InvalidVersion:
        return


def _quoted(adapter: Adapter) -> str:
    return " ".join(f"'{one}'" for one in (adapter.tensorflow, *adapter.also))


@check("tensorflow.chip", "The chip runs this TensorFlow", after=("tensorflow.set",), needs=_has_tensorflow)
def tensorflow_chip(facts: Facts) -> Iterator[Result]:
    """The 310P has the adapter for 1.15 only, and that for inference."""
    if not _has_tensorflow(facts):
        return
    adapter = _adapter(facts)
    if adapter is not None and adapter.line == "2" and facts.chip is not None and facts.chip.product == "Ascend 310P":
        yield result(
            "tensorflow.chip",
            Status.ERROR,
            "the 310P runs TensorFlow 1.15, for inference; npu_device, for 2.6.5, is for training chips",
            source="TensorFlow adapter: introduction, supported products",
        )


@check("tensorflow.environment", "The environment gives each process one device", needs=_has_tensorflow)
def tensorflow_environment(facts: Facts) -> Iterator[Result]:
    """What the adapter reads: one device number, and ranks told in one way."""
    if not _has_tensorflow(facts):
        return
    given = facts.environment
    device = given.get("ASCEND_DEVICE_ID", "")
    source = "hicann/tensorflow@82957b9: tf_adapter/util/npu_attrs.cc; docs/en/tfa_env"
    if device and not device.isdecimal():
        yield result(
            "tensorflow.environment",
            Status.ERROR,
            phrase(
                "ASCEND_DEVICE_ID is {device}, and the adapter takes one number: a process has one NPU",
                device=repr(device),
            ),
            advice="start one process for each card, with its number; npuify launch writes such a script",
            evidence=Evidence.PACKAGE,
            source=source,
        )
    if given.get("RANK_TABLE_FILE") and given.get("CM_CHIEF_IP"):
        yield result(
            "tensorflow.environment",
            Status.ERROR,
            "RANK_TABLE_FILE and CM_CHIEF_IP are both set: the adapter refuses ranks that are told in two ways",
            mend=Mend(("unset CM_CHIEF_IP CM_CHIEF_PORT CM_CHIEF_DEVICE CM_WORKER_SIZE CM_WORKER_IP",), place="shell"),
            evidence=Evidence.PACKAGE,
            source=source,
        )
    elif given.get("RANK_TABLE_FILE") and given.get("RANK_SIZE", "1") != "1" and not given.get("RANK_ID"):
        yield result(
            "tensorflow.environment",
            Status.WARNING,
            "RANK_TABLE_FILE and RANK_SIZE are set in this shell, and RANK_ID is not",
            advice="a launch script sets RANK_ID and ASCEND_DEVICE_ID for each process",
            evidence=Evidence.PACKAGE,
            source=source,
        )
