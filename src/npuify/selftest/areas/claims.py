"""The rows of ``claims.toml``: claims about devices, precision, errors and variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.claims import claims
from npuify.language import phrase
from npuify.selftest.checks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator


AREAS = ("devices", "errors", "precision", "variables")


def of_area(area: str) -> Iterator[Check]:
    """A check for each row of an area."""
    for row in claims():
        if row.area == area:
            yield Check(
                id=f"{area}/{row.name}",
                claim=phrase(row.message),
                subject=row.subject,
                evidence=row.evidence,
                source=row.source,
                function="says:true",
                arguments={"expression": row.check, "setup": row.setup},
                expected=True,
                cards=row.cards,
                alone=row.alone,
                environment=row.environment,
                seconds=120,
                quick=area != "variables",
            )
