"""The rules that every environment class must keep, each a function that yields its violations.

The audit combines some of them into findings; ``omnimeter.testing.EnvironmentClassSuite`` turns
each of them into a test.
"""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from omnimeter.audits.subject import (
    Rollout,
    Subject,
    plain_percept,
    random_actions,
    random_exercise,
    rollout,
)
from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Percept,
    Space,
)
from omnimeter.contract.spec import canonical_json
from omnimeter.interaction import run_single

Violation = tuple[str, Mapping[str, Any]]
"""A case in which a rule does not hold: what is wrong and what to do, and the witness."""

Violations = Iterator[Violation]
Rule = Callable[[Subject], Violations]

OVERLAY_STEPS = 5  # time steps of the overlays that are compared
BAND = 0.5  # bands reach so far to both sides of a complexity that exists


def violation(message: str, instance: Instance | None = None, **witness: Any) -> Violation:
    """A violation, with the instance in its witness."""
    return message, witness if instance is None else {"instance": instance.data, **witness}


def global_randomness(run: Callable[[], object]) -> str | None:
    """How a function depends on the global generators of Python and NumPy, if it does."""
    saved = random.getstate(), np.random.get_state()
    results = []
    try:
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)
            before = pickle.dumps((random.getstate(), np.random.get_state()))
            results.append(run())
            if pickle.dumps((random.getstate(), np.random.get_state())) != before:
                return (
                    "The global generators of random or numpy.random are used. "
                    "All randomness must come from the generator that is given."
                )
    finally:
        random.setstate(saved[0])
        np.random.set_state(saved[1])
    if results[0] != results[1]:
        return "The result depends on the seeds of the global generators."
    return None


def _from_json(instance: Instance) -> Instance:
    return Instance(json.loads(canonical_json(instance.data)))


def _actions(subject: Subject, environment: Environment) -> list[int]:
    return random_actions(environment, subject.stream("actions"), subject.probe)


def _percepts(subject: Subject, environment: Environment) -> Iterator[Percept]:
    """The first percept, then those of random actions, one by one."""
    yield environment.start(subject.stream("play").generator())
    for action in _actions(subject, environment):
        yield environment.step(action)


def _play(subject: Subject, instance: Instance) -> Rollout:
    """The percepts of a new environment after random actions."""
    environment = subject.environment_class.build(instance)
    return rollout(environment, subject.stream("play"), _actions(subject, environment))


def _check_same(
    subject: Subject, number: int, instance: Instance, pair: Sequence[Environment], message: str
) -> Violations:
    """Check that two environments give the same percepts after the same actions and seed."""
    actions = random_actions(pair[0], subject.stream("actions", number), subject.probe)
    first, second = (rollout(each, subject.stream("answers", number), actions) for each in pair)
    for step, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            yield violation(message, instance, actions=actions[:step], first=one, second=other)
            return


def instances_are_json(subject: Subject) -> Violations:
    """An instance survives as JSON text: the same data, and the same environment."""
    for instance in subject.instances:
        try:
            if not isinstance(instance, Instance):
                raise TypeError(f"draw returned {instance!r}, not an Instance")
            canonical_json(instance.data)
        except (TypeError, ValueError) as error:
            advice = "Use plain JSON data, without NaN or infinities."
            yield violation(f"An instance is not JSON: {error}. {advice}")
            return
    for number, instance in subject.each("JSON"):
        read = _from_json(instance)
        if read.data != instance.data:
            advice = "Use lists instead of tuples, and texts as keys."
            yield violation(f"JSON text changes an instance. {advice}", instance, read=read.data)
        pair = [subject.environment_class.build(each) for each in (instance, read)]
        text = "An environment built from JSON text gives other percepts."
        yield from _check_same(subject, number, instance, pair, text)


def draws_are_repeatable(subject: Subject) -> Violations:
    """The same seed draws the same instance, whatever was drawn before."""
    for number in reversed(range(subject.count)):
        instance = subject.instances[number]
        again = subject.repeated.draw(number)
        if canonical_json(again.data) != canonical_json(instance.data):
            yield violation(
                "The same seed draws another instance the second time. A draw may depend on "
                "nothing but its generator and the class's parameters.",
                instances=[dict(instance.data), dict(again.data)],
            )


