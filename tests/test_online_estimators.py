"""Our online estimators pass the public battery `hingeline.testing`."""

import pytest

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier
from hingeline.testing import parametrize_with_online_checks

from .online import LIVELY

OPTIONS = {name: value for name, value in LIVELY.items() if name != "gamma"}
EXPANSION = (
    *("support_", "n_support_", "dual_coef_", "intercept_", "decision_scale_", "n_iter_", "stop_reason_"),
    *("history_.machine", "history_.step", "history_.n_support"),
)
POINTS = ("n_support_", "dual_coef_", "intercept_", "n_margin_", "n_samples_", "n_samples_seen_", "support_")


def battery(estimators, attributes):
    """All checks for the first estimator. Bad data is refused before options count: not repeated for the others."""
    names, parameters = parametrize_with_online_checks(estimators, attributes=attributes).args
    first, bad = parameters[0].values[0], ("check_bad_chunk", "check_bad_first_chunk")
    chosen = [one for one in parameters if one.values[0] is first or not one.values[1].name.startswith(bad)]
    return pytest.mark.parametrize(names, chosen)


@battery(
    [
        LASVC(**OPTIONS),
        LASVC(variant="g", multi_class="ovr", **OPTIONS),
        LASVC(variant="i", **OPTIONS),
        LASVC(variant="full", **OPTIONS),
        LASVC(variant="lasvm", multi_class="ovr", kernel="linear", **OPTIONS),
    ],
    attributes=(
        *EXPANSION,
        *(
            "duality_gap_",
            "duality_gap_target_",
            "effective_C_",
            "dual_objective_",
            "n_expansion_",
            "ramp_counts_",
            "n_kernel_evals_",
            "n_kernel_needed_",
        ),
        *(
            "history_.n_expansion",
            "history_.dual_objective",
            "history_.duality_gap",
            "history_.kernel_evals",
            "history_.kernel_needed",
        ),
    ),
)
def test_lasvc(estimator, check):
    check(estimator)


@battery(
    [
        KernelSGDClassifier(C=3.0),
        KernelSGDClassifier(C=3.0, variant="olsvm_reg", fit_intercept=True, average=True, multi_class="ovr"),
        KernelSGDClassifier(C=3.0, variant="norma", decay_first=True, average=True),
        KernelSGDClassifier(C=3.0, variant="norma_literal", kernel="poly", degree=2, coef0=1.0),
        KernelSGDClassifier(C=30.0, variant="pegaz", learning_rate="inverse", fit_intercept=True, average="all"),
    ],
    attributes=(*EXPANSION, "n_violations_", "truncated_", "history_.n_violations"),
)
def test_kernel_sgd(estimator, check):
    check(estimator)


@battery(
    [
        IncrementalSVC(C=3.0, window=25, window_rule="relevance"),
        IncrementalSVC(C=3.0, window=12, window_scope="class"),
        IncrementalSVC(C=0.5, kernel="linear"),
        IncrementalSVC(C=3.0, kernel="poly", degree=2, coef0=1.0, window=25, window_rule="oldest"),
    ],
    attributes=POINTS,
)
def test_incremental_svc(estimator, check):
    check(estimator)


@battery(
    [
        IncrementalOneClassSVM(nu=0.3),
        IncrementalOneClassSVM(C=0.1, shape="sphere", kernel="linear"),
        IncrementalOneClassSVM(C=0.1, kernel="poly", degree=2, coef0=1.0, window=30, window_rule="oldest"),
        IncrementalOneClassSVM(nu=0.3, shape="sphere", window=30, window_rule="relevance"),
    ],
    attributes=(*POINTS, "offset_"),
)
def test_incremental_one_class(estimator, check):
    check(estimator)
