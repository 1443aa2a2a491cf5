import tensorflow as tf

model = tf.keras.Sequential()
step = tf.function(model)
model.compile("adam", "mse")
