import tensorflow as tf

tf.get_default_session().run(tf.global_variables_initializer())
tf.get_default_session().run(tf.tables_initializer())
