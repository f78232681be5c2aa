"""What LASVC and KernelSGDClassifier do alike, beyond the battery in test_online_estimators.py."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from hingeline import LASVC, KernelSGDClassifier

from .data import FORMS, blobs, noisy, some_weights
from .online import COMMON, LIVELY, SGD_VARIANTS, SOON, VARIANTS, same, stream
from .oracle.naive_kernel_sgd import RATES

MODELS = {variant: LASVC(variant=variant, **{**LIVELY, "gamma": 0.3}) for variant in VARIANTS}
MODELS |= {
    variant: KernelSGDClassifier(variant=variant, C=3.0, gamma=0.3, fit_intercept=variant.startswith("olsvm"))
    for variant in SGD_VARIANTS
}
each_model = pytest.mark.parametrize("name", MODELS)


def new(name, **parameters):
    return clone(MODELS[name]).set_params(**parameters)


def lasvc_options():
    options = st.sampled_from([{**SOON, "clean_period": period} for period in (1, 16, None)])
    return st.fixed_dictionaries({"variant": st.sampled_from(VARIANTS), "solver_options": options})


def sgd_options():
    return st.fixed_dictionaries(
        {
            "variant": st.sampled_from(SGD_VARIANTS),
            "learning_rate": st.sampled_from(list(RATES)),
            "average": st.sampled_from([False, True, "all"]),
            "fit_intercept": st.booleans(),
            "decay_first": st.booleans(),
        }
    )


# ---- chunks --------------------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(
    lasvc_options() | sgd_options(),
    st.sampled_from(list(FORMS)),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([(1, 200), (2, 200), (1, 1e-6), (2, 0.02)]),
    st.sampled_from([(2, "ovo"), (3, "ovo"), (4, "ovr"), (3, "ovr")]),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(1, 119), max_size=12),
    st.integers(0, 10**6),
)
def test_any_chunks(options, form, dtype, resources, kind, weighted, late, cuts, seed):
    n_classes, multi_class = kind
    X, y = blobs(120, n_classes, seed=seed, dtype=dtype)
    if late:  # two labels are known at first
        y[:2] = [1, 0]
        y[2:30] %= 2
    X = FORMS[form](X)
    weights = some_weights(120, seed) if weighted else None
    known = [0, 1] if late else range(n_classes)
    n_jobs, cache_size = resources
    one = new(options["variant"], multi_class=multi_class, **options)
    cut = clone(one).set_params(n_jobs=n_jobs, cache_size=cache_size)
    stream(one, X, y, weights=weights, classes=known)
    stream(cut, X, y, cuts, weights, classes=known)
    same(one, cut)
    assert one.decision_function(X).tobytes() == cut.decision_function(X).tobytes()
    if not late:
        np.testing.assert_array_equal(one.margins, cut.margins)


@each_model
def test_margins_at_admission(name):
    X, y = blobs(90, 3)
    weights = some_weights(90)
    one = stream(new(name), X, y, weights=weights)
    cut = stream(new(name), X, y, [1, 40], weights)
    np.testing.assert_array_equal(one.admission_margin_, cut.margins)
    assert one.n_samples_seen_ == 90 and one.admission_margin_.shape == (90, 3)
    # A column for each class that a sample is told apart from: all but its own; nothing without weight.
    unknown = (y[:, None] == np.arange(3)) | (weights == 0)[:, None]
    np.testing.assert_array_equal(np.isnan(one.admission_margin_), unknown)
    for k in (20, 77):
        part = stream(new(name), X[:k], y[:k], weights=weights[:k], classes=range(3))
        np.testing.assert_array_equal(part.admission_margin_[-1], one.admission_margin_[k - 1])


@each_model
def test_a_chunk_without_weight(name):
    X, y = noisy(60, 3)
    model = stream(new(name), X, y)
    before = {attribute: getattr(model, attribute) for attribute in COMMON}
    model.partial_fit(X, y, sample_weight=np.zeros(60))
    for attribute, value in before.items():
        np.testing.assert_array_equal(getattr(model, attribute), value)
    assert np.isnan(model.admission_margin_).all() and model.n_samples_seen_ == 120
    assert model.stop_reason_.tolist() == ["pass"]


@each_model
def test_rows_keep_the_form_and_the_precision_of_the_first_chunk(name):
    X, y = noisy(100, 3, dtype=np.float32)
    one = stream(new(name), X, y)
    for form in FORMS:
        model = (
            new(name).partial_fit(FORMS[form](X[:40]), y[:40], [0, 1]).partial_fit(X[40:].astype(np.float64), y[40:])
        )
        same(one, model)
        assert model.support_vectors_.dtype == np.float32
        assert sp.issparse(model.support_vectors_) == ("csr" in form)


# ---- fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each_model
def test_form_does_not_matter(name, dtype):
    X, y = blobs(150, 3, d=30, dtype=dtype)
    dense = new(name, gamma=0.05, n_epochs=2, random_state=0).fit(X, y)
    assert dense.support_vectors_.dtype == dtype
    for make in FORMS.values():
        other = clone(dense).fit(make(X), y)
        same(dense, other)
        assert dense.decision_function(X).tobytes() == other.decision_function(make(X)).tobytes()
        rows = other.support_vectors_
        assert ((rows.toarray() if sp.issparse(rows) else rows) == X[dense.support_]).all()


@each_model
def test_weight_zero_is_no_row(name):
    X, y = noisy(150, 3)
    weights = some_weights(150)
    model = new(name, n_epochs=2, random_state=0)
    one = clone(model).fit(X, y, sample_weight=weights)
    odd = np.where(weights[:, None] == 0, 99.0, X)  # rows of any values
    same(one, clone(model).fit(odd, np.where(weights == 0, 1 - y, y), sample_weight=weights))
    assert np.isnan(one.admission_margin_[weights == 0]).all()


@each_model
def test_class_weight_is_sample_weight(name):
    X, y = blobs(150, 3)
    words = np.array(["fig", "apple", "pear"])[y]
    by_class = {"fig": 2.0, "pear": 0.5}
    weights = np.array([by_class.get(word, 1.0) for word in words])
    both = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    one = new(name, class_weight=by_class, random_state=0).fit(X, words, sample_weight=both)
    other = new(name, random_state=0).fit(X, words, sample_weight=weights * both)
    same(one, other)
    plain = new(name, random_state=0).fit(X, words, sample_weight=both)
    assert plain.decision_scale_[0] != one.decision_scale_[0]


@each_model
def test_balanced(name):
    X, y = noisy(200, 3, seed=19)
    y[:90] = 1
    weights = 200 / (2 * np.bincount(y))
    same(
        new(name, class_weight="balanced", random_state=0).fit(X, y),
        new(name, class_weight=dict(enumerate(weights)), random_state=0).fit(X, y),
    )


@each_model
def test_order_is_that_of_random_state(name):
    X, y = noisy(200, 3)
    fits = [new(name, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    same(fits[0], fits[1])
    assert (fits[0].decision_function(X) != fits[2].decision_function(X)).any()
    same(fits[0], new(name, random_state=np.random.RandomState(0)).fit(X, y))


@each_model
def test_weights_of_one_class_only(name):
    X, y = blobs(60, 2)
    with pytest.raises(ValueError, match="sample_weight leaves fewer than two classes"):
        new(name).fit(X, y, sample_weight=y.astype(float))
    X, y = blobs(60, 3)
    model = new(name).fit(X, y, sample_weight=(y != 2) + 0.0)
    assert np.isfinite(model.decision_function(X)).all() and model.n_support_[2] == 0


def test_a_precomputed_kernel_has_no_stream():
    for learner in (LASVC, KernelSGDClassifier):
        model = learner(kernel="precomputed")
        with pytest.raises(AttributeError, match="partial_fit"):
            model.partial_fit(np.eye(3), [0, 1, 0], [0, 1])
        assert vars(model) == model.get_params()


# ---- classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@each_model
def test_a_class_that_comes_later(name, multi_class):
    X, y = blobs(150, 4)
    order = np.argsort(y >= 2, kind="stable")
    X, y = X[order], y[order]
    words = np.array(["m", "t", "c", "z"])[y]
    model = stream(new(name, multi_class=multi_class), X, words, classes=["m", "t"])
    assert model.intercept_.shape == (6 if multi_class == "ovo" else 4,)
    assert model.admission_margin_.shape == (150, 4)
    assert np.repeat(model.classes_, model.n_support_).tolist() == words[model.support_].tolist()
    assert (model.predict(X[75:]) == words[75:]).mean() > 0.4


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("name", ["nc", "g", "i", "full", "olsvm", "norma"])
def test_a_class_that_is_declared_and_never_comes(name, multi_class):
    X, y = blobs(100, 2)
    model = stream(new(name, multi_class=multi_class), X, y, [30], classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7] and model.n_support_[2] == 0
    assert (model.predict(X) == y).mean() > 0.7


@each_model
def test_one_class_only(name):
    X, _ = noisy(80, 3)
    model = new(name, C=5.0, gamma=1.0).partial_fit(X, np.ones(80), [0.0, 1.0])
    assert np.isfinite(model.decision_function(X)).all()
    if name == "lasvm":  # with a bias there is nothing to learn from one class
        assert len(model.support_) == 0 and model.n_expansion_[0] == 30  # a sample of the only label
        paper = new(name, gamma=1.0, solver_options={"reprocess": "paper"}).partial_fit(X, np.ones(80), [0.0, 1.0])
        assert paper.n_expansion_[0] <= 5
    else:
        assert (model.predict(X) == 1).all()
    model.partial_fit(X + 3, np.zeros(80))
    assert (model.predict(np.vstack([X, X + 3])) == np.repeat([1, 0], 80)).mean() > 0.55


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovo"), (2, "ovr"), (4, "ovo"), (4, "ovr")])
@pytest.mark.parametrize("name", ["lasvm", "nc", "olsvm"])
def test_shapes(name, n_classes, multi_class, form):
    X, y = blobs(120, n_classes)
    X = FORMS[form](X)
    model = new(name, kernel="linear", multi_class=multi_class, decision_function_shape="ovo", random_state=0).fit(X, y)
    machines = 1 if n_classes == 2 else 6 if multi_class == "ovo" else 4
    lines = n_classes if multi_class == "ovr" and n_classes > 2 else n_classes - 1
    n_support = len(model.support_)
    assert model.dual_coef_.shape == (lines, n_support) and model.dual_coef_.dtype == np.float64
    assert model.n_support_.shape == (n_classes,) and model.n_support_.sum() == n_support
    assert model.support_vectors_.shape == (n_support, 6)
    assert model.coef_.shape == (machines, 6)
    of_kind = (
        ("duality_gap_", "duality_gap_target_", "dual_objective_", "effective_C_")
        if isinstance(model, LASVC)
        else ("n_violations_", "truncated_")
    )
    for attribute in ("intercept_", "n_iter_", "stop_reason_", "decision_scale_", *of_kind):
        assert getattr(model, attribute).shape == (machines,), attribute
    if isinstance(model, LASVC):
        assert all(counts.shape == (machines, 3) for counts in model.ramp_counts_.values())
    values = model.decision_function(X)
    assert values.shape == ((120,) if machines == 1 else (120, machines))
    np.testing.assert_allclose(values.reshape(120, -1), X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    assert np.repeat(model.classes_, model.n_support_).tolist() == y[model.support_].tolist()
    if n_classes == 4:
        assert model.set_params(decision_function_shape="ovr").decision_function(X).shape == (120, 4)
        assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()


@each_model
def test_the_shape_is_that_of_the_fit(name):
    X, y = blobs(90, 3)
    model = new(name, multi_class="ovr", random_state=0).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(multi_class="ovo").decision_function(X), before)
