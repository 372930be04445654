"""Finite MDPs drawn from flat Dirichlet-multinomial distributions (Bayesian RL benchmark, 5.2)."""

from omnimeter.environments.mdp.generator import MDP
from omnimeter.environments.mdp.named import GeneralisedChain, GeneralisedDoubleLoop, Grid

__all__ = ["MDP", "GeneralisedChain", "GeneralisedDoubleLoop", "Grid"]
