import tensorflow as tf

from npu_bridge.npu_init import npu_ops

x = tf.placeholder(tf.float32)
y = npu_ops.dropout(x, keep_prob=1.0 - (1 - keep))