def draws_use_only_their_generator(subject: Subject) -> Violations:
    """A draw uses no other generator than the one it is given."""
    problem = global_randomness(lambda: [subject.draw(n).data for n in range(subject.count)])
    if problem is not None:
        yield violation(f"Drawing instances: {problem}")


def complexity_is_finite(subject: Subject) -> Violations:
    """Every instance has a finite complexity, the same after a trip through JSON text."""
    for _, instance in subject.each("complexity"):
        complexity: Any = subject.environment_class.complexity(instance)
        again = subject.repeated.environment_class.complexity(_from_json(instance))
        if not (isinstance(complexity, Real) and isfinite(complexity)):
            yield violation(f"The complexity {complexity!r} is not a finite number.", instance)
        elif again != complexity:
            text = f"The complexity is {complexity}, and {again} after a trip through JSON."
            yield violation(text, instance)


def requested_complexity_is_drawn(subject: Subject) -> Violations:
    """A complexity that exists can be asked for."""
    complexities = [subject.environment_class.complexity(each) for each in subject.instances]
    for asked in dict.fromkeys(complexities):
        number = complexities.index(asked)
        try:
            drawn = subject.draw(number, asked)
        except InvalidInputError as error:
            yield violation(f"Complexity {asked} was drawn, but cannot be asked for: {error}")
            continue
        complexity = subject.environment_class.complexity(drawn)
        if complexity != asked:
            text = "A draw has another complexity than was asked for"
            yield violation(f"{text}: {complexity}, not {asked}.", drawn, asked=asked)


def instances_are_not_modified(subject: Subject) -> Violations:
    """Computing the complexity, building and stepping leave the description as it is."""
    for instance in subject.instances:
        before = deepcopy(instance.data)
        subject.environment_class.complexity(instance)
        _play(subject, instance)
        if instance.data != before:
            text = "The data of an instance changed. It is frozen: copy what has to change."
            yield violation(text, instance, before=before)


def claims_are_valid(subject: Subject) -> Violations:
    """The claims of a class can be examined."""
    claims: Any = subject.environment_class.claims()
    if not isinstance(claims, Claims):
        yield violation(f"claims() returned {claims!r}, not Claims.")
        return
    balanced: Any = claims.balanced
    if balanced != "limit" and not isinstance(balanced, bool):
        yield violation(f"balanced is {balanced!r}: give True, False or 'limit'.")
    if claims.sensitive is not None and claims.sensitive < 1:
        advice = "give a number of actions from 1 up, or None."
        yield violation(f"sensitive is {claims.sensitive!r}: {advice}")


def _bands(subject: Subject) -> Iterator[tuple[Instance, float, float]]:
    """Some instances, each with a band in which it lies."""
    for instance in subject.instances:
        complexity: Any = subject.environment_class.complexity(instance)
        if isinstance(complexity, Real):  # what is not a number breaks another rule
            yield instance, float(complexity) - BAND, float(complexity) + BAND


def complexity_range_is_ordered(subject: Subject) -> Violations:
    """There is a finite lowest complexity, and the highest is not below it."""
    low, high = subject.environment_class.complexity_range()
    if not (isfinite(low) and low <= high):
        advice = "give a finite lowest complexity, then the highest."
        yield violation(f"complexity_range() is {(low, high)}: {advice}")


def draws_between_stay_between(subject: Subject) -> Violations:
    """What is drawn from a band lies in it, and a band that is not empty gives an instance."""
    lowest, highest = subject.environment_class.complexity_range()
    for number, (instance, low, high) in enumerate(_bands(subject)):
        try:
            drawn = subject.draw_between(subject.stream("band", number).generator(), low, high)
        except OmnimeterError as error:
            yield violation(str(error))
            continue
        if drawn is None and low <= highest and high >= lowest:
            text = f"Nothing is drawn between {low} and {high}, but there is an instance."
            yield violation(text, instance)


