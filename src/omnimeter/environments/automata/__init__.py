"""The finite state machines of the anytime test, section 6.2."""

from omnimeter.environments.automata.complexity import decode, encode
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.automata.generator import EXAMPLES, FIGURE_6, Automata
from omnimeter.environments.automata.validity import normal_form, rewards, stationary

__all__ = [
    "EXAMPLES",
    "FIGURE_6",
    "Automata",
    "Automaton",
    "decode",
    "encode",
    "normal_form",
    "rewards",
    "stationary",
]
