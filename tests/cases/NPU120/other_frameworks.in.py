import jax
import tensorflow as tf

with tf.device("cuda:0"):
    pass
print(jax.default_backend() == "gpu")
