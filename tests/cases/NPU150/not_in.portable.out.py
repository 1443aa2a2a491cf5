import compute_device
def handle(error):
    if f"{compute_device.type.upper()} out of memory." not in str(error):
        raise error
