"""One readable text per environment class: what it answers to some actions.

``python -m omnimeter.testing.playthrough ID > ID.txt`` writes it.
"""

from __future__ import annotations

import sys

from omnimeter.audits.subject import Answers, answers, random_actions
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import EnvironmentClass, Instance, OmnimeterError, Spec, stream
from omnimeter.contract.spec import canonical_json
from omnimeter.testing.environments import variants

INTERACTIONS = 30
SEED = 0
DRAWS = 10
"""The shortest of so many instances is shown, because it is read most easily.

Neither the choice nor the text depends on complexities: what compression finds differs between
builds of its library.
"""


def playthrough(spec: Spec) -> str:
    """What an environment class answers: one block for each way in which its rules can differ.

    Ways in which nothing differs share a block.
    """
    blocks: dict[str, list[str]] = {}
    for variant in variants(Kind.ENVIRONMENT, spec):
        blocks.setdefault(_block(variant), []).append(f"# {variant.label}")
    return "\n".join("\n".join([*heads, block]) for block, heads in blocks.items())


def _block(spec: Spec) -> str:
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    instance = _shortest(environment_class)
    environment = environment_class.build(instance)
    chance = stream(SEED, "playthrough")
    actions = random_actions(environment, chance.child("actions"), INTERACTIONS)
    low, high = environment.rewards
    heard = answers(environment, chance.child("environment"), actions)
    head = [
        f"instance      {canonical_json(dict(instance.data))}",
        f"actions       {environment.actions}",
        f"observations  {' x '.join(map(str, environment.space.sizes))}",
        f"rewards       {low!r} to {high!r}",
        f"chance        {canonical_json(list(chance.name))}",
        "",
    ]
    return "\n".join([*head, *_table(actions, heard), ""])


def _table(actions: list[int], heard: Answers) -> list[str]:
    """A line per interaction; the first percept comes before any action."""
    given = ["-", *map(str, actions)]
    rewards = [repr(reward) for reward, _ in heard]
    width = max(len("reward"), *map(len, rewards))
    lines = [f"{'i':>3}  {'action':>6}  {'reward':>{width}}  observation"]
    rows = zip(given, rewards, heard, strict=True)
    for number, (action, reward, (_, seen)) in enumerate(rows):
        shown = " ".join(map(str, seen))
        lines.append(f"{number:>3}  {action:>6}  {reward:>{width}}  {shown}")
    return lines


def _shortest(environment_class: EnvironmentClass) -> Instance:
    draws = [
        environment_class.draw(stream(SEED, "playthrough", "instance", number).generator())
        for number in range(DRAWS)
    ]
    return min(draws, key=lambda instance: len(canonical_json(dict(instance.data))))


def main() -> None:
    """Print the playthrough of the class that is named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m omnimeter.testing.playthrough ID")
    try:
        text = playthrough(parse(Kind.ENVIRONMENT, sys.argv[1]))
    except OmnimeterError as error:
        sys.exit(str(error))
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
