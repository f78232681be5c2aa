"""``hingeline stream``: predictions before learning, schedule, checkpoints, signals, forgetting."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import hingeline
from hingeline.cli import keepers
from hingeline.cli.main import main
from hingeline.cli.predictions import Predictions

from .commands import command, svmlight, table  # noqa: F401
from .data import noisy
from .test_files import bits

X, y = noisy(100)
OPTIONS = ("-g", 0.5, "--n-features", 2, "--batch", 10)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("all").write_text(svmlight(X, y))
    Path("some").write_text(svmlight(X[:37], y[:37]))
    Path("words.csv").write_text(table(X, np.array(["no", "yes"])[y], ["a", "b", "answer"]))
    return tmp_path


def expected(n=100, batch=10):
    """Model after n examples, and the predicted labels before each batch."""
    model, labels = hingeline.LASVC(gamma=0.5), []
    for k in range(0, n, batch):
        rows = sp.csr_array(X[k : min(k + batch, n)])
        labels += ["?"] * rows.shape[0] if k == 0 else list(map(str, model.predict(rows)))
        model.partial_fit(rows, y[k : min(k + batch, n)], classes=[0, 1])
    return model, labels


def test_loss_on_a_growing_schedule(command, files):  # noqa: F811
    out = command("stream", "all", "model", *OPTIONS, "--predictions", "labels")
    model, labels = expected()
    assert Path("labels").read_text().split() == labels
    assert bits(hingeline.load("model")) == bits(model)
    head, *lines, last = out.splitlines()
    assert head.split() == ["loss", "since", "last", "predicted", "label", "prediction"]
    wrong = np.array(labels[10:], dtype=int) != y[10:]
    cells = [line.split() for line in lines]
    assert [int(row[2]) for row in cells] == [1, 2, 4, 8, 16, 32, 64]
    for row in cells:
        n = int(row[2])
        assert float(row[0]) == pytest.approx(wrong[:n].mean(), abs=1e-6)
        assert float(row[1]) == pytest.approx(wrong[n // 2 : n].mean(), abs=1e-6)
        assert (row[3], row[4]) == (str(y[10 + n - 1]), labels[10 + n - 1])
    assert last == f"100 examples, loss {wrong.mean():.6f} of 90 predictions"


def test_json(command, files):  # noqa: F811
    found = command.json("stream", "all", *OPTIONS, "--checkpoint", "run")
    wrong = int((np.array(expected()[1][10:], dtype=int) != y[10:]).sum())
    wanted = {"examples": 100, "learnt": 100, "resumed_at": 0, "predicted": 90, "errors": wrong, "loss": wrong / 90}
    assert wanted.items() <= found.items() and found["signal"] is None
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]


def test_resuming_gives_the_same_model_and_predictions(command, files):  # noqa: F811
    more = ("--checkpoint", "run", "--predictions", "labels", "--save-every", 20)
    command("stream", "some", *OPTIONS, *more)
    found = command.json("stream", "all", "model", *OPTIONS, *more)
    assert (found["resumed_at"], found["learnt"]) == (37, 63)
    same = expected()[0]  # margins_ are those of the last batch, which is another one
    np.testing.assert_array_equal(hingeline.load("model").decision_function(X), same.decision_function(X))
    assert Path("labels").read_text().count("\n") == 100
    assert "resuming after 100 examples" in command("stream", "all", *OPTIONS, *more)
    command("stream", "some", *OPTIONS, *more, code=65)
    assert "the model has learnt 100 examples, but the data have 37. Give --no-skip" in command.err
    assert command.json("stream", "some", *OPTIONS, *more, "--no-skip")["examples"] == 137
    assert Path("labels").read_text().count("\n") == 137
    Path("part").write_text("".join(Path("all").read_text().splitlines(keepends=True)[:25]))
    command("stream", "part", *OPTIONS, *more, "--no-skip")  # a crash after 25 examples of the next file
    assert command.json("stream", "all", *OPTIONS, *more)["examples"] == 137 + 100


def test_labels_with_line_breaks_take_one_line(command, files):  # noqa: F811
    cells = [f'{a},{b},"{"yes" if label else "not"}\nat all"\n' for (a, b), label in zip(X.tolist(), y, strict=True)]
    Path("broken.csv").write_text("".join(cells))
    command("stream", "broken.csv", "model", *OPTIONS[:2], "--predictions", "labels")
    assert Path("labels").read_text().count("\n") == len(X)
    command("predict", "broken.csv", "model", "labels")
    assert set(Path("labels").read_text().splitlines()) == {"yes at all", "not at all"}


def test_options_are_for_new_models(command, files):  # noqa: F811
    command("stream", "some", *OPTIONS, "--checkpoint", "run")
    command("stream", "all", "-c", 7, *OPTIONS, "--checkpoint", "run")
    assert "keeps its own C" in command.err
    command("stream", "all", "--estimator", "KernelSGDClassifier", *OPTIONS, "--checkpoint", "run", code=2)
    assert "run holds a model of the class LASVC" in command.err


def test_standard_input_and_output(command, files):  # noqa: F811
    out = command("stream", "-", *OPTIONS, "--predictions", "-", stdin=Path("all").read_bytes())
    assert out.split() == expected()[1]
    assert "100 examples, loss" in command.err
    command("stream", "-", *OPTIONS, "--predictions", "-", "--json", code=2)
    assert command("stream", "all", "-q", *OPTIONS) == ""


def test_text_labels_and_single_examples(command, files):  # noqa: F811
    found = command.json("stream", "words.csv", "model", "-g", 0.5, "--batch", 1, "--classes", "no,yes")
    assert found["predicted"] == 99 and found["classes"] == ["no", "yes"]
    command("stream", "words.csv", "-g", 0.5, "--batch", 1, code=2)
    assert "the first batch has one label only" in command.err
    weights = ("-wno", 2, "-wyes", 3)
    command("stream", "words.csv", "model", "-g", 0.5, *weights)
    assert hingeline.load("model").class_weight == {"no": 2.0, "yes": 3.0}
    Path("minus").write_text(svmlight(X, 2 * y - 1))
    found = command.json("stream", "minus", *OPTIONS, "--batch", 1, "--classes", "-1,1")
    assert found["classes"] == [-1, 1]


def test_mistakes(command, files):  # noqa: F811
    Path("bad").write_text(Path("some").read_text() + "1 1:x\n")
    Path("mixed.csv").write_text("1,0,0\n2,0,1\n3,0,x\n")
    Path("bare.csv").write_text("1,2\n")
    for words, code, message in [
        ("all", 2, "give --n-features"),
        ("", 2, "give a data file"),
        ("all --estimator SVC", 2, "SVC does not learn from streams"),
        ("mixed.csv --batch 2 -g 1", 65, "labels must be of the type int64, as the first ones. Got x"),
        ("bare.csv --target none", 65, "has no labels"),
        ("bad -g 1 --n-features 2 --batch 5 --checkpoint run", 65, "bad, line 38, column 5"),
        ("all /no/model", 73, "does not exist"),
        ("all --n-features 2 --predictions /no/file", 73, "cannot write"),
        ("all --forget 3 --n-features 2", 2, "--forget needs a checkpoint"),
        ("all -c 0", 2, "'C' parameter"),
    ]:
        command("stream", *words.split(), code=code)
        assert message in command.err, (words, command.err)
    command("stream", "bad", "model", *OPTIONS, code=65)
    assert hingeline.load("model").n_samples_seen_ == 30  # what came before the bad line, in whole batches
    with hingeline.Checkpoint("run") as run:
        command("stream", "all", "--checkpoint", "run", code=1)
        assert "in use" in command.err
    assert run.model.n_samples_seen_ == 35


def test_one_class(command, files):  # noqa: F811
    found = command.json("stream", "words.csv", "model", "-s", 2, "-g", 1, "--param", "window=30", "--target", "answer")
    model = hingeline.load("model")
    assert found["examples"] == 100 and model.n_samples_ == 30
    assert found["predicted"] == 0
    out = command("stream", "words.csv", "-s", 2, "-g", 1, "--batch", 20, "--target", "answer")
    assert out.split()[0] == "outliers"


def test_forgetting(command, files):  # noqa: F811
    rows = table(X, y).splitlines()
    Path("people.csv").write_text("\n".join(["name,a,b,answer", *(f"p{k},{row}" for k, row in enumerate(rows))]))
    options = ("--estimator", "IncrementalSVC", "-g", 0.5, "--checkpoint", "run")
    command("stream", "people.csv", *options, "--id", "name")
    assert command("stream", *options, "--forget", "p3,p17").startswith("forgot 2 examples")
    left = [k for k in range(100) if k not in (3, 17)]
    with hingeline.Checkpoint("run") as run:
        assert run.model.ids_.tolist() == [f"p{k}" for k in left]
    command("stream", *options, "--forget", "p3", code=2)
    assert "holds no example with the id p3" in command.err
    found = command.json("stream", "people.csv", *options, "--id", "name")
    assert (found["examples"], found["learnt"]) == (100, 0)


# ---- signals ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_waiting_for_data(capsys, files, monkeypatch, number, code, elsewhere):
    """What was learnt is saved. A signal to another thread, or just before the read, does not interrupt the read."""
    receive, send = os.pipe()
    os.write(send, Path("some").read_bytes())
    monkeypatch.setattr("sys.stdin", os.fdopen(receive))

    def interrupt():
        end = time.monotonic() + 60
        while Path("labels").exists() is False or Path("labels").read_text().count("\n") < 30:
            assert time.monotonic() < end
            time.sleep(0.005)
        if elsewhere:
            signal.pthread_kill(threading.get_ident(), number)
        else:
            os.kill(os.getpid(), number)
        if not ended.wait(20):  # the signal was lost: end the data
            os.close(send)

    ended = threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    words = ["stream", "-", "model", *OPTIONS, "--checkpoint", "run", "--predictions", "labels", "--json"]
    assert main(list(map(str, words))) == code
    ended.set()
    thread.join()
    os.close(send)
    assert f'"signal": {int(number)}' in capsys.readouterr().out
    assert bits(hingeline.load("model")) == bits(expected(30)[0])
    with hingeline.Checkpoint("run") as run:
        assert run.model.n_samples_seen_ == 30


@pytest.mark.parametrize("times", [1, 2])
def test_signals_in_the_middle_of_a_batch(command, files, monkeypatch, times):  # noqa: F811
    """The first one waits for the end of the batch, the second one does not."""
    learn = keepers.Memory.learn

    def interrupted(self, *data, **keywords):
        if getattr(self.model, "n_samples_seen_", 0) == 20:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        learn(self, *data, **keywords)

    monkeypatch.setattr(keepers.Memory, "learn", interrupted)
    command("stream", "all", "model", *OPTIONS, code=130)
    assert hingeline.load("model").n_samples_seen_ == (30 if times == 1 else 20)


def test_predictions_are_repaired(command, tmp_path, capsys):  # noqa: F811
    class Said(list):
        warn = list.append

    path, said = tmp_path / "labels", Said()
    for content, n, last, wanted in [
        ("a\nb\n", 2, ["b"], "a\nb\n"),
        ("a\n", 2, ["b"], "a\nb\n"),
        ("a\nb", 3, ["b", "c"], "a\nb\nc\n"),
        ("a\nb\nc\n", 1, ["a"], "a\n"),
        ("a\n", 4, ["d"], "a\n?\n?\nd\n"),
        ("old\n", 0, [], ""),
    ]:
        path.write_text(content)
        with Predictions(str(path), n, last, said) as file:
            assert path.read_text() == wanted
            file.write(["x"])
        assert path.read_text() == wanted + "x\n"
    assert len(said) == 1 and "the predictions of 2 examples are missing" in said[0]


# ---- faults of use ----------------------------------------------------------------------------------------


def test_the_class_of_a_checkpoint_is_known(command, files):  # noqa: F811
    run = ("--checkpoint", "run", "--predictions", "labels")
    command("stream", "some", *OPTIONS, *run, "--estimator", "IncrementalSVC")
    found = command.json("stream", "all", *run, "--forget", "3,5")
    assert (found["estimator"], found["resumed_at"], found["learnt"]) == ("IncrementalSVC", 37, 63)
    assert found["warnings"] == []
    command("stream", "all", *run, "--estimator", "LASVC", code=2)
    assert "holds a model of the class IncrementalSVC. Leave --estimator out" in command.err
    command("stream", "all", *run, "--estimator", "SVC", code=2)
    command("stream", "all", *run, "--param", "budget=1", code=2)  # the checkpoint is closed after errors
    assert command.json("stream", "--forget", "4", "--checkpoint", "run")["estimator"] == "IncrementalSVC"
    command("stream", "--forget", "4", "--checkpoint", "other", code=2)
    assert "--forget needs a checkpoint" in command.err and not Path("other").exists()
    command("stream", "all", *OPTIONS, "--checkpoint", "some", code=73)
    assert "the checkpoint some is a file; give a folder" in command.err


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_data_without_rows(command, files, text):  # noqa: F811
    Path("empty.svm").write_text(text)
    command("stream", "empty.svm", "model", *OPTIONS, "--checkpoint", "run", code=65)
    assert "0 examples, no model written" in command.err and not Path("model").exists()
    command("stream", "some", *OPTIONS, "--checkpoint", "run")
    command("stream", "empty.svm", "--no-skip", "--checkpoint", "run")


# ---- drift, new labels, progress --------------------------------------------------------------------------


def turned(n=3000, at=1500, seed=0):
    """Two classes that change places."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 1.5 * np.where((y == 1) ^ (np.arange(n) >= at), 1, -1)[:, np.newaxis]
    return X.round(4), y


