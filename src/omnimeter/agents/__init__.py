"""The agents; reached by id through the catalogue."""
