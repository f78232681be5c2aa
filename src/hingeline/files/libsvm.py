"""Models in the text format of LIBSVM: written, and read by a parser that checks every number.

LIBSVM's decision value of the classes i and j, in the order of ``label``, is ``sum coef K - rho`` and positive for i.
With two classes the decision values of scikit-learn, and ours, have the opposite sign.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import _registry
from .._sklearn import restore_machine, sigmoids_of
from ..base.labels import is_one_vs_rest
from ..base.platt import wants_probability
from .durable import write_atomically
from .kinds import read_ends, require_kind

#: Kernels that LIBSVM has, by their names here and there. Their parameters are written.
KERNELS = {row.name: row for row in _registry.KERNELS.values() if row.libsvm}
THEIR_KERNELS = {row.libsvm: row for row in KERNELS.values()}
#: Estimator that a file of each type is read as, here and in scikit-learn; types of files with labels.
CLASSES = {row.libsvm: row.name for row in reversed(_registry.ESTIMATORS.values()) if row.libsvm}
CLASSIFIERS = ("c_svc", "nu_svc")
#: Largest index of a feature, and largest degree and number of classes, that are accepted.
LARGEST_INDEX, LARGEST_DEGREE, LARGEST_CLASSES = 2**31 - 1, 2**31 - 1, 46341
#: Characters of a number, and pairs of an index and a value, with an end of their own.
NUMBER = rb"[-+0-9.eE]++"
PAIRS = re.compile(rb"(?:[0-9]++:" + NUMBER + rb"(?:[ \t]++|$))*+")  # possessive: linear time, no stack
#: Bytes of a support vector on average, unless the file is shorter than the second number: memory is bounded.
SHORTEST, ALWAYS = 6, 1 << 17
#: Share of stored values from which support vectors become a dense array.
DENSE = 0.5


@dataclass
class Model:
    """Content of a file, in the order and with the signs of LIBSVM."""

    svm_type: str
    kernel: str
    gamma: float
    coef0: float
    degree: int
    rho: np.ndarray
    labels: np.ndarray  # empty for regression and for one class
    n_support: np.ndarray  # of each class, or of the only machine
    coef: np.ndarray  # of shape (n_classes - 1, total_sv)
    vectors: Any  # CSR; numbers of the training samples for precomputed kernels
    sigmoids: np.ndarray  # probA and probB, or empty

    @property
    def n_classes(self) -> int:
        return max(len(self.labels), 2)


# ---- writing -----------------------------------------------------------------------------------------


def save_libsvm(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a kernel model in the text format of LIBSVM, for ``svm-predict`` and other programs.

    Parameters
    ----------
    model : estimator
        Fitted kernel classifier with two classes, or with a machine for each pair of classes: SVC, NuSVC,
        WorstViolatorSVC, LASVC, KernelSGDClassifier, IncrementalSVC (two classes), L2SVC (unless
        ``multi_class='all'``); SVR or NuSVR; OneClassSVM, or IncrementalOneClassSVM with ``shape='plane'``. Or an
        estimator of one of these names of scikit-learn. Labels must be integers.
    path : str or path-like
        File. It is written as a whole, as in :func:`hingeline.save`.

    See Also
    --------
    load_libsvm : Read the file.

    Examples
    --------
    >>> import hingeline, tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = hingeline.SVC(gamma=0.5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     hingeline.save_libsvm(clf, path)
    ...     other = hingeline.load_libsvm(path)
    >>> bool((other.predict(X) == clf.predict(X)).all())
    True
    """
    write_atomically(Path(path), _lines(_read_model(model)))


