"""Model files: every estimator is saved and loaded with the same bits; damaged files are refused."""

import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hingeline
from hingeline import (
    LASVC,
    SVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    LinearSVCCV,
    NystroemMap,
    NystroemSVC,
    WorstViolatorSVC,
)
from hingeline.files import layout, models

from .estimators import MODELS
from .fuzz_models import outcome
from .golden.make import FIRST, X, learn_on, outputs, y
from .private import bits
from .watching import Recorder

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
WORDS = np.array(["sepal", "päonie", "iris"])


def halfway(model):
    """A clone that has learnt the first rows; a stream has more to learn."""
    model = clone(model)
    if isinstance(model, IncrementalOneClassSVM):
        return model.partial_fit(X[FIRST])
    if hasattr(model, "partial_fit"):
        return model.partial_fit(X[FIRST], y[FIRST], classes=[0, 1])
    return model.fit(X[FIRST], y[FIRST])


def again(model, folder, **how):
    """The model after it was saved and loaded."""
    path = folder / "model.safetensors"
    hingeline.save(model, path)
    return hingeline.load(path, **how)


def same(model, other):
    """Whether two models have the same bits."""
    return type(model) is type(other) and bits(model) == bits(other)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_has_the_same_bits_and_goes_on(name, mapped, tmp_path):
    model = halfway(MODELS[name])
    other = again(model, tmp_path, mapped=mapped)
    assert same(model, other)
    assert outputs(model).tobytes() == outputs(other).tobytes()
    if hasattr(model, "partial_fit"):
        assert outputs(learn_on(model)).tobytes() == outputs(learn_on(other)).tobytes()
        assert same(again(model, tmp_path), other)


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_that_is_not_fitted(name, tmp_path):
    other = again(MODELS[name], tmp_path)
    assert same(MODELS[name], other)
    assert outputs(halfway(other)).tobytes() == outputs(halfway(MODELS[name])).tobytes()


def odd_models():
    """Models whose parts have other types: rows, labels, ids, parameters."""
    rows, labels = X[FIRST], y[FIRST]
    sparse = sp.csr_array(np.where(rows > 1.5, rows, 0.0))
    yield "float32", SVC(gamma=0.5).fit(rows.astype(np.float32), labels)
    yield "sparse", SVC(gamma=0.5).fit(sparse, labels)
    yield "sparse matrix", WorstViolatorSVC(gamma=0.5).fit(sp.csr_matrix(sparse), labels)
    yield "sparse stream", LASVC(gamma=0.5).partial_fit(sparse, labels, classes=[0, 1])
    yield "sparse points", IncrementalSVC(gamma=0.5).fit(sparse, labels)
    yield "float32 stream", KernelSGDClassifier(gamma=0.5).fit(rows.astype(np.float32), labels)
    yield "strings", SVC(gamma=0.5).fit(rows, WORDS[labels])
    yield "object strings", LASVC(gamma=0.5).fit(rows, WORDS[labels].astype(object))
    yield "booleans", IncrementalSVC(gamma=0.5).fit(rows, labels > 0)
    yield "floats", LinearSVC().fit(rows, labels - 1.0)
    yield "small integers", SVC(gamma=0.5).fit(rows, labels.astype(np.int8))
    weights = {"sepal": 2.0, "iris": np.float32(0.5)}
    yield "class weights", SVC(gamma=0.5, class_weight=weights).fit(rows, WORDS[labels])
    yield "number weights", SVC(gamma=0.5, class_weight={0: 2, 1: 1.5, 2: np.float64(3)}).fit(rows, labels)
    yield "names", SVC(gamma=0.5).fit(pd.DataFrame(rows, columns=[*"abcd"]), labels)
    yield "probabilities", SVC(gamma=0.5, probability=True).fit(rows, labels)
    calibrated = IncrementalSVC(gamma=0.5, probability=True).fit(rows, labels)
    calibrated.predict_proba(rows)
    yield "calibrated", calibrated
    ids = [f"row {k}" for k in range(60)]
    ids[53:56] = [7, -(2**80), UUID(int=2**100 + 5)]
    yield "ids", IncrementalSVC(gamma=0.5, window=40).fit(rows, labels, ids=ids)
    yield "sphere", IncrementalOneClassSVM(shape="sphere", kernel="linear").fit(rows, ids=np.arange(60)[::-1])
    yield "precomputed", SVC(kernel="precomputed").fit(rows @ rows.T, labels)
    yield "infinite C", SVC(C=np.inf, gamma=10.0).fit(rows, labels)
    yield "numpy parameters", SVC(C=np.float64(2), gamma=np.float32(0.5), max_iter=np.int64(50)).fit(rows, labels)
    yield "random state", KernelSGDClassifier(gamma=0.5, random_state=np.random.RandomState(3)).fit(rows, labels)
    yield "map", NystroemMap(gamma=0.5, n_components=20).fit(rows)
    yield "sparse landmarks", NystroemSVC(n_components=20, kernel_params={}).fit(sparse, labels)
    yield "list of Cs", LinearSVCCV(Cs=[0.1, 1.0], cv=3, scoring="accuracy").fit(rows, labels)
    yield "column order", LinearSVC().fit(np.asfortranarray(rows), labels)


