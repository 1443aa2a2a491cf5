import ray
from ray import serve
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

metrics = {"GPU": "name of a column", "CPU": "another"}
counts = {"CPU": 1, "GPU": 2, "disk": 3}
settings = {"num_gpus": 2}


class Pool:
    def groups(self, counts, use_gpu=True):
        scheme = [[{"CPU": 5, "NPU": 1} if use_gpu else {"CPU": 5} for _ in range(count)] for count in counts]
        return [placement_group(bundles=bundles) for bundles in scheme]

    def actor(self, cls, group, at, use_gpu, num_gpus):
        options = {"scheduling_strategy": PlacementGroupSchedulingStrategy(group, at)}
        if use_gpu:
            options["resources"] = {"NPU": num_gpus}
        return cls.options(**options).remote()


@serve.deployment(ray_actor_options={"resources": {"NPU": 1}, "num_cpus": 2})
class Model:
    pass


def both(cls):
    given = {"num_gpus": 1, "resources": {"disk": 1}}
    return cls.options(**given).remote()


def none(cls):
    return cls.options(**{"num_gpus": 0}).remote()


print(settings["num_gpus"])
