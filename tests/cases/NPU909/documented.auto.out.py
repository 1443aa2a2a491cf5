import tensorflow as tf

from npu_bridge.npu_init import npu_clear_session

x = tf.placeholder(tf.float32)
npu_clear_session()