def _read_model(model: Any) -> Model:
    """Content of the file of an estimator."""
    kernel = getattr(model, "kernel", None)
    if kernel is None or not hasattr(type(model), "predict"):
        raise TypeError(
            f"model must be a kernel classifier, a kernel regressor or a one-class SVM. Got {type(model).__name__}."
        )
    if callable(kernel):
        raise ValueError("kernel is a function, which LIBSVM does not have. Use a named kernel.")
    if kernel not in KERNELS:
        raise ValueError(f"LIBSVM has no kernel {kernel!r}. Use one of {', '.join(KERNELS)}.")
    check_is_fitted(model)
    if hasattr(model, "_snapshot"):  # one state, while another thread learns
        model = model._snapshot()
    if not hasattr(model, "dual_coef_") or not hasattr(model, "support_"):
        raise TypeError(f"{type(model).__name__} has no support vectors, which LIBSVM's format is made of.")
    labels = _labels(model)
    swap = -1.0 if len(labels) == 2 else 1.0
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    numbers = sp.csr_array(np.asarray(model.support_, dtype=np.float64)[:, np.newaxis] + 1)
    return Model(
        svm_type=_svm_type(model),
        kernel=kernel,
        gamma=float(model._gamma),
        coef0=float(model.coef0),
        degree=int(model.degree),
        rho=-swap * np.atleast_1d(model.intercept_),
        labels=labels,
        n_support=np.asarray(model.n_support_),
        coef=swap * np.asarray(coef, dtype=np.float64),
        vectors=numbers if kernel == "precomputed" else sp.csr_array(model.support_vectors_),
        sigmoids=_sigmoids(model),
    )


def _svm_type(model: Any) -> str:
    """LIBSVM's type of the problem, by the name of the class."""
    rows = (_registry.ESTIMATORS.get(kind.__name__) for kind in type(model).__mro__)
    return next((row.libsvm for row in rows if row is not None), CLASSIFIERS[0])


def _labels(model: Any) -> np.ndarray:
    """Labels as integers; empty for regression and for one class."""
    if not hasattr(model, "classes_"):
        if getattr(model, "shape", "plane") != "plane":
            raise ValueError("LIBSVM's one-class SVM is a plane. Fit with shape='plane'.")
        return np.empty(0, dtype=np.int64)
    classes = model.classes_
    if is_one_vs_rest(model):
        raise ValueError(
            f"{type(model).__name__} has a machine for each class against the rest; LIBSVM has one for each pair of "
            "classes. Fit with multi_class='ovo' where the estimator has it, or use SVC."
        )
    if classes.dtype.kind not in "biuf" or not (classes == np.round(classes)).all() or np.abs(classes).max() >= 2**31:
        raise ValueError(f"LIBSVM's labels are 32-bit integers. Got {classes[:5].tolist()}. Encode the labels.")
    return classes.astype(np.int64)


def _sigmoids(model: Any) -> np.ndarray:
    """Slopes and offsets of the sigmoids, with LIBSVM's signs; empty if the model has none."""
    if not hasattr(model, "classes_") or not hasattr(model, "probability") or not wants_probability(model):
        return np.empty((2, 0))
    if hasattr(model, "sigmoids_"):
        return model.sigmoids_
    theirs = sigmoids_of(model)
    if theirs is not None:
        return theirs
    fitted = model._sigmoids()
    slopes, offsets = model._fit_sigmoids() if fitted is None else fitted
    return np.array([slopes, -offsets])  # of the second class, whose decision value is positive


def _lines(model: Model) -> Iterator[bytes]:
    """Lines of a file."""
    kernel = KERNELS[model.kernel]
    head: list[tuple[str, Any]] = [("svm_type", [model.svm_type]), ("kernel_type", [kernel.libsvm])]
    head += [(parameter, [getattr(model, parameter)]) for parameter in kernel.parameters]
    head += [("nr_class", [model.n_classes]), ("total_sv", [model.vectors.shape[0]]), ("rho", model.rho.tolist())]
    if len(model.labels):
        head.append(("label", model.labels.tolist()))
        head += zip(("probA", "probB"), model.sigmoids.tolist(), strict=True) if model.sigmoids.size else []
        head.append(("nr_sv", model.n_support.tolist()))
    yield "".join(f"{key} {' '.join(map(str, values))}\n" for key, values in head).encode()
    yield b"SV\n"
    first = 0 if model.kernel == "precomputed" else 1
    vectors, coefficients = model.vectors, model.coef.T.tolist()
    for k, own in enumerate(coefficients):
        part = slice(vectors.indptr[k], vectors.indptr[k + 1])
        indices, values = (vectors.indices[part] + first).tolist(), vectors.data[part].tolist()
        entries = (f"{index}:{value!r}" for index, value in zip(indices, values, strict=True))
        yield (" ".join(chain(map(repr, own), entries)) + "\n").encode()


# ---- reading -----------------------------------------------------------------------------------------