@pytest.fixture(scope="module")
def odd():
    return dict(odd_models())


@pytest.mark.parametrize(
    "name",
    """float32, sparse, sparse matrix, sparse stream, sparse points, float32 stream, strings, object strings, booleans,
    floats, small integers, class weights, number weights, names, probabilities, calibrated, ids, sphere, precomputed,
    infinite C, numpy parameters, random state, map, sparse landmarks, list of Cs, column order""".replace(
        "\n    ", " "
    ).split(", "),
)
def test_other_types_of_rows_labels_and_parameters(name, odd, tmp_path):
    model = odd[name]
    other = again(model, tmp_path)
    assert same(model, other)
    if "classes_" in dir(model):
        assert other.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(other.classes_, model.classes_)
    if name == "random state":
        np.testing.assert_array_equal(other.random_state.uniform(size=9), model.random_state.uniform(size=9))
    if name == "ids":
        assert list(other.ids_) == list(model.ids_)
        other.forget([UUID(int=2**100 + 5), -(2**80)])
        assert other.n_samples_ == 38


def linear(A, B):
    return A @ B.T


@pytest.mark.parametrize("learner", [SVC, LASVC, IncrementalSVC, NystroemSVC])
def test_a_kernel_function_is_given_again(learner, tmp_path):
    model = learner(kernel=linear).fit(X[FIRST], y[FIRST])
    with pytest.raises(ValueError, match=r"'kernel' of the model is a function.*functions=\{'kernel': \.\.\.\}"):
        again(model, tmp_path)
    other = again(model, tmp_path, functions={"kernel": linear})
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_what_cannot_be_saved_is_a_type_error(tmp_path):
    path = tmp_path / "model"

    class Own(SVC):
        pass

    for model in (Own(), StandardScaler(), make_pipeline(StandardScaler().fit(X), Own()), None):
        with pytest.raises(TypeError, match="must be an estimator of hingeline"):
            hingeline.save(model, path)
    with pytest.raises(TypeError, match=r"random_state has type numpy\.random.*Generator"):
        hingeline.save(SVC(random_state=np.random.default_rng(0)), path)
    with pytest.raises(ValueError, match="'C' parameter of SVC must be"):
        hingeline.save(SVC(C=-1.0), path)
    assert not list(tmp_path.iterdir())


