"""A small battery of cups and buttons."""

MIXED = {
    "title": "Cups and buttons",
    "exercises": [
        {"environments": "cups(rule=rest)", "interactions": 30},
        {"environments": {"id": "buttons"}, "interactions": 50},
        {"environments": "cups", "interactions": 40, "complexity": 5},
        {"environments": "cups(rule=rest)", "interactions": 10},
    ],
}

FOUND = 4
"""How many exercises are in it."""
