"""Pipelines of fixed transformers and an estimator that learns from a stream, for checkpoints.

A transformer is fixed: it was fitted before, and the stream does not change it. Its state is saved with each
generation, as JSON and arrays. Only scalers of scikit-learn are taken, whose state is numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._registry import phrase
from . import layout
from .tree import Decoder, Encoder

#: Transformers that are saved, by name.
SCALERS: dict[str, Any] = {
    kind.__name__: kind for kind in (MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler)
}
#: Text of a generation, and beginning of the names of its arrays.
STEPS = "steps"


def parts_of(model: Any) -> list[Any]:
    """A pipeline and its steps, or the model alone."""
    return [model, *(step for _, step in model.steps)] if isinstance(model, Pipeline) else [model]


class Steps:
    """The transformers before the estimator, and the names of all steps.

    Parameters
    ----------
    names : list of str
        Names of the transformers and of the estimator; empty without a pipeline.
    transformers : list
        Fitted transformers.
    """

    def __init__(self, names: list[str], transformers: list[Any]) -> None:
        self.names, self.transformers = names, transformers

    @classmethod
    def split(cls, model: Any) -> tuple[Steps, Any]:
        """Transformers and learner of a model, which may be a pipeline; TypeError or ValueError if it cannot stream."""
        names, parts = zip(*model.steps, strict=True) if isinstance(model, Pipeline) else ((), (model,))
        learner = parts[-1]
        if not hasattr(learner, "partial_fit"):
            raise TypeError(
                f"{type(learner).__name__} cannot learn from a stream: it has no partial_fit. {phrase('streams')} can."
            )
        for step in parts[:-1]:
            if type(step) not in SCALERS.values():
                raise TypeError(
                    f"a checkpoint keeps pipelines of {', '.join(SCALERS)} and an estimator. Got a step of type "
                    f"{type(step).__name__}; transform the samples before learn."
                )
            try:
                check_is_fitted(step)
            except NotFittedError as error:
                raise ValueError(
                    f"{type(step).__name__} is not fitted, and a stream cannot fit it: fit it first, on samples that "
                    "may stay."
                ) from error
        return cls(list(names), list(parts[:-1])), learner

    def join(self, learner: Any) -> Any:
        """The model: a pipeline if there are transformers, or the learner."""
        return Pipeline(list(zip(self.names, [*self.transformers, learner], strict=True))) if self.names else learner

    def transform(self, X: Any) -> Any:
        """Samples as the learner gets them."""
        for step in self.transformers:
            X = step.transform(X)
        return X

    def pack(self) -> tuple[dict[str, str], dict[str, np.ndarray]]:
        """Texts and arrays for a generation."""
        if not self.names:
            return {}, {}
        encoder = Encoder({kind: name for name, kind in SCALERS.items()})
        node = encoder({"names": self.names, "transformers": self.transformers}, STEPS)
        return {STEPS: json.dumps(node)}, encoder.arrays

    @classmethod
    def unpack(cls, texts: Mapping[str, str], arrays: Mapping[str, np.ndarray], size: int) -> Steps:
        """Steps of a generation; ValueError if they are damaged."""
        if STEPS not in texts:
            return cls([], [])
        decoder = Decoder(arrays, SCALERS, {}, False)
        found = decoder(layout.parse(texts[STEPS], size), STEPS)
        sound = isinstance(found, dict) and found.keys() == {"names", "transformers"}
        decoder.require(sound, STEPS, "expected names and transformers")
        names, transformers = found["names"], found["transformers"]
        sound = all(isinstance(part, list) for part in (names, transformers)) and len(names) == len(transformers) + 1
        sound = sound and all(type(step) in SCALERS.values() for step in transformers)
        decoder.require(sound and all(isinstance(name, str) for name in names), STEPS, "a step is missing")
        return cls(names, transformers)
