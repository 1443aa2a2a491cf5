"""Says whether a TensorFlow 2.6.5 program can compute on an NPU here: python check_npu.py"""

import sys

import numpy as np
import tensorflow as tf

try:
    import npu_device
except ImportError as error:
    sys.exit(
        f"npu_device cannot be imported: {error}\nIs the folder of its wheel on PYTHONPATH, and is CANN's set_env.sh "
        "sourced in this shell?"
    )

npu_device.open().as_default()
random = np.random.RandomState(0)
left, right = random.randn(64, 64).astype("float32"), random.randn(64, 64).astype("float32")
variable = tf.Variable(left)


@tf.function
def gradient():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(variable, right)))
    return tape.gradient(loss, variable)


expected = 2 * (left @ right) @ right.T / 64**2
difference = float(np.abs(gradient().numpy() - expected).max())
if difference > 1e-2:
    sys.exit(f"a product of matrices and its gradient differ from NumPy's by {difference}")

kind = "simulated NPU" if "simulated" in repr(npu_device) else "opened by the adapter"
print(f"npu ok: {kind}, TensorFlow {tf.__version__}")
