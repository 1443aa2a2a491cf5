"""What was seen on hardware, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.hardware.facts import releases_seen, sights_of
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterable


def seen_lines(claims: Iterable[str]) -> tuple[str, ...]:
    """A line for each machine on which any of these claims was asked; none where none was.

    Args:
        claims: ids of checks of ``npuify selftest``; one that ends in a slash stands for all that begin so.
    """
    wanted = tuple(claims)
    lines = dict[str, None]()
    for release in releases_seen():
        for claim, sights in sights_of(release).items():
            if not any(claim == one or (one.endswith("/") and claim.startswith(one)) for one in wanted):
                continue
            for sight in sights:
                text = (
                    phrase("Seen on {machine}: it holds ({claim}).", machine=sight.machine, claim=claim)
                    if sight.fact.held
                    else phrase("Seen on {machine}: it does not hold ({claim}).", machine=sight.machine, claim=claim)
                )
                lines[text] = None
    return tuple(lines)
