from enum import Enum
from types import SimpleNamespace

import torch

x = torch.ones(2).cuda()
speeds = dict(cpu=0, cuda=1)
print(speeds[x.device.type], speeds.get(str(x.device).split(":")[0], -1))
record = SimpleNamespace(cuda="fast", cpu="slow")
print(getattr(record, x.device.type), vars(record)[x.device.type])


class Speed:
    cuda = "fast"
    cpu = "slow"


class Both:
    def cuda(self):
        return 1

    def npu(self):
        return 2


class Member(Enum):
    CUDA = 1
    CPU = 2


print(getattr(Speed, x.device.type, "unknown"), getattr(Speed(), x.device.type), getattr(Both(), x.device.type)())
print(Member[x.device.type.upper()])


def given(cuda=0, cpu=0):
    return cuda - cpu


print(given(**{x.device.type: 1}))
table = {}


def keep(kind):
    def keeping(f):
        table[kind] = f
        return f

    return keeping


@keep("cuda")
def fast():
    return 1


print(table[x.device.type]())
sums = {}
sums[x.device.type] = 1
print(sums[x.device.type], getattr(torch, x.device.type).is_available(), {"cuda": 1, "cpu": 2}[x.device.type])
with open(f"settings/{x.device.type}.json") as settings, open(f"log/{x.device.type}/out.txt", "w") as out:
    print(settings.read(), file=out)
text = "{kind}:{index}".format(kind="cuda", index=0)
print(globals()["given_" + text.split(":")[0]] if x.is_cuda else torch.ones(1).to(text))


def given_cuda():
    return "fast"
