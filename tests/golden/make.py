"""Write the golden files: a saved estimator of each class, by pickle and as a model file, and what it must answer.

Run ``python -m tests.golden.make`` after a change of the saved fields, which must also raise their version. For a new
estimator give its name: ``python -m tests.golden.make SVC``.
"""

import io
import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris

import hingeline
from hingeline import IncrementalOneClassSVM
from tests.estimators import MODELS

FOLDER = Path(__file__).parent
X, y = load_iris(return_X_y=True)
order = np.random.RandomState(0).permutation(len(X))
X, y = X[order], y[order]
#: Rows that are learnt before saving; the next ones are learnt after loading.
FIRST, NEXT = slice(0, 60), slice(60, 90)


class Reader(pickle.Unpickler):
    """Reads pickles of NumPy 2 with older versions, too."""

    def find_class(self, module, name):
        module = module.replace("numpy._core", "numpy.core") if np.__version__.startswith("1.") else module
        return super().find_class(module, name)


def loads(content):
    """Object from a golden pickle."""
    return Reader(io.BytesIO(content)).load()


def outputs(model):
    """Decision values of all rows, or labels where there are none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def names(state):
    """Names of all fields of a saved state, nested ones included."""
    found = set()
    for name, value in state.items():
        found.add(name)
        for one in value if isinstance(value, list) else ():
            if isinstance(one, dict):
                found |= {f"{name}.{inner}" for inner in names(one)}
    return found


def saved_names(model):
    """Names of the fields that the core saves; empty for estimators that publish all they have learnt."""
    ensemble = vars(model).get("_model")
    return sorted(names(ensemble.core.save())) if ensemble is not None else []


def learn_on(model):
    """The estimator after the next rows of a stream."""
    if isinstance(model, IncrementalOneClassSVM):
        return model.partial_fit(X[NEXT])
    return model.partial_fit(X[NEXT], y[NEXT])


def main(names):
    """Write the files of these models."""
    for name in names:
        model = clone(MODELS[name])
        stream = hasattr(model, "partial_fit")
        if isinstance(model, IncrementalOneClassSVM):
            model.partial_fit(X[FIRST])
        elif stream:
            model.partial_fit(X[FIRST], y[FIRST], classes=[0, 1])
        else:
            model.fit(X[FIRST], y[FIRST])
        golden = {"saved": pickle.dumps(model, protocol=4), "names": saved_names(model), "outputs": outputs(model)}
        if stream:
            golden["after"] = outputs(learn_on(model))
        (FOLDER / f"{name}.pkl").write_bytes(pickle.dumps(golden, protocol=4))
        hingeline.save(pickle.loads(golden["saved"]), FOLDER / f"{name}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1:] or MODELS)
