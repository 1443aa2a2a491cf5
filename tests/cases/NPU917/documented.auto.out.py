import tensorflow as tf

tf.config.optimizer.set_jit(False)
x = tf.placeholder(tf.float32)
