import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import jax
import tensorflow as tf

with tf.device("cuda:0"):
    pass
print(jax.default_backend() == "gpu")
