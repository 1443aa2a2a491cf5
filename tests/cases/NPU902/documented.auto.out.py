import tensorflow as tf

data = tf.data.Dataset.range(8).make_initializable_iterator()
tf.get_default_session().run(tf.global_variables_initializer())
tf.get_default_session().run(data.initializer)