@pytest.fixture
def drift(files):
    Path("drift.csv").write_text(table(*turned(), ["a", "b", "answer"]))
    return ("stream", "drift.csv", "-g", 0.2, "--batch", 10)


@pytest.mark.parametrize("estimator", ["LASVC", "KernelSGDClassifier", "IncrementalSVC"])
def test_an_alarm_soon_after_drift(command, drift, estimator):  # noqa: F811
    out = command(*drift, "--estimator", estimator)
    (line,) = [line for line in out.splitlines() if line.startswith("drift")][:1]
    assert re.fullmatch(r"drift at example 1,5\d0: the loss rose from 0\.0\d+ to 0\.\d+ \(last \d+ predictions\)", line)
    assert re.search(r"examples, loss [\d.]+ of 2,990 predictions, [\d.]+ of the last [\d,]+$", out)
    found = command.json(*drift, "--estimator", estimator)
    assert 1500 < found["drifts"][0]["example"] < 2000 and found["drifts"][0]["after"] > found["drifts"][0]["before"]
    assert found["recent_predictions"] < 2000
    assert command.json(*drift, "--estimator", estimator, "--drift", "off")["drifts"] == []


@pytest.mark.parametrize("seed", range(3))
def test_an_alarm_in_a_gradual_drift(command, files, seed):  # noqa: F811
    """Labels change places for more and more of 1000 examples; the alarm comes within 500."""
    X, y = turned(3000, at=3000, seed=seed)
    share = np.clip((np.arange(3000) - 1500) / 1000, 0, 1)
    y = np.where(np.random.default_rng(seed).random(3000) < share, 1 - y, y)
    Path("gradual.csv").write_text(table(X, y))
    found = command.json("stream", "gradual.csv", "-g", 0.2, "--batch", 10)
    assert 1500 < found["drifts"][0]["example"] < 2000


