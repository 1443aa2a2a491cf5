import enum


class Transport(enum.Enum):
    NCCL = 1
    TCP = 2


print(Transport.NCCL, Transport.TCP)
