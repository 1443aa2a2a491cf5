"""What happens while a function is traced is kept with its graph, and told each time the function has run.

Tensors of the graph become further results of the function. A function called by another one hands them on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tensorflow.python.eager import context
from tensorflow.python.eager import function as eager_function
from tensorflow.python.framework import func_graph as func_graph_module
from tensorflow.python.framework import ops

if TYPE_CHECKING:
    from collections.abc import Callable

_KEPT = "_npuify_events"
_COUNT = "_npuify_results"


class Event:
    """Something that happened, with the tensors that tell of it.

    Attributes:
        kind: ``begin``, ``call``, ``value``, ``gradient``, ``loss``, ``optimizer``, ``module`` or ``step``.
        told: what is known of it already; ``token`` and ``within`` name calls.
        tensors: by their slots.
        in_function: a function computed it.
    """

    def __init__(self, kind: str, told: dict[str, Any], tensors: list[tuple[str, Any]], in_function: bool) -> None:
        self.kind = kind
        self.told = told
        self.tensors = tensors
        self.in_function = in_function


class _Thread(threading.local):
    def __init__(self) -> None:
        self.traced = False


class Log:
    """Events of graphs in the making, and of the program itself, which go to the writer at once."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self._token = 0
        self._lock = threading.Lock()
        self.within: Callable[[], int] = lambda: 0
        """Gives the token of the innermost layer at work."""

    def token(self) -> int:
        """A number for a call."""
        with self._lock:
            self._token += 1
            return self._token

    def add(self, kind: str, told: dict[str, Any], tensors: list[tuple[str, Any]] | None = None) -> None:
        """Something happens here, in the program or in the graph that is made."""
        if context.executing_eagerly():
            self.writer.take([Event(kind, told, tensors or [], False)])
            return
        graph = ops.get_default_graph()
        kept = graph.__dict__.setdefault(_KEPT, [])
        own = [(slot, tensor) for slot, tensor in tensors or [] if getattr(tensor, "graph", None) is graph]
        kept.append(Event(kind, told, own, True))

    def returned(self, events: list[Event], results: list[Any]) -> None:
        """A function has run, or was called by one that is traced.

        Args:
            events: what happened when it was traced.
            results: the tensors of all events, one after the other.
        """
        at = 0
        told: list[Event] = []
        tokens: dict[int, int] = {}
        around = self.within()
        for event in events:
            here = results[at : at + len(event.tensors)]
            at += len(event.tensors)
            known = dict(event.told)
            if event.kind == "begin":
                tokens[known["token"]] = self.token()
            for key in ("token", "within"):
                if key in known:
                    known[key] = tokens.get(known[key], around)
            if "of" in known:
                known["of"] = [(tokens[token], slot) for token, slot in known["of"] if token in tokens]
            named = [(slot, tensor) for (slot, _), tensor in zip(event.tensors, here)]
            told.append(Event(event.kind, known, named, True))
        if context.executing_eagerly():
            self.writer.take(told)
        else:
            ops.get_default_graph().__dict__.setdefault(_KEPT, []).extend(told)


def install(log: Log) -> None:
    """Have functions hand out what their graphs tell."""
    thread = _Thread()
    make = eager_function.Function._create_graph_function
    trace = func_graph_module.func_graph_from_py_func
    pack = eager_function.ConcreteFunction._build_call_outputs

    def create(function: Any, *args: Any, **kwargs: Any) -> Any:
        thread.traced = True
        try:
            return make(function, *args, **kwargs)
        finally:
            thread.traced = False

    def traced(*args: Any, **kwargs: Any) -> Any:
        # Branches and bodies of loops are graphs, too, whose results must stay what they are.
        is_function, thread.traced = thread.traced, False
        graph = trace(*args, **kwargs)
        events = graph.__dict__.get(_KEPT, [])
        if is_function and events:
            given = [tensor for event in events for _, tensor in event.tensors]
            graph.outputs.extend(given)
            graph.__dict__[_COUNT] = len(given)
        elif events:
            log.writer.lost()
        return graph

    def packed(function: Any, result: Any) -> Any:
        graph = function._func_graph
        events = graph.__dict__.get(_KEPT)
        if not events or _COUNT not in graph.__dict__:
            return pack(function, result)
        count = graph.__dict__[_COUNT]
        own = list(result) if isinstance(result, (list, tuple)) else []
        results = own[len(own) - count :]
        if count:
            result = own[: len(own) - count]
        given = pack(function, result)
        # Of one that returns nothing: None for the program, the call itself for a function around it.
        if graph.structured_outputs is None and count:
            given = None if context.executing_eagerly() else results[0].op
        log.returned(events, results)
        return given

    eager_function.Function._create_graph_function = create
    func_graph_module.func_graph_from_py_func = traced
    eager_function.ConcreteFunction._build_call_outputs = packed
