"""Pipelines in model files, and files of other formats that are recognised by content."""

import io
import json
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

import hingeline
from hingeline import LASVC, SVC, Checkpoint, LinearSVR
from hingeline.files import layout
from hingeline.files.kinds import kind_of_content

rng = np.random.default_rng(0)
N = 40
y = np.arange(N) % 2
NUMBERS = rng.normal(size=(N, 2)) * [1, 100] + y[:, np.newaxis]
TABLE = np.array(
    [[a, word, b] for (a, b), word in zip(NUMBERS.tolist(), rng.choice(["red", "green", "blue"], N), strict=True)],
    dtype=object,
)
TABLE[3, 0] = TABLE[5, 1] = np.nan


def table_steps(scaler=None):
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler or StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", dtype="float64", sparse_output=False)
    return ColumnTransformer([("numbers", numbers, [0, 2]), ("texts", words, [1])], sparse_threshold=0)


def test_a_table_with_texts_and_missing_values(tmp_path):
    model = make_pipeline(table_steps(), SVC(gamma=0.5)).fit(TABLE, y)
    hingeline.save(model, tmp_path / "model")
    found = hingeline.load(tmp_path / "model")
    odd = np.array([[np.nan, "violet", 3.0], [0.0, np.nan, np.nan]], dtype=object)
    for X in (TABLE, odd):
        np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    assert [*found.named_steps] == [*model.named_steps] and found.classes_.tolist() == [0, 1]
    hingeline.save(found, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_fixed_scalers_are_saved_without_their_cover(tmp_path):
    scaler = MinMaxScaler().fit(NUMBERS)
    model = make_pipeline(FrozenEstimator(scaler), LinearSVR()).fit(NUMBERS, y)
    hingeline.save(model, tmp_path / "model")
    found = hingeline.load(tmp_path / "model")
    assert isinstance(found[0], MinMaxScaler)
    np.testing.assert_array_equal(found.predict(NUMBERS), model.predict(NUMBERS))


def test_pipelines_that_cannot_be_saved(tmp_path):
    for model, error, message in [
        (make_pipeline(FunctionTransformer(), SVC()), TypeError, "a step of type FunctionTransformer"),
        (make_pipeline(StandardScaler(), SVC()), ValueError, "StandardScaler is not fitted"),
        (
            make_pipeline(ColumnTransformer([("f", FunctionTransformer(), [0])]), SVC()).fit(NUMBERS, y),
            TypeError,
            "has type",
        ),
    ]:
        with pytest.raises(error, match=message):
            hingeline.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_generations_of_a_stream_load_with_their_scaler(tmp_path):
    scaler = table_steps().fit(TABLE)
    with Checkpoint(tmp_path / "run", make_pipeline(scaler, LASVC(gamma=0.5))) as run:
        run.learn(TABLE, y, classes=[0, 1])
        wanted = run.model.decision_function(TABLE)
        run.restart(TABLE[:30], y[:30], classes=[0, 1])
        again = run.model.decision_function(TABLE)
    assert not np.array_equal(wanted, again)
    newest = max((tmp_path / "run").glob("model-*"))
    np.testing.assert_array_equal(hingeline.load(newest).decision_function(TABLE), again)


def test_forgetting_in_the_file_of_a_pipeline(tmp_path):
    scaler = StandardScaler().fit(NUMBERS[:10])
    model = Pipeline([("scale", FrozenEstimator(scaler)), ("svc", SVC(gamma=0.5))])
    model.fit(NUMBERS, y, svc__ids=range(N))
    hingeline.save(model, tmp_path / "model")
    receipt = hingeline.forget_in_file(tmp_path / "model", [7])
    found = hingeline.load(tmp_path / "model")
    receipt.verify(found[-1])
    left = np.arange(N) != 7
    fresh = clone(model).fit(NUMBERS[left], y[left])
    np.testing.assert_allclose(found.decision_function(NUMBERS), fresh.decision_function(NUMBERS), atol=0.01)
    assert scaler.transform(NUMBERS)[7].tobytes() not in (tmp_path / "model").read_bytes()


# ---- damage -----------------------------------------------------------------------------------------------


def damaged(path, change):
    """File whose text `steps` is changed, with matching checksums."""
    texts, arrays = layout.read(path.read_bytes())
    node = json.loads(texts["steps"])
    change(node)
    texts = {name: text for name, text in texts.items() if "checksum" not in name}
    path.write_bytes(b"".join(map(bytes, layout.pieces({**texts, "steps": json.dumps(node)}, dict(arrays)))))


def find(node, key):
    """Every dictionary in a tree that has a key."""
    if isinstance(node, dict):
        if key in node:
            yield node
        node = list(node.values())
    for one in node if isinstance(node, list) else []:
        yield from find(one, key)


def set_all(key, value):
    def change(node):
        found = [*find(node, key)]
        assert found
        for one in found:
            one[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_all("n_features_in_", 10**12),
        set_all("n_features_in_", "3"),
        set_all("n_features_in_", 7),
        set_all("statistics_", None),
        set_all("categories_", None),
        set_all("transformers_", []),
        set_all("slice", [0, "x"]),
        set_all("slice", [0]),
        set_all("class", "SVC"),
        set_all("class", "os.system"),
        set_all("names", ["a"]),
        set_all("mean_", 5),
        lambda node: node["dict"].pop("names"),
    ],
)
def test_a_changed_state_is_refused(tmp_path, change):
    path = tmp_path / "model"
    hingeline.save(make_pipeline(table_steps(), SVC(gamma=0.5)).fit(TABLE, y), path)
    try:
        damaged(path, change)
    except AssertionError:
        pytest.skip("the state has no such field in this version of scikit-learn")
    with pytest.raises(ValueError, match=f"{path.name}: field"):
        hingeline.load(path)


