import tensorflow as tf

dataset = tf.data.Dataset.range(8)
dataset = dataset.prefetch(2)
