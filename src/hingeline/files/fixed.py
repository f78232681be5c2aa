"""Pipelines of fixed transformers and an estimator, for model files and checkpoints.

A transformer is fixed: it was fitted before, and a stream does not change it. Its state is saved with the estimator, as
JSON and arrays. Only transformers of scikit-learn are taken whose state is numbers and texts.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._registry import phrase
from . import layout
from .tree import Decoder, Encoder

#: Transformers that are saved, by name.
TRANSFORMERS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler, SimpleImputer, OneHotEncoder,
        ColumnTransformer,
    )
}  # fmt: skip
#: Classes inside of their states.
PARTS: dict[str, Any] = {**TRANSFORMERS, "Pipeline": Pipeline}
#: Fitted attributes with a number for each feature. NumPy would stretch a single number over all of them.
EACH_FEATURE = ("mean_", "var_", "scale_", "min_", "data_min_", "data_max_", "data_range_", "max_abs_", "center_",
                "statistics_")  # fmt: skip
#: Text of a file, and beginning of the names of its arrays.
STEPS = "steps"


def parts_of(model: Any) -> list[Any]:
    """A pipeline and its steps, or the model alone."""
    return [model, *(step for _, step in model.steps)] if isinstance(model, Pipeline) else [model]


def require_lines(step: Any) -> None:
    """ValueError if fitted numbers of a transformer, or of one inside it, are not as many as its features."""
    fitted = step.transformers_ if isinstance(step, ColumnTransformer) else getattr(step, "steps", [])
    for _, inner, *_ in fitted:
        if not isinstance(inner, str):
            require_lines(inner)
    for name in EACH_FEATURE:
        value = vars(step).get(name)
        if value is not None and np.shape(value) != (step.n_features_in_,):
            raise ValueError(f"{name} of {type(step).__name__} does not have a number for each feature")


def require_stream(learner: Any) -> None:
    """TypeError for an estimator that cannot learn from a stream."""
    if not hasattr(learner, "partial_fit"):
        raise TypeError(
            f"{type(learner).__name__} cannot learn from a stream: it has no partial_fit. {phrase('streams')} can."
        )


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
        """Transformers and learner of a model or pipeline; TypeError or ValueError if it cannot be saved."""
        names, parts = zip(*model.steps, strict=True) if isinstance(model, Pipeline) else ((), (model,))
        transformers = [step.estimator if isinstance(step, FrozenEstimator) else step for step in parts[:-1]]
        for step in transformers:
            if type(step) not in TRANSFORMERS.values():
                raise TypeError(
                    f"a file keeps pipelines of {', '.join(TRANSFORMERS)} and an estimator. Got a step of type "
                    f"{type(step).__name__}; transform the samples before."
                )
            try:
                check_is_fitted(step)
            except NotFittedError as error:
                raise ValueError(
                    f"{type(step).__name__} is not fitted: fit it first. A stream cannot fit it; use samples that may "
                    "stay."
                ) from error
        return cls(list(names), transformers), parts[-1]

    def join(self, learner: Any) -> Any:
        """The model: a pipeline if there are transformers, or the learner."""
        return Pipeline(list(zip(self.names, [*self.transformers, learner], strict=True))) if self.names else learner

    def transform(self, X: Any) -> Any:
        """Samples as the learner gets them."""
        for step in self.transformers:
            X = step.transform(X)
        return X

    def pack(self) -> tuple[dict[str, str], dict[str, np.ndarray]]:
        """Texts and arrays for a file."""
        if not self.names:
            return {}, {}
        encoder = Encoder({kind: name for name, kind in PARTS.items()})
        node = encoder({"names": self.names, "transformers": self.transformers}, STEPS)
        return {STEPS: json.dumps(node)}, encoder.arrays

    @classmethod
    def unpack(cls, texts: Mapping[str, str], arrays: Mapping[str, np.ndarray], size: int, learner: Any) -> Steps:
        """Steps before a learner in a file of `size` bytes; ValueError if they are damaged."""
        if STEPS not in texts:
            return cls([], [])
        decoder = Decoder(arrays, PARTS, {}, False)
        found = decoder(layout.parse(texts[STEPS], size), STEPS)
        sound = isinstance(found, dict) and found.keys() == {"names", "transformers"}
        decoder.require(sound, STEPS, "expected names and transformers")
        names, transformers = found["names"], found["transformers"]
        sound = all(isinstance(part, list) for part in (names, transformers)) and len(names) == len(transformers) + 1
        sound = sound and all(type(step) in TRANSFORMERS.values() for step in transformers)
        decoder.require(sound and all(isinstance(name, str) for name in names), STEPS, "a step is missing")
        steps = cls(names, transformers)
        steps._try(size, getattr(learner, "n_features_in_", None))
        return steps

    def _try(self, size: int, n_features: int | None) -> None:
        """Transform one row to as many features as the learner has; ValueError if the state of a step is damaged."""
        try:
            for step in self.transformers:
                require_lines(step)
            width = self.transformers[0].n_features_in_
            if not 1 <= int(width) <= size:
                raise ValueError(f"{width} features")
            words = isinstance(self.transformers[0], ColumnTransformer)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                row = np.full((1, int(width)), np.nan if words else 0.0, dtype=object if words else float)
                found = self.transform(row).shape[1]
            if n_features is not None and found != n_features:
                raise ValueError(f"{found} features instead of {n_features}")
        except Exception as error:  # a state that was changed fails in many ways
            raise ValueError(f"field {STEPS!r}: the state of a step is damaged: {error}") from error
