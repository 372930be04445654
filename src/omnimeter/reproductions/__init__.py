"""Experiments of the papers, one command each: ours beside the published, with a verdict."""
