"""Backends of torch.compile that make code for the chip: here the traced graph runs as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.simulator import messages

if TYPE_CHECKING:
    from collections.abc import Callable


def as_it_is(name: str) -> Callable[..., Any]:
    """A backend that runs the graph with PyTorch's ``aot_eager``, and says so once under that ``name``."""

    def compile_graph(graph: Any, inputs: Any, **options: Any) -> Any:
        from torch._dynamo.backends.registry import lookup_backend

        messages.say(
            f"npuify: torch.compile's backend {name} makes no code for the simulated NPU; the graph runs as it is",
            topic=f"compile-{name}",
        )
        return lookup_backend("aot_eager")(graph, inputs)

    return compile_graph


npu = as_it_is("npu")
npugraphs = as_it_is("npugraphs")
npugraph_ex = as_it_is("npugraph_ex")
