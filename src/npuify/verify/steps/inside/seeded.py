"""Runs a TensorFlow program with seeds: ``python seeded.py train.py …``. By itself, on Python 3.7 and later.

NumPy, Python and every graph get one, also graphs that the program makes itself.
"""

import random
import runpy
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf


def seed() -> None:
    """Seed what a program draws from, unless it does so itself."""
    random.seed(0)
    np.random.seed(0)
    if not tf.__version__.startswith("1."):
        tf.random.set_seed(1)
    from tensorflow.python.framework import ops

    begin = ops.Graph.__init__

    def begin_with_seed(graph, *args, **kwargs):  # type: ignore[no-untyped-def]
        begin(graph, *args, **kwargs)
        graph.seed = 1

    ops.Graph.__init__ = begin_with_seed
    by_order()


def by_order() -> None:
    """Have TensorFlow 1 seed its random operators by their order, as TensorFlow 2 does in functions.

    It takes the number of operators made before, so that one operator more, or fewer, changes all random numbers.
    """
    if not tf.__version__.startswith("1."):
        return
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops, random_seed

    plain = random_seed.get_seed

    def get_seed(op_seed):  # type: ignore[no-untyped-def]
        graph = ops.get_default_graph()
        if op_seed is None and graph.seed is not None and not context.executing_eagerly():
            op_seed = graph.npuify_drawn = getattr(graph, "npuify_drawn", 0) + 1
        return plain(op_seed)

    random_seed.get_seed = get_seed


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        module, sys.argv = sys.argv[1], sys.argv[1:]
        sys.path[0] = str(Path.cwd())
        seed()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        seed()
        runpy.run_path(sys.argv[0], run_name="__main__")
