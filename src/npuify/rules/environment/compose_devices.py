"""The devices that a service of compose is given: NPUs and the host's driver in the place of NVIDIA's reservation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.rules.environment.containers import DEVICES, MOUNTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document

_AROUND: Final = ("deploy", "resources", "reservations", "devices")
"""The keys around a reservation; those that hold nothing else go with it."""
_BLANKS = re.compile(rb"[ ]*")
_ITEM = re.compile(rb"(?P<indent>[ ]*)-[ ]+(?P<quote>[\"']?)")
_MOST: Final = 16
_CHOSEN = re.compile(r"(?:NVIDIA|ASCEND)_VISIBLE_DEVICES=\d")
"""Cards that the variable of either runtime names; ``all`` is none of Ascend's words."""


def npus_of_service(path: tuple[str, ...], document: Document, file: TextFile) -> Sequence[Replacement | None]:
    """The edits that give a service NPUs in the place of NVIDIA's GPUs.

    What asks for GPUs is taken out; the device files and the driver of the host are listed. A service with a runtime of
    its own and the cards in its environment gets them from that, so that nothing is listed.

    Args:
        path: of a setting of the reservation, or of ``gpus``.
        document: the file's settings.
        file: the file.

    Returns:
        None among them where they cannot be told: another reservation stands beside it, the number of cards is none, or
        the file is not written in blocks.
    """
    if file.kind != "yaml" or path[:1] != ("services",) or len(path) < 3:
        return [None]
    service = path[:2]
    top, cards = (
        ((*service, "gpus"), _by_option(service, document)) if path[2] == "gpus" else _reservation(service, document)
    )
    place = _block(top, document, file.data) if top else None
    if place is None or not cards:
        return [None]
    start, end, indent = place
    own = [one for one in document.values if one.path[:2] == service]
    named = [one.text for one in own if one.path == (*service, "runtime")]
    chosen = any(_CHOSEN.search(f"{one.key}={one.text}") for one in own)
    if chosen and named and named[0] in ("nvidia", "ascend"):
        return [(start - 1 if end == len(file.data) and file.data[-1:] != b"\n" else start, end, "")]
    newline = file.text.newline
    edits: list[Replacement | None] = []
    fresh = ""
    for key, items in (("devices", [*cards, *_options(DEVICES)]), ("volumes", _options(MOUNTS))):
        at = _behind_items((*service, key), document, file.data)
        if at is None:
            return [None]
        if isinstance(at, str):
            fresh += f"{indent}{key}:{newline}" + "".join(f"{indent}  - {item}{newline}" for item in items)
        else:
            behind, prefix, quote = at
            lines = "".join(f"{prefix}{quote}{item}{quote}{newline}" for item in items)
            if file.data[behind - 1 : behind] != b"\n":
                lines = newline + lines.removesuffix(newline)
            edits.append((behind, behind, lines))
    if file.data[end - 1 : end] != b"\n":
        fresh = fresh.removesuffix(newline)
        start -= not fresh
    return [(start, end, fresh), *edits]


def _options(text: str) -> list[str]:
    """What docker's options give, as compose lists it; a device is named on both sides."""
    parts = [one for one in text.split() if one.startswith("/")]
    return [one if ":" in one else f"{one}:{one}" for one in parts]


def _card(number: str) -> str:
    return f"/dev/davinci{number}:/dev/davinci{number}"


def _by_option(service: tuple[str, ...], document: Document) -> list[str]:
    given = [one.text for one in document.values if one.path == (*service, "gpus")]
    return _numbered(given[0]) if len(given) == 1 else []


def _numbered(count: str) -> list[str]:
    """The cards for a number; for ``all`` those of a server with eight, which is the usual one."""
    if count in ("all", "-1", ""):
        return [_card(str(one)) for one in range(8)]
    return [_card(str(one)) for one in range(int(count))] if count.isdigit() and 0 < int(count) <= _MOST else []


def _reservation(service: tuple[str, ...], document: Document) -> tuple[tuple[str, ...], list[str]]:
    """The outermost key that holds nothing but one reservation, and its cards; nothing where there are more."""
    devices = (*service, *_AROUND)
    inside = [one for one in document.values if one.path[: len(devices)] == devices]
    if sum(one.path == (*devices, "#", "driver") for one in inside) > 1 or not inside:
        return (), []
    lists = {one.table for one in inside if one.path == (*devices, "#", "capabilities", "#")}
    if len(lists) > 1 or any(one.path[len(devices) + 1 :][:1] == ("options",) for one in inside):
        return (), []
    count = [one.text for one in inside if one.path == (*devices, "#", "count")]
    numbers = [one.text for one in inside if one.path == (*devices, "#", "device_ids", "#")]
    if numbers:
        cards = [_card(one) for one in numbers] if all(one.isdigit() for one in numbers) else []
    else:
        cards = _numbered(count[0] if count else "")
    top = devices
    paths = [*(one.path for one in document.values), *(one.path for one in document.keys)]
    while len(top) > len(service) + 1:
        around = top[:-1]
        if any(path[: len(around)] == around and path != around and path[: len(top)] != top for path in paths):
            break
        top = around
    return top, cards


def _block(top: tuple[str, ...], document: Document, data: bytes) -> tuple[int, int, str] | None:
    """The lines of a key with all that it holds, and how the service's own keys are indented."""
    starts = [one.key_start for one in document.values if one.path == top and one.key_end]
    starts += [one.start for one in document.keys if one.path == top]
    if len(starts) != 1:
        return None
    first = _line(starts[0], data)
    if data[:first].rstrip().endswith((b",", b"{", b"[")):
        return None  # flow style, in which lines mean nothing
    blank = _BLANKS.match(data, first)
    assert blank is not None
    if data[blank.end() : starts[0]].strip(b"\"'"):
        return None
    indent = blank.end() - first
    end = _next_line(starts[0], data)
    while end < len(data):
        blank = _BLANKS.match(data, end)
        assert blank is not None
        following = data[blank.end() : blank.end() + 1]
        if following not in (b"", b"\n", b"\r", b"#") and blank.end() - end <= indent:
            break
        if following == b"#" and blank.end() - end <= indent:
            break
        end = _next_line(end, data)
    while end > first and not data[_line(end - 1, data) : end].strip():
        end = _line(end - 1, data)  # blank lines behind it part the services
    own = [one.key_start for one in document.values if len(one.path) == 3 and one.path[:2] == top[:2] and one.key_end]
    own += [one.start for one in document.keys if len(one.path) == 3 and one.path[:2] == top[:2]]
    blank = _BLANKS.match(data, _line(min(own), data))
    assert blank is not None
    return first, end, blank.group().decode()


def _behind_items(key: tuple[str, ...], document: Document, data: bytes) -> tuple[int, str, str] | str | None:
    """Where members are added to a list, and what stands before each; an empty text where there is no such list.

    Returns:
        None where the list is not one of texts, each on a line of its own.
    """
    items = [one for one in document.values if one.path[: len(key)] == key]
    if not items:
        return None if any(one.path == key for one in document.keys) else ""
    if any(one.path != (*key, "#") for one in items):
        return None
    last = items[-1]
    start = _line(last.start, data)
    match = _ITEM.match(data, start)
    if match is None or match.end() != last.start:
        return None
    return _next_line(last.end, data), f"{match['indent'].decode()}- ", match["quote"].decode()


def _line(at: int, data: bytes) -> int:
    return data.rfind(b"\n", 0, at) + 1


def _next_line(at: int, data: bytes) -> int:
    found = data.find(b"\n", at)
    return len(data) if found < 0 else found + 1
