"""Series of letters, the programs of a small machine that write them, and the search for these."""
