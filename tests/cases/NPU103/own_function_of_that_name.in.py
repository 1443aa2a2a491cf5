def get_device_name(device=0):
    return f"card {device}"


print(get_device_name(device=1))
