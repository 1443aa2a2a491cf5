import tensorflow as tf

x = tf.placeholder(tf.float32)
batch = tf.train.batch([image], batch_size=8, num_threads=1)
