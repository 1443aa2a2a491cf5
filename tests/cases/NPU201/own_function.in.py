def is_autocast_enabled():
    return False


print(is_autocast_enabled())
