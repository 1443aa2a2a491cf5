import tensorflow as tf

x = tf.placeholder(tf.float32)
config = tf.estimator.RunConfig(model_dir="out")
