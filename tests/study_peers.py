"""Engines for studies: one that works, and some that go wrong in the ways that engines do."""

import os
import time

import numpy as np

import sparsebody as sb

LONG = 60.0  # [s]


class Dense:
    """Sparsebody's own dense solver in the place of an engine."""

    detail = "dense"

    def __init__(self, problem):
        self.problem = problem
        self.dynamics = sb.ForwardDynamics(problem.system, problem.state, factorization="dense")

    def evaluate(self):
        return self.dynamics.acceleration(self.problem.state)

    accelerations = evaluate


def dense(problem):
    return Dense(problem)


def slow(problem):
    if problem.system.n_bodies > 2:
        time.sleep(LONG)
    return Dense(problem)


def waiting(problem):
    time.sleep(0.4)
    return Dense(problem)


def greedy(problem):
    return Dense(problem) if problem.system.n_bodies < 3 else np.ones(10**12)


def dying(problem):
    print("the engine gave up", flush=True)
    os.abort()


def refusing(problem):
    raise NotImplementedError("this engine takes no chains")


def missing(problem):
    raise ImportError("No module named 'engine'")


def broken(problem):
    raise RuntimeError("this should not have happened")
