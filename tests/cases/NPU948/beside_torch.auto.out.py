import numpy
import paddle

x = paddle.ones([2]).to("npu:1")
device = paddle.device.cuda
y = numpy.ones(2).pin_memory
