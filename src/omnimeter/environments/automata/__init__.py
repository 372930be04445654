"""The finite state machines of the anytime test, section 6.2."""

from omnimeter.environments.automata.automaton import Automaton
from omnimeter.environments.automata.complexity import decode, encode
from omnimeter.environments.automata.examples import EXAMPLES, FIGURE_6
from omnimeter.environments.automata.generator import Automata
from omnimeter.environments.automata.normal_form import normal_form
from omnimeter.environments.automata.stationary import rewards, stationary

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
