"""Environments of the Lambda class whose spaces and objects are programs: Markov algorithms."""
