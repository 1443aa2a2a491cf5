"""What the tables of frameworks say of a name: ``npuify explain vllm==0.18.0``, ``--attention-backend``."""

from __future__ import annotations

import re

from npuify.knowledge.frameworks.explain_stacks import explain_stack, explain_stack_option
from npuify.knowledge.frameworks.owners import frameworks
from npuify.knowledge.frameworks.vllm import engine_arguments, vllm_sets
from npuify.language import alternatives, commas, phrase, semicolons
from npuify.model import Explanation, NpuifyError

_VLLM = re.compile(r"vllm(?:-ascend)?(?:==v?(?P<version>\d[\w.]*))?")


def explain_framework(what: str) -> Explanation | None:
    """What is known of a framework, a vLLM with what belongs to it, or one of its engine arguments; None for others.

    Args:
        what: ``vllm``, ``vllm==0.18.0``, ``--attention-backend``, ``xgboost``.

    Raises:
        NpuifyError: there is no set for this vLLM.
    """
    match = _VLLM.fullmatch(what)
    if match is not None:
        return _sets(what, match["version"] or "")
    if what.startswith("--"):
        return _argument(what) or explain_stack_option(what)
    stack = explain_stack(what)
    if stack is not None:
        return stack
    row = frameworks().get(what)
    if row is None:
        return None
    words = [
        phrase("{cuda} is {word}", cuda=kind, word=word)
        for kind, word in (("cuda", row.device), ("nccl", row.backend))
        if word
    ]
    return Explanation(what, "framework", (row.message, *words, row.advice), (), row.source, row.evidence)


def _sets(what: str, version: str) -> Explanation:
    rows = [row for row in vllm_sets() if version in ("", row.plugin, *row.vllm)]
    if not rows:
        raise NpuifyError(
            phrase("no release of vllm-ascend is known for {what}", what=what), advice="`npuify explain vllm` lists all"
        )
    text = []
    for row in rows:
        index = "" if row.installable else phrase(", not on the package index")
        triton = phrase(", triton-ascend {triton_ascend}", triton_ascend=row.triton_ascend) if row.triton_ascend else ""
        text.append(
            phrase(
                "vllm {vllm}: vllm-ascend {plugin} ({status}{index}), torch {torch}, torch-npu "
                "{torch_npu}{triton}, CANN {cann}, Python {python}, {chips}",
                vllm=alternatives(row.vllm),
                plugin=row.plugin,
                status=row.status,
                index=index,
                torch=row.torch,
                torch_npu=row.torch_npu,
                triton=triton,
                cann=row.cann,
                python=row.python,
                chips=commas(row.chips),
            )
        )
    return Explanation(what, "set of versions", tuple(text), (), rows[0].source, rows[0].evidence)


def _argument(what: str) -> Explanation | None:
    rows = engine_arguments().get(what[2:].replace("-", "_"), ())
    if not rows:
        return None
    text = []
    for row in rows:
        values = phrase(" with {values}", values=commas(row.values)) if row.values else ""
        done = {
            "remove": phrase("removed"),
            "set": phrase("set to {becomes}", becomes=row.becomes),
            "tell": phrase("told"),
        }[row.action]
        said = semicolons(filter(None, (done, row.message, row.advice)))
        text.append(phrase("vLLM's {option}{values}: {said}", option=what, values=values, said=said))
    return Explanation(what, "vLLM option", tuple(text), (), rows[0].source, rows[0].evidence)
