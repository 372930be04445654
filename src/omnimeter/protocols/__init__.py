"""The tests: which exercise comes next, and what the score is. Reached by id."""
