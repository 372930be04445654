"""A third-party package: parts with kernels (``walk``, ``table``) and parts in plain Python."""

from omnimeter_sample.plain import PlainWalk, Repeater

__all__ = ["PlainWalk", "Repeater"]
