import paddle

paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth", "FLAGS_fraction_of_gpu_memory_to_use": 0.5})
names = ["FLAGS_check_nan_inf"]
