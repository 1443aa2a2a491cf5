"""Runs a program with seeds, and made-up data in the place of sets that it would download. Python 3.7 and later.

With RANKS_OUTPUT, a folder, what is printed goes to a file for each rank, nothing is shuffled, all batches are of one
size, and several ranks share the batches of one: what is fed by this module, and what is batched behind ``shard()``.
"""

import os
import random
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import tensorflow as tf


class Split:
    """One of the three parts of TensorFlow 1's MNIST."""

    def __init__(self, number, one_hot):
        made = np.random.RandomState(number)
        self.images = made.rand(number, 784).astype("float32")
        classes = made.randint(0, 10, number)
        self.labels = np.eye(10, dtype="float32")[classes] if one_hot else classes.astype("int64")
        self.num_examples = number
        self._next = 0

    def next_batch(self, number, shuffle=True):
        places = np.arange(self._next, self._next + number) % self.num_examples
        self._next += number
        if "RANKS_OUTPUT" in os.environ:
            if "RANKS_REVERSED" in os.environ:
                places = places[::-1]
            places = places[int(os.environ.get("RANK_ID", "0")) :: int(os.environ.get("RANK_SIZE", "1"))]
        return self.images[places], self.labels[places]


def read_data_sets(*_, one_hot=False, **__):
    return types.SimpleNamespace(train=Split(512, one_hot), validation=Split(128, one_hot), test=Split(512, one_hot))


def loader(shape, classes):
    def load_data(*_, **__):
        made = np.random.RandomState(0)

        def part(number):
            images = made.randint(0, 256, (number, *shape)).astype("uint8")
            return images, made.randint(0, classes, number).astype("uint8")

        return part(512), part(128)

    return load_data


class Anything(types.ModuleType):
    """In the place of matplotlib: whatever is asked of it is it again."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *_, **__):
        return Anything("result")

    def __getitem__(self, _):
        return Anything("item")

    def __iter__(self):
        return iter([Anything("figure"), Anything("axes")])


def prepare():
    np.random.seed(0)
    random.seed(0)
    (tf.set_random_seed if tf.__version__.startswith("1.") else tf.random.set_seed)(1)
    seeded = Path(__file__).resolve().parents[2] / "src" / "npuify" / "verify" / "steps" / "inside" / "seeded.py"
    runpy.run_path(str(seeded))["by_order"]()
    name = ""
    for part in ("tensorflow", "examples", "tutorials", "mnist", "input_data"):
        name = name + "." + part if name else part
        sys.modules.setdefault(name, Anything(name))
    sys.modules[name] = types.SimpleNamespace(read_data_sets=read_data_sets)
    sys.modules["tensorflow.examples.tutorials.mnist"].input_data = sys.modules[name]
    for each, shape, classes in (
        ("mnist", (28, 28), 10),
        ("fashion_mnist", (28, 28), 10),
        ("cifar10", (32, 32, 3), 10),
        ("cifar100", (32, 32, 3), 100),
    ):
        getattr(tf.keras.datasets, each).load_data = loader(shape, classes)
    for each in ("matplotlib", "matplotlib.pyplot"):
        sys.modules[each] = Anything(each)


def share_batches():
    """Batches behind ``shard()`` are a rank's part of the batch, and all data keeps its order."""
    kind = tf.data.Dataset
    ranks = int(os.environ.get("RANK_SIZE", "1"))
    shard = kind.shard

    def marked(self, *given, **named):
        made = shard(self, *given, **named)
        made.is_share = True
        return made

    def is_share(data):
        while data is not None:
            if getattr(data, "is_share", False):
                return True
            data = getattr(data, "_input_dataset", None)
        return False

    def batches(of):
        def batch(self, batch_size, *_, **named):
            # What is left over at the end is another step for one card, and none for several.
            named["drop_remainder"] = True
            return of(self, batch_size // ranks if is_share(self) else batch_size, **named)

        return batch

    kinds = {kind, getattr(tf, "compat", tf).v1.data.Dataset}
    for each in kinds:
        each.shard = marked
        each.shuffle = lambda self, *given, **named: self
        each.batch = batches(each.batch)


if __name__ == "__main__":
    if "RANKS_OUTPUT" in os.environ:
        sys.stdout = (Path(os.environ["RANKS_OUTPUT"]) / os.environ.get("RANK_ID", "0")).open("w")
        share_batches()
    program = Path(sys.argv[1]).resolve()
    sys.argv = sys.argv[1:]
    sys.path[0] = str(program.parent)
    prepare()
    code = compile(program.read_text(encoding="utf-8"), str(program), "exec")
    exec(code, {"__name__": "__main__", "__file__": str(program)})
