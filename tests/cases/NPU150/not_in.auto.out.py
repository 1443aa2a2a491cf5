def handle(error):
    if "NPU out of memory." not in str(error):
        raise error
