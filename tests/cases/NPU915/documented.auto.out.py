import tensorflow as tf

from npu_bridge.npu_init import get_rank_size, init_resource, npu_distributed_optimizer_wrapper

npu_sess, npu_shutdown = init_resource()
opt = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1 * get_rank_size()))
