from tensorflow import keras
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense

x = tf.placeholder(tf.float32)
model = keras.models.Sequential([Dense(1)])
K.set_learning_phase(1)