def load_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None, library: str = "hingeline") -> Any:
    """Read a model in the text format of LIBSVM.

    The parser checks every number. A damaged file raises ValueError with the names of the file and of the line.

    Parameters
    ----------
    path : str or path-like
        File.
    n_features : int, default=None
        Number of features, which the file does not say; None: the largest index of a feature in it. With a
        precomputed kernel the number of training samples.
    library : {'hingeline', 'sklearn'}, default='hingeline'
        Whose estimator to return.

    Returns
    -------
    estimator
        SVC, NuSVC, SVR, NuSVR or OneClassSVM. With two classes ``classes_`` is sorted; with more it has the order of
        the file, so that ties between classes are decided as in LIBSVM. C, nu and epsilon are not in the file and have
        their defaults.

    See Also
    --------
    save_libsvm : Write the file, with an example.
    """
    if library not in ("hingeline", "sklearn"):
        raise ValueError(f"library must be 'hingeline' or 'sklearn'. Got {library!r}.")
    try:
        with open(path, "rb") as file:
            require_kind(*read_ends(file), "libsvm")
            model = _parse(file, os.fstat(file.fileno()).st_size)
        return _estimator(_sort(model), n_features, library)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def _parse(lines: Any, size: int) -> Model:
    """Content of a file of `size` bytes."""
    header = _Header()
    number = 0
    for number, line in enumerate(lines, 1):
        if line.strip() == b"SV":
            break
        header.take(line, number)
    else:
        raise ValueError(f"line {number + 1}: the line 'SV' is missing")
    n_classes, total = header.check()
    if total * SHORTEST > size + ALWAYS:
        raise ValueError(f"total_sv={total} is too large for a file of {size} bytes")
    coef, data, indices, indptr = _vectors(lines, number, n_classes - 1, total, header.kernel == "precomputed")
    width = int(indices.max(initial=-1)) + 1
    return Model(
        **header.parameters(),
        rho=header.values["rho"],
        labels=header.values.get("label", np.empty(0)).astype(np.int64),
        n_support=header.values.get("nr_sv", np.array([total])).astype(np.int64),
        coef=coef,
        vectors=sp.csr_array((data, indices, indptr), shape=(total, width)),
        sigmoids=np.array([header.values.get(name, ()) for name in ("probA", "probB")], dtype=np.float64),
    )


class _Header:
    """Lines of a file before the support vectors."""

    #: Keys with a word, with one number and with several numbers, and those of them that are integers.
    WORDS = ("svm_type", "kernel_type")
    NUMBERS = ("degree", "gamma", "coef0", "nr_class", "total_sv")
    LISTS = ("rho", "label", "probA", "probB", "nr_sv", "prob_density_marks")
    INTEGERS = ("degree", "nr_class", "total_sv", "label", "nr_sv")

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.values: dict[str, np.ndarray] = {}

    @property
    def kernel(self) -> str:
        return THEIR_KERNELS[self.words["kernel_type"]].name

    def take(self, line: bytes, number: int) -> None:
        """Take one line."""
        first, *rest = line.split() or [b""]
        key = first.decode("ascii", "backslashreplace")
        if key not in (*self.WORDS, *self.NUMBERS, *self.LISTS):
            raise ValueError(f"line {number}: unknown key {key[:40]!r}")
        if key in self.words or key in self.values:
            raise ValueError(f"line {number}: {key} is given twice")
        if key not in self.LISTS and len(rest) != 1:
            raise ValueError(f"line {number}: {key} must have one value, got {len(rest)}")
        if key in self.WORDS:
            self.words[key] = rest[0].decode("ascii", "backslashreplace")
        else:
            self.values[key] = _numbers(rest, f"line {number}: {key}", integers=key in self.INTEGERS)

    def number(self, key: str, least: float, most: float) -> float:
        """A number that the file must have."""
        if key not in self.values:
            raise ValueError(f"{key} is missing")
        value = float(self.values[key][0])
        if not least <= value <= most:
            raise ValueError(f"{key} must be at least {least:g} and at most {most:g}. Got {value:g}.")
        return value

    def list(self, key: str, count: int) -> np.ndarray:
        """Numbers that the file must have, `count` of them."""
        found = self.values.get(key, np.empty(0))
        if len(found) != count:
            raise ValueError(f"{key} must have {count} values, got {len(found)}")
        return found

    def check(self) -> tuple[int, int]:
        """Numbers of classes and support vectors, after all checks."""
        allowed = {"svm_type": tuple(CLASSES), "kernel_type": tuple(THEIR_KERNELS)}
        for key, words in allowed.items():
            if self.words.get(key) not in words:
                raise ValueError(f"{key} must be one of {', '.join(words)}. Got {self.words.get(key)}.")
        n_classes = int(self.number("nr_class", 2, LARGEST_CLASSES))
        total = int(self.number("total_sv", 0, LARGEST_INDEX))
        n_pairs = n_classes * (n_classes - 1) // 2
        self.list("rho", n_pairs)
        if self.words["svm_type"] not in CLASSIFIERS:
            if n_classes != 2:
                raise ValueError(f"nr_class must be 2 for {self.words['svm_type']}. Got {n_classes}.")
            for key in ("label", "nr_sv", "probA", "probB"):
                self.values.pop(key, None)
            return n_classes, total
        if len(np.unique(self.list("label", n_classes))) < n_classes:
            raise ValueError("label must have different values")
        counts = self.list("nr_sv", n_classes)
        if (counts < 0).any() or counts.sum() != total:
            raise ValueError(f"nr_sv must have the sum total_sv={total} and no negative values")
        if "probA" in self.values or "probB" in self.values:
            self.list("probA", n_pairs)
            self.list("probB", n_pairs)
        return n_classes, total

    def parameters(self) -> dict[str, Any]:
        """Type of the model, kernel and its parameters."""
        kernel = THEIR_KERNELS[self.words["kernel_type"]]
        needed = kernel.parameters
        gamma = self.number("gamma", 0.0, np.inf) if "gamma" in needed else 0.0
        coef0 = self.number("coef0", -np.inf, np.inf) if "coef0" in needed else 0.0
        degree = int(self.number("degree", 0, LARGEST_DEGREE)) if "degree" in needed else 3
        svm_type = self.words["svm_type"]
        return {"svm_type": svm_type, "kernel": kernel.name, "gamma": gamma, "coef0": coef0, "degree": degree}


