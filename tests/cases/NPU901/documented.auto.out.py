import tensorflow as tf

from npu_bridge.npu_init import npu_config_proto

config = tf.ConfigProto()
with tf.Session(config=npu_config_proto(config_proto=config)) as sess:
    sess.run(tf.global_variables_initializer())
