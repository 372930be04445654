"""Experiments of the papers, each one command: ours beside the published, and whether they agree."""
