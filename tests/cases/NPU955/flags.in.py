import paddle

paddle.set_flags(
    {
        "FLAGS_conv_workspace_size_limit": 500,  # megabytes
        "FLAGS_check_nan_inf": 1,
    }
)
paddle.set_flags({"FLAGS_cudnn_exhaustive_search": True})
paddle.get_flags(["FLAGS_cudnn_deterministic"])