@pytest.mark.parametrize(("estimator", "action"), [("LASVC", "reset"), ("IncrementalSVC", "shorten")])
def test_reactions_to_drift_lower_the_loss(command, drift, estimator, action):  # noqa: F811
    words = (*drift, "--estimator", estimator)
    before, after = command.json(*words), command.json(*words, "model", "--drift", action)
    assert after["loss"] < before["loss"]
    assert after["examples"] == 3000
    if action == "shorten":
        assert hingeline.load("model").n_samples_ < 1600
    else:
        assert hingeline.load("model").n_samples_seen_ <= 1500


def test_reset_is_a_new_model(command, drift):  # noqa: F811
    command(*drift, "model", "--drift", "reset", "--predictions", "labels")
    (found,) = command.json(*drift, "--drift", "reset")["drifts"]
    X, y = turned()
    begin = found["example"] - 10
    model = hingeline.LASVC(gamma=0.2).partial_fit(X[begin:], y[begin:], classes=[0, 1])
    np.testing.assert_array_equal(hingeline.load("model").decision_function(X), model.decision_function(X))
    assert Path("labels").read_text().count("\n") == 3000


@pytest.mark.parametrize(("estimator", "action"), [("LASVC", "reset"), ("IncrementalSVC", "shorten")])
@pytest.mark.parametrize("cut", [1490, 1550, 2000])
def test_resuming_after_drift(command, drift, estimator, action, cut):  # noqa: F811
    """The same predictions, model and counts as without an interruption."""
    words = (*drift[2:], "--estimator", estimator, "--drift", action)
    command("stream", "drift.csv", "model", *words, "--predictions", "labels")
    wanted = command.json("stream", "drift.csv", *words)
    Path("part.csv").write_text("".join(Path("drift.csv").read_text().splitlines(keepends=True)[: cut + 1]))
    more = ("--checkpoint", "run", "--predictions", "seen", "--save-every", 70)
    command("stream", "part.csv", *words, *more)
    found = command.json("stream", "drift.csv", "other", *words, *more)
    assert (found["examples"], found["resumed_at"]) == (3000, cut)
    for key in ("predicted", "errors", "drifts", "recent_loss", "recent_predictions"):
        assert found[key] == wanted[key], key
    assert Path("seen").read_text() == Path("labels").read_text()
    X = turned()[0]
    values = [hingeline.load(path).decision_function(X) for path in ("model", "other")]
    np.testing.assert_array_equal(*values)


