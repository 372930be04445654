"""A small battery of cups and buttons."""

MIXED = {
    "title": "Cups and buttons",
    "exercises": [
        {"environment_class": "cups(rule=rest)", "interactions": 30},
        {"environment_class": {"id": "buttons"}, "interactions": 50},
        {"environment_class": "cups", "interactions": 40, "complexity": 5},
        {"environment_class": "cups(rule=rest)", "interactions": 10},
    ],
}

EXERCISES = 4
"""How many exercises are in it."""
