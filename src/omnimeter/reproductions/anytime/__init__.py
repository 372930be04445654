"""The experiments of the anytime test: what its text expects of agents, asked of the tests here."""