def _numbers(tokens: list[bytes], where: str, *, integers: bool = False) -> np.ndarray:
    """Finite numbers; integers are at most 2^31 in magnitude."""
    allowed = re.compile(rb"[-+]?[0-9]+" if integers else NUMBER)
    try:
        if not all(map(allowed.fullmatch, tokens)):
            raise ValueError
        values = np.array([float(token) for token in tokens], dtype=np.float64)
    except ValueError:
        raise ValueError(f"{where}: expected {'integers' if integers else 'numbers'}") from None
    if not np.isfinite(values).all() or (integers and np.abs(values).max(initial=0) > 2**31):
        raise ValueError(f"{where}: a number is out of range")
    return values


def _vectors(
    lines: Any, before: int, n_lines: int, total: int, precomputed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients and support vectors: values, indices from 0, and where each vector begins."""
    coef, data, indices, indptr = array("d"), array("d"), array("q"), array("q", [0])
    number = before
    for number, line in enumerate(lines, before + 1):
        where = f"line {number}"
        if not line.strip():
            continue
        if len(indptr) > total:
            raise ValueError(f"{where}: more support vectors than total_sv={total}")
        *own, rest = line.split(None, n_lines) if b":" in line else (*line.split(), b"")
        if len(own) != n_lines:
            raise ValueError(f"{where}: a support vector must begin with {n_lines} coefficients")
        places, values = _entries(rest.strip(), where, precomputed)
        for store, found in ((coef, _numbers(own, where)), (data, values), (indices, places)):
            store.frombytes(found.tobytes())
        indptr.append(len(data))
    if len(indptr) != total + 1:
        raise ValueError(f"line {number + 1}: the file has {len(indptr) - 1} support vectors, total_sv is {total}")
    by_vector = np.frombuffer(coef, dtype=np.float64).reshape(total, n_lines)
    return np.ascontiguousarray(by_vector.T), np.array(data), np.array(indices), np.array(indptr)


def _entries(text: bytes, where: str, precomputed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices from 0, ascending, and values of a support vector."""
    if not PAIRS.fullmatch(text):
        raise ValueError(f"{where}: expected pairs index:value")
    flat = _numbers(text.replace(b":", b" ").split(), where)
    places, values = flat[::2], flat[1::2]
    if precomputed:
        whole = len(places) == 1 and places[0] == 0 and 1 <= values[0] <= LARGEST_INDEX and values[0] % 1 == 0
        if not whole:
            raise ValueError(f"{where}: expected 0:number of a training sample, with a precomputed kernel")
        return np.zeros(1, dtype=np.int64), values
    if len(places) and (places[0] < 1 or places[-1] > LARGEST_INDEX or (np.diff(places) <= 0).any()):
        raise ValueError(f"{where}: indices must ascend, from 1 to at most {LARGEST_INDEX}")
    return places.astype(np.int64) - 1, values


def _sort(model: Model) -> Model:
    """The model with two labels in ascending order, as in scikit-learn. More labels stay in the order of the file."""
    if len(model.labels) != 2 or model.labels[0] < model.labels[1]:
        return model
    first, vectors = int(model.n_support[0]), model.vectors
    order = np.roll(np.arange(vectors.shape[0]), -first)
    slopes, offsets = model.sigmoids
    model.labels, model.n_support, model.rho = model.labels[::-1], model.n_support[::-1], -model.rho
    model.coef, model.vectors = -model.coef[:, order], vectors[order]
    model.sigmoids = np.array([slopes, -offsets])
    return model


def _support(model: Model, n_features: int | None) -> tuple[np.ndarray, Any, int]:
    """Numbers of the support vectors among the training samples, as far as known, their rows, and the features."""
    precomputed, vectors, total = model.kernel == "precomputed", model.vectors, model.vectors.shape[0]
    numbers = vectors.data.astype(np.int64) - 1 if precomputed else np.arange(total)
    least = int(numbers.max(initial=-1)) + 1 if precomputed else vectors.shape[1]
    width = max(least, 1) if n_features is None else n_features
    if width < least:
        raise ValueError(f"n_features must be at least {least}. Got {n_features}.")
    if precomputed:
        return numbers, np.empty((0, 0)), width
    rows = sp.csr_matrix((vectors.data, vectors.indices, vectors.indptr), shape=(total, width))
    return numbers, rows.toarray() if vectors.nnz >= DENSE * total * width else rows, width


def _estimator(model: Model, n_features: int | None, library: str) -> Any:
    """Fitted estimator."""
    numbers, support, width = _support(model, n_features)
    swap = -1.0 if len(model.labels) == 2 else 1.0
    coef = _insert_zeros(model.coef) if sp.issparse(support) else model.coef
    attributes = {
        "support_": numbers.astype(np.int32),
        "support_vectors_": support,
        "dual_coef_": swap * coef,
        "intercept_": -swap * model.rho,
        "shape_fit_": (width if model.kernel == "precomputed" else len(numbers), width),
        "fit_status_": 0,
        "_gamma": model.gamma,
        "n_features_in_": width,
    }
    if len(model.labels):
        attributes |= {"classes_": model.labels, "class_weight_": np.ones(len(model.labels))}
    gamma = model.gamma if "gamma" in KERNELS[model.kernel].parameters else "scale"
    given: dict[str, Any] = {"kernel": model.kernel, "coef0": model.coef0, "degree": model.degree, "gamma": gamma}
    if model.sigmoids.size:
        given["probability"] = True
    if library == "sklearn":
        return _of_sklearn(model, given, attributes, coef)
    attributes["n_support_"] = model.n_support.astype(np.int32)
    if len(model.labels):
        attributes["sigmoids_"] = model.sigmoids
    estimator = _registry.class_of(CLASSES[model.svm_type])(**given)
    estimator.__setstate__(vars(estimator) | attributes)
    if len(numbers):
        estimator._set_frame(support)
    return estimator


def _insert_zeros(coef: np.ndarray) -> Any:
    """CSR matrix with all entries, also those that are zero: scikit-learn reads them by their place."""
    n_lines, total = coef.shape
    return sp.csr_matrix((coef.ravel(), np.tile(np.arange(total), n_lines), total * np.arange(n_lines + 1)), coef.shape)


def _of_sklearn(model: Model, given: dict[str, Any], attributes: dict[str, Any], coef: Any) -> Any:
    """Fitted estimator of scikit-learn."""
    from sklearn import svm

    counts = model.n_support if len(model.labels) else [*model.n_support, 0]
    if model.svm_type == "one_class":
        attributes["offset_"] = model.rho
    estimator = getattr(svm, CLASSES[model.svm_type])(**given)
    machine = {"coef": coef, "intercept": -model.rho, "counts": counts, "sigmoids": model.sigmoids}
    return restore_machine(estimator, attributes, **machine)
