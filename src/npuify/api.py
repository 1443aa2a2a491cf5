"""What faces call to explain: rules, and what is known of a name."""

from __future__ import annotations

from npuify.model import Explanation, NpuifyError, RuleInfo


def rules() -> tuple[RuleInfo, ...]:
    """All rules, in the order of their codes."""
    from npuify.engine.catalog import all_rules

    return tuple(rule.info for rule in all_rules().values())


def explain(what: str, *, torch_npu: str | None = None) -> Explanation:
    """What is known of a rule (by code or name), a CUDA or NPU name, an operator, an environment variable, or an error.

    Args:
        what: ``NPU301``, ``nccl-backend``, ``torch.cuda.Event``, ``torch.npu.Event``, ``aten::lgamma``, ``NCCL_DEBUG``,
            ``EI0006``, ``507015``, ``ERR00100``.
        torch_npu: only this release; None for all that are shipped.

    Raises:
        NpuifyError: nothing is known under this name.
    """
    from npuify.distribute.codes import explain_code
    from npuify.engine.catalog import all_rules
    from npuify.knowledge.explain import explain_name

    found = next((rule.explanation for rule in all_rules().values() if rule.is_called(what)), None)
    found = found or explain_code(what) or explain_name(what, torch_npu=torch_npu)
    if found is None:
        raise NpuifyError(
            f"nothing is known under {what!r}",
            advice="give a rule's code (NPU301), a name with its module (torch.cuda.Event), a variable, or the code "
            "of an error (EI0006)",
        )
    return found
