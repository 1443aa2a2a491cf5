"""Devices and backends as libraries beside PyTorch call them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.owners import owner_of, owner_of_entry
from npuify.knowledge.frameworks.owners import frameworks, words
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.frameworks.owners import Framework
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_DEVICE = re.compile(r"(cuda|gpu)(:\d+)?", re.IGNORECASE)
_ASKED = frozenset(("jax.devices", "jax.local_devices", "jax.lib.xla_bridge.get_backend"))
"""What says by ``platform`` on what JAX computes."""
_SETTLED_ELSEWHERE = frozenset(("vLLM", "PaddlePaddle"))
"""Frameworks whose devices have rules of their own, which know more than a word."""


@rule(
    "NPU970",
    "device-of-another-library",
    Safety.REVIEW,
    words=('"cuda', "'cuda", '"nccl', "'nccl", '"gpu', "'gpu"),
    also_in_file=(*(word.lower() for word in words()), "executionprovider"),
    without_torch=True,
    evidence=Evidence.PACKAGE,
    source="the table of frameworks; npuify says the source with each finding",
)
def device_of_another_library(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """A library with words of its own is given a CUDA device or NCCL: its word for an NPU is another, or it has none.

    Before::

        import onnxruntime

        session = onnxruntime.InferenceSession("net.onnx")
        binding = session.io_binding()
        binding.bind_output("y", device_type="cuda", device_id=0)

    After::

        import onnxruntime

        session = onnxruntime.InferenceSession("net.onnx")
        binding = session.io_binding()
        binding.bind_output("y", device_type="cann", device_id=0)
    """
    if not isinstance(node.value, str):
        return
    match = _DEVICE.fullmatch(node.value)
    if match is None and node.value.lower() != "nccl":
        return
    framework = owner_of(node, file.model) or owner_of_entry(node, file.model, file.reaching(Reach.FILE))
    if framework is None and match is not None and _is_answer_of_jax(node, file):
        jax = frameworks()["jax"]
        yield file.report(
            node,
            "JAX answers cpu on a machine with NPUs, so that this is never the case, and nothing says so",
            severity=Severity.WARNING,
            evidence=jax.evidence,
            source="jax 0.10.2, called on the CPU: jax.default_backend() and jax.devices()[0].platform are cpu",
            subject=f"JAX: {node.value}",
            advice=jax.advice,
        )
        return
    if framework is None and match is None and file.framework == "PaddlePaddle":
        framework = frameworks()["paddle"] if not isinstance(file.parent(node), (ast.Expr, ast.JoinedStr)) else None
    if framework is None or (match is not None and framework.name in _SETTLED_ELSEWHERE):
        return
    if framework.name == "Lightning" and isinstance(file.parent(node), ast.keyword):
        return  # the rule for its accelerators tells, and how one is registered
    if framework.modules[0] in file.project.packages:
        return  # the library itself is what is migrated
    if match is None:
        yield _backend(node, framework, file)
        return
    edit = None
    if framework.name == "JAX" and _is_platform(node, file):
        yield file.report(
            node,
            framework.message,
            edits=[edit] if (edit := replace_in_literal(node, node.value, "cpu", file)) else (),
            severity=Severity.ERROR,
            evidence=framework.evidence,
            source=framework.source,
            subject=f"JAX: {node.value}",
            advice=framework.advice,
        )
        return
    if framework.device and (framework.takes_index or not match.group(2)):
        edit = replace_in_literal(node, match.group(1), framework.device, file)
    yield file.report(
        node,
        framework.message,
        edits=[edit] if edit else (),
        severity=Severity.ERROR,
        evidence=framework.evidence,
        source=framework.source,
        subject=f"{framework.name}: {node.value}",
        advice=framework.advice,
    )


def _is_answer_of_jax(node: ast.Constant, file: PythonFile) -> bool:
    """``jax.default_backend() == "gpu"``, ``jax.devices()[0].platform == "gpu"``."""
    compared = file.parent(node)
    if not isinstance(compared, ast.Compare):
        return False
    for side in (compared.left, *compared.comparators):
        asked: ast.expr = side
        is_platform = isinstance(asked, ast.Attribute) and asked.attr == "platform"
        while isinstance(asked, (ast.Attribute, ast.Subscript)):
            asked = asked.value
        name = file.qualname(asked.func) or "" if isinstance(asked, ast.Call) else ""
        if name == "jax.default_backend" or (is_platform and name in _ASKED):
            return True
    return False


def _is_platform(node: ast.Constant, file: PythonFile) -> bool:
    """``jax.config.update("jax_platforms", "cuda")``, which may say cpu."""
    call = file.parent(node)
    return (
        isinstance(call, ast.Call)
        and (file.qualname(call.func) or "").endswith("config.update")
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value in ("jax_platforms", "jax_platform_name")
    )


def _backend(node: ast.Constant, framework: Framework, file: PythonFile) -> Diagnostic:
    text = str(node.value)
    word = framework.backend.upper() if text.isupper() else framework.backend
    edit = replace_in_literal(node, text, word, file) if framework.backend else None
    return file.report(
        node,
        phrase(
            "{name} calls the collective back end of an NPU {backend}", name=framework.name, backend=framework.backend
        )
        if framework.backend
        else phrase("{name} has no back end in the place of NCCL on an NPU", name=framework.name),
        edits=[edit] if edit else (),
        evidence=framework.evidence,
        source=framework.source,
        subject=f"{framework.name}: nccl",
        advice="" if edit else framework.advice,
    )
