"""Save and load fitted estimators without pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from operator import or_
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from .. import _registry
from .._sklearn import UNSAVED
from ..base import params
from ..base.frame import Frame
from ..base.retained import Retained
from ..base.state import lock_of
from ..exact.ensemble import ExactEnsemble
from ..linear.nystroem_map import NystroemMap
from ..online.ensemble import StreamEnsemble
from . import layout
from .durable import map_file, write_atomically
from .fixed import Steps
from .kinds import BEGINNING, require_kind
from .tree import SPARSE, Decoder, Encoder

#: Name and version of the format, in the header of each file.
FORMAT, VERSION = "hingeline", 1
#: Classes of objects inside estimators.
PARTS: dict[str, Any] = {part.__name__: part for part in (ExactEnsemble, StreamEnsemble, NystroemMap, Frame, Retained)}
#: Names of all types in saved estimators that skops does not trust by itself: ``skops.io.load(path, trusted=...)``.
TRUSTED_TYPES: list[str] = sorted(
    {f"hingeline.{row.module}.{row.name}" for row in _registry.ESTIMATORS.values()}
    | {f"{kind.__module__}.{kind.__qualname__}" for kind in (*PARTS.values(), *SPARSE.values(), UUID)}
    | {"numpy.dtype"}
)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator to a file.

    The file has the layout of safetensors: arrays, and a header in JSON with the class, the parameters and checksums.
    It holds no code. It appears under its name when all its bytes are on disk; an error or a crash leaves an older file
    of that name as it was.

    Parameters
    ----------
    model : estimator or Pipeline
        Estimator of hingeline, fitted or not, also in the middle of a stream; or a pipeline of fitted transformers of
        scikit-learn (scalers, ``SimpleImputer``, ``OneHotEncoder``, ``ColumnTransformer`` of these) and such an
        estimator. Callbacks and requests of metadata routing are not saved.
    path : str or path-like
        File.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import hingeline, tempfile, os
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, random_state=0)
    >>> model = hingeline.LASVC(gamma=2).partial_fit(X[:100], y[:100], classes=[0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     hingeline.save(model, path)
    ...     other = hingeline.load(path)
    >>> other.partial_fit(X[100:], y[100:]).n_samples_seen_
    200
    """
    steps, learner = Steps.split(model)
    texts, arrays = map(or_, pack(learner), steps.pack())
    write_atomically(Path(path), layout.pieces(texts, arrays))


def pack(model: Any) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Texts and arrays of the file of an estimator."""
    name = type(model).__name__
    if _registry.row_of(type(model)) is None:
        raise TypeError(
            f"model must be an estimator of hingeline. Got {type(model).__module__}.{type(model).__qualname__}. Save "
            "other estimators with skops, see the guide on model files."
        )
    params.check(model, model._rules)
    with lock_of(model):
        state = {key: value for key, value in model.__getstate__().items() if key not in UNSAVED}
    encoder = Encoder({part: part.__name__ for part in PARTS.values()})
    given = params.defaults(type(model)).keys()
    parts = {
        "parameters": {key: value for key, value in state.items() if key in given},
        "state": {key: value for key, value in state.items() if key not in given},
    }
    texts = {part: json.dumps(encoder.dictionary(values, ""), separators=(",", ":")) for part, values in parts.items()}
    head = {"format": FORMAT, "format_version": str(VERSION), "hingeline_version": version("hingeline")}
    return {**head, "class": name, **texts}, encoder.arrays


def load(
    path: str | os.PathLike[str], *, mapped: bool = False, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Any:
    """Read an estimator from a file that :func:`save` has written.

    No code of the file is run. A damaged file raises ValueError with the names of the file and of the field. A stream
    goes on to the same bits.

    Parameters
    ----------
    path : str or path-like
        File.
    mapped : bool, default=False
        Whether large arrays stay in the file and are read from there: processes share their memory, and loading copies
        nothing. The file must not be changed in place while the model is used; :func:`save` replaces it as a whole.
    functions : dict of str to callable, default=None
        Functions by the name of their parameter, for a model that was saved with some: ``{"kernel": my_kernel}``.

    Returns
    -------
    estimator or Pipeline
        What was saved.

    See Also
    --------
    save : Write the file, with an example.
    """
    try:
        content = map_file(path)
        require_kind(bytes(content[:BEGINNING]), bytes(content[-BEGINNING:]), "hingeline")
        texts, arrays = layout.read(content)
        learner = unpack(texts, arrays, len(content), mapped=mapped, functions=functions or {})
        return Steps.unpack(texts, arrays, len(content), learner).join(learner)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def unpack(
    texts: Mapping[str, str],
    arrays: Mapping[str, np.ndarray],
    size: int,
    *,
    functions: Mapping[str, Callable[..., Any]],
    mapped: bool = False,
) -> Any:
    """Estimator from the texts and arrays of a file of `size` bytes. Its arrays are copies, or views if `mapped`."""
    learner = _class_of(texts)
    decoder = Decoder(arrays, PARTS, functions, mapped)
    state = {}
    for part in ("parameters", "state"):
        node = layout.parse(texts.get(part, "null"), size)
        decoder.require(isinstance(node, dict) and node.keys() == {"dict"}, part, "expected a dictionary")
        state[part] = decoder(node, "")
    _require_names(learner, decoder, **state)
    model = object.__new__(learner)
    model.__setstate__(state["parameters"] | state["state"])
    params.check(model, model._rules)
    return model


def _require_names(learner: Any, decoder: Decoder, parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """Refuse names that no estimator of this class saves."""
    given = params.defaults(learner).keys()
    for name in parameters:
        decoder.require(name in given, name, f"no parameter of {learner.__name__}")
    for name in state:
        saved = name not in given and name not in UNSAVED and (name.startswith("_") or name.endswith("_"))
        decoder.require(saved, name, f"no attribute of a saved {learner.__name__}")
        decoder.require_attribute(learner, name, name)


def _class_of(texts: Mapping[str, str]) -> Any:
    """Class of the estimator in a file, whose format is checked."""
    if texts.get("format") != FORMAT:
        raise ValueError("the file is no model of hingeline")
    number = texts.get("format_version")
    if number != str(VERSION):
        raise ValueError(f"the file has format version {number}; this hingeline reads version {VERSION}")
    if texts.get("class") not in _registry.ESTIMATORS:
        raise ValueError(f"field 'class': unknown class {texts.get('class')!r}")
    return _registry.class_of(texts["class"])
