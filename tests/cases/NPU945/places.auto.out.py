import paddle
from paddle.static import Executor

use_gpu = paddle.device.is_compiled_with_custom_device("npu") and len(paddle.device.get_available_custom_device()) > 0
place = paddle.CustomPlace("npu", int("0")) if use_gpu else paddle.CPUPlace()
executor = Executor(paddle.CustomPlace("npu", 0))
if isinstance(place, paddle.CustomPlace):
    print("cuda")
paddle.device.synchronize()
paddle.device.cuda.empty_cache()
print(paddle.device.cuda.max_memory_allocated())
paddle.seed(1)
paddle.amp.GradScaler()
paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth"})
