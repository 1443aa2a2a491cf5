"""Plays gym before 0.26, whose ``reset`` gave an observation and ``step`` four values: a point that is pushed."""

from types import SimpleNamespace

import numpy


class Box:
    def __init__(self, low, high, shape, seed):
        self.low = numpy.full(shape, low, dtype=numpy.float32)
        self.high = numpy.full(shape, high, dtype=numpy.float32)
        self.shape = shape
        self.dtype = numpy.float32
        self.drawn = numpy.random.default_rng(seed)

    def sample(self):
        return self.drawn.uniform(self.low, self.high).astype(numpy.float32)

    def seed(self, seed=None):
        pass


class Discrete:
    shape = ()
    dtype = numpy.int64

    def __init__(self, n, seed):
        self.n = n
        self.drawn = numpy.random.default_rng(seed)

    def sample(self):
        return int(self.drawn.integers(self.n))

    def seed(self, seed=None):
        pass


class Env:
    reward_range = (-1.0, 1.0)
    metadata = {}
    unwrapped = property(lambda self: self)

    def __init__(self, name=""):
        self.spec = SimpleNamespace(id=name, max_episode_steps=20)
        self._max_episode_steps = 20
        self.drawn = numpy.random.default_rng(5)
        self.observation_space = Box(-1, 1, (4,), 6)
        discrete = any(one in name for one in ("CartPole", "MountainCar-", "LunarLander-"))
        self.action_space = Discrete(2, 7) if discrete else Box(-1, 1, (2,), 7)
        self.at, self.left = numpy.zeros(4, dtype=numpy.float32), 0

    def seed(self, seed=None):
        self.drawn = numpy.random.default_rng(seed)
        return [seed]

    def reset(self):
        self.at, self.left = self.drawn.normal(size=4).astype(numpy.float32), 20
        return self.at

    def step(self, action):
        pushed = float(numpy.asarray(action, dtype=numpy.float64).sum())
        self.at = (0.9 * self.at + 0.1 * pushed + 0.1 * self.drawn.normal(size=4)).astype(numpy.float32)
        self.left -= 1
        return self.at, -float(numpy.square(self.at).sum()), self.left == 0, {}

    def render(self, *args, **kwargs):
        return numpy.zeros((64, 64, 3), dtype=numpy.uint8)

    def close(self):
        pass


class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        return getattr(self.env, name)

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__")
        if name in ("spec", "observation_space", "action_space", "_max_episode_steps", "at", "left", "drawn"):
            return own[name] if name in own else getattr(own["env"], name)
        return object.__getattribute__(self, name)

    def reset(self):
        return self.env.reset()

    def step(self, action):
        return self.env.step(action)


class ActionWrapper(Wrapper):
    def step(self, action):
        return self.env.step(getattr(self, "action", getattr(self, "_action", None))(action))


def make(name, **kwargs):
    return Env(name)


spaces = SimpleNamespace(Box=Box, Discrete=Discrete)
wrappers = SimpleNamespace()
