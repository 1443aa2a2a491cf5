"""What the tables say of a name: the answers of ``npuify explain``."""

from __future__ import annotations

import re
from difflib import get_close_matches

from npuify.knowledge.explain.operators import explain_operator_of_cann
from npuify.knowledge.explain.packages import explain_package, package_names
from npuify.knowledge.explain.words import explain_word, variables_of_npus
from npuify.knowledge.failures.causes import code_facts, explain_exception, explain_failure, explain_message
from npuify.knowledge.frameworks.explain import explain_framework
from npuify.knowledge.hand_written import environment, meanings
from npuify.knowledge.hardware.tell import seen_lines
from npuify.knowledge.pytorch.functions import functions, lack_of
from npuify.knowledge.pytorch.removed import removed_name, removed_names
from npuify.knowledge.release.names import npu_module_name
from npuify.knowledge.release.table import load
from npuify.knowledge.release.versions import choose_release, releases
from npuify.knowledge.tensorflow.explain import explain_tensorflow
from npuify.language import commas, phrase
from npuify.model import Evidence, Explanation, ReleaseRow


def explain_name(what: str, *, torch_npu: str | None = None) -> Explanation | None:
    """What is known of a CUDA, NPU or TensorFlow name, an operator, a variable, a package, or an error; else None.

    Args:
        what: ``torch.cuda.Event``, ``torch.npu.Event``, ``aten::lgamma``, ``NCCL_DEBUG``, ``EI0006``, ``507015``,
            ``ERR00100``, ``tf.Session``, ``NPURunConfig``, ``precision_mode_v2``, ``flash_attn``, ``static TLS block``.
        torch_npu: only this release; None for all that are shipped.

    Raises:
        NpuifyError: there is no such release.
    """
    found = _variable(what) or explain_framework(what) or explain_package(what) or explain_failure(what)
    if found is not None:
        return found
    wanted = choose_release(torch_npu, None).torch_npu if torch_npu else None
    versions = [info.torch_npu for info in releases() if info.has_table and wanted in (None, info.torch_npu)]
    if what.startswith("aten::"):
        return _operator(what, versions)
    return (
        _python_name(what, versions)
        or _removed(what, versions)
        or _function(what, versions)
        or _bound_operator(what, versions)
        or explain_tensorflow(what)
        or _missing_package(what)
        or explain_message(what)
        or explain_exception(what)
        or explain_word(what)
        or explain_operator_of_cann(what)
        or _option(what)
    )


_OPTION = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+")


def _option(what: str) -> Explanation | None:
    """What is known of an option that is written without its dashes, or as Python writes it."""
    if _OPTION.fullmatch(what) is None:
        return None
    return explain_framework("--" + what.replace("_", "-")) or explain_framework("--" + what.replace("-", "_"))


_MISSING = re.compile(r"No module named '?([\w.]+)")


def _missing_package(what: str) -> Explanation | None:
    """What is known of the package that a message says is missing."""
    found = _MISSING.search(what)
    parts = found[1].split(".") if found is not None else []
    return next(filter(None, (explain_package(".".join(parts[:n])) for n in range(len(parts), 0, -1))), None)


def _variable(what: str) -> Explanation | None:
    fact = environment().get(what)
    if fact is None:
        return None
    text = [
        phrase("{name}: {action}, becomes {npu}", name=what, action=fact.action, npu=fact.npu)
        if fact.npu
        else f"{what}: {fact.action}",
        fact.message,
    ]
    if fact.values:
        text.append(phrase("Values: {values}", values=fact.values))
    if fact.products:
        text.append(phrase("Holds for: {products}", products=fact.products))
    return Explanation(what, "environment variable", tuple(text), (), fact.source, fact.evidence)


