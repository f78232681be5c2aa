"""Ways to copy a model."""

import copy
import io
import pickle

import joblib


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "joblib": through_joblib,
    "deepcopy": copy.deepcopy,
}
