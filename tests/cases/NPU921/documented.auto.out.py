import tensorflow as tf

strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
step = tf.function(train)
