def is_nccl_available():
    return False


class Comm:
    def is_nccl_available(self):
        return False


print(is_nccl_available(), Comm().is_nccl_available())