def test_a_crash_between_learning_and_forgetting(command, drift, monkeypatch):  # noqa: F811
    words = (*drift, "--estimator", "IncrementalSVC", "--drift", "shorten", "--checkpoint", "run")
    with monkeypatch.context() as patch:
        patch.setattr(hingeline.Checkpoint, "forget", lambda *_: 1 / 0)
        command(*words, code=1)
    with hingeline.Checkpoint("run") as run:
        keep, held = run.note["shorten"], run.model.n_samples_
    assert 10 <= keep < held
    Path("drift.csv").write_text("".join(Path("drift.csv").read_text().splitlines(keepends=True)[: held + 1]))
    command(*words)
    with hingeline.Checkpoint("run") as run:
        assert run.model.n_samples_ == keep
        assert run.model.ids_.tolist() == list(range(held - keep, held))


def test_shortening_needs_forgetting(command, drift):  # noqa: F811
    command(*drift, "--drift", "shorten", code=2)
    assert "LASVC cannot forget examples. Use --drift reset, or IncrementalSVC or IncrementalOneClassSVM" in command.err


def test_drift_of_outliers(command, files):  # noqa: F811
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(1200, 2)), rng.normal(3, 1, size=(200, 2))])
    np.savetxt("rows.csv", rows, delimiter=",", fmt="%.5f")
    words = ("rows.csv", "-s", 2, "-g", 0.3, "-n", 0.05, "--target", "none", "--batch", 10)
    out = command("stream", *words, "--drift", "shorten")
    assert re.search(r"drift at example 1,2\d\d: the share of outliers rose", out)


