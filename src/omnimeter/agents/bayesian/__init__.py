"""Agents that plan with a prior over finite MDPs (Bayesian RL benchmark, section 5.1)."""
