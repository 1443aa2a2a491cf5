"""What the TensorFlow tables say of a name: answers of ``npuify explain``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import mark, phrase
from npuify.model import Evidence, Explanation

from .tables import PACKAGES, STATUS_OF, adapter_options, adapters, forms, package, vendor_status

if TYPE_CHECKING:
    from .schema import AdapterOption, Form

_LINES = {"1": "TensorFlow 1.15", "2": "TensorFlow 2.6.5", "both": "both lines"}
_SPOKEN = ("tf.", "tensorflow.", "hvd.", "keras.", "npu_bridge.", "npu_device.", "npu.")
_STRENGTH = tuple(Evidence)


def explain_tensorflow(what: str) -> Explanation | None:
    """What is known of a TensorFlow name, a name of the adapter, or an option of it; None where nothing is.

    Args:
        what: ``tf.Session``, ``tf.compat.v1.Session``, ``hvd.rank``, ``NPURunConfig``, ``npu_device.open``,
            ``precision_mode_v2``.
    """
    option = adapter_options().get(what)
    if option is not None:
        return _option(what, option)
    own = _adapter_name(what)
    if own is not None:
        return own
    return _framework_name(what) if what.startswith(_SPOKEN) else None


def _option(name: str, row: AdapterOption) -> Explanation:
    meaning = phrase(row.meaning)
    lines = [phrase("{meaning}.", meaning=meaning[:1].upper() + meaning[1:])] if row.meaning else []
    for label, text in (
        (mark("Values"), row.values),
        (mark("Default"), row.default),
        (_LINES["1"], row.tf1),
        (_LINES["2"], row.tf2),
        (mark("Since"), row.since),
    ):
        if text:
            lines.append(phrase("{title}: {part}", title=phrase(label), part=text))
    checked = package("npu_device").options.get(name)
    if checked:
        default, _, values = checked.partition("|")
        said = phrase("default {default}", default=default) + (
            phrase(", one of {values}", values=values) if values not in ("", "None") else ""
        )
        lines.append(phrase("npu_device checks it: {said}", said=said))
    return Explanation(name, "TensorFlow adapter option", tuple(lines), (), row.source, row.evidence)


def _adapter_name(what: str) -> Explanation | None:
    """What a name of ``npu_bridge`` or ``npu_device`` is, with its module or alone."""
    lines: list[str] = []
    for each in PACKAGES:
        file = package(each)
        version = next(one.version for one in adapters() if one.package == each)
        for module, names in file.names.items():
            for name, spec in names.items():
                called = f"{module.replace('._api', '')}.{name}"
                if what not in (name, called, f"{module}.{name}") or (what == name and spec.startswith("=")):
                    continue
                home, own = _followed(file.names, module, name, spec)
                lines.append(f"{each} {version}: {home}.{own}" if own else f"{each} {version}: {home}")
    if not lines:
        return None
    about = [line for row in _rows(what.rpartition(".")[2], "npu") for line in _form(row)]
    source = "the adapter's Python sources, commit " + package("npu_bridge").commit[:9]
    return Explanation(what, "TensorFlow adapter name", (*lines, *about), (), source, Evidence.PACKAGE)


def _followed(names: dict[str, dict[str, str]], module: str, name: str, spec: str) -> tuple[str, str]:
    """The module that defines a name, and the name with its parameters."""
    seen = set[str]()
    while spec.startswith("=") and spec not in seen:
        seen.add(spec)
        module, _, name = spec[1:].rpartition(".")
        if module not in names or name not in names[module]:
            return spec[1:], ""
        spec = names[module][name]
    return module, name + spec[1:]


def _framework_name(what: str) -> Explanation | None:
    short = re.sub(r"^tensorflow\.", "tf.", what)
    plain = short.replace("tf.compat.v1.", "tf.").replace("tf.compat.v2.", "tf.")
    rows = _rows(short, "gpu") or _rows(plain, "gpu")
    lines = [line for row in rows for line in _form(row)]
    hints = []
    for version in STATUS_OF:
        status = vendor_status(version).get(short.removeprefix("tf.")) or vendor_status(version).get(
            plain.removeprefix("tf.")
        )
        if status:
            hints.append(
                phrase(
                    "The vendor's list for TensorFlow {version} says: {status}. It is a hint, not a promise.",
                    version=version,
                    status=status,
                )
            )
    if not lines and not hints:
        return None
    if not rows:
        source = "the vendor's lists of names, commit " + package("npu_bridge").commit[:9]
        return Explanation(what, "TensorFlow name", tuple(hints), (), source, Evidence.DOCUMENTED)
    weakest = max((row.evidence for row in rows), key=_STRENGTH.index)
    return Explanation(what, "TensorFlow name", (*lines, *hints), (), rows[0].source, weakest)


def _rows(name: str, side: str) -> list[Form]:
    """The forms that speak of a name: as a whole name, not as a part of a longer one."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w]|\.\w)")
    return [row for row in forms() if word.search(row.gpu if side == "gpu" else row.npu)]


def _form(row: Form) -> list[str]:
    becomes = row.npu.replace("\n", "; ")
    head = {
        "edit": phrase("{name} becomes {other}", name=row.gpu, other=becomes)
        if becomes
        else phrase("{name} goes", name=row.gpu),
        "insert": phrase("{name}: add {other}", name=row.gpu, other=becomes),
        "finding": phrase("{name}: see {other}", name=row.gpu, other=becomes) if becomes else row.gpu,
    }[row.action]
    return [
        phrase(
            "{line}, {safety}: {head}", line=phrase(_LINES[row.tensorflow]), safety=phrase(row.safety.value), head=head
        ),
        *([f"    {phrase(row.note)}"] if row.note else []),
    ]
