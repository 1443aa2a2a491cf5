"""Writes what has happened: the events of a function each time that it has run, those of the program at once.

Steps and numbers of calls are counted here, since a function is traced once and runs many times.
"""

from __future__ import annotations

import math
from typing import Any

from npuify.verify.capture.keras.values import Describer, switches

_WITHIN = 16
"""Calls of one layer that are recorded within one call of its model."""
_LOSSES = 8
"""Losses of one step that are recorded."""


class Finished(SystemExit):
    """Enough steps were seen: the program ends here, with success."""

    def __init__(self) -> None:
        super().__init__(0)


class _State:
    """A call of a layer, from its beginning on."""

    def __init__(self, sequence: int, root: int, number: int, within: int, counts: dict[str, int]) -> None:
        self.sequence = sequence
        self.root = root
        self.number = number
        self.within = within
        self.counts = counts


class Writer:
    """What is known of the run so far."""

    def __init__(self, settings: Any, store: Any) -> None:
        self.stopped = False
        self.optimizers = 0
        """Optimizers that the program has made."""
        self._settings = settings
        self._store = store
        self._describer = Describer(store, settings.samples)
        self._number = 0
        self._losses = 0
        self._first: int | None = None
        self._roots: dict[tuple[str, str], int] = {}
        self._calls: dict[int, _State] = {}
        self._told: set[str] = set()
        self._once: set[tuple[Any, ...]] = set()
        self._main = ""
        self._switches: dict[str, Any] = {}

    def take(self, events: list[Any]) -> None:
        """Write events, in their order.

        Raises:
            Finished: they end the last step that was asked for.
        """
        for event in events:
            if self.stopped:
                return
            if not self._main and event.kind != "begin":
                continue  # what belongs to no model is not compared
            getattr(self, f"_{event.kind}")(event)

    def lost(self) -> None:
        """Something happened inside a loop or a branch of a graph, which hands nothing out."""
        self._store.note_once("layers inside loops and branches of graphs were not recorded")

    def stop(self) -> None:
        """Record nothing more in this process."""
        self.stopped = True

    def end(self) -> None:
        """The program has come to its end."""
        self._store.close(steps=self._number, stopped=False)

    def _described(self, event: Any, tensor: Any, *, rows: bool = False) -> dict[str, Any]:
        return self._describer.describe(tensor, event.in_function, rows=rows)

    def _begin(self, event: Any) -> None:
        told = event.told
        around = self._calls.get(told["within"])
        if around is not None:
            number = around.counts[told["name"]] = around.counts.get(told["name"], 0) + 1
            if number <= _WITHIN:
                state = _State(self._store.next(), around.root, number, around.sequence, around.counts)
                self._calls[told["token"]] = state
        elif told["root"]:
            key = (told["phase"], told["name"])
            number = self._roots[key] = self._roots.get(key, 0) + 1
            self._main = self._main or told["name"]
            if number <= self._settings.calls:
                self._calls[told["token"]] = _State(self._store.next(), number, 1, 0, {told["name"]: 1})

    def _call(self, event: Any) -> None:
        told = event.told
        state = self._calls.get(told["token"])
        if state is not None:
            slots = [
                {"slot": slot, **self._described(event, tensor, rows=told["root"] and place < told["inputs"])}
                for place, (slot, tensor) in enumerate(event.tensors)
            ]
            self._store.put(
                {
                    "event": "call",
                    "step": self._number,
                    "phase": told["phase"],
                    "root": state.root,
                    "name": told["name"],
                    "number": state.number,
                    "within": state.within,
                    "from": state.sequence,
                    "to": self._store.next(),
                    "training": told["training"],
                    "autocast": "",
                    "inputs": slots[: told["inputs"]],
                    "outputs": slots[told["inputs"] :],
                }
            )
        if told["root"] and not self.optimizers and told["phase"] == "eval" and told["name"] == self._main:
            # Where nothing is trained, each call of the first model is a step.
            self._advance()

    def _module(self, event: Any) -> None:
        if event.told["name"] not in self._told:
            self._told.add(event.told["name"])
            self._store.put(event.told)

    def _gradient(self, event: Any) -> None:
        known = [(self._calls[token].sequence, slot) for token, slot in event.told["of"] if token in self._calls]
        if known:
            is_ = self._described(event, event.tensors[0][1])
            self._store.put(
                {"event": "gradient", "step": self._number, "at": self._store.next(), "of": known, "is": is_}
            )

    def _value(self, event: Any) -> None:
        told = event.told
        once: tuple[Any, ...] = (told["kind"], told["when"], told["name"], told["optimizer"])
        if told["when"] != "start":
            once = (*once, self._number)
        if once in self._once or not (event.tensors or told["when"] == "none"):
            return
        self._once.add(once)
        record = {"event": "value", **told, "step": self._number, "at": self._store.next()}
        if event.tensors:
            record["is"] = self._described(event, event.tensors[0][1])
        self._store.put(record)

    def _loss(self, event: Any) -> None:
        self._losses += 1
        if self._losses > _LOSSES or not event.tensors:
            return
        tensor = event.tensors[0][1]
        value = float(tensor.numpy().reshape(-1)[0])
        scale = float(event.tensors[1][1].numpy()) if len(event.tensors) > 1 else 1.0
        self._store.put(
            {
                "event": "loss",
                "step": self._number,
                "number": self._losses,
                "at": self._store.next(),
                "value": value / scale if math.isfinite(value) else str(value),
                "scale": scale,
                "dtype": tensor.dtype.name,
            }
        )

    def _optimizer(self, event: Any) -> None:
        self._store.put({"event": "optimizer", "step": self._number, "at": self._store.next(), **event.told})
        current = switches()
        if current != self._switches:
            self._switches = current
            self._store.put({"event": "switches", "step": self._number, "switches": current})

    def _step(self, event: Any) -> None:
        number = event.told["optimizer"]
        if self._first is None:
            self._first = number
        if number == self._first:
            self._advance()

    def _advance(self) -> None:
        self._losses = 0
        self._roots.clear()
        self._calls.clear()
        self._store.flush()
        self._number += 1
        if self._settings.steps and self._number >= self._settings.steps:
            self.stop()
            self._store.close(steps=self._number, stopped=True)
            raise Finished
