"""What the page can ask, by name: each takes plain data, and calls a public function of the rooms below."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify import api, knowledge
from npuify.editor.session import options_for
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.options import STYLES, Options, check_style
from npuify.report import FORMATS, render_migration
from npuify.review.custom_rules import try_rules
from npuify.review.places import look, recent
from npuify.studio import answers
from npuify.studio.commands import TOOLS, arguments, tool_of
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from npuify.review import Key, Review
    from npuify.studio.state import State

    Question = Callable[[State, "Asked"], Any]


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a question may say; each takes what it needs."""

    id: str = ""
    path: str = ""
    options: dict[str, Any] = {}
    file: str = ""
    ids: tuple[str, ...] = ()
    code: str = ""
    made: bool | None = None
    text: str | None = None
    what: str = ""
    mode: str = ""
    force: bool = False
    format: str = ""
    tool: str = ""
    values: dict[str, Any] = {}
    endings: tuple[str, ...] = ()
    ticket: str = ""
    position: int = 0
    language: str = ""
    """That of the page, ``en`` or ``zh``; empty: that of the server."""


def _start(state: State, asked: Asked) -> dict[str, Any]:
    newest_first = [one.torch_npu for one in knowledge.releases()]
    return {
        "version": __version__,
        "start": str(state.start or ""),
        "folder": str(Path.cwd()),
        "recent": recent(),
        "open": [{"id": name, "path": path, "state": told} for name, path, told in state.list()],
        "releases": newest_first,
        "chips": [{"name": one.name, "title": one.title} for one in knowledge.products().values()],
        "styles": list(STYLES),
        "tools": msgspec.to_builtins(TOOLS),
        "formats": list(FORMATS),
        "separator": os.sep,
    }


def _folders(state: State, asked: Asked) -> dict[str, Any]:
    return look(asked.path, tuple(one for one in asked.endings if one.startswith(".")))._asdict()


def _options(state: State, asked: Asked) -> dict[str, Any]:
    """What the project itself asks for."""
    told: dict[str, Any] = msgspec.to_builtins(options_for(_project(asked.path), jobs=0))
    return told


def _open(state: State, asked: Asked) -> dict[str, Any]:
    place = _project(asked.path)
    own = options_for(place, jobs=0)
    try:
        # Only what was said differs from the project's own settings.
        shown_in = {"language": asked.language} if asked.language else {}
        options = msgspec.convert({**msgspec.to_builtins(own), **shown_in, **asked.options}, Options)
    except msgspec.ValidationError as error:
        raise NpuifyError(phrase("the options cannot be read: {error}", error=error)) from None
    if "vendor_reports" not in asked.options:
        # What a project says must not have files written.
        options = msgspec.structs.replace(options, vendor_reports=None)
    check_style(options.style)
    return {"id": state.open(place, options)}


def _project(path: str) -> Path:
    if not path:
        raise NpuifyError("choose a project first")
    return Path(path).expanduser()


def _speak(state: State, asked: Asked) -> dict[str, Any]:
    return {"again": state.opened(asked.id).speak(asked.language)}


def _close(state: State, asked: Asked) -> dict[str, Any]:
    state.close(asked.id)
    return {}


def _cancel(state: State, asked: Asked) -> dict[str, Any]:
    state.opened(asked.id).job.cancel()
    return {}


def _review(state: State, asked: Asked) -> Review:
    return state.opened(asked.id).review()


def _decide(state: State, asked: Asked) -> dict[str, Any]:
    review = _review(state, asked)
    known = {item.id: item.key for item in review.items(asked.file) if item.state != "none"}
    keys: list[Key] = [known[one] for one in asked.ids if one in known]
    if len(keys) != len(asked.ids):
        raise NpuifyError("there is no such edit", file=asked.file)
    review.decide(keys, asked.made)
    return {}


def _rule(state: State, asked: Asked) -> dict[str, Any]:
    _review(state, asked).decide_rule(asked.code, asked.made)
    return {}


def _by_hand(state: State, asked: Asked) -> dict[str, Any]:
    _review(state, asked).write_by_hand(asked.file, asked.text)
    return {}


def _undo(state: State, asked: Asked) -> dict[str, Any]:
    _review(state, asked).undo()
    return {}


def _redo(state: State, asked: Asked) -> dict[str, Any]:
    _review(state, asked).redo()
    return {}


def _explain(state: State, asked: Asked) -> Any:
    release = state.opened(asked.id).review().result().scan.release.torch_npu if asked.id else None
    return msgspec.to_builtins(api.explain(asked.what, torch_npu=release))


def _write(state: State, asked: Asked) -> dict[str, Any]:
    review = _review(state, asked)
    place = Path(asked.path).expanduser() if asked.path else None
    if place is not None and not place.is_absolute():
        raise NpuifyError("is not absolute", advice="begin with / or ~", file=asked.path)
    done = review.write(asked.mode, place, force=asked.force)
    where = done.destination or (str(place) if place else "")
    return {"destination": where, "changed": len(done.changed_files), "left": len(done.left)}


def _report(state: State, asked: Asked) -> dict[str, Any]:
    result = _review(state, asked).result()
    return {"text": result.diff if asked.format == "diff" else render_migration(result, asked.format)}


def _rules_tried(state: State, asked: Asked) -> Any:
    return try_rules(asked.text or "", Path(asked.path) if asked.path else None, is_json=asked.format == "json")


def _command(state: State, asked: Asked) -> dict[str, Any]:
    return {"arguments": arguments(tool_of(asked.tool), asked.values)}


def _run(state: State, asked: Asked) -> dict[str, Any]:
    return {"id": state.run(asked.tool, asked.values, asked.language)}


def _stop(state: State, asked: Asked) -> dict[str, Any]:
    state.running(asked.id).stop()
    return {}


def _drop(state: State, asked: Asked) -> dict[str, Any]:
    return {"path": state.drop(asked.file, asked.text or "")}


QUESTIONS: Final[Mapping[str, Question]] = {
    "start": _start,
    "folders": _folders,
    "options": _options,
    "open": _open,
    "speak": _speak,
    "close": _close,
    "cancel": _cancel,
    "summary": lambda state, asked: answers.summary(_review(state, asked)),
    "items": lambda state, asked: answers.items(_review(state, asked)),
    "tree": lambda state, asked: answers.tree(_review(state, asked)),
    "file": lambda state, asked: answers.view(_review(state, asked), asked.file),
    "ledger": lambda state, asked: answers.ledger(_review(state, asked)),
    "decide": _decide,
    "rule": _rule,
    "by-hand": _by_hand,
    "undo": _undo,
    "redo": _redo,
    "explain": _explain,
    "write": _write,
    "report": _report,
    "rules": _rules_tried,
    "command": _command,
    "run": _run,
    "stop": _stop,
    "drop": _drop,
}