def test_arrays_that_must_not_change_are_read_only(tmp_path):
    model = again(halfway(MODELS["SVC"]), tmp_path)
    for name in ("dual_coef_", "support_vectors_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[0] = 0.0


def test_names_of_methods_are_no_fields(tmp_path):
    def change(texts, arrays):
        texts["state"] = texts["state"].replace('"labels":', '"take":null,"labels":')

    with pytest.raises(ValueError, match=r"field '_model.take': no attribute of a saved StreamEnsemble"):
        loaded(rewritten(content_of(halfway(MODELS["LASVC"])), change), tmp_path)


def test_an_error_while_writing_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    hingeline.save(halfway(MODELS["SVC"]), path)
    path.chmod(0o640)
    before = path.read_bytes()
    for name in ("writev", "fsync", "replace"):

        def fails(*_):
            raise OSError("no space left")

        with monkeypatch.context() as patched, pytest.raises(OSError, match="no space left"):
            patched.setattr(os, name, fails)
            hingeline.save(halfway(MODELS["LASVC"]), path)
        assert path.read_bytes() == before
        assert [one.name for one in tmp_path.iterdir()] == ["model"]
    hingeline.save(halfway(MODELS["LASVC"]), path)
    assert isinstance(hingeline.load(path), LASVC)
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_is_left_out(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = halfway(MODELS["SVC"]).set_fit_request(sample_weight=True)
    model.set_callbacks(Recorder())
    other = again(model, tmp_path)
    assert vars(model).keys() - vars(other).keys() == {"_metadata_request", "_skl_callbacks"}
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_systems_that_write_a_part_only(tmp_path, monkeypatch):
    model = halfway(MODELS["IncrementalOneClassSVM"])
    writev = os.writev
    monkeypatch.setattr(os, "writev", lambda descriptor, pieces: writev(descriptor, [pieces[0][:1000]]))
    assert same(model, again(model, tmp_path))
    monkeypatch.delattr(os, "writev")
    assert same(model, again(model, tmp_path))


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("model")
    hingeline.save(SVC(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(hingeline.load(tmp_path / "model"), SVC)


def test_a_model_is_saved_as_one_state_while_it_learns(tmp_path):
    """A thread learns the same chunks; every file holds the state after one of them."""
    model, states = IncrementalSVC(gamma=0.5), []
    twin = clone(model)
    for k in range(0, 90, 3):
        twin.partial_fit(X[k : k + 3], y[k : k + 3], classes=[0, 1, 2])
        states.append(bits(twin))
    model.partial_fit(X[:3], y[:3], classes=[0, 1, 2])

    def learn():
        for k in range(3, 90, 3):
            model.partial_fit(X[k : k + 3], y[k : k + 3])

    thread = threading.Thread(target=learn)
    thread.start()
    loaded = []
    while thread.is_alive() or not loaded:
        loaded.append(again(model, tmp_path))
    thread.join()
    for other in loaded:
        assert bits(other) in states


# ---- skops ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("LinearSVCCV", "LASVC-lasvm")])
def test_skops_with_the_published_list_of_types(name):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model = make_pipeline(StandardScaler(), clone(MODELS[name])).fit(X[FIRST], y[FIRST])
    other = skops.loads(skops.dumps(model), trusted=hingeline.TRUSTED_TYPES)
    assert same(model[-1], other[-1])
    model = halfway(MODELS[name])
    other = skops.loads(skops.dumps(model), trusted=hingeline.TRUSTED_TYPES)
    if hasattr(model, "partial_fit"):
        assert outputs(learn_on(model)).tobytes() == outputs(learn_on(other)).tobytes()


@pytest.mark.parametrize("name", ["sparse", "sparse matrix", "sparse stream", "sparse points", "ids", "object strings"])
def test_skops_with_other_types(name, odd):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    assert same(odd[name], skops.loads(skops.dumps(odd[name]), trusted=hingeline.TRUSTED_TYPES))


# ---- the layout ----------------------------------------------------------------------------------------


def test_safetensors_reads_the_file(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    from safetensors.numpy import load_file

    model, path = halfway(MODELS["SVC"]), tmp_path / "model.safetensors"
    hingeline.save(model, path)
    with safetensors.safe_open(path, "np") as file:
        texts = file.metadata()
    assert (texts["format"], texts["class"]) == ("hingeline", "SVC")
    assert json.loads(texts["parameters"])["dict"]["C"] == 10.0
    arrays = load_file(path)
    for name in ("support_vectors_", "dual_coef_", "intercept_"):
        np.testing.assert_array_equal(arrays[name], getattr(model, name))


def test_other_safetensors_files_are_refused(tmp_path):
    pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    save_file({"weights": np.ones(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match=r"other: the file is no model of hingeline"):
        hingeline.load(tmp_path / "other")


def content_of(model):
    return b"".join(map(bytes, layout.pieces(*models.pack(model))))


def loaded(content, folder):
    (folder / "damaged").write_bytes(content)
    return hingeline.load(folder / "damaged")


def test_files_that_are_cut_off_or_extended(tmp_path):
    content = content_of(halfway(MODELS["SVC"]))
    for length in {0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1}:
        with pytest.raises(ValueError, match="damaged: "):
            loaded(content[:length], tmp_path)
    with pytest.raises(ValueError, match="it was cut off or extended"):
        loaded(content + b"\0", tmp_path)


def test_every_flipped_bit_is_found(tmp_path):
    content = content_of(WorstViolatorSVC(gamma=0.5).fit(X[:20], y[:20] > 0))
    rng = np.random.default_rng(0)
    end = 8 + int.from_bytes(content[:8], "little")
    padding = range(len(content[:end].rstrip()), end)
    for at in rng.choice(len(content), 60, replace=False):
        flipped = bytearray(content)
        flipped[at] ^= 1 << int(rng.integers(8))
        if at in padding and flipped[at : at + 1].isspace():
            continue
        with pytest.raises(ValueError, match="damaged: "):
            loaded(bytes(flipped), tmp_path)


def rewritten(content, change):
    """A file whose texts and arrays were changed, with checksums that match."""
    texts, arrays = layout.read(content)
    texts = {name: text for name, text in texts.items() if name not in (layout.ARRAY_SUMS, layout.TEXT_SUM)}
    change(texts, arrays)
    return b"".join(map(bytes, layout.pieces(texts, arrays)))


@pytest.mark.parametrize("name", ["dual_coef_", "support_vectors_"])
def test_pointers_of_sparse_arrays_that_return_to_zero(name, tmp_path):
    # SciPy takes the matrix for an empty one and does not look at the other pointers.
    def change(_, arrays):
        pointers = arrays[f"{name}.indptr"].copy()
        pointers[-1] = 0
        arrays[f"{name}.indptr"] = pointers

    content = content_of(SVC(gamma=0.5).fit(sp.csr_array(np.where(X > 0, X, 0.0)), y))
    with pytest.raises(ValueError, match=f"{name}.*indptr must ascend"):
        loaded(rewritten(content, change), tmp_path)


@pytest.mark.parametrize("place", [-1, 625, 2**31, 2**70, True, "1"])
@pytest.mark.parametrize("n_words", [623, 624, 625])
def test_the_state_of_a_generator(n_words, place, tmp_path):
    """NumPy checks neither: it would read outside of its words."""
    model = SVC(random_state=np.random.RandomState(3))

    def change(texts, arrays):
        if n_words != 624:
            arrays["random_state"] = np.resize(arrays["random_state"], n_words)
            return
        parameters = json.loads(texts["parameters"])
        parameters["dict"]["random_state"]["random_state"][2] = place
        texts["parameters"] = json.dumps(parameters)

    with pytest.raises(ValueError, match="field 'random_state': expected 624 words, and a place among them"):
        loaded(rewritten(content_of(model), change), tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", "other", "no model of hingeline"),
        ("format_version", "2", "has format version 2; this hingeline reads version 1"),
        ("class", "StandardScaler", "unknown class 'StandardScaler'"),
        ("class", "ExactEnsemble", "unknown class 'ExactEnsemble'"),
        ("state", "{", "Expecting property name"),
        ("state", "[]", "field 'state': expected a dictionary"),
        ("state", '{"dict":{"_skl_callbacks":[]}}', "no attribute of a saved SVC"),
        ("state", '{"dict":{"classes_":{"eval":"1"}}}', "field 'classes_': unknown kind 'eval'"),
        ("state", '{"dict":{"classes_":{"array":"nothing"}}}', "field 'classes_': there is no array 'nothing'"),
        ("state", '{"dict":{"n_features_in_":4}}', "is missing"),
        ("state", '{"dict":{"predict":1}}', "field 'predict': no attribute of a saved SVC"),
        ("state", '{"dict":{"_rules":{"dict":{}}}}', "field '_rules': no attribute of a saved SVC"),
        ("state", '{"dict":{"C":1}}', "field 'C': no attribute of a saved SVC"),
        ("parameters", '{"dict":{"classes_":1}}', "field 'classes_': no parameter of SVC"),
        ("state", '{"dict":{"a":1,"a":2}}', "has a name twice"),
        ("state", '{"dict":{"a":NaN}}', "the value NaN"),
        # Depth at which the JSON parser of Python stops: about 1,000 in version 3.11, 10,000 in 3.12 and 3.13.
        ("state", "[" * 15_000 + "]" * 15_000, "nested too deeply|expected a dictionary"),
        ("state", '{"dict":{"a":' + '{"tuple":' * 200 + "[]" + "}" * 202, "nested too deeply"),
        ("state", '{"dict":{"a":' + "[" * 200 + "]" * 200 + "}}", "nested too deeply"),
        ("parameters", '{"dict":{"C":-1.0}}', "'C' parameter of SVC must be"),
        ("parameters", '{"dict":{"kernel":"other"}}', "'kernel' parameter of SVC must be"),
    ],
)
def test_damaged_texts_are_refused(field, value, message, tmp_path):
    content = content_of(halfway(MODELS["SVC"]))
    with pytest.raises(ValueError, match=message):
        loaded(rewritten(content, lambda texts, arrays: texts.update({field: value})), tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"shape": [2**61, 8]}, "shape and its number of bytes differ"),
        ({"shape": [-1]}, "its entry in the header is damaged"),
        ({"shape": [True]}, "its entry in the header is damaged"),
        ({"dtype": "F128"}, "unknown type 'F128'"),
        ({"data_offsets": [8, 0]}, "its shape and its number of bytes differ"),
        ({"data_offsets": [8, 32]}, "begins at byte"),
        ({"data_offsets": [2**63, 2**63 + 8]}, "its entry in the header is damaged"),
        ({"more": 1}, "its entry in the header is damaged"),
        ({"dtype": "F64", "shape": [0, 2**61, 2**61], "data_offsets": [0, 0]}, "begins at byte|too big|exceeded"),
    ],
)
def test_damaged_entries_are_refused(entry, message, tmp_path):
    content = content_of(halfway(MODELS["SVC"]))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["intercept_"] |= entry
    text = json.dumps(header).encode()
    with pytest.raises(ValueError, match=message):
        loaded(len(text).to_bytes(8, "little") + text + content[8 + length :], tmp_path)


def dense_texts(n):
    """Texts of a header that need much memory for their length."""
    yield "[" + ",".join(["[]"] * n) + "]"
    yield "[" + ",".join(["{}"] * n) + "]"
    yield "[" + ",".join(['{"a":0}'] * n) + "]"
    yield '{"dict":{"a":[' + ",".join(['{"tuple":[]}'] * n) + "]}}"
    yield '{"dict":{"a":[' + ",".join(["999"] * n) + "]}}"
    yield '{"dict":{"a":[' + ",".join(["1e5"] * n) + "]}}"
    yield '{"dict":{"a":{"strings":{"shape":[2],"width":1000000000,"items":["a","b"]}}}}'
    yield '{"dict":{"a":{"objects":{"shape":[' + str(n) + '],"items":[' + ",".join(["0"] * n) + "]}}}}"
    yield '{"dict":{"a":{"pairs":[[' + ",".join(map(str, range(n))) + "],[" + ",".join(["0"] * n) + "]]}}}"
    yield '{"dict":{"a":{"pairs":[[' + ",".join(f'"{k:x}"' for k in range(n)) + "],[" + ",".join(["0"] * n) + "]]}}}"
    yield '{"dict":{"a":{"sparse":{"class":"csr_array","shape":[1,4611686018427387903],"data":"x","indices":"x",'
    yield '{"dict":{"a":{"dict":{' + ",".join(f'"{k:x}":0' for k in range(n)) + "}}}}"


@pytest.mark.parametrize("k", range(12))
def test_memory_of_a_file_is_bounded(k, tmp_path):
    """At most 16 times the size of the file, and a megabyte or two."""
    text = list(dense_texts(200_000 if k < 4 else 25_000))[k]  # the first ones are refused before they are parsed
    content = rewritten(content_of(SVC()), lambda texts, arrays: texts.update(state=text))
    (tmp_path / "damaged").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged: "):
            hingeline.load(tmp_path / "damaged")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * len(content) + (2 << 20)


# ---- fuzzing -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_of_the_fuzzer():
    """A part of ``python -m tests.fuzz_models``: no exception but ValueError, bounded memory."""
    found = Counter(outcome(number) for number in range(150))
    assert {"own refused", "own used", "libsvm refused", "libsvm used"} <= found.keys()


@pytest.mark.slow
def test_fuzzing_in_processes():
    assert subprocess.run([sys.executable, "-m", "tests.fuzz_models", "--count", "20000"], check=False).returncode == 0
