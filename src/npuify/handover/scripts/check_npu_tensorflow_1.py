"""Says whether a TensorFlow 1.15 program can compute on an NPU here: python check_npu.py"""

import sys

import numpy as np
import tensorflow as tf

try:
    import npu_bridge
    from npu_bridge.npu_init import npu_config_proto
except ImportError as error:
    sys.exit(
        f"npu_bridge cannot be imported: {error}\nIs the folder of its wheel on PYTHONPATH, and is CANN's set_env.sh "
        "sourced in this shell?"
    )

random = np.random.RandomState(0)
left, right = random.randn(64, 64).astype("float32"), random.randn(64, 64).astype("float32")
variable = tf.Variable(left)
gradient = tf.gradients(tf.reduce_mean(tf.square(tf.matmul(variable, right))), variable)[0]
with tf.Session(config=npu_config_proto()) as session:
    session.run(tf.global_variables_initializer())
    computed = session.run(gradient)
expected = 2 * (left @ right) @ right.T / 64**2
difference = float(np.abs(computed - expected).max())
if difference > 1e-2:
    sys.exit(f"a product of matrices and its gradient differ from NumPy's by {difference}")

kind = "simulated NPU" if "simulated" in repr(npu_bridge) else "session of the adapter"
print(f"npu ok: {kind}, TensorFlow {tf.__version__}")
