"""The model."""

import tensorflow as tf

from training_project.data import CLASSES, FEATURES


def build(width):
    """A classifier whose variables exist as soon as it is made, so that they can be sent to all ranks."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((FEATURES,)),
            tf.keras.layers.Dense(width, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(CLASSES),
        ]
    )
