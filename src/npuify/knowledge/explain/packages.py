"""What the tables say of a Python package: the answer of ``npuify explain flash_attn``."""

from __future__ import annotations

from npuify.knowledge.hand_written import packages
from npuify.knowledge.third_party.dependencies import dependencies
from npuify.knowledge.third_party.members import lines_of_package
from npuify.language import phrase
from npuify.model import Explanation

_STATUS = {
    "native": "runs on NPUs",
    "plugin": "runs on NPUs with a second package",
    "fork": "has another build for NPUs",
    "replacement": "has its work done by another package on NPUs",
    "partial": "runs on NPUs in part",
    "cpu-only": "runs on the CPU only",
    "none": "has no form for NPUs",
}


def normal(name: str) -> str:
    """A package's or module's name as it is compared: ``flash-attn`` and ``flash_attn`` are one."""
    return name.strip().lower().replace("_", "-").replace(".", "-")


def explain_package(what: str) -> Explanation | None:
    """What is known of a package, by the name that pip or Python knows; None where it is nothing."""
    name = normal(what)
    fact = next(
        (row for module, row in packages().items() if name in {normal(module), *map(normal, row.package)}), None
    )
    if fact is None:
        # A package that is told of by its names only, since its import does not say which build it is.
        fact = next(
            (row for row in packages().values() if any(normal(one.partition(".")[0]) == name for one in row.names)),
            None,
        )
    row = next((one for one in dependencies() if name in {normal(one.name), *map(normal, one.also)}), None)
    top = name.replace("-", "_")
    if fact is None and row is None:
        return None
    lines: dict[str, None] = {}
    if fact is not None:
        lines[_standing(fact.package[0], fact.status, fact.since)] = None
        lines.update(dict.fromkeys((fact.message, fact.advice)))
    if row is not None:
        if fact is None:
            lines[_standing(row.name, row.status, row.minimum)] = None
        if fact is None or fact.status != row.status:
            # Where both tables say the same of it, that of imports says it once.
            lines.update(dict.fromkeys((row.message, row.advice)))
        if row.replacement:
            lines[phrase("In requirements: {replacement}", replacement=row.replacement)] = None
        if row.below:
            lines[phrase("Below version {below}.", below=row.below)] = None
    imports = fact.imports if fact is not None else (top,)
    for module in dict.fromkeys(one.partition(".")[0] for one in (*imports, top)):
        lines.update(dict.fromkeys(lines_of_package(module)))
    lines.pop("", None)
    known = fact if fact is not None else row
    assert known is not None
    return Explanation(what, "package", tuple(lines), (), known.source, known.evidence)


def _standing(name: str, status: str, since: str) -> str:
    if since:
        return phrase("{name} {status}, from version {since}.", name=name, status=_STATUS[status], since=since)
    return phrase("{name} {status}.", name=name, status=_STATUS[status])


def package_names() -> tuple[str, ...]:
    """Every name that :func:`explain_package` knows."""
    found = dict.fromkeys(name for row in dependencies() for name in (row.name, *row.also) if not name.endswith("*"))
    for row in packages().values():
        found.update(dict.fromkeys((*row.package, *row.imports)))
    return tuple(found)
