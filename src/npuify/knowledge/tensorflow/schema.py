"""The types of the TensorFlow tables: what their files hold."""

from __future__ import annotations

from typing import Literal

import msgspec

from npuify.model import Evidence, Safety, Severity  # noqa: TC001 - msgspec reads annotations

FORMAT = 1
"""Version of the layout of the generated files. A file of another layout is refused."""


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``forms.toml``: a piece of TensorFlow code for GPUs, and what becomes of it on an NPU.

    ``action`` tells whether the code changes (``edit``), something is added (``insert``), or nothing is written for the
    reader (``finding``).
    """

    tensorflow: Literal["1", "2", "both"]
    gpu: str
    npu: str
    action: Literal["edit", "insert", "finding"]
    safety: Safety
    evidence: Evidence
    source: str
    note: str = ""


class AdapterOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``options.toml``: an option of the adapter, as each line spells it, or empty."""

    name: str
    tf1: str
    tf2: str
    values: str
    default: str
    meaning: str
    since: str
    evidence: Evidence
    source: str


class Use(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``uses.toml``, whose head says what the fields mean. ``{name}`` in a text is the name found."""

    names: tuple[str, ...]
    line: Literal["1", "2", "both"]
    severity: Severity
    message: str
    evidence: Evidence
    source: str
    advice: str = ""
    chips: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    argument: str = ""


class Adapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of ``adapters.toml``: what has to be installed together for a line of TensorFlow.

    ``python`` and ``numpy`` are requirements as pip writes them.
    """

    version: str
    """That of the wheel, which is that of TensorFlow."""
    line: Literal["1", "2"]
    package: str
    """The module that programs import, which gives the wheel its name."""
    tensorflow: str
    """The requirement of TensorFlow, for its build without CUDA."""
    python: str
    also: tuple[str, ...]
    """Further requirements."""
    releases: tuple[str, ...]
    """Which release of the adapter goes with which CANN."""
    note: str
    evidence: Evidence
    source: str
    beside: tuple[str, ...] = ()
    """What goes with TensorFlow's wheel: by the metadata of tensorflow-cpu 1.15.0 and tensorflow 2.6.5 (the upper bound
    of NumPy is the adapter's), and of the packages that want a TensorFlow themselves; tensorflow-probability asks for
    one when it is imported."""
    lacks: tuple[str, ...] = ()
    """Packages of which no version is for this TensorFlow: by the metadata of their wheels."""


class AdapterFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generated file: the names of one package of the adapter.

    ``names`` maps a module to its names, and a name (``NPUEstimator`` or ``NPUEstimator.train``) to a spec: ``f`` for a
    function, ``c`` for a class and ``m`` for a method, with the parameters in brackets; ``v`` for a value;
    ``=module.name`` for the same thing elsewhere. ``options`` maps an option to its default and, behind a bar, the
    values it takes, as Python writes both; it is empty for a package whose options are checked outside of Python.
    """

    format: int
    package: str
    commit: str
    """That of the sources which were read."""
    names: dict[str, dict[str, str]]
    options: dict[str, str]


class StatusFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generated file: what the vendor's list says of the names of a TensorFlow version.

    ``status`` maps a status to the names that have it, separated by blanks, without ``tf.`` before them.
    """

    format: int
    tensorflow: str
    commit: str
    status: dict[str, str]


class KerasFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generated file: the public names of tf.keras.

    ``names`` maps a version of TensorFlow to modules below tf.keras, and those to their names, with blanks between.
    ``tools/keras_names.py`` asks the package for them.
    """

    format: int
    names: dict[str, dict[str, str]]
