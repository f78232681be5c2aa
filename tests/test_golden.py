"""Estimators that an earlier hingeline saved: they load, answer as they did, and streams go on."""

import numpy as np
import pytest

import hingeline

from .estimators import ESTIMATORS, MODELS
from .golden.make import FOLDER, learn_on, loads, outputs, saved_names

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")


def test_every_estimator_has_a_model():
    missing = set(ESTIMATORS) - {type(model) for model in MODELS.values()}
    assert not missing, "add a model to tests/estimators.py and run python -m tests.golden.make with its name"
    for ending in ("pkl", "safetensors"):
        assert {path.stem for path in FOLDER.glob(f"*.{ending}")} == set(MODELS)


@pytest.mark.parametrize("form", ["pickle", "file"])
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_estimator_is_still_read(name, form):
    golden = loads((FOLDER / f"{name}.pkl").read_bytes())
    file = FOLDER / f"{name}.safetensors"
    model = loads(golden["saved"]) if form == "pickle" else hingeline.load(file)
    np.testing.assert_allclose(outputs(model), golden["outputs"], rtol=1e-8, atol=1e-8)
    assert saved_names(model) == golden["names"], "the saved fields changed: raise their version, run tests.golden.make"
    if "after" in golden:
        np.testing.assert_allclose(outputs(learn_on(model)), golden["after"], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if hasattr(model, "partial_fit")])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 99, "has version 99; this hingeline reads version [12]"),
        ("kind", "other", "is of kind 'other'"),
        ("place", None, "field 'place' is missing"),
        ("place", 3.0, "field 'place' has another type"),
    ],
)
def test_an_unknown_state_is_refused(name, field, value, message):
    model = loads(loads((FOLDER / f"{name}.pkl").read_bytes())["saved"])
    core, state = model._model.core, model._model.core.save()
    before = outputs(model)
    if value is None:
        del state[field]
    else:
        state[field] = value
    with pytest.raises(ValueError, match=message):
        core.restore(state, None)
    np.testing.assert_array_equal(outputs(model), before)
