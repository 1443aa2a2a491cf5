"""Why questions could not be asked, as the Python beside the NPU says it, for people of each language."""

from __future__ import annotations

from typing import Final

from npuify.language import mark

REASONS: Final = (
    mark("cards are hidden here"),
    mark("a statement before it ended the process"),
    mark("importing transfer_to_npu ended the process"),
    mark("it has no result of its own, but writes what it is given"),
    mark("it computes nothing"),
    mark("it is about memory, formats or the state of the device, not about numbers"),
    mark("it talks to other cards in the middle of the computation"),
    mark("its parameters cannot be read"),
    mark("its result is drawn at random"),
    mark("no sample runs on the CPU"),
    mark("not simulated"),
    mark("nothing computes it but the NPU"),
    mark("simulated otherwise"),
    mark("the chip has no bfloat16"),
    mark("the chip saturates unless told otherwise"),
    mark("the chip takes one process a card"),
    mark("the driver takes one process a card"),
    mark("the program needs a package that is not here"),
    mark("the simulated NPU has the CPU's attention"),
    mark("there are no collectives here"),
    mark("there are no sample arguments"),
    mark("there is no driver here"),
    mark("there is no kernel here"),
    mark("this release does not tell it"),
    mark("this release does not read it"),
    mark("this release has no graphs"),
    mark("this torch does not have it"),
    mark("torch's operator database has no samples"),
)
"""All that does not name anything."""
