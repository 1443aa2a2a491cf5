def get_device_properties(index):
    return index


props = get_device_properties(0)
print(props.major)
