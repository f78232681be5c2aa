"""Ways to copy a model, none of which shares arrays with the original."""

from hingeline.testing import behaviour

COPIES = {kind: make for kind, make in behaviour.COPIES.items() if kind != "copy"}
