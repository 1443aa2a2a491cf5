import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32, drop_remainder=True)
model = tf.keras.Model(a, b)
model.fit(dataset, epochs=3)