def similar_names(what: str) -> tuple[str, ...]:
    """Names that are written nearly like ``what``, the nearest first: for typing errors. Few or none."""
    known = dict.fromkeys(environment())
    newest = next((info.torch_npu for info in releases() if info.has_table), None)
    known.update(dict.fromkeys((*variables_of_npus(), *package_names())))
    known.update(dict.fromkeys(code for fact in code_facts() for code in fact.code if "*" not in code))
    if newest is None:
        return tuple(get_close_matches(what, known, n=_OFFERED, cutoff=_ALIKE))
    content = load(newest).content
    whole = dict.fromkeys(
        f"{module}.{name}"
        for names in (content.npu, content.cuda)
        for module, members in names.items()
        for name in members
        if not name.startswith("_")
    )
    whole.update(dict.fromkeys(f"torch_npu.{name}" for name in content.custom_operators if not name.startswith("_")))
    if "." in what:
        return tuple(get_close_matches(what, {**known, **whole}, n=_OFFERED, cutoff=_ALIKE))
    # A name without its module: the names that end in it, or in one that is written nearly so.
    ends: dict[str, list[str]] = {}
    for name in whole:
        ends.setdefault(name.rpartition(".")[2], []).append(name)
    near = get_close_matches(what, {**known, **dict.fromkeys(ends)}, n=_OFFERED, cutoff=_ALIKE)
    shown = dict.fromkeys(
        name for one in near for name in ((one,) if one in known else sorted(ends[one], key=lambda x: x.count("."))[:2])
    )
    return tuple(shown)[:_OFFERED]


_OFFERED = 3
_ALIKE = 0.82


_SERVED = {
    "kernel": "NPU kernel",
    "fallback": "runs on the CPU, with copies to the host and back",
    "composite": "composed from other operators",
    "default": "leads to other operators",
    "none": "raises",
}


def _operator(name: str, versions: list[str]) -> Explanation | None:
    """What serves an operator, ``aten::lgamma`` or ``aten::lgamma.out``, on the releases that were imported and
    asked."""
    operator, _, overload = name.removeprefix("aten::").partition(".")
    rows = []
    for version in versions:
        support = load(version).operator_support.get(operator, {})
        for each, how in sorted(support.items()):
            if overload in ("", each):
                rows.append(ReleaseRow(version, f"aten::{operator}.{each}".rstrip("."), _SERVED[how]))
    if not rows:
        return None
    source = "the dispatch tables of the imported torch_npu packages"
    return Explanation(name, "operator", (), tuple(rows), source, Evidence.LIVE)


_BOUND = re.compile(r"torch\.(?:ops\.aten\.(\w+(?:\.\w+)?)|_VF\.(\w+)|(\w+))")
"""Names under which torch binds an operator of its own: ``torch.ops.aten.lgamma.out``, ``torch._fused_adamw_``."""


def _bound_operator(name: str, versions: list[str]) -> Explanation | None:
    """What serves the operator that a name of torch is bound to, where the tables have no function of that name."""
    found = _BOUND.fullmatch(name)
    if found is None:
        return None
    operator = (found[1] or found[2] or found[3]).removesuffix(".default")
    return _operator(f"aten::{operator}", versions)


def _function(name: str, versions: list[str]) -> Explanation | None:
    """Which kernels a function, method or layer of torch lacks on each release."""
    if name not in functions():
        return None
    rows, sources = [], []
    for version in versions:
        lack = lack_of(name, load(version))
        if lack is None:
            note = "NPU kernels, as far as is known"
        elif lack.always:
            note = phrase(
                "runs on the CPU, with copies to the host and back: no kernel for aten::{operator}",
                operator=lack.operator,
            )
        else:
            note = phrase(
                "some forms of the call run on the CPU: no kernel for aten::{operator}", operator=lack.operator
            )
        rows.append(ReleaseRow(version, name, note))
        sources.append(Evidence.LIVE if load(version).live is not None else Evidence.PACKAGE)
    evidence = Evidence.LIVE if set(sources) == {Evidence.LIVE} else Evidence.PACKAGE
    texts = seen_lines([f"calls/{name}", f"operators/{name}"])
    source = "the operators that calls of torch 2.13 lead to, and the kernels of each torch_npu package"
    return Explanation(
        name, "layer" if not functions()[name].itself else "function", texts, tuple(rows), source, evidence
    )


