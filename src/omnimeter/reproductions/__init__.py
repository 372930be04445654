"""Experiments of the papers, one command each: our results against the published ones."""
