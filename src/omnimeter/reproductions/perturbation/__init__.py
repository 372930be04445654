"""The experiments of the paper on perturbation tolerance."""
