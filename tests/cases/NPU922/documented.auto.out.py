import tensorflow as tf

with tf.xla.experimental.jit_scope(compile_ops=False):
    y = tf.matmul(a, b)
    x = tf.placeholder(tf.float32)
