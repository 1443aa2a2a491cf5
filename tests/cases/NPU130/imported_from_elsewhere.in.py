from hardware import get_device_capability

if get_device_capability()[0] >= 8:
    print("new")
