"""The environment classes, reached by id through the catalogue.

Each has the same parts in the same order: state and kernels (``dynamics``), the class
(``generator``), complexity, scene. Small classes are one file, larger ones a folder.
"""
