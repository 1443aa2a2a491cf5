"""What faces call besides scan and migrate: rules, what is known of a name, what is new in a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import documentation_in_language, phrase
from npuify.model import Explanation, NpuifyError, RuleInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from npuify.model import ScanResult
    from npuify.options import Options
    from npuify.port.plan import Plan


_MOST_RULES: Final = 8
"""Rules that are listed for a name of which only they speak."""


def rules(codes: Sequence[str] = ()) -> tuple[RuleInfo, ...]:
    """The rules, in the order of their codes.

    Args:
        codes: only these rules, by code or name; none: all.

    Raises:
        NpuifyError: there is no such rule.
    """
    from npuify.engine.catalog import all_rules

    known = all_rules().values()
    for code in codes:
        if not any(rule.is_called(code) for rule in known):
            raise NpuifyError(
                phrase("there is no rule {code!r}", code=code), advice="npuify rules lists all, by code and name"
            )
    return tuple(rule.info for rule in known if not codes or any(map(rule.is_called, codes)))


def explain(what: str, *, torch_npu: str | None = None) -> Explanation:
    """What is known of a rule (by code or name), a CUDA or NPU name, an operator, an environment variable, or an error.

    Args:
        what: ``NPU301``, ``nccl-backend``, ``torch.cuda.Event``, ``torch.npu.Event``, ``aten::lgamma``, ``NCCL_DEBUG``,
            ``EI0006``, ``507015``, ``ERR00100``, ``upfirdn2d``, ``nvcc``, ``910B3``, ``error code 507035``.
        torch_npu: only this release; None for all that are shipped.

    Raises:
        NpuifyError: nothing is known under this name.
    """
    from npuify.distribute.codes import explain_code
    from npuify.engine.catalog import all_rules
    from npuify.knowledge.explain.names import explain_name, similar_names
    from npuify.knowledge.third_party.members import explain_member
    from npuify.knowledge.third_party.replacements import explain_replacement

    found = next((rule.explanation for rule in all_rules().values() if rule.is_called(what)), None)
    found = found or explain_code(what) or explain_name(what, torch_npu=torch_npu) or explain_replacement(what)
    found = found or _named_by_rules(what) or explain_member(what) or _package_of(what)
    if found is None and not what.startswith("-") and " " not in what:
        found = _named_by_rules(f"--{what.replace('_', '-')}") or _named_by_rules(f"--{what}")
    if found is None:
        similar = _similar_rules(what) or similar_names(what)
        raise NpuifyError(
            phrase("nothing is known under {what!r}", what=what)
            + (phrase("; did you mean {similar}?", similar=" or ".join(similar)) if similar else ""),
            advice="give a rule's code (NPU301), a name with its module (torch.cuda.Event), a variable, a package, the "
            "code of an error (EI0006), or a part of its message",
        )
    return found


def _similar_rules(what: str) -> tuple[str, ...]:
    """Codes and names of rules that are written nearly like ``what``, or that a code begins with; few or none."""
    from difflib import get_close_matches

    from npuify.engine.catalog import all_rules

    rules = all_rules().values()
    if what.upper().startswith("NPU"):
        code = "NPU" + what[3:].upper().replace("O", "0").replace("I", "1")
        begun = [rule.code for rule in rules if rule.code.startswith(code)]
        return tuple(begun[:3] or get_close_matches(code, [rule.code for rule in rules], n=3, cutoff=0.8))
    return tuple(get_close_matches(what, [rule.name for rule in rules], n=3, cutoff=0.85)) if "-" in what else ()


def _named_by_rules(what: str) -> Explanation | None:
    """The rules whose documentation names it, or that look for it; None where it is no whole name, or none does."""
    import re

    from npuify.engine.catalog import all_rules

    quoted = f'"{what}"'
    if not re.search(r"[._]|^--\w|[a-z][A-Z]", what) and (
        len(what) < 4 or not any(quoted in rule.documentation for rule in all_rules().values())
    ):
        return None
    name = re.compile(rf"(?<![\w.]){re.escape(what)}(?!\w)")
    found = [
        rule
        for rule in all_rules().values()
        if (name.search(rule.documentation) if re.search(r"[._A-Z]|^--\w", what) else quoted in rule.documentation)
        or any(f".{what.lower()}".endswith(f".{word}") for word in rule.words)
    ][:_MOST_RULES]
    if not found:
        return None
    told = tuple(
        f"{one.code} {one.name}: "
        + documentation_in_language(one.documentation).partition("\n\n")[0].replace("\n", " ").strip()
        for one in found
    )
    more = phrase("npuify explain {code} says more.", code=found[0].code)
    return Explanation(what, "rules", (*told, more), (), found[0].source, found[0].evidence)


def _package_of(what: str) -> Explanation | None:
    """What is known of the package that a dotted name lies in; PyTorch's own names are no matter of a package."""
    from npuify.knowledge.explain.packages import explain_package

    parts = what.split(".")
    if parts[0] in ("torch", "torch_npu") or not all(part.isidentifier() for part in parts):
        return None
    return next(filter(None, (explain_package(".".join(parts[:count])) for count in range(len(parts), 0, -1))), None)


def plan(
    project: Path,
    options: Options,
    *,
    progress: Callable[[int, int], None] | None = None,
    preparing: Callable[[int, int], None] | None = None,
) -> Plan:
    """What to do next with a project, in order; see :func:`npuify.port.plan.plan`."""
    from npuify.port.plan import plan as run

    return run(project, options, progress=progress, preparing=preparing)


def narrowed(result: ScanResult, *, baseline: Path | None = None, since: str | None = None) -> ScanResult:
    """What is new in a scan. ``narrowed`` of the answer says how much was left out.

    Args:
        result: of a scan.
        baseline: an earlier report (``--format json``): only what it has not.
        since: a git revision: only what is said of lines that have changed since.

    Raises:
        NpuifyError: the report cannot be read, or git cannot answer.
    """
    if baseline is not None:
        from npuify.report.narrow import without_baseline

        result = without_baseline(result, baseline)
    if since is not None:
        from pathlib import Path

        from npuify.project.git import changed_lines
        from npuify.report.narrow import on_changed_lines

        result = on_changed_lines(result, changed_lines(Path(result.root), since))
    return result
