"""What kind of environments a class has: ergodic, passive or perceptually aliased (section 2.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from omnimeter.audits.sensitivity import STOPS, STRIDE, WALKS
from omnimeter.audits.states import Graph, Simulator
from omnimeter.audits.subject import Finding, Subject, counted, describe_manner
from omnimeter.contract import Instance

STEPS = 1000  # of each random walk
FREQUENT = 0.05  # the share of a walk from which on an observation must come up in every other
HORIZON = 8  # actions after which the consequences of others are compared
SEQUENCES = 20  # of actions that are compared from a state
PAIRS = 20  # of states with the same observation that are compared


DeadEnds = Literal["none", "some", "likely", "none found", "unknown"]
Influence = Literal["observations", "rewards", "nothing"]
INFLUENCES: tuple[Influence, ...] = get_args(Influence)


class Structure(NamedTuple):
    """What is known of one environment.

    Attributes:
        dead_ends: Whether there are states from which others cannot be reached again: none (an
            ergodic environment), some, none found in random walks, or unknown because hardly any
            observation came twice.
        influence: What actions change: observations (and perhaps rewards), only rewards (a passive
            environment), or nothing.
        aliased: Whether two states that differ have the same observation; ``None`` is unknown.
    """

    dead_ends: DeadEnds
    influence: Influence
    aliased: bool | None


def of_graph(graph: Graph) -> Structure:
    """What all states say. Those that no agent can tell apart, whatever it does, count as one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels, shown = graph.classes(), graph.classes(rewards=False)
    count = int(labels.max()) + 1
    following = labels[graph.successors]
    pairs = np.repeat(labels, following.shape[1]), following.ravel()
    edges = coo_array((np.ones(len(pairs[0])), pairs), shape=(count, count))
    components = connected_components(edges, connection="strong", return_labels=False)
    influence: Influence
    if np.ptp(shown[graph.successors], axis=1).any():
        influence = "observations"
    elif np.ptp(graph.rewards, axis=1).any() or np.ptp(following, axis=1).any():
        influence = "rewards"
    else:
        influence = "nothing"
    aliased = count > len(np.unique(graph.observations))
    return Structure("none" if components == 1 else "some", influence, aliased)


def sampled(subject: Subject, instance: Instance) -> Structure:
    """What random walks show."""
    actions = subject.environment_class.build(instance).actions
    walks: list[Counter[bytes]] = []
    alike: dict[bytes, dict[Hashable, Hashable]] = {}  # snapshots by observation and memory
    influences: set[Influence] = set()
    for number in range(WALKS):
        simulator = subject.simulator(instance, number)
        rng = subject.stream("structure", instance.key, number).generator()
        seen: Counter[bytes] = Counter()
        for step, action in enumerate(rng.integers(actions, size=STEPS).tolist()):
            if step % STRIDE == 0 and step < STOPS * STRIDE and "observations" not in influences:
                influences.add(_influence(simulator, actions, rng))
            simulator.step(action)
            observation = simulator.observation.tobytes()
            if step >= STEPS // 2:
                seen[observation] += 1
            if (memory := simulator.memory()) is not None:
                alike.setdefault(observation, {}).setdefault(memory, simulator.save())
        walks.append(seen)
    often = {each for seen in walks for each in seen if seen[each] >= FREQUENT * STEPS / 2}
    dead_ends: DeadEnds = "none found" if often else "unknown"
    if any(each not in seen for each in often for seen in walks):
        dead_ends = "likely"
    influence = min(influences, key=INFLUENCES.index)
    return Structure(dead_ends, influence, _aliased(simulator, alike, actions))


def _play(simulator: Simulator, sequence: Sequence[int]) -> tuple[list[float], list[bytes]]:
    """The rewards and observations of some actions."""
    rewards, observations = [], []
    for action in sequence:
        rewards.append(simulator.step(action))
        observations.append(simulator.observation.tobytes())
    return rewards, observations


def _influence(simulator: Simulator, actions: int, rng: np.random.Generator) -> Influence:
    """What other actions change after the current state, with the same random numbers."""
    start = simulator.save()
    results = []
    for sequence in rng.integers(actions, size=(SEQUENCES, HORIZON)).tolist():
        simulator.restore(start)
        results.append(_play(simulator, sequence))
    simulator.restore(start)
    if any(observations != results[0][1] for _, observations in results):
        return "observations"
    return "rewards" if any(rewards != results[0][0] for rewards, _ in results) else "nothing"


def _aliased(
    simulator: Simulator, alike: Mapping[bytes, Mapping[Hashable, Hashable]], actions: int
) -> bool | None:
    """Whether states with the same observation go on differently with the same random numbers."""
    if not alike:
        return None
    pairs = [list(each.values())[:2] for each in alike.values() if len(each) > 1][:PAIRS]
    for pair in pairs:
        for seed in range(SEQUENCES):
            results = []
            for snapshot in pair:
                simulator.restore(snapshot)
                rng = np.random.default_rng(seed)
                simulator.reseed(rng)
                results.append(_play(simulator, rng.integers(actions, size=HORIZON).tolist()))
            if results[0] != results[1]:
                return True
    return False


def check_structure(subject: Subject) -> Finding:
    """Say whether environments are ergodic, passive, perceptually aliased. Nothing must hold.

    Small deterministic environments are decided exactly. Others are examined by random walks: an
    observation that is frequent in the end of one walk and absent from that of another makes a
    dead end likely.
    """
    structures = []
    exactly = 0
    for _, instance in subject.each("structure"):
        graph = subject.graph(instance)
        exactly += graph is not None
        structures.append(sampled(subject, instance) if graph is None else of_graph(graph))
    count = len(structures)
    dead_ends = Counter(each.dead_ends for each in structures)
    influence = Counter(each.influence for each in structures)
    aliased = Counter(each.aliased for each in structures)
    sentences = _sentences(
        count,
        (dead_ends["none"], "Ergodic: every state can be reached again from every other"),
        (dead_ends["some"], "Dead ends: from some states others cannot be reached again"),
        (
            dead_ends["likely"],
            "Dead ends are likely: what is frequent in one walk is not in another",
        ),
        (dead_ends["none found"], "No dead ends were found"),
        (dead_ends["unknown"], "Dead ends cannot be seen: hardly any observation comes twice"),
    )
    sentences += _sentences(
        count,
        (influence["rewards"], "Passive: actions change rewards only, not observations"),
        (influence["nothing"], "Passive: actions change nothing"),
    )
    sentences += _sentences(
        count,
        (aliased[True], "Aliased: states that differ have the same observation"),
        (aliased[None], "Aliasing could not be examined"),
    )
    numbers = {
        "distinct_instances": count,
        "decided_exactly": exactly,
        "ergodic": dead_ends["none"],
        "dead_ends": dead_ends["some"],
        "likely_dead_ends": dead_ends["likely"],
        "passive": influence["rewards"],
        "without_influence": influence["nothing"],
        "aliased": aliased[True],
    }
    manner = describe_manner(exactly, count)
    summary = f"{' '.join(sentences)} {manner[0].upper()}{manner[1:]}."
    return Finding("structure", claimed=False, passed=None, summary=summary, numbers=numbers)


def _sentences(count: int, *parts: tuple[int, str]) -> list[str]:
    """What is said of some instances, with their number unless it is all of them."""
    return [
        f"{text}." if number == count else f"{text} ({number} of {counted(count, 'instance')})."
        for number, text in parts
        if number
    ]
