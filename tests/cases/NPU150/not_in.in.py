def handle(error):
    if "CUDA out of memory." not in str(error):
        raise error
