"""The environment classes, one folder each; reached by id through the catalogue."""
