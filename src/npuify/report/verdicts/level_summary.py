"""The sentence that says what a verdict's level rests on."""

from __future__ import annotations

from typing import NamedTuple

from npuify.language import listed, phrase, plural, sentences
from npuify.report.verdicts.levels import Level


class Counts(NamedTuple):
    """What a summary counts: blockers, places, files."""

    blockers: int
    manual: int
    aside: int
    """Places for a person in tests, documentation and continuous integration."""
    review: int
    errors: int
    unsafe: int
    """Places to review that will not run as they are."""
    kernels: int
    """Files with CUDA code of the project's own."""


def summary_of(level: Level, counts: Counts) -> str:
    """One sentence on what a level rests on."""
    blockers, manual, aside, review, errors, unsafe, kernels = counts
    if level is Level.BLOCKED:
        text = phrase(
            "{dependencies} cannot run until it is written or replaced",
            dependencies=counted(
                blockers,
                "dependency has no Ascend version, and what needs it",
                "dependencies have no Ascend version, and what needs them",
            ),
        )
        rest = (
            phrase("; {count_} manual work", count_=counted(manual, "place also needs", "places also need"))
            if manual
            else ""
        )
        rest += phrase("; {aside} in tests, documentation, environment, notebooks", aside=aside) if aside else ""
        return f"{text}{rest}."
    if level is Level.WORK:
        rest = phrase(", and {review} to review", review=review) if review else ""
        return plural(
            "{count} place will not run until you change it{rest}.",
            "{count} places will not run until you change them{rest}.",
            manual,
            rest=rest,
        )
    if level is Level.REVIEW:
        parts = [counted(review, "place to review", "places to review")] if review else []
        if aside:
            parts.append(
                plural(
                    "{count} place outside the programs (tests, documentation, environment, notebooks)",
                    "{count} places outside the programs (tests, documentation, environment, notebooks)",
                    aside,
                )
            )
        if errors:
            parts.append(counted(errors, "file that could not be processed", "files that could not be processed"))
        # Of kernels that are called, the blockers tell.
        if not parts and not kernels:
            return phrase("Nothing is known to stop the program. Only a run on the NPU proves it.")
        parts = parts or [phrase("CUDA code that no Python code was found to call")]
        known = phrase("{unsafe} of them will not run without the edit offered", unsafe=unsafe) if unsafe else ""
        known = phrase("it will not run without the edit offered") if unsafe == review == 1 else known
        known = known or phrase("none is known to stop the program")
        whole = phrase("{places}; {known}.", places=listed(parts), known=known)
        return whole[:1].upper() + whole[1:]
    runs = phrase("No known problem stops it. Only a run on the NPU proves it.")
    if not aside:
        return runs
    left = plural(
        "{count} place is left outside the programs (tests, documentation, environment, notebooks).",
        "{count} places are left outside the programs (tests, documentation, environment, notebooks).",
        aside,
    )
    return sentences(runs, left)


def counted(count: int, one: str, many: str) -> str:
    """A number with its noun."""
    return plural(f"{{count}} {one}", f"{{count}} {many}", count)
