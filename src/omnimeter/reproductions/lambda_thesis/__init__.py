"""The experiments of the Lambda thesis: chapter 5 with reference agents, chapter 6 as a battery."""