def members_are_complete(subject: Subject) -> Violations:
    """A band that can be listed has every instance once, always in the same order."""
    lowest, highest = subject.environment_class.complexity_range()
    limit = 2000
    for instance, low, high in _bands(subject):
        listed, again = (
            each.environment_class.members(low, high, limit) for each in (subject, subject.repeated)
        )
        if listed is None:
            continue
        keys = [each.key for each in listed]
        band = f"between {low} and {high}"
        if len(keys) > limit:
            yield violation(f"{len(keys)} members are listed {band}; {limit} are allowed.")
        if len(set(keys)) < len(keys):
            yield violation(f"A member is listed twice {band}.")
        if instance.key not in keys and lowest <= low + BAND <= highest:
            yield violation(f"An instance is drawn, but not listed {band}.", instance)
        if keys != [each.key for each in again or ()]:
            yield violation(f"A second list of the members {band} is different.")


def environments_describe_themselves(subject: Subject) -> Violations:
    """An environment declares its actions, its observations and its range of rewards."""
    environment: Any
    for environment in subject.environments:
        if not isinstance(environment, Environment):
            yield violation(f"build returned {environment!r}, not an Environment.")
            continue
        actions: Any = environment.actions
        space: Any = environment.space
        low, high = environment.rewards
        if not isinstance(actions, int) or actions < 1:
            yield violation(f"actions is {actions!r}: give an int from 1 up.")
        if not isinstance(space, Space):
            yield violation(f"space is {space!r}, not a Space.")
        if not low < high:
            yield violation(f"rewards is {(low, high)}: give the lowest and the highest.")


def reward_range_is_that_of_all(subject: Subject) -> Violations:
    """Where the class says a range of rewards, each of its environments declares that one."""
    said = subject.environment_class.reward_range()
    for instance, environment in zip(subject.instances, subject.environments, strict=True):
        if said is not None and tuple(environment.rewards) != tuple(said):
            yield violation(
                f"reward_range says {tuple(said)}, and rewards is {tuple(environment.rewards)}. "
                "Give the range of all environments, or None where they differ.",
                instance,
            )


def _check_percepts(environment: Environment, percepts: Sequence[Any]) -> Violations:
    """What is wrong with the percepts of all seats."""
    if len(percepts) != environment.seats:
        yield violation(f"{len(percepts)} percepts are given to {environment.seats} seats.")
        return
    low, high = environment.rewards
    for seat, percept in enumerate(percepts):
        if not isinstance(percept, Percept):
            yield violation(f"{percept!r} is given instead of a Percept.")
            continue
        reward: Any = percept.reward
        if not isinstance(reward, float | int):
            yield violation(f"The reward {reward!r} is not a plain number.")
        elif not low <= reward <= high:
            yield violation(f"The reward {reward} is outside the declared {(low, high)}.")
        space = environment.space_of(seat)
        if not space.contains(percept.observation):
            yield violation(
                f"The observation {percept.observation!r} is not in {space}. A single space has "
                "integers, any other an int64 vector with every component below its size."
            )


def percepts_keep_the_contract(subject: Subject) -> Violations:
    """Rewards are numbers in the declared range, observations belong to the space."""
    for environment in subject.environments:
        for percept in _percepts(subject, environment):
            yield from _check_percepts(environment, [percept])


def invalid_actions_raise(subject: Subject) -> Violations:
    """An action that does not exist raises an error."""
    for environment in subject.environments:
        environment.start(subject.stream("play").generator())
        for action in (-1, environment.actions):
            try:
                environment.step(action)
            except Exception:  # any error will do
                continue
            known = f"actions are 0 to {environment.actions - 1}"
            yield violation(f"step({action}) was accepted; {known}. Raise a ValueError.")


def environments_are_independent(subject: Subject) -> Violations:
    """What happens in one environment does not change another of the same instance."""
    for instance in subject.instances:
        expected = _play(subject, instance)
        first, second = (subject.environment_class.build(instance) for _ in range(2))
        percepts = [plain_percept(first, first.start(subject.stream("play").generator()))]
        second.start(subject.stream("other").generator())
        for action in _actions(subject, first):
            second.step(second.actions - 1)
            percepts.append(plain_percept(first, first.step(action)))
        if percepts != expected:
            text = "Two environments of one instance share memory. Copy arrays and lists in build."
            yield violation(text, instance)


def start_resets_everything(subject: Subject) -> Violations:
    """The same object, started again with the same seed, gives the same percepts."""
    pairs = zip(subject.instances, subject.environments, strict=True)
    for number, (instance, environment) in enumerate(pairs):
        text = "A second start gives other percepts. start must reset everything."
        yield from _check_same(subject, number, instance, [environment] * 2, text)


