"""Which adapter a TensorFlow project is moved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from npuify.language import alternatives, phrase
from npuify.model import NpuifyError

from .tables import adapters

if TYPE_CHECKING:
    from .schema import Adapter

_MINORS_1 = tuple(f"1.{minor}.{patch}" for minor in range(16) for patch in range(6))
_MINORS_2 = tuple(f"2.{minor}.{patch}" for minor in range(31) for patch in range(6))


class AdapterChoice(NamedTuple):
    """The adapter aimed at, and why; None where the project leaves both lines open."""

    adapter: Adapter | None
    reason: str
    move: str = ""
    """What it means to get to that version of TensorFlow from the one that the project asks for."""

    @property
    def line(self) -> str:
        """The line of TensorFlow, ``1`` or ``2``; empty where it is open."""
        return self.adapter.line if self.adapter is not None else ""

    @property
    def title(self) -> str:
        """What is aimed at and why, as a report says it."""
        if self.adapter is None:
            return phrase(
                "the TensorFlow adapter, npu_bridge or npu_device: {reason}; --tf-adapter chooses", reason=self.reason
            )
        wanted = f"{self.adapter.package} {self.adapter.version} ({self.adapter.tensorflow}): {self.reason}"
        return f"{wanted}. {self.move}" if self.move else wanted


def requested_adapter(version: str) -> Adapter:
    """The adapter for a version of TensorFlow as a user writes it: ``1.15``, ``1.15.0``, ``2.6`` or ``2.6.5``.

    Raises:
        NpuifyError: there is none for it.
    """
    wanted = version.strip()
    for adapter in adapters():
        if adapter.version == wanted or adapter.version.rpartition(".")[0] == wanted:
            return adapter
    known = alternatives(one.version for one in adapters())
    raise NpuifyError(
        phrase("there is no TensorFlow adapter for {value}", value=wanted or "(empty)"),
        advice=phrase("give {versions}", versions=known),
    )


def choose_adapter(requested: str | None, pin: str | None) -> AdapterChoice:
    """The adapter to aim at.

    Args:
        requested: what the user asked for, as :func:`requested_adapter` takes it; it wins.
        pin: the project's requirement of TensorFlow, for example ``==1.4`` or ``>=2.3``; None where it states none.

    Raises:
        NpuifyError: there is no adapter for what was requested.
    """
    if requested is not None:
        return AdapterChoice(requested_adapter(requested), phrase("asked for"))
    if not pin:
        return AdapterChoice(None, phrase("the project does not pin TensorFlow; each file is taken for what it uses"))
    try:
        wanted = SpecifierSet(pin)
    except InvalidSpecifier:
        return AdapterChoice(None, phrase("the requirement tensorflow{pin} could not be read", pin=pin))
    first, second = adapters()
    ones = [version for version in _MINORS_1 if wanted.contains(version)]
    twos = [version for version in _MINORS_2 if wanted.contains(version)]
    if bool(ones) == bool(twos):
        return AdapterChoice(None, phrase("the requirement tensorflow{pin} leaves both lines open", pin=pin))
    adapter = first if ones else second
    return AdapterChoice(
        adapter, phrase("the project asks for tensorflow{pin}", pin=pin), phrase(_move(adapter, wanted))
    )


def _move(adapter: Adapter, wanted: SpecifierSet) -> str:
    """What moving to an adapter's TensorFlow means, empty where the requirement admits it."""
    if wanted.contains(adapter.version) or wanted.contains(adapter.version.rpartition(".")[0]):
        return ""
    if adapter.line == "1":
        return (
            "The adapter is for 1.15, which runs most code for earlier 1.x "
            "versions, with warnings about names that moved to tf.compat.v1."
        )
    if not any(wanted.contains(version) for version in _MINORS_2 if int(version.split(".")[1]) > 6):
        return (
            "The adapter is for 2.6.5. What later 2.x versions renamed, such as "
            "tf.keras.mixed_precision without experimental, is already there under its new name."
        )
    return (
        "The adapter is for 2.6.5. What came later is missing "
        "there: among others the optimizers of 2.11 (2.6.5 has those that later became tf.keras.optimizers.legacy), "
        "tf.keras.utils.split_dataset, Dataset.rebatch, the .keras file format and Keras 3. "
        "Run the program on tensorflow-cpu 2.6.5 first."
    )


def newest_python(adapter: Adapter) -> str:
    """The newest Python that an adapter is for: 3.7.11, or 3.9, where all releases of that are right."""
    newest = pythons_of(adapter)[-1]
    return newest if "|" not in adapter.python else newest.rpartition(".")[0]


def pythons_of(adapter: Adapter) -> list[str]:
    """The Pythons that an adapter is for, oldest first."""
    ranges = [SpecifierSet(one) for one in adapter.python.split("|")]
    known = [f"3.{minor}.{patch}" for minor in range(7, 10) for patch in range(20)]
    return [one for one in known if any(one in bounds for bounds in ranges)]
