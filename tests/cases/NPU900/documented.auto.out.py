import tensorflow as tf

from npu_bridge.npu_init import npu_config_proto

sess = tf.Session(config=npu_config_proto())
