"""How a container starts vLLM's server: the image for NPUs starts a shell, so that the command is written out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.source.shell import UNKNOWN, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.frameworks.vllm import VllmSet
    from npuify.rules.text_file import Replacement
    from npuify.source.settings import Document, Value
    from npuify.source.shell import Word

_MODEL = re.compile(r"--model(?:=(?P<value>.*))?", re.DOTALL)
_ITEM = re.compile(rb"(?P<indent>[ \t]*)-[ \t]+[\"']?\Z")
_NEW_ITEM = re.compile(rb"(?:-[ \t]+|\{\s*)[\"']?\Z")


class Service(NamedTuple):
    """A container of a manifest.

    Attributes:
        image: its image.
        starts: whether the manifest says itself which program the container starts.
        arguments: what the image's own entry point is given: the members of a list, or one text; empty for nothing.
    """

    image: Value
    starts: bool
    arguments: tuple[Value, ...]


_TAKES_OPTION = "0.12"
"""The first vLLM whose own image starts ``vllm serve``; before, that command refused the option ``--model``.

In 2025-06 the image started ``vllm.entrypoints.openai.api_server`` (LMCache/LMCache#898), in 2026-06 ``vllm serve``
(swiss-ai/model-launch#158). That 0.12 is the first is not looked up.
"""


def entry_point(row: VllmSet) -> str:
    """The instruction of a Dockerfile that starts the server as the entry point of vLLM's own image does."""
    from packaging.version import Version

    if Version(row.vllm[0]) >= Version(_TAKES_OPTION):
        return 'ENTRYPOINT ["vllm", "serve"]'
    return 'ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]'


def place_of_container(prefix: tuple[str, ...], at: int, document: Document, data: bytes) -> tuple[int, int]:
    """From where to where a container stands in a file.

    Members of lists have the same path, so that what belongs to one container is told by where it stands: between the
    dash (or the brace) that begins it and the next one.

    Args:
        prefix: the path of the container.
        at: where something of it stands.
        document: the file's settings.
        data: the file.
    """
    first, last = 0, len(data)
    if prefix[-1:] == ("#",):
        keys = [(one.path, one.key_start) for one in document.values if one.key_end]
        keys += [(one.path, one.start) for one in document.keys]
        begins = sorted(
            place
            for path, place in keys
            if path[:-1] == prefix and _NEW_ITEM.search(data, max(0, place - 200), place) is not None
        )
        first = max((one for one in begins if one <= at), default=0)
        last = min((one for one in begins if one > at), default=len(data))
    return first, last


def service_of(image: Value, document: Document, data: bytes) -> Service:
    """The container that has an image."""
    prefix = image.path[:-1]
    first, last = place_of_container(prefix, image.start, document, data)
    own: dict[str, list[Value]] = {}
    for value in document.values:
        if value.path[: len(prefix)] == prefix and first <= value.start < last and len(value.path) > len(prefix):
            rest = value.path[len(prefix) :]
            if len(rest) == 1 or rest[1:] == ("#",):
                own.setdefault(rest[0], []).append(value)
    of_compose = "services" in prefix or "args" not in own
    program, arguments = ("entrypoint", "command") if of_compose else ("command", "args")
    if "services" not in prefix and "args" not in own and "command" in own:
        program = "command"  # of Kubernetes: what the container starts
    return Service(image, program in own, tuple(own.get(arguments, ())))


def written_out(service: Service, data: bytes) -> list[Replacement | None]:
    """The edits that put ``vllm serve`` and the model in front of what a container's entry point is given.

    Returns:
        None among them where it cannot be told; no edits where the manifest names the program itself.
    """
    if service.starts:
        return []
    values = service.arguments
    if not values or any("\\" in value.text for value in values):
        return [None]
    if values[0].path[-1:] == ("#",):
        return _in_front_of_items(values, data)
    # A folded text is one line, and compose splits any text as a shell splits one.
    start, end = values[0].start, values[0].end
    # A word in front keeps --model=NAME from being read as a variable.
    line = data[: start - 2] + b"x " + re.sub(rb"[\r\n]", b" ", data[start:end]) + data[end:]
    commands = read(line, start - 2, end).commands
    return in_front(commands[0].words[1:], data) if len(commands) == 1 else [None]


def chart_command(repository: Value, document: Document, data: bytes) -> list[Replacement | None]:
    """As :func:`written_out`, for values of a chart that name an image's repository in a table beside its arguments.

    Returns:
        No edits where the values give no arguments, or name the program: the chart's templates tell then.
    """
    holder = repository.path[:-2]
    beside = [one for one in document.values if one.path[: len(holder)] == holder]
    if any(one.path[len(holder) :][:1] == ("command",) for one in beside):
        return []
    values = [one for one in beside if one.path[len(holder) :] == ("args", "#")]
    if any("\\" in one.text for one in values):
        return [None]
    return _in_front_of_items(values, data) if values else []


def in_front(words: Sequence[Word], data: bytes) -> list[Replacement | None]:
    """The edits that put ``vllm serve`` and the model in front of the words of a line."""
    if not words:
        return [None]
    head = words[0]
    if head.value in ("vllm", "python", "python3", "bash", "sh", "/bin/bash", "/bin/sh"):
        return [None]
    at, model = _model([word.value for word in words])
    if at == 0 and model is None:
        return [(head.start, head.end, "vllm serve")]
    if at < 0:
        return [(head.start, head.start, "vllm serve ")]
    last = words[at + (model is None)] if at + (model is None) < len(words) else None
    if last is None:
        return [None]
    text = (
        data[last.start : last.end].decode("utf-8", "replace")
        if model is None
        else data[words[at].start : words[at].end].decode("utf-8", "replace").replace("--model=", "", 1)
    )
    if at == 0:
        return [(head.start, last.end, f"vllm serve {text}")]
    gap = re.compile(rb"(?:[ \t]|\\\r?\n|\r?\n)+\Z").search(data, 0, words[at].start)
    if gap is None:
        return [None]
    return [(head.start, head.start, f"vllm serve {text} "), (gap.start(), last.end, "")]


def in_front_of_words(words: Sequence[Word], data: bytes) -> list[Replacement | None]:
    """As :func:`in_front`, for a list of words as JSON, as a Dockerfile has it."""
    values = [word.value for word in words]
    if not values or UNKNOWN in values[0] or values[0] in ("vllm", "python", "python3", "bash", "sh"):
        return [None]
    at, model = _model(values)
    head = words[0]
    if at == 0 and model is None:
        return [(head.start, head.end, '"vllm", "serve"')]
    if at == 0:
        return [(head.start, head.end, f'"vllm", "serve", "{model}"')]
    return [(head.start, head.start, '"vllm", "serve", ')] if at < 0 else _moved_word(words, at, model, data)


def _moved_word(words: Sequence[Word], at: int, model: str | None, data: bytes) -> list[Replacement | None]:
    last = at + (model is None)
    if last >= len(words):
        return [None]
    text = words[last].value if model is None else model
    comma = re.compile(rb",\s*\Z").search(data, 0, words[at].start)
    if comma is None or UNKNOWN in text:
        return [None]
    head = words[0]
    return [
        (head.start, head.start, f'"vllm", "serve", "{text}", '),
        (comma.start(), words[last].end, ""),
    ]


def _model(words: Sequence[str]) -> tuple[int, str | None]:
    """Where the option for the model stands (-1 for nowhere), and its value where it is part of the same word."""
    for at, word in enumerate(words):
        match = _MODEL.fullmatch(word)
        if match is not None:
            return at, match["value"]
    return -1, None


def _in_front_of_items(values: Sequence[Value], data: bytes) -> list[Replacement | None]:
    """``vllm`` and ``serve`` as members in front of those of a list."""
    head = values[0]
    if head.text in ("vllm", "python", "python3", "bash", "sh", "/bin/bash", "/bin/sh"):
        return [None]
    at, model = _model([value.text for value in values])
    line = data.rfind(b"\n", 0, head.start) + 1
    item = _ITEM.match(data, line, head.start)
    quote = head.quote if head.quote in ("'", '"') else ""
    if item is not None:
        between = f"{quote}\n{item['indent'].decode()}- {quote}"
    elif quote:
        between = f"{quote}, {quote}"
    else:
        between = ", "
    front = f"vllm{between}serve"
    if at < 0:
        return [(head.start, head.start, f"{front}{between}")]
    if at == 0:
        return [(head.start, head.end, front if model is None else f"{front}{between}{model}")]
    last = at + (model is None)
    if last >= len(values):
        return [None]
    taken = _taken_items(values, at, last, data)
    text = values[last].text if model is None else model
    return [(head.start, head.start, f"{front}{between}{text}{between}"), taken]


def _taken_items(values: Sequence[Value], first: int, last: int, data: bytes) -> Replacement | None:
    """Takes the members from ``first`` to ``last`` out of a list: their lines, or with the comma before them."""
    start, end = values[first], values[last]
    line = data.rfind(b"\n", 0, start.start) + 1
    if _ITEM.match(data, line, start.start) is not None:
        newline = data.find(b"\n", end.end) + 1 or len(data)
        between = data[line:newline]
        return (line, newline, "") if b"#" not in between else None
    comma = re.compile(rb",\s*[\"']?\Z").search(data, 0, start.start)
    return (comma.start(), end.end + (end.quote in ("'", '"')), "") if comma is not None else None
