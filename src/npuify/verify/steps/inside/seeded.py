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
