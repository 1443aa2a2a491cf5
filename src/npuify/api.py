"""What faces call to explain: rules, and what is known of a name."""

from __future__ import annotations

from npuify.model import Evidence, Explanation, NpuifyError, ReleaseRow, RuleInfo, Safety


def rules() -> tuple[RuleInfo, ...]:
    """All rules, in the order of their codes."""
    from npuify.engine.catalog import all_rules

    return tuple(
        RuleInfo(
            rule.code,
            rule.name,
            rule.safety,
            rule.severity,
            rule.summary,
            rule.documentation,
            rule.evidence,
            rule.source,
        )
        for rule in all_rules().values()
    )


def explain(what: str, *, torch_npu: str | None = None) -> Explanation:
    """What is known of a rule (by code or name), a CUDA or NPU name, an operator, an environment variable, or an error.

    Args:
        what: ``NPU301``, ``nccl-backend``, ``torch.cuda.Event``, ``torch.npu.Event``, ``aten::lgamma``, ``NCCL_DEBUG``,
            ``EI0006``, ``507015``, ``ERR00100``.
        torch_npu: only this release; None for all that are shipped.

    Raises:
        NpuifyError: nothing is known under this name.
    """
    for rule in rules():
        if what.upper() == rule.code or what == rule.name:
            return _explain_rule(rule)
    found = _explain_conversion(what)
    if found is not None:
        return found
    import npuify.knowledge as knowledge
    from npuify.knowledge import failures

    fact = knowledge.environment().get(what)
    if fact is not None:
        text = [f"{what}: {fact.action}" + (f", becomes {fact.npu}" if fact.npu else ""), fact.message]
        if fact.values:
            text.append(f"Values: {fact.values}")
        if fact.products:
            text.append(f"Holds for: {fact.products}")
        return Explanation(what, "environment variable", tuple(text), (), fact.source, fact.evidence)
    failure = failures.explain_failure(what)
    if failure is not None:
        return failure
    wanted = knowledge.choose_release(torch_npu, None).torch_npu if torch_npu else None
    versions = [info.torch_npu for info in knowledge.releases() if info.has_table and wanted in (None, info.torch_npu)]
    found = _explain_operator(what, versions) if what.startswith("aten::") else _explain_name(what, versions)
    if found is None:
        raise NpuifyError(
            f"nothing is known under {what!r}",
            advice="give a rule's code (NPU301), a name with its module (torch.cuda.Event), a variable, or the code "
            "of an error (EI0006)",
        )
    return found


def _explain_rule(rule: RuleInfo) -> Explanation:
    head = f"{rule.safety.value} edits, severity {rule.severity.value}"
    if rule.safety is Safety.MANUAL:
        head = f"no edit, severity {rule.severity.value}"
    return Explanation(
        f"{rule.code} {rule.name}", "rule", (head, *rule.documentation.splitlines()), (), rule.source, rule.evidence
    )


def _explain_conversion(what: str) -> Explanation | None:
    """What a code of ``npuify distribute`` means, NPU350 to NPU399, by its code or name."""
    from npuify.distribute.codes import CODES, EVIDENCE, PYTORCH

    for code, known in CODES.items():
        if what.upper() == code or what == known.name:
            text = (
                f"severity {known.severity.value} where it is left to do",
                known.summary,
                *known.explanation.splitlines(),
            )
            return Explanation(f"{code} {known.name}", "finding of npuify distribute", text, (), PYTORCH, EVIDENCE)
    return None


_SERVED = {
    "kernel": "NPU kernel",
    "fallback": "runs on the CPU, with copies to the host and back",
    "composite": "composed from other operators",
    "default": "leads to other operators",
    "none": "raises",
}


def _explain_operator(name: str, versions: list[str]) -> Explanation | None:
    """What serves an operator, ``aten::lgamma`` or ``aten::lgamma.out``, on the releases that were imported and
    asked."""
    import npuify.knowledge as knowledge

    operator, _, overload = name.removeprefix("aten::").partition(".")
    rows = []
    for version in versions:
        support = knowledge.load(version).operator_support.get(operator, {})
        for each, how in sorted(support.items()):
            if overload in ("", each):
                rows.append(ReleaseRow(version, f"aten::{operator}.{each}".rstrip("."), _SERVED[how]))
    if not rows:
        return None
    source = "the dispatch tables of the imported torch_npu packages"
    return Explanation(name, "operator", (), tuple(rows), source, Evidence.LIVE)


def _explain_name(name: str, versions: list[str]) -> Explanation | None:
    import npuify.knowledge as knowledge

    rows, meanings = [], dict[tuple[str, str], list[str]]()
    source, evidence, known, is_npu = "", Evidence.PACKAGE, False, False
    for version in versions:
        table = knowledge.load(version)
        counterpart = table.counterpart(name)
        if counterpart is not None:
            known = True
            note: str = counterpart.status
            if counterpart.missing_parameters:
                note += f"; does not take {', '.join(counterpart.missing_parameters)}"
            rows.append(ReleaseRow(version, counterpart.npu or "", note))
            if counterpart.meaning is not None:
                meanings.setdefault((counterpart.meaning.message, counterpart.meaning.advice), []).append(version)
            if not source:
                source, evidence = counterpart.source, counterpart.evidence
            elif evidence is Evidence.LIVE and counterpart.evidence is not evidence:
                rows[-1] = ReleaseRow(version, counterpart.npu or "", f"{note}; by its files")
        elif table.has(name):
            known = is_npu = True
            signature = table.signature(name)
            rows.append(ReleaseRow(version, name, signature.text if signature is not None else ""))
            if not source:
                source, evidence = "torch_npu packages", table.evidence(name)
        else:
            rows.append(ReleaseRow(version, "", "not there"))
    if not known:
        return None
    kind = "npu name" if is_npu else "cuda name"
    texts = _meaning_lines(meanings)
    return Explanation(name, kind, texts, tuple(rows), source or "torch_npu packages", evidence)


def _meaning_lines(meanings: dict[tuple[str, str], list[str]]) -> tuple[str, ...]:
    """What a name means, with the releases where they differ, and the advice, each said once.

    Args:
        meanings: message and advice, with the releases that they hold for, the newest first.
    """
    lines = dict[str, None]()
    differ = len({message for message, _ in meanings}) > 1
    for (message, advice), versions in meanings.items():
        span = versions[0] if len(versions) == 1 else f"{versions[-1]} to {versions[0]}"
        lines[f"torch_npu {span}: {message}" if differ else message] = None
        if advice:
            lines[advice] = None
    return tuple(lines)