# ---- other formats ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Files of a model by the words of the error that says what to do."""
    folder = tmp_path_factory.mktemp("others")
    model = SVC(gamma=0.5).fit(NUMBERS, y)
    for protocol in (0, 2, 3, 4, 5):
        (folder / f"pickle{protocol}").write_bytes(pickle.dumps(model, protocol))
    joblib.dump(model, folder / "joblib")
    joblib.dump(model, folder / "joblib.z", compress=3)
    hingeline.save_libsvm(model, folder / "libsvm")
    (folder / "data").write_text("+1 1:0.5 3:-1e-3\n-1 2:1\n")
    found = {path.name: "if you trust whoever made it" for path in folder.glob("*[0-9]")}
    found |= {
        "joblib": "pickle",
        "joblib.z": "pickle",
        "libsvm": "hingeline.load_libsvm",
        "data": "a data file in LIBSVM",
    }
    return folder, found


def test_other_formats_are_recognised_by_content(others):
    folder, found = others
    for name, words in found.items():
        with pytest.raises(ValueError, match=words):
            hingeline.load(folder / name)
    assert kind_of_content(b"a,b,c\n1,2,3\n") is None and kind_of_content(b"") is None


def test_onnx_and_skops_are_recognised(tmp_path):
    skops = pytest.importorskip("skops.io")
    pytest.importorskip("onnx")
    from hingeline.onnx import export

    model = SVC(gamma=0.5).fit(NUMBERS, y)
    (tmp_path / "onnx").write_bytes(export(model).SerializeToString())
    skops.dump(model, tmp_path / "skops")
    for name, words in {"onnx": "an ONNX model, which onnxruntime runs", "skops": "skops.io.load"}.items():
        with pytest.raises(ValueError, match=words):
            hingeline.load(tmp_path / name)
    arrays = io.BytesIO()
    np.savez(arrays, X=NUMBERS)
    assert kind_of_content(arrays.getvalue(), arrays.getvalue()) is None


def test_load_libsvm_says_what_else_a_file_is(tmp_path):
    hingeline.save(SVC(gamma=0.5).fit(NUMBERS, y), tmp_path / "model")
    (tmp_path / "pickle").write_bytes(pickle.dumps(3))
    with pytest.raises(ValueError, match=r"read it with hingeline.load\(path\)"):
        hingeline.load_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="a pickle: if you trust"):
        hingeline.load_libsvm(tmp_path / "pickle")