def test_lines_at_fixed_intervals(command, files):  # noqa: F811
    out = command("stream", "all", *OPTIONS, "--every", 20)
    head, *lines, _ = out.splitlines()
    labels = expected()[1]
    wrong = np.array(labels[10:], dtype=int) != y[10:]
    assert head.split()[:3] == ["loss", "last", "20"]
    cells = [line.split() for line in lines]
    assert [int(row[2]) for row in cells] == [20, 40, 60, 80]
    for row in cells:
        n = int(row[2])
        assert float(row[0]) == pytest.approx(wrong[:n].mean(), abs=1e-6)
        assert float(row[1]) == pytest.approx(wrong[n - 20 : n].mean(), abs=1e-6)


def test_new_labels_are_told(command, files):  # noqa: F811
    labels = np.array(["no", "yes"], dtype="<U4")[y]
    labels[[42, 57]] = "late"
    Path("late.csv").write_text(table(X, labels))
    out = command("stream", "late.csv", "-g", 0.5, "--batch", 10)
    assert out.count("new label") == 1 and "new label late at example 43" in out
    assert command.json("stream", "late.csv", "-g", 0.5, "--batch", 10)["new_labels"] == {"late": 43}
    declared = ("--classes", "no,yes,late")
    assert command.json("stream", "late.csv", "-g", 0.5, "--batch", 10, *declared)["new_labels"] == {}


def test_one_example_is_singular(command, files):  # noqa: F811
    options = ("--estimator", "IncrementalSVC", *OPTIONS, "--checkpoint", "run")
    command("stream", "some", *options)
    assert command("stream", *options, "--forget", "3").startswith("forgot 1 example\n")


# ---- features ---------------------------------------------------------------------------------------------


def test_scaling_is_fitted_to_the_first_batch(command, files):  # noqa: F811
    from sklearn.preprocessing import StandardScaler

    Path("large.csv").write_text(table(X * [1, 1000], y))
    command("stream", "large.csv", "-g", 0.5, "--batch", 50)
    assert "large.csv: features are not scaled: feature 1 has a range of" in command.err
    words = ("stream", "large.csv", "model", "-g", 0.5, "--batch", 50, "--scale", "standard", "--checkpoint", "run")
    command(*words)
    assert command.err == ""
    scaler = StandardScaler().fit((X * [1, 1000])[:50])
    rows = scaler.transform(X * [1, 1000])
    same = hingeline.LASVC(gamma=0.5).partial_fit(rows[:50], y[:50], classes=[0, 1]).partial_fit(rows[50:], y[50:])
    found = hingeline.load("model")
    np.testing.assert_allclose(found.decision_function(X * [1, 1000]), same.decision_function(rows))
    assert "resuming after 100 examples" in command(*words)
    with hingeline.Checkpoint("run") as run:
        assert run.model[-1].n_samples_seen_ == 100