def _removed(name: str, versions: list[str]) -> Explanation | None:
    """A name that newer releases of torch lack."""
    found = removed_name(name, "999") or removed_name(f"{name}()", "999")
    if found is None:
        return None
    exact = removed_names().get(name, found)
    rows = [
        ReleaseRow(
            version, name, phrase("not there: torch {torch} lacks {name}", torch=load(version).torch, name=found.name)
        )
        if found.is_gone_from(load(version).torch)
        else ReleaseRow(version, name, phrase("torch {torch} has it", torch=load(version).torch))
        for version in versions
    ]
    text = [
        phrase("{name} is gone from torch {first}", name=found.name, first=found.first)
        + (phrase("; {last} has it", last=found.last) if found.last else "")
    ]
    row = exact.replacement or found.replacement
    if row is not None:
        becomes = row.becomes or row.module or row.value
        text += [phrase("Becomes {name}", name=becomes)] if becomes else [row.advice]
    source = row.source if row is not None else "the files of torch 1.1 to 2.14"
    return Explanation(name, "removed name", tuple(text), tuple(rows), source, Evidence.PACKAGE)


def _python_name(name: str, versions: list[str]) -> Explanation | None:
    rows, told = [], dict[tuple[str, str], list[str]]()
    source, evidence, known, is_npu = "", Evidence.PACKAGE, False, False
    for version in versions:
        table = load(version)
        counterpart = table.counterpart(name)
        if counterpart is not None:
            known = True
            note = phrase(counterpart.status)
            if counterpart.status == "missing" and name.startswith("torch.backends."):
                note = phrase("no counterpart; the switch is there in every build of torch")
            if counterpart.missing_parameters:
                note += phrase(
                    "; does not take {missing_parameters}", missing_parameters=commas(counterpart.missing_parameters)
                )
            rows.append(ReleaseRow(version, counterpart.npu or "", note))
            if counterpart.meaning is not None:
                told.setdefault((counterpart.meaning.message, counterpart.meaning.advice), []).append(version)
            if not source:
                source, evidence = counterpart.source, counterpart.evidence
            elif evidence is Evidence.LIVE and counterpart.evidence is not evidence:
                rows[-1] = ReleaseRow(version, counterpart.npu or "", phrase("{note}; by its files", note=note))
        elif table.has(name):
            known = is_npu = True
            signature = table.signature(name)
            rows.append(ReleaseRow(version, name, signature.text if signature is not None else ""))
            if not source:
                source, evidence = "torch_npu packages", table.evidence(name)
        else:
            rows.append(ReleaseRow(version, "", phrase("not there")))
    if not known:
        return None
    kind = "npu name" if is_npu else "cuda name"
    texts = (*_meaning_lines(told), *_seen(name, rows))
    return Explanation(name, kind, texts, tuple(rows), source or "torch_npu packages", evidence)


def _seen(name: str, rows: list[ReleaseRow]) -> tuple[str, ...]:
    """Where the name, its counterparts and its behaviour were looked at on an NPU."""
    names = dict.fromkeys([name, *(row.name for row in rows if row.name)])
    effects = {row.effect for row in meanings().get(name, ())}
    return seen_lines(
        [*(f"names/{npu_module_name(one)}" for one in names), *(f"behaviour/{name} {effect}" for effect in effects)]
    )


def _meaning_lines(meanings: dict[tuple[str, str], list[str]]) -> tuple[str, ...]:
    """What a name means, with the releases where they differ, and the advice, each said once.

    Args:
        meanings: message and advice, with the releases that they hold for, the newest first.
    """
    lines = dict[str, None]()
    differ = len({message for message, _ in meanings}) > 1
    for (message, advice), versions in meanings.items():
        span = versions[0] if len(versions) == 1 else phrase("{first} to {last}", first=versions[-1], last=versions[0])
        lines[phrase("torch_npu {span}: {message}", span=span, message=message) if differ else message] = None
        if advice:
            lines[advice] = None
    return tuple(lines)
