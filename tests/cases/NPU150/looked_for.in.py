def is_oom(error):
    text = str(error)
    if "CUDA out of memory" in text or text.startswith("cuda out of memory"):
        return True
    return any(part in text for part in ["CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED"])
