"""The universal Lambda class: its environments, their complexity, and what all programs showed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from omnimeter.audits import audit
from omnimeter.complexity import kt_max
from omnimeter.contract import Instance, InvalidInputError, OmnimeterError
from omnimeter.environments.lambda_class.dynamics import EVIL, FIRST_SEAT, GOOD
from omnimeter.environments.universal import UniversalLambda
from omnimeter.environments.universal.coding import code_length
from omnimeter.environments.universal.inhabitants import behaviour_alphabet, read_behaviour
from omnimeter.environments.universal.machine import Machine
from omnimeter.environments.universal.tables import Question, table
from omnimeter.kernels import KernelEnvironment

BITS = 20
"""A table that takes a moment; all drawn environments here come from it."""


def made(**parameters: Any) -> UniversalLambda:
    return UniversalLambda(**{"table_bits": BITS, **parameters})


def started(
    cls: UniversalLambda, seed: int = 0, places: tuple[int, ...] | None = None
) -> KernelEnvironment:
    environment = cls.build(cls.draw(np.random.default_rng(seed)))
    environment.start(np.random.default_rng(seed))
    if places is not None:
        environment.state.places[:] = places
        environment.state.clock[environment.state.clock.size - 3] = 0  # nobody has decided yet
    return environment


RING = {"actions": 3, "cells": 6, "space_program": "→ l-r+:", "cycle": "never"}


def test_the_first_state_of_example_3_6_1_favours_evil_but_good_is_met_later() -> None:
    """With Evil between agent and Good a random agent expects less than 0 at first.

    The example says that Good is never met. But all move at once: Good and Evil pass each other.
    """
    cls, rng = made(**RING, behaviour="π →· r; →· l"), np.random.default_rng(0)
    environment = started(cls)
    sums, met_good = [], 0
    for _ in range(2000):
        environment.start(rng)
        environment.state.places[:] = (2, 1, 0)
        environment.state.rewards[:] = 0
        environment.state.rewards[[2, 1]] = 1, -1
        sums.append(sum(environment.step(int(rng.integers(3))).reward for _ in range(3)))
        good, _, agent = environment.state.places.tolist()
        met_good += good == agent
    mean, error = np.mean(sums), np.std(sums) / np.sqrt(len(sums))
    assert mean + 5 * error < 0
    assert met_good > 100


def test_good_and_evil_do_all_their_actions_and_objects_the_last_one() -> None:
    cls = made(**RING, behaviour="→· rrl", objects=["→· rrl", "→· ss"])
    environment = started(cls, places=(0, 3, 2, 4, 5))
    environment.step(0)
    assert environment.state.places.tolist() == [1, 4, 2, 3, 5]


def test_what_is_perceived_is_what_was_there_before_all_moved() -> None:
    # the object goes right where the agent is in its cell: as it was, not as it will be
    cls = made(**RING, objects=["reads cell; π →· r"], behaviour="still")
    environment = started(cls, places=(0, 3, 4, 4))
    environment.step(2)
    assert environment.state.places.tolist() == [0, 3, 5, 5]
    environment.step(0)
    assert environment.state.places.tolist() == [0, 3, 5, 0]
    environment.step(0)
    assert environment.state.places.tolist() == [0, 3, 5, 0]


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("still", [4, 4, 4]),
        ("imitating", [4, 5, 0]),  # one behind the agent's actions r, r, r
        ("chasing", [5, 0, 1]),  # the agent is beside it, and goes on
        ("fleeing", [4, 4, 4]),  # never met
    ],
)
def test_named_objects_do_what_their_names_say(name: str, moves: list[int]) -> None:
    environment = started(made(**RING, behaviour="still", objects=[name]), places=(0, 3, 5, 4))
    seen = []
    for _ in range(3):
        environment.step(2)
        seen.append(int(environment.state.places[3]))
    assert seen == moves


def test_a_fleeing_object_leaves_an_agent_and_a_nearly_static_one_moves_every_fourth_time() -> None:
    environment = started(made(**RING, behaviour="still", objects=["fleeing"]), places=(0, 3, 5, 5))
    environment.step(0)
    assert environment.state.places[3] != 5
    environment = started(
        made(**RING, behaviour="still", objects=["nearly-static"]), places=(0, 3, 5, 0)
    )
    seen = []
    for _ in range(12):
        environment.step(0)
        seen.append(int(environment.state.places[3]))
    assert seen == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_the_environment_of_figure_3_3_behaves_as_the_thesis_says() -> None:
    """Good and Evil go three cells to the left and three to the right, but not into the object."""
    cls = made(
        actions=3, space_program="figure-3.3", behaviour="figure-3.3", objects=["figure-3.3"],
        cycle="never",
    )  # fmt: skip
    # Figure 3.4: the object bars the way of Evil, in the last cell; Good has room.
    environment = started(cls, places=(3, 5, 4, 4))
    state = environment.state
    assert state.paths.reshape(6, 3).tolist() == [
        [0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 2, 4], [4, 3, 5], [5, 4, 5],
    ]  # fmt: skip
    good = []
    state.places[FIRST_SEAT] = 0  # the agent is away, so that the object stays
    for _ in range(6):
        environment.step(0)
        good.append(int(state.places[GOOD]))
        assert state.places[3] == 4
        assert state.places[EVIL] == 5
    assert good == [2, 1, 0, 1, 2, 3]


def test_the_object_of_figure_3_3_leaves_the_agent_by_the_other_action() -> None:
    cls = made(
        actions=3, space_program="figure-3.3", behaviour="still", objects=["figure-3.3"],
        cycle="never",
    )  # fmt: skip
    for action, start, expected in ((2, 2, 4), (1, 4, 2)):  # the agent comes from the left, right
        environment = started(cls, places=(0, 5, start, 3))
        environment.step(action)
        assert environment.state.places.tolist() == [0, 5, 3, 3]
        environment.step(0)
        assert int(environment.state.places[3]) == expected


def test_a_program_that_never_ends_costs_its_bound_and_its_inhabitant_stays() -> None:
    cls = made(**RING, behaviour="symbols X Y; X → Y; Y → X; → X", max_steps=50)
    instance = cls.draw(np.random.default_rng(0))
    assert instance.data["steps"] == max(102, 2 * 50)  # those of the space, or of both
    environment = started(cls, places=(0, 3, 1))
    environment.step(0)
    assert environment.state.places.tolist() == [0, 3, 1]


# Complexity and drawing


def test_complexity_is_kt_max_of_the_shortest_programs() -> None:
    cls = made(**RING, behaviour="symbols X; X →· l; → X")  # goes left, by a detour
    instance = cls.draw(np.random.default_rng(0))
    shortest = code_length(read_behaviour("→· l", "cell", 3))
    ring = code_length(read_behaviour("→· l", "cell", 3)) and instance.data["bits"] - 1 - shortest
    direct = made(**RING, behaviour="→· l").draw(np.random.default_rng(0))
    assert instance.data["bits"] == direct.data["bits"] == ring + 1 + shortest
    assert cls.complexity(instance) == kt_max(instance.data["bits"], instance.data["steps"])
    assert instance.data["behaviour"]["program"] == "symbols X\nX →· l\n→ X"  # shown as given


def test_rules_that_are_never_applied_are_not_charged() -> None:
    behaviour = "reads string; π(L|R) →; →· s"
    dead = "reads string; symbols Z; Z → s; π(L|R) →; →· s"
    cls, other = (made(**RING, behaviour=each) for each in (behaviour, dead))
    one, two = (each.draw(np.random.default_rng(0)) for each in (cls, other))
    assert one.data["bits"] == two.data["bits"]


def test_objects_that_share_rules_are_charged_for_them_once() -> None:
    rules = "symbols X; π → X; ⊙ → X; X →· l"
    bits = [
        made(**RING, behaviour="still", objects=[rules] * count)
        .draw(np.random.default_rng(0))
        .data["bits"]
        for count in (0, 1, 2)
    ]
    assert bits[2] - bits[1] < (bits[1] - bits[0]) / 2


@pytest.mark.parametrize("same", ["pattern:0000", "reads nothing; →· ss", "reads moves; S →; →· s"])
def test_no_dead_code_is_charged_whatever_a_program_perceives(same: str) -> None:
    rng = np.random.default_rng(0)
    drawn = [made(**RING, behaviour=each).draw(rng).data["bits"] for each in ("still", same)]
    assert drawn[0] == drawn[1]


def test_draws_within_a_band_are_as_frequent_as_2_to_the_minus_complexity() -> None:
    cls, rng = made(actions=3, max_cells=6), np.random.default_rng(1)
    low = cls.complexity_range()[0]
    drawn = [cls.draw_between(rng, low, low + 4) for _ in range(4000)]
    counts = Counter(each.key for each in drawn if each is not None)
    assert sum(counts.values()) == 4000
    complexities = {each.key: cls.complexity(each) for each in drawn if each is not None}
    weights = {key: 2.0**-each for key, each in complexities.items()}
    total = sum(weights.values())
    for key, count in counts.items():
        expected = 4000 * weights[key] / total
        assert abs(count - expected) < 6 * np.sqrt(expected) + 5


@pytest.mark.parametrize("objects", [["chasing"], ["fleeing", "imitating"]])
def test_what_is_drawn_can_be_asked_for_where_complexities_are_measured(objects: list[str]) -> None:
    cls, rng = made(objects=objects), np.random.default_rng(1)
    low, high = cls.complexity_range()
    drawn = [cls.complexity(cls.draw(rng)) for _ in range(20)]
    assert low - 5 <= min(drawn)
    assert max(drawn) <= high
    for each in sorted(set(drawn)):
        instance = cls.draw_between(rng, each - 0.5, each + 0.5)
        assert instance is not None
        assert abs(cls.complexity(instance) - each) <= 0.5


@pytest.mark.parametrize("above", [20, 60, 150])
def test_above_the_tables_programs_of_known_forms_are_drawn(above: float) -> None:
    cls = made()
    top = max(
        cls._pairs(n, cls._draw_objects(np.random.default_rng(0), n)).complexities[-1]
        for n in (2, 3)
    )
    instance = cls.draw_between(np.random.default_rng(0), top + above, top + above + 1)
    assert instance is not None
    assert top + above <= cls.complexity(instance) <= top + above + 1
    cls.build(instance)


def test_drawn_instances_are_charged_as_given_ones_would_be() -> None:
    cls = made()
    for seed in range(20):
        instance = cls.draw_between(np.random.default_rng(seed), 34, 60)
        assert instance is not None
        data = instance.data
        given = made(
            actions=data["actions"],
            cells=len(data["space"].split("|")),
            space_program=data["space_program"],
            behaviour=data["behaviour"]["program"],
        )
        again = given.draw(np.random.default_rng(0))
        assert {**again.data} == {**data}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"actions": 3, "behaviour": "π → q"}, "lacks 'q' .line 1, column 5"),
        ({"actions": 3, "behaviour": "π → → r"}, "line 1, column 5"),
        ({"behaviour": "foo"}, "no inhabitant 'foo'"),
        ({"behaviour": "π → l"}, "which actions there are"),
        ({"max_steps": 0}, "bound of steps of a program is 0"),
        ({"actions": 3, "space_program": "→ l+"}, "did not end"),
        ({"actions": 3, "space_program": "→· l+:r+:", "cells": 3}, "writes 2 cells, not 3"),
        ({"actions": 3, "space_program": "→· ls:r", "cells": 2}, "lacks 's'"),
        ({"actions": 3, "space_program": "→· l+:s", "cells": 2}, "lacks 's'"),
        ({"actions": 3, "space_program": "→· l+:r", "cells": 2}, "has only one successor"),
        ({"table_bits": 99}, "table_bits from 6 to"),
        ({"actions": 3, "behaviour": "reads tea; → l"}, "no perception 'tea'"),
        ({"actions": 1}, "1 actions"),
        ({"cells": 65}, "65 cells"),
    ],
)
def test_what_cannot_be_is_refused_by_one_message(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(OmnimeterError, match=message):
        made(**parameters).draw(np.random.default_rng(0))


def test_a_complexity_that_no_program_gives_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"No program of up to 20 bits") as error:
        made().draw(np.random.default_rng(0), 31)
    assert "30.4093909361 and 32" in str(error.value)


# Balance


def test_balance_is_proved_by_exchanging_good_and_evil() -> None:
    cls = made(actions=3, cells=4, behaviour="π →· r; →· l", objects=["⊙ →· l"])
    finding = next(each for each in audit(cls, instances=1).findings if each.check == "symmetry")
    assert finding.passed
    assert finding.numbers["proved"] == finding.numbers["instances"] == 1


class Partial(UniversalLambda):
    """Good goes one cell further whenever it can be told from Evil: in the first cell."""

    def build(self, instance: Instance) -> KernelEnvironment:
        environment = super().build(instance)
        # Evil's program is replaced by one that stays: they no longer do the same
        environment.state.programs[2:4] = 0
        return environment


def test_an_evil_that_behaves_differently_is_found() -> None:
    cls = Partial(table_bits=BITS, actions=3, cells=4, space_program="→ l-r+:", behaviour="→· l")
    finding = next(each for each in audit(cls, instances=1).findings if each.check == "symmetry")
    assert not finding.passed


# What all programs showed (docs/findings.md)


def test_findings_about_the_shortest_programs() -> None:
    behaviours, spaces = table(Question(3, "cell", True, 256), 25), table(Question(3), 25)
    assert (len(behaviours), len(spaces)) == (103, 283)
    assert behaviours.tried == 335_661
    assert str(behaviours.program(0)) == ""
    assert int(behaviours.bits[0]) == 2
    endless = [str(spaces.program(n)) for n in range(len(spaces)) if spaces.bits[n] == 19]
    assert set(endless) == {"→ l+:", "→ l-:", "→ r+:", "→ r-:"}
    ending = next(n for n in range(len(spaces)) if spaces.steps[n] == 1)
    assert (str(spaces.program(ending)), int(spaces.bits[ending])) == ("→· l+:r+", 25)


def test_an_acceleration_costs_20_bits_and_ends_when_memory_is_full() -> None:
    alphabet = behaviour_alphabet("nothing", 3)
    program = read_behaviour("→· slΔ∇", "nothing", 3)
    assert code_length(program) == 20
    machine, memory, moves = Machine(program), (), []
    for _ in range(70):
        run = machine.run((), memory)
        if not run.answered:
            break
        memory = run.memory
        moves.append(run.text.count(alphabet.index("l")))
    assert moves == list(range(1, 65))
