"""The faults and the ways of computing the same, each with what a comparison has to say."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A planted fault and where it has to be found."""

    program: str
    name: str
    module: str
    """The module, parameter's module or thing that has to be named."""
    kinds: tuple[str, ...]
    """What it may be called."""
    words: str = ""
    """What has to stand in the message or in an explanation."""


class Sound(NamedTuple):
    """A pair that differs in rounding only."""

    program: str
    way: str
    against: str = ""


FAULTS = (
    Fault("gpt", "attention scale", "GPT.blocks.0.attention", ("forward",)),
    Fault("gpt", "mask sense turned", "GPT.blocks.0.attention", ("forward", "overflow")),
    Fault("gpt", "causal top-left", "GPT.blocks.0.attention", ("forward",)),
    Fault("gpt", "softmax dimension", "GPT.blocks.0.attention", ("forward",)),
    Fault("gpt", "float64 lost", "GPT.angles", ("forward",)),
    Fault("gpt", "epsilon lost", "GPT.blocks.0.norm1", ("forward",)),
    Fault("gpt", "residual lost", "GPT.blocks.2", ("forward",)),
    Fault("gpt", "half overflow", "GPT.blocks.0.feed", ("overflow", "forward")),
    Fault("gpt", "wrong backward", "GPT.blocks.2.feed", ("backward",)),
    Fault("gpt", "eval for train", "GPT", ("mode",)),
    Fault("gpt", "frozen layer", "GPT.blocks.1.feed", ("frozen",)),
    Fault("gpt", "scaler not unscaled", "the optimizer", ("gradient-scale",), "unscale"),
    Fault("gpt", "LR off by two", "the optimizer", ("optimizer",), "2 times"),
    Fault("gpt", "weight decay lost", "the optimizer", ("optimizer",), "weight_decay"),
    Fault("gpt", "data order off", "GPT", ("data-order",)),
    Fault("gpt", "sum for mean", "the program", ("loss",)),
    Fault("cnn", "eval for train", "Net.second.norm", ("mode", "forward")),
    Fault("cnn", "frozen layer", "Net.first.conv", ("frozen",)),
    Fault("cnn", "detached", "Net", ("frozen", "backward")),
    Fault("cnn", "channels swapped", "Net.first", ("forward",)),
    Fault("cnn", "LR off by two", "the optimizer", ("optimizer",), "0.5 times"),
    Fault("cnn", "momentum lost", "the optimizer", ("optimizer",), "momentum"),
    Fault("cnn", "data order off", "Net", ("data-order",)),
    Fault("cnn", "smoothing lost", "CrossEntropyLoss", ("setting",), "label_smoothing"),
)
SOUND = (
    Sound("gpt", ""),
    Sound("gpt", "fused attention"),
    Sound("gpt", "autocast to bfloat16"),
    Sound("gpt", "bfloat16"),
    Sound("gpt", "loss scaling"),
    Sound("gpt", "one thread more"),
    Sound("gpt", "autocast to bfloat16", "bfloat16"),
    Sound("gpt", "fused attention", "autocast to bfloat16"),
    Sound("cnn", ""),
    Sound("cnn", "another algorithm"),
    Sound("cnn", "autocast to bfloat16"),
    Sound("cnn", "another algorithm", "autocast to bfloat16"),
)