def percepts_are_repeatable(subject: Subject) -> Violations:
    """The same instance, seed and actions give the same percepts twice."""
    for number, instance in subject.each("determinism"):
        pair = [each.environment_class.build(instance) for each in (subject, subject.repeated)]
        text = "The same instance, seed and actions gave other percepts the second time."
        yield from _check_same(subject, number, instance, pair, text)


def environments_use_only_their_generator(subject: Subject) -> Violations:
    """An environment uses no other generator than the one it is given."""
    for instance in subject.instances:
        problem = global_randomness(partial(_play, subject, instance))
        if problem is not None:
            yield violation(f"Stepping an environment: {problem}", instance)


def observations_can_be_kept(subject: Subject) -> Violations:
    """An observation that was given is not changed by later steps."""
    for environment in subject.environments:
        observations = (percept.observation for percept in _percepts(subject, environment))
        given = [(each, np.copy(each)) for each in observations]
        if not all(np.array_equal(*pair) for pair in given):
            yield violation("An observation changed after it was given. Give a copy each time.")


def environments_never_end(subject: Subject) -> Violations:
    """There is always a next interaction."""
    for instance, environment in zip(subject.instances, subject.environments, strict=True):
        environment.start(subject.stream("play").generator())
        actions = random_actions(environment, subject.stream("long"), 2000)
        for number, action in enumerate(actions, 1):
            try:
                reward = environment.step(action).reward
                if not isfinite(reward):
                    raise ValueError(f"the reward is {reward}")
            except Exception as error:
                yield violation(
                    f"Interaction {number} raised {type(error).__name__}: {error}. An environment "
                    "never ends by itself: start anew instead, with finite rewards.",
                    instance,
                    actions=actions[:number],
                )
                break


def scenes_are_json(subject: Subject) -> Violations:
    """What a person is shown, and what is hidden from people, is plain data."""
    drawn = subject.environment_class
    for instance, environment in zip(subject.instances, subject.environments, strict=True):
        for percept in _percepts(subject, environment):
            scene = drawn.scene(instance, percept.observation, percept.reward)
            try:
                canonical_json([dict(scene), dict(drawn.hidden(environment))])
            except (TypeError, ValueError) as error:
                yield violation(
                    f"Scenes, and what is hidden, must be plain JSON data: {error}.", instance
                )
                break


def compiled_and_stepwise_agree(subject: Subject) -> Violations:
    """With kernels, the compiled loop leaves the same traces as the stepwise one."""
    from omnimeter.agents.simple import RandomAgent

    if subject.environment_class.kernels is None:
        return
    drawn = subject.each("agreement")
    exercises = [random_exercise(each, subject.probe, subject.seed, n) for n, each in drawn]
    runs = (
        run_single(subject.environment_class, RandomAgent, exercises, compiled=each, record=True)
        for each in (True, False)
    )
    for exercise, compiled, stepwise in zip(exercises, *runs, strict=True):
        if not compiled.same_as(stepwise):
            yield violation(
                "The compiled and the stepwise loop differ. All that an environment knows must be "
                "in the state, and every kernel must write what it changes.",
                exercise.instance,
                compiled=compiled.rewards,
                stepwise=stepwise.rewards,
            )


def _with_all_views(subject: Subject) -> Iterator[tuple[list[str | None], EnvironmentClass]]:
    """The class for each view alone and, where it has two seats, for two views that differ."""
    views = [None, *subject.environment_class.views]
    for seats in [*([view] for view in views), [None, views[-1]]]:
        try:
            yield seats, subject.environment_class.with_views(seats)
        except InvalidInputError:
            if len(seats) == 1:
                raise


def views_keep_the_contract(subject: Subject) -> Violations:
    """Each view is built, is named in the briefing, and gives what its space says."""
    views = subject.environment_class.views
    for view in views:
        environment = subject.environment_class.with_views([view]).build(subject.instances[0])
        name = environment.briefing().view
        if name not in views:
            yield violation(
                f"Seated for {view!r}, the briefing names the view {name!r}, which is not one of "
                f"{tuple(views)}. Let view_of say which view a seat has."
            )
        for percept in _percepts(subject, environment):
            yield from _check_percepts(environment, [percept])


