"""Optional libraries: which extra installs each, and the error where one is missing.

Nothing is imported but the standard library, so that the command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Extra of ``[project.optional-dependencies]`` in pyproject.toml by the name under which a library is imported.
EXTRAS = {
    "PIL": "label",
    "cupy": "cuda",
    "dask": "dask",
    "matplotlib": "plot",
    "onnx": "onnx",
    "pyarrow": "parquet",
    "rich": "progress",
    "river": "river",
    "skactiveml": "activeml",
    "skl2onnx": "onnx",
}
#: Names of distributions that differ from those of their modules.
DISTRIBUTIONS = {"PIL": "Pillow", "cupy": "cupy-cuda13x", "skactiveml": "scikit-activeml"}


@contextmanager
def optional(task: str) -> Iterator[None]:
    """Imports of optional libraries: an error names the library, and the extra that installs it.

    Parameters
    ----------
    task : str
        What needs the library: the begin of the message, in the singular.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            raise
        name = DISTRIBUTIONS.get(library, library)
        message = f'{task} needs {name}, which is not installed: pip install "hingeline[{EXTRAS[library]}]"'
        raise ImportError(message, name=error.name) from error
