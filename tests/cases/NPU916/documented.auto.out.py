import tensorflow as tf

from npu_bridge.npu_init import npu_config_proto

tf.keras.backend.set_session(tf.Session(config=npu_config_proto()))

tf.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
