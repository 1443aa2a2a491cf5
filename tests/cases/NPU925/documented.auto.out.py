import tensorflow as tf

from npu_bridge.npu_init import npu_distributed_optimizer_wrapper

optimizer = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1))
