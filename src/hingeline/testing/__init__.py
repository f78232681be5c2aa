"""Checks for estimators that learn online.

:func:`check_online_estimator` does for ``partial_fit`` what :func:`sklearn.utils.estimator_checks.check_estimator` does
for ``fit``. Each check states one law: how a stream is cut into chunks does not matter, a copy made in the middle of a
stream goes on like the original, an error leaves the model unchanged, and so on. Which checks run depends on what the
estimator offers: class labels, ``sample_weight``, ``add`` and ``forget``, a callable kernel, ``cache_size``, a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest import SkipTest

from sklearn.base import BaseEstimator

from ..base.warn import warn
from . import behaviour, failures  # noqa: F401  (these modules add their checks to LAWS)
from .subject import LAWS, Subject

if TYPE_CHECKING:
    from pytest import MarkDecorator

__all__ = ["OnlineCheck", "check_online_estimator", "online_checks", "parametrize_with_online_checks"]


@dataclass(frozen=True)
class OnlineCheck:
    """One check: call it with an estimator. It raises AssertionError if the estimator breaks the law.

    Attributes
    ----------
    name : str
        Name of the check, with its case in brackets.
    function : callable
        Function that checks.
    case : tuple
        Further arguments of `function`.
    tol : float or None
        As in :func:`check_online_estimator`.
    attributes : tuple of str
        As in :func:`check_online_estimator`.
    """

    name: str
    function: Callable[..., None]
    case: tuple[str, ...] = ()
    tol: float | None = None
    attributes: tuple[str, ...] = ()

    def __call__(self, estimator: BaseEstimator) -> None:
        self.function(Subject(estimator, self.tol, self.attributes), *self.case)


def check_online_estimator(
    estimator: BaseEstimator,
    *,
    tol: float | None = None,
    attributes: Sequence[str] = (),
    expected_failed_checks: dict[str, str] | None = None,
) -> None:
    """Check that an estimator learns online as it should.

    Parameters
    ----------
    estimator : estimator
        Classifier or outlier detector with ``partial_fit``. It is cloned; ``gamma='scale'``, which depends on the first
        chunk, is replaced by a number.
    tol : float, default=None
        Largest difference of decision values, relative to the largest of them, between two ways to the same model, such
        as other chunks. 0: equal to the bit. None: 0, or 1e-8 for estimators that can ``forget``, which reach the same
        optimum with other rounding errors.
    attributes : sequence of str, default=()
        Fitted attributes that must agree to the bit wherever decision values must; ``'history_.step'`` names one column
        of a dict.
    expected_failed_checks : dict of str to str, default=None
        Checks that are left out, and the reason.

    Raises
    ------
    AssertionError
        If the estimator breaks one of the laws; a note has the name of the check.

    See Also
    --------
    parametrize_with_online_checks : The same as pytest parameters, one test per check.

    Examples
    --------
    >>> from hingeline import IncrementalOneClassSVM
    >>> from hingeline.testing import check_online_estimator
    >>> check_online_estimator(IncrementalOneClassSVM(nu=0.3), attributes=["support_", "dual_coef_"])
    """
    for check in online_checks(estimator, tol=tol, attributes=attributes):
        if check.name in (expected_failed_checks or {}):
            continue
        try:
            check(estimator)
        except SkipTest as reason:
            warn(f"{check.name} was skipped: {reason}")
        except Exception as error:
            error.add_note(f"in {check.name}")
            raise


def parametrize_with_online_checks(
    estimators: Iterable[BaseEstimator],
    *,
    tol: float | None = None,
    attributes: Sequence[str] = (),
    expected_failed_checks: Callable[[BaseEstimator], dict[str, str]] | None = None,
) -> MarkDecorator:
    """Pytest decorator: one test per estimator and check.

    Parameters
    ----------
    estimators : iterable of estimators
        Estimators to check.
    tol, attributes : optional
        As in :func:`check_online_estimator`.
    expected_failed_checks : callable, default=None
        Returns, for an estimator, the checks that fail and the reasons. These tests are strict expected failures.

    Returns
    -------
    pytest.MarkDecorator
        Decorator of a function with the arguments ``estimator`` and ``check``.

    Examples
    --------
    >>> from hingeline import LASVC
    >>> from hingeline.testing import parametrize_with_online_checks
    >>> @parametrize_with_online_checks([LASVC(gamma=0.5)])
    ... def test_online(estimator, check):
    ...     check(estimator)
    """
    import pytest

    parameters = []
    for estimator in estimators:
        expected = expected_failed_checks(estimator) if expected_failed_checks else {}
        for check in online_checks(estimator, tol=tol, attributes=attributes):
            reason = expected.get(check.name)
            marks = pytest.mark.xfail(reason=reason, strict=True) if reason else ()
            parameters.append(
                pytest.param(estimator, check, marks=marks, id=f"{' '.join(repr(estimator).split())}-{check.name}")
            )
    return pytest.mark.parametrize(("estimator", "check"), parameters)


def online_checks(
    estimator: BaseEstimator, *, tol: float | None = None, attributes: Sequence[str] = ()
) -> Iterator[OnlineCheck]:
    """Checks that apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        Classifier or outlier detector with ``partial_fit``.
    tol, attributes : optional
        As in :func:`check_online_estimator`.

    Yields
    ------
    OnlineCheck
        A check.
    """
    subject = Subject(estimator, tol, tuple(attributes))
    for law in LAWS:
        for case in law.cases(subject) if law.applies(subject) else ():
            name = law.function.__name__ + (f"[{case}]" if case else "")
            yield OnlineCheck(name, law.function, (case,) if case else (), tol, tuple(attributes))
