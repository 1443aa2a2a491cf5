"""The containers of a manifest: which of them vLLM serves in, and which have an image that no NPU helps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.rules.environment.serving_commands import place_of_container
from npuify.rules.environment.serving_images import without_build
from npuify.rules.vllm.options import is_serving_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.source.settings import Document, Value

_DEFAULT_IMAGE = re.compile(r"\$\{\w+:?-(?P<image>[^${}]+)\}")
_STARTS_VLLM = re.compile(r"(?:^|[\s/;&])vllm serve\b|\bvllm\.entrypoints\.")


class Containers:
    """The containers of a compose file, a pod or the values of a chart.

    Members of lists have the same path: two containers of a pod are told apart by where they stand.
    """

    def __init__(self, document: Document, data: bytes) -> None:
        self._document, self._data = document, data
        self._serving: list[tuple[tuple[str, ...], int, int]] = []
        self._without: list[tuple[tuple[str, ...], int, int]] = []
        for value in document.values:
            if value.key == "image":
                image = image_of(value)[0]
                if is_serving_image(image):
                    self._add(self._serving, value.path[:-1], value.start)
                elif without_build(image):
                    self._add(self._without, value.path[:-1], value.start)
            elif value.key == "engine" and value.text == "VLLM":
                self._add(self._serving, value.path[:-1], value.start)
            elif value.key == "repository" and is_serving_image(value.text):
                self._add(self._serving, value.path[:-2], value.start)

    def add_commands(self, lists: Iterable[Sequence[Value]]) -> None:
        """Count those as vLLM's whose own words start it: the image is written elsewhere, as in templates of charts."""
        for values in lists:
            if _STARTS_VLLM.search(" ".join(one.text for one in values)):
                self._add(self._serving, values[0].path[:-2], values[0].start)

    def serves_vllm(self, path: tuple[str, ...], at: int) -> bool:
        """Whether vLLM's server runs in the container with a path, of which something stands at a place."""
        return any(prefix == path and first <= at < last for prefix, first, last in self._serving)

    def lacks_build(self, path: tuple[str, ...], at: int) -> bool:
        """Whether a setting is one of a container whose image has no build for NPUs."""
        return any(path[: len(prefix)] == prefix and first <= at < last for prefix, first, last in self._without)

    def _add(self, kept: list[tuple[tuple[str, ...], int, int]], prefix: tuple[str, ...], at: int) -> None:
        kept.append((prefix, *place_of_container(prefix, at, self._document, self._data)))


def image_of(value: Value) -> tuple[str, tuple[int, int]]:
    """The image that a setting names, also as the default of a variable, and where it stands."""
    default = _DEFAULT_IMAGE.fullmatch(value.text)
    if default is not None and len(value.text) == value.end - value.start:
        first, last = default.span("image")
        return default["image"], (value.start + first, value.start + last)
    prefix = "docker:" if value.text.startswith("docker:") else ""
    return value.text.removeprefix(prefix), (value.start + len(prefix), value.end)
