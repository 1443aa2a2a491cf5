import compute_device
def is_oom(error):
    text = str(error)
    if f"{compute_device.type.upper()} out of memory" in text or text.startswith(f"{compute_device.type} out of memory"):
        return True
    return any(part in text for part in ["CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED"])
