import paddle
from paddle.static import Executor

use_gpu = paddle.device.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0
place = paddle.CUDAPlace(int("0")) if use_gpu else paddle.CPUPlace()
executor = Executor(paddle.CUDAPlace(0))
if isinstance(place, paddle.CUDAPlace):
    print("cuda")
paddle.device.cuda.synchronize()
paddle.device.cuda.empty_cache()
print(paddle.device.cuda.max_memory_allocated())
paddle.seed(1)
paddle.amp.GradScaler()
paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth"})
