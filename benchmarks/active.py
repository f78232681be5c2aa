"""Active learning: learning curves of query rules, the cost of a question and its answer, large pools.

``python -m benchmarks.active`` writes a Markdown page and a figure. Seconds are CPU seconds. Each run is stored when it
is done, so an interrupted program goes on where it was.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.svm import SVC

from benchmarks import environment, writing
from benchmarks.papers.data import stored
from benchmarks.papers.frame import Job, cpu_timed
from benchmarks.store import Store, chosen
from hingeline import IncrementalSVC
from hingeline.active import ActiveLearner

NAME = "active"
#: Rows of the pool and of the test part, labels given at the start (random rows) and at the end, labels between tests.
POOL, TEST, START, LABELS, EVERY = 2000, 2000, 20, 200, 20
SEEDS = 10
#: Title: rule, rows asked together, diversity.
RULES = {
    "random": ("random", 1, 0.0),
    "margin": ("margin", 1, 0.0),
    "small pool (59)": ("small_pool", 1, 0.0),
    "margin, 10 at a time": ("margin", 10, 0.5),
}
#: Points held when questions are timed, questions, rounds of them, fits of SVC, rows of the pool.
HELD, QUESTIONS, ROUNDS, FITS, ASKED = 5000, 30, 5, 5, 4000
#: Questions of each round before the clock starts: the first ones compute kernel values that are kept.
BEFORE = 2
TIMED_RULES = ("small_pool", "margin")
#: Rows and features of the large pool, and labels given before questions are timed.
LARGE, LARGE_FEATURES, LARGE_LABELS = 100_000, 50, 300
LARGE_RULES = ("random", "small_pool", "margin")


@dataclass(frozen=True)
class Set:
    """A data set and its setting. `positive`: this label against the rest in the timings; `scale`: of the features."""

    name: str
    C: float
    gamma: float
    scale: float = 1.0
    positive: int | None = None
    balanced: bool = False

    @property
    def score(self) -> Any:
        return balanced_accuracy_score if self.balanced else accuracy_score

    @lru_cache(maxsize=1)  # noqa: B019  (sets are constants)
    def load(self, binary: bool) -> tuple[np.ndarray, np.ndarray]:
        data = stored(self.name)
        X = (data.X.toarray() if sp.issparse(data.X) else data.X) * self.scale
        return X, (data.y == self.positive).astype(int) if binary and self.positive is not None else data.y


#: C and gamma of banana and adult: Ertekin et al. 2011, table 2. 10 % of ijcnn1 are positive.
CURVES = {
    "banana": Set("banana", 10, 1.0),
    "adult": Set("adult", 100, 0.005),
    "ijcnn1": Set("ijcnn1", 10, 1.0, balanced=True),
    "pendigits": Set("pendigits", 10, 1.0, scale=1 / 100),
}
COSTS = {
    "adult, C = 1": Set("adult", 1, 0.005),
    "adult, C = 10": Set("adult", 10, 0.005),
    "adult, C = 100": Set("adult", 100, 0.005),
    "ijcnn1, C = 10": Set("ijcnn1", 10, 1.0),
    "usps, C = 10": Set("usps", 10, 2.0, scale=1 / 16, positive=0),
}


# ---- learning curves ---------------------------------------------------------------------------------


def curve(name: str, rule: str, seed: int, quick: bool) -> dict[str, Any]:
    """Scores on the test part after so many labels, and the number of labels at which the learner advised to stop."""
    one, (way, together, diversity) = CURVES[name], RULES[rule]
    X, y = one.load(binary=False)
    order = np.random.default_rng(seed).permutation(len(y))
    pool, test = order[:POOL], order[POOL : POOL + TEST]
    model = IncrementalSVC(C=one.C, gamma=one.gamma)
    how = {"classes": np.unique(y), "diversity": diversity, "random_state": seed}
    learner = ActiveLearner(model, way, pool=X[pool], **how)
    learner.answer(np.arange(START), y[pool[:START]])
    labels, scores, stop = [], [], None
    while True:
        if learner.n_labelled % EVERY == 0:
            labels.append(learner.n_labelled)
            scores.append(100 * float(one.score(y[test], model.predict(X[test]))))
            if stop is None and learner.advice().stop:
                stop = learner.n_labelled
        if learner.n_labelled >= (3 * EVERY if quick else LABELS):
            return {"labels": labels, "scores": scores, "stop": stop}
        rows = learner.ask(together)
        learner.answer(rows, y[pool[rows]])


# ---- costs -------------------------------------------------------------------------------------------


def cost(name: str, quick: bool) -> dict[str, Any]:
    """Question and answer with a model of `HELD` points, and fitting SVC to these points again."""
    one, (held, fits, n) = COSTS[name], (500, 1, 3) if quick else (HELD, FITS, QUESTIONS)
    X, y = one.load(binary=True)
    order = np.random.default_rng(0).permutation(len(y))[: held + ASKED]
    X, y = X[order], y[order]
    svc = SVC(C=one.C, gamma=one.gamma, cache_size=1000)
    refit = min(cpu_timed(lambda: svc.fit(X[:held], y[:held]))[1] for _ in range(fits))
    model = IncrementalSVC(C=one.C, gamma=one.gamma).fit(X[:held], y[:held])
    found = {"refit": refit, "n_support": len(model.support_), "margin": int(model.n_margin_[0]), "rules": {}}
    for rule in TIMED_RULES:
        seen = X[held : held + 59] if rule == "small_pool" else X[held:]
        score = cpu_timed(lambda seen=seen: svc.decision_function(seen))[1]
        ask, answer = loop(model, rule, X[held:], y[held:], n)
        found["rules"][rule] = {"ask": ask, "answer": answer, "score": score}
    return found


def large(rule: str, quick: bool) -> dict[str, Any]:
    """Questions to a pool of 100,000 rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(LARGE // 20 if quick else LARGE, LARGE_FEATURES))
    y = (np.sum(X[:, :10] ** 2, axis=1) > 10).astype(int)
    model = IncrementalSVC(C=10, gamma=0.01).fit(X[:LARGE_LABELS], y[:LARGE_LABELS])
    ask, answer = loop(model, rule, X[LARGE_LABELS:], y[LARGE_LABELS:], 3 if quick else QUESTIONS)
    return {"ask": ask, "answer": answer, "n_support": len(model.support_)}


def loop(model: IncrementalSVC, rule: str, pool: np.ndarray, y: np.ndarray, n: int) -> tuple[float, float]:
    """Mean seconds of a question and of an answer, in the fastest of some rounds. Answers are undone after a round."""
    found = []
    for k in range(ROUNDS):
        learner = ActiveLearner(model, rule, pool=pool, random_state=k)
        found.append(timed_round(learner, y, n))
        for _ in range(BEFORE + n):
            learner.undo()
    return min(found, key=sum)


def timed_round(learner: ActiveLearner, y: np.ndarray, n: int) -> tuple[float, float]:
    """Mean seconds of a question and of an answer. What answers leave to `advice` is part of them."""
    ask = answer = 0.0
    for _ in range(BEFORE):
        rows = learner.ask()
        learner.answer(rows, y[rows])
    learner.advice()
    for _ in range(n):
        rows, took = cpu_timed(learner.ask)
        ask += took
        answer += cpu_timed(lambda rows=rows: learner.answer(rows, y[rows]))[1]
    answer += cpu_timed(learner.advice)[1]
    return ask / n, answer / n


def jobs(quick: bool) -> list[Job]:
    """All runs: the curves of one set after the other, then the costs."""
    seeds = range(2 if quick else SEEDS)
    sizes = {"quick": quick, "sizes": (POOL, TEST, START, LABELS, EVERY, HELD, QUESTIONS, LARGE, LARGE_LABELS)}
    found = [Job("curve", {"name": n, "rule": rule, "seed": k}) for n, k, rule in product(CURVES, seeds, RULES)]
    found += [
        Job(
            "cost",
            {"name": name},
            more={"rows": ASKED, "fits": FITS, "rounds": ROUNDS, "before": BEFORE, "undone": True},
        )
        for name in COSTS
    ]
    found += [
        Job("large", {"rule": rule}, more={"rounds": ROUNDS, "before": BEFORE, "undone": True}) for rule in LARGE_RULES
    ]
    return [replace(job, how={"quick": quick}, more=job.more | sizes) for job in found]


# ---- page --------------------------------------------------------------------------------------------


def figure(path: Path, found: dict[str, Any]) -> None:
    """Scores against labels: mean and standard deviation over the seeds."""
    from benchmarks.plots import BLACK, BLUE, GREEN, RED, legend, plt

    fig, axes = plt.subplots(1, len(found), figsize=(3.1 * len(found), 3.4), layout="constrained")
    for axis, (name, rules) in zip(axes, found.items(), strict=True):
        for (title, runs), colour in zip(rules.items(), (BLACK, BLUE, RED, GREEN), strict=True):
            scores = np.array([run["scores"] for run in runs])
            labels, mean, sd = runs[0]["labels"], scores.mean(axis=0), scores.std(axis=0, ddof=1)
            axis.plot(labels, mean, color=colour, label=title, linestyle="--" if title == "random" else "-")
            axis.fill_between(labels, mean - sd, mean + sd, color=colour, alpha=0.13, linewidth=0)
        axis.set(title=name, xlabel="labels")
    balanced = [one.name for one in CURVES.values() if one.balanced]
    axes[0].set(ylabel=f"test accuracy, % ({', '.join(balanced)}: balanced)")
    legend(fig, *axes[0].get_legend_handles_labels())
    fig.savefig(path)


def markdown(result: dict[str, Any], name: str) -> str:
    """The page."""
    many = len(next(iter(next(iter(result["curves"].values())).values())))
    return "\n\n".join(
        [
            "# Active learning",
            writing.machine_lines(result["machine"], 1),
            "Program: `python -m benchmarks.active`. Seconds are CPU seconds of one thread; other "
            "programs shared the machine, which slows a run through caches and memory only. `IncrementalSVC` learns.",
            "## Learning curves",
            f"Pool of {POOL:,} rows, {START} random labels at the start; then each rule asks up to {LABELS} labels. "
            f"Accuracy in % on {TEST:,} other rows (ijcnn1, 10 % positive: balanced accuracy), mean ± standard "
            f"deviation over {many} random splits. pendigits has ten classes. *10 at a time*: batches with "
            "`diversity=0.5`.",
            f"![Test accuracy against the number of labels]({name}.png)",
            curve_table(result["curves"]),
            "*stop*: median number of labels at which `advice()` (checked every 20 labels) first advised to stop, in "
            "brackets the number of runs in which it did; *at stop*: mean score at that moment.",
            "## A question and its answer with 5,000 points",
            f"The model holds {HELD:,} points. Mean of {QUESTIONS} questions and answers and one call of `advice`, in "
            f"the fastest of {ROUNDS} rounds; after a round its answers are undone. The first {BEFORE} questions of a "
            "round compute kernel values that are kept; they are not counted. "
            f"`small_pool` looks at 59 rows of the pool, `margin` at all {ASKED:,}. "
            f"*SVC*: `sklearn.svm.SVC` fitted to the same 5,000 points (fastest of {FITS}) and the decision values of "
            "the same rows. *ratio to the fit alone*: as if these decision values cost nothing. *on the margin*: "
            "points whose coefficient is between its bounds.",
            cost_table(result["costs"]),
            "## A pool of 100,000 rows",
            f"{LARGE_FEATURES} features, two classes, {LARGE_LABELS} labels given before.",
            writing.table(
                ["rule", "question, ms", "answer, ms", "support vectors"],
                [
                    [r["rule"], f"{1e3 * r['ask']:.2f}", f"{1e3 * r['answer']:.2f}", str(r["n_support"])]
                    for r in result["large"]
                ],
            ),
        ]
    )


def curve_table(found: dict[str, Any]) -> str:
    rows = []
    for name, rules in found.items():
        for title, runs in rules.items():
            labels, scores = runs[0]["labels"], np.array([run["scores"] for run in runs])
            at = [labels.index(n) for n in shown(labels)]
            cells = [f"{scores[:, k].mean():.1f} ± {scores[:, k].std(ddof=1):.1f}" for k in at]
            stops = [(run["stop"], run["scores"][labels.index(run["stop"])]) for run in runs if run["stop"]]
            stop = f"{np.median([s for s, _ in stops]):.0f} ({len(stops)})" if stops else "-"
            rows.append([f"{name}: {title}", *cells, stop, f"{np.mean([s for _, s in stops]):.1f}" if stops else "-"])
    return writing.table(["", *(f"{n} labels" for n in shown(labels)), "stop", "at stop"], rows)


def shown(labels: list[int]) -> list[int]:
    """Numbers of labels in the table."""
    return [n for n in (40, 60, 100, 200) if n in labels]


def cost_table(found: list[dict[str, Any]]) -> str:
    header = ["", "question, ms", "answer, ms", "SVC, ms", "ratio", "ratio to the fit alone"]
    rows = []
    for one, (rule, r) in ((run, pair) for run in found for pair in run["rules"].items()):
        ours, theirs = r["ask"] + r["answer"], one["refit"] + r["score"]
        times = [f"{1e3 * r[key]:.2f}" for key in ("ask", "answer")]
        ratios = [f"{1e3 * theirs:,.0f}", f"{theirs / ours:.0f}", f"{one['refit'] / ours:.0f}"]
        rows.append([f"{one['name']}: {rule}", *times, *ratios, str(one["n_support"]), str(one["margin"])])
    return writing.table([*header, "support vectors", "on the margin"], rows)


def gathered(store: Store, quick: bool) -> dict[str, Any]:
    """Stored results in the form of the page."""
    found: dict[str, Any] = {"machine": environment.machine(), "costs": [], "large": [], "curves": {}}
    for job in jobs(quick):
        result = store.get(job)
        if result is not None and job.kind == "curve":
            runs = found["curves"].setdefault(job.at["name"], {}).setdefault(job.at["rule"], [])
            runs.append(result)
        elif result is not None:
            found["costs" if job.kind == "cost" else "large"].append({**job.at, **result})
    return found


def main() -> int:
    """Make the runs that are missing, write the page and the figure."""
    args = environment.resumable(environment.command_line(NAME, __doc__))
    wanted = jobs(args.quick)
    store = Store(Path("out") / NAME / ("quick.jsonl" if args.quick else "runs.jsonl"))
    if args.list:
        print("\n".join(job.path for job in wanted))
        return 0
    try:
        for job in [] if args.only_report else chosen(wanted, args.jobs):
            if args.fresh or store.get(job) is None:
                print(job.path, flush=True)
                store.put(job, globals()[job.kind](**job.at, **job.how))
    except FileNotFoundError as error:
        print(f"Nothing to do: {error}")
        return 0
    result, folder = gathered(store, args.quick), args.output or Path("results")
    if result["curves"]:
        writing.write_whole(folder / f"{NAME}.md", markdown(result, NAME).rstrip() + "\n")
        figure(folder / f"{NAME}.png", result["curves"])
        print(f"Written: {folder / NAME}.md and .png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
