"""One readable text per environment class: its percepts after some actions.

``python -m omnimeter.testing.playthrough ID > ID.txt`` writes it.
"""

from __future__ import annotations

import sys

from omnimeter.audits.subject import random_actions, rollout
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import EnvironmentClass, OmnimeterError, Spec, stream
from omnimeter.contract.spec import canonical_json
from omnimeter.testing.environments import variants

LONGEST = 10_000
"""Characters of an instance that are shown; of a longer one its key says the rest."""


def playthrough(spec: Spec) -> str:
    """The percepts of an environment class: one block for each variant whose rules differ."""
    blocks: dict[str, list[str]] = {}
    for variant in variants(Kind.ENVIRONMENT, spec):
        blocks.setdefault(_block(variant), []).append(f"# {variant.label}")
    return "\n".join("\n".join([*heads, block]) for block, heads in blocks.items())


def _block(spec: Spec) -> str:
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    seed = stream(0, "playthrough")
    # The shortest is shown. No complexity is: zlib's compressed lengths differ between builds.
    draws = [environment_class.draw(seed.child("instance", n).generator()) for n in range(10)]
    instance = min(draws, key=lambda each: len(canonical_json(dict(each.data))))
    environment = environment_class.build(instance)
    actions = random_actions(environment, seed.child("actions"), 30)
    percepts = rollout(environment, seed.child("environment"), actions)
    low, high = environment.rewards
    text = canonical_json(dict(instance.data))
    rewards = [repr(reward) for reward, _ in percepts]
    width = max(len("reward"), *map(len, rewards))
    lines = [
        f"instance      {text if len(text) <= LONGEST else f'{text[:LONGEST]}... {instance.key}'}",
        f"actions       {environment.actions}",
        f"observations  {' x '.join(map(str, environment.space.sizes))}",
        f"rewards       {low!r} to {high!r}",
        f"chance        {canonical_json(list(seed.name))}",
        "",
        f"{'i':>3}  {'action':>6}  {'reward':>{width}}  observation",
    ]
    # The first percept comes before any action.
    rows = zip(["-", *map(str, actions)], rewards, percepts, strict=True)
    for number, (action, reward, (_, observation)) in enumerate(rows):
        numbers = " ".join(map(str, observation))
        lines.append(f"{number:>3}  {action:>6}  {reward:>{width}}  {numbers}")
    return "\n".join([*lines, ""])


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
