"""Texts of the JSON Schemas, which say in words what the types of reports and answers say of themselves."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from typing import TYPE_CHECKING, Any

from npuify.cli.schema import SCHEMAS
from npuify.mcp import answers

if TYPE_CHECKING:
    from collections.abc import Iterator


def texts_of_schemas() -> Iterator[tuple[str, str]]:
    """The texts of schemas that ``npuify schema`` prints, and of answers of ``npuify mcp``, each with its module."""
    for place in SCHEMAS.values():
        module, _, function = place.partition(":")
        whole = json.loads(getattr(importlib.import_module(module), function)())
        for text in (whole["title"], *_descriptions(whole)):
            yield text, module.replace(".", "/").removeprefix("npuify/")
    for kind in vars(answers).values():
        if dataclasses.is_dataclass(kind):
            for paragraph in (inspect.getdoc(kind) or "").split("\n\n"):
                yield " ".join(paragraph.split()), "mcp/answers"


def _descriptions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "description" and isinstance(one, str):
                yield from one.split("\n\n")
            else:
                yield from _descriptions(one)
    elif isinstance(value, list):
        for one in value:
            yield from _descriptions(one)
