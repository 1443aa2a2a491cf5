def is_oom(error):
    text = str(error)
    if "NPU out of memory" in text or text.startswith("npu out of memory"):
        return True
    return any(part in text for part in ["CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED"])
