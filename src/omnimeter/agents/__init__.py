"""The agents, one file each; reached by id through the catalogue."""