def unknown_views_get_the_default(subject: Subject) -> Violations:
    """An agent that asks for a view that does not exist gets the default."""
    default, other = (
        subject.environment_class.with_views([view]).build(subject.instances[0]).briefing()
        for view in (None, "a view that does not exist")
    )
    if other != default:
        yield violation(
            f"Without a view the briefing is {default}, with an unknown one {other}. "
            "Agents are written for other classes too: give them the default."
        )


def views_do_not_change_instances(subject: Subject) -> Violations:
    """What is drawn, and its complexity, do not depend on the agents' views."""
    instance = subject.draw(0)
    complexity = subject.environment_class.complexity(instance)
    for views, seated in _with_all_views(subject):
        again = seated.draw(subject.stream("instance", 0).generator())
        same = canonical_json(again.data) == canonical_json(instance.data)
        if not same or seated.complexity(instance) != complexity:
            yield violation(
                f"Seated for {views}, another instance or complexity is drawn. Agents are compared "
                "in the same instances: keep views and seats out of them.",
                instances=[dict(instance.data), dict(again.data)],
            )


def seats_keep_the_contract(subject: Subject) -> Violations:
    """With several agents each gets a reward in the range and what its space says."""
    for views, seated in _with_all_views(subject):
        environment = seated.build(subject.instances[0])
        if environment.seats != len(views):
            yield violation(f"An environment for {len(views)} seats has {environment.seats}.")
        elif len(views) > 1:
            rng = subject.stream("play").generator()
            yield from _check_percepts(environment, environment.start_joint(rng))
            for action in _actions(subject, environment):
                joint = [action, *[0] * (len(views) - 1)]
                yield from _check_percepts(environment, environment.step_joint(joint))


def one_seat_is_the_same_jointly(subject: Subject) -> Violations:
    """One agent gets the same percepts by ``start_joint`` and ``step_joint``."""
    seated = subject.environment_class.with_views([None])
    single, joint = (seated.build(subject.instances[0]) for _ in range(2))
    actions = _actions(subject, single)
    rng = subject.stream("play").generator()
    percepts = [plain_percept(joint, *joint.start_joint(rng))]
    percepts += [plain_percept(joint, *joint.step_joint([action])) for action in actions]
    if percepts != rollout(single, subject.stream("play"), actions):
        yield violation(
            "One agent alone gets other percepts by start and step than by start_joint and "
            "step_joint. Let one of them call the other."
        )


def overlays_are_repeatable(subject: Subject) -> Violations:
    """An overlay, where there is one, has as many time steps as wanted, and is the same again."""
    for number, instance in subject.each("overlay"):
        both = []
        for environment_class in (subject.environment_class, subject.repeated.environment_class):
            rng = subject.stream("overlay", number).generator()
            try:
                both.append(environment_class.overlay(instance, rng, OVERLAY_STEPS))
            except InvalidInputError:
                return
        first, second = both
        if first.duration != OVERLAY_STEPS:
            message = f"An overlay has {first.duration} time steps, not {OVERLAY_STEPS} as wanted."
            yield violation(message, instance)
        elif (
            {name: list(labels) for name, labels in first.columns.items()}
            != {name: list(labels) for name, labels in second.columns.items()}
            or not np.array_equal(first.codes, second.codes)
            or not np.array_equal(first.changes, second.changes)
        ):
            message = "The same instance and seed give another overlay the second time. An overlay "
            yield violation(f"{message}may depend on nothing else.", instance)


RULES: tuple[Rule, ...] = (
    instances_are_json, draws_are_repeatable, draws_use_only_their_generator, complexity_is_finite,
    requested_complexity_is_drawn, instances_are_not_modified, claims_are_valid,
    complexity_range_is_ordered, draws_between_stay_between, members_are_complete,
    environments_describe_themselves, reward_range_is_that_of_all, percepts_keep_the_contract,
    invalid_actions_raise,
    environments_are_independent, start_resets_everything, percepts_are_repeatable,
    environments_use_only_their_generator, observations_can_be_kept, environments_never_end,
    scenes_are_json, compiled_and_stepwise_agree, views_keep_the_contract,
    unknown_views_get_the_default, views_do_not_change_instances, seats_keep_the_contract,
    one_seat_is_the_same_jointly, overlays_are_repeatable,
)  # fmt: skip
"""All of them, in the order in which the conformance suite applies them."""
