"""TensorFlow as the adapter sees it: names for 1.x that both lines have, and what differs between versions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.client import session
from tensorflow.python.framework import ops

tf1: Any = tf.compat.v1
VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])

__all__ = ["VERSION", "config_pb2", "ops", "rewriter_config_pb2", "session", "tf", "tf1"]
