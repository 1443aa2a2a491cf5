"""What an answer says of its event more closely than the cause does: the package, the place, the build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from npuify.diagnosis.known.packages import built_package
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.failures.causes import Cause

    from .model import Event, Frame
    from .ranks import Rank

_WITH_PLACE: Final = {"script-error", "missing-file", "file-permission", "damaged-file", "disk-full"}
"""Causes that an ordinary exception of Python's tells of: their title says which, and where."""
_PACKAGE: Final = "package-"
_NAMES_IT: Final = ("member-", "name-of-", "vllm-", "stack-", "library-of-", "header-of-", "cuda-extension-by-name")
"""How names of events begin that name a part by itself, more closely than its package does."""


def while_built(rank: Rank, event: Event) -> Event:
    """The event; where CANN is missing while something is built, the build does not find it."""
    if event.cause != "cann-not-loaded" or not any(
        one.cause == "build-setup" and one.role == "cause" for one in rank.events.values()
    ):
        return event
    return msgspec.structs.replace(
        event,
        cause="build-setup",
        why=phrase("The build looks for CANN, and its variables are not set in the shell that builds."),
        fix=phrase(
            "Source set_env.sh in the same command that builds: in a Dockerfile each RUN is a shell of its own, and "
            "pip needs --no-build-isolation to see torch and torch_npu."
        ),
    )


def of_its_package(rank: Rank, event: Event, ranks: Sequence[Rank]) -> Event:
    """The event; where a build failed that is one of a package or extension for CUDA, what is known of it."""
    # torch says which extension it compiles in a line that no launcher's prefix stands before.
    extension = next((one.extension for one in (rank, *ranks) if one.extension), "")
    if event.name == "raised-by-build" and extension:
        why = phrase("torch compiles the extension {name} when the program runs, with nvcc.", name=extension)
        return msgspec.structs.replace(event, cause="cuda-only-package", meaning=why, why=why, fix="")
    told = built_package(rank.builds) if rank.builds and event.cause == "build-setup" else None
    if told is None:
        return event
    return msgspec.structs.replace(
        event,
        name=told.name,
        meaning=told.meaning,
        cause=told.cause,
        weight=max(event.weight, told.weight),
        evidence=told.evidence,
        source=told.source,
        why=told.why,
        fix=told.fix,
    )


def that_says_more(rank: Rank, event: Event) -> Event:
    """The event itself, or another of the rank that says the same more closely.

    That is one of a package by its name; or, where the event says no more than its cause, one of anything by its name.
    """
    alike = [one for one in rank.events.values() if one.cause == event.cause and one.why and one.role == event.role]
    named_by = [one for one in alike if one.name.startswith(_PACKAGE)]
    if named_by and not event.name.startswith((_PACKAGE, *_NAMES_IT)):
        return max(named_by, key=lambda one: one.weight)
    if event.why or event.fix:
        return event
    return max(alike, key=lambda one: one.weight, default=event)


def only_repeats(exception: str) -> bool:
    """Whether an exception only says that another process failed."""
    return exception.startswith(("torch.distributed.elastic", "subprocess.CalledProcessError", "KeyboardInterrupt"))


def title_of(fact: Cause, exception: str, frame: Frame | None, said: Event | None = None) -> str:
    """The cause's; for ordinary errors of Python's the kind and place as well, and the name of the package."""
    if said is not None and said.name.startswith(_PACKAGE):
        return phrase("{title}: {package}", title=phrase(fact.title), package=said.name.removeprefix(_PACKAGE))
    if fact.id not in _WITH_PLACE:
        return fact.title
    kind = exception.partition(":")[0].rpartition(".")[2] if exception else ""
    if not kind or " " in kind or only_repeats(exception):
        return fact.title
    title = phrase(fact.title)
    title = title[0].lower() + title[1:]
    if frame is None:
        return phrase("{kind}: {title}", kind=kind, title=title)
    return phrase("{kind} at {place}: {title}", kind=kind, place=f"{frame.file}:{frame.line}", title=title)
