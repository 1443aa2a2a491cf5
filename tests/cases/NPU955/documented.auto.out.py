import paddle

paddle.set_flags({"FLAGS_allocator_strategy": "auto_growth"})
