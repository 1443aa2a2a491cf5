import tensorflow as tf
import npu_device

npu_device.open().as_default()


@tf.function
def step(x):
    return x + 1


if __name__ == "__main__":
    step(tf.constant(1))
