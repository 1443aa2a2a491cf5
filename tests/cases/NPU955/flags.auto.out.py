import paddle

paddle.set_flags(
    {
        # megabytes
        "FLAGS_check_nan_inf": 1,
    }
)
paddle.set_flags({})
paddle.get_flags(["FLAGS_cudnn_deterministic"])
