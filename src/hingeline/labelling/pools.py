"""Pools of examples: rows of a table, texts, images. What is shown of them, searched and exported."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._extras import optional
from ..base.inputs import BoundedGzip, Oversized, number_of
from .errors import ContentError

__all__ = ["IMAGE_TYPES", "FilePool", "ImagePool", "Pool", "TablePool", "TextPool", "read_pool"]

#: Content types of images by the ending of their names. SVG is left out: it may hold scripts.
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
#: Largest cell of a CSV file and largest text, in characters.
LONGEST = 10_000_000
#: Characters of a text or cell that the page shows.
SHOWN = 100_000
#: Characters that describe an example in a list.
SNIPPET = 160


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


class Pool:
    """Examples that a person may be asked to label.

    Attributes
    ----------
    name : str
        Name that the page shows.
    kind : {'table', 'text', 'image'}
        What the examples are.
    columns : sequence of str
        Names of the columns of :meth:`cells`.
    """

    kind = ""
    name: str
    columns: Sequence[str]

    def __len__(self) -> int:
        raise NotImplementedError

    def title(self, row: int) -> str:
        """Name of an example."""
        raise NotImplementedError

    def show(self, row: int) -> dict[str, Any]:
        """Content of an example for the page."""
        raise NotImplementedError

    def cells(self, row: int) -> list[str]:
        """Values of an example for exports."""
        raise NotImplementedError

    def words(self, row: int) -> str:
        """Text in which searches look."""
        return " · ".join(cell for cell in self.cells(row) if cell)

    def snippet(self, row: int) -> str:
        """One line that describes an example."""
        return " ".join(self.words(row)[: 2 * SNIPPET].split())[:SNIPPET]


class FilePool(Pool):
    """Files of a folder. Their names tell them apart.

    Parameters
    ----------
    folder : Path
        Folder.
    names : sequence of str
        Names of the files, relative to the folder.
    """

    columns: Sequence[str] = ("name",)

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.name, self.folder, self.names = folder.resolve().name, folder, names

    def __len__(self) -> int:
        return len(self.names)

    def title(self, row: int) -> str:
        return self.names[row]

    def cells(self, row: int) -> list[str]:
        return [self.names[row]]


class TablePool(Pool):
    """Rows of a table.

    Parameters
    ----------
    name : str
        Name of the pool.
    columns : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Cells; an empty string is a missing value.
    whole : TablePool, default=None
        The same rows with all columns, if some were left out.
    """

    kind = "table"

    def __init__(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], whole: TablePool | None = None
    ) -> None:
        self.name, self.columns, self.rows, self._whole = name, list(columns), rows, whole

    def __len__(self) -> int:
        return len(self.rows)

    def title(self, row: int) -> str:
        return f"Row {row}"

    def show(self, row: int) -> dict[str, Any]:
        return {"fields": [[name, _cut(cell)] for name, cell in zip(self.columns, self.rows[row], strict=True)]}

    def cells(self, row: int) -> list[str]:
        return list(self.rows[row])

    def snippet(self, row: int) -> str:
        """One line that describes an example; numbers have the names of their columns."""
        cells = zip(self.columns, self.rows[row], strict=True)
        named = (f"{name} {cell}" if is_number(cell) else cell[:SNIPPET] for name, cell in cells if cell)
        return " ".join(" · ".join(named).split())[:SNIPPET]

    def column(self, name: str) -> list[str]:
        """Cells of a column."""
        if name not in self.columns:
            raise ValueError(f"{self.name} has no column {name!r}. It has {', '.join(map(repr, self.columns))}.")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def drop_column(self, names: Sequence[str]) -> TablePool:
        """Pool without some columns."""
        for name in names:
            self.column(name)
        kept = [k for k, name in enumerate(self.columns) if name not in names]
        rows = [[row[k] for k in kept] for row in self.rows]
        return TablePool(self.name, [self.columns[k] for k in kept], rows, whole=self)

    def identity(self, n_rows: int) -> str:
        """Hash of the first rows, with all their columns."""
        if self._whole is not None:
            return self._whole.identity(n_rows)
        digest = hashlib.sha256(repr(self.columns).encode())
        for row in self.rows[:n_rows]:
            digest.update(repr(list(row)).encode())
        return digest.hexdigest()


class TextPool(FilePool):
    """Texts in a folder.

    Parameters
    ----------
    folder : Path
        Folder.
    names, texts : sequence of str
        Names of the files, and their contents.
    """

    kind = "text"
    columns = ("name", "text")

    def __init__(self, folder: Path, names: Sequence[str], texts: Sequence[str]) -> None:
        super().__init__(folder, names)
        self.texts = texts

    def show(self, row: int) -> dict[str, Any]:
        return {"text": _cut(self.texts[row])}

    def cells(self, row: int) -> list[str]:
        return [self.names[row], self.texts[row]]


class ImagePool(FilePool):
    """Images in a folder."""

    kind = "image"

    def show(self, row: int) -> dict[str, Any]:
        return {"image": f"image/{row}"}

    def path(self, row: int) -> Path:
        """File of an image."""
        return self.folder / self.names[row]

    def content_type(self, row: int) -> str:
        """Content type of an image, by the ending of its name."""
        return IMAGE_TYPES[self.path(row).suffix.lower()]


# ---- reading -------------------------------------------------------------------------------------------


def read_pool(path: Path, *, header: str = "auto", encoding: str = "utf-8") -> Pool:
    """Pool of a file or folder.

    Parameters
    ----------
    path : Path
        CSV file (also .tsv, and compressed as .gz), Parquet file, or folder of images or of texts.
    header : {'auto', 'yes', 'no'}, default='auto'
        Whether the first line of a CSV file holds the names of the columns. 'auto': if none of its cells is a number.
    encoding : str, default='utf-8'
        Encoding of CSV files and texts.

    Returns
    -------
    Pool
        The pool, with one example or more.
    """
    if path.is_dir():
        pool = _read_folder(path, encoding)
    elif path.suffix.lower() in (".parquet", ".pq"):
        pool = _read_parquet(path)
    else:
        pool = _read_csv(path, header, encoding)
    if not len(pool):
        raise ValueError(f"{path}: there are no examples.")
    return pool


def _read_csv(path: Path, header: str, encoding: str) -> TablePool:
    content = _unpack(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ContentError(path, line, f"not {encoding}. Give the encoding with --encoding.") from error
    rows = list(_csv_rows(path, text))
    if not rows:
        return TablePool(path.name, [], [])
    names = rows[0]
    if header == "yes" or (header == "auto" and not any(map(is_number, names))):
        del rows[0]
    else:
        names = [f"column {k}" for k in range(1, len(names) + 1)]
    return TablePool(path.name, _require_different(names), rows)


def _unpack(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return BoundedGzip(file).read()
    except Oversized as error:
        raise ValueError(f"{path}: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not a complete gzip file: {error}.") from error


def _csv_rows(path: Path, text: str) -> Iterator[list[str]]:
    """Yield the lines of a CSV file that are not empty, all with the same number of cells."""
    first = text[:LONGEST].partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    limit = csv.field_size_limit(LONGEST)  # of the whole process
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    width = 0
    try:
        for cells in reader:
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise ContentError(path, reader.line_num, f"{len(cells)} cells. The first line has {width}.")
            yield cells
    except csv.Error as error:
        raise ContentError(path, reader.line_num, f"{error}.") from error
    finally:
        csv.field_size_limit(limit)


def is_number(cell: str) -> bool:
    """Whether a cell is a number."""
    return number_of(cell) is not None


def _require_different(names: Sequence[str]) -> list[str]:
    """Names of columns, made different from one another and not empty."""
    found: dict[str, None] = {}
    for k, name in enumerate(names, 1):
        name = name.strip() or f"column {k}"
        while name in found:
            name = f"{name} ({k})"
        found[name] = None
    return list(found)


def _read_parquet(path: Path) -> TablePool:
    with optional(f"The Parquet file {path}"):
        from pyarrow import parquet
    table = parquet.ParquetFile(path).read()
    columns = [["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns]
    return TablePool(path.name, _require_different(table.column_names), list(zip(*columns, strict=True)))


def _read_folder(path: Path, encoding: str) -> Pool:
    names = sorted(_files(path))
    images = [name for name in names if Path(name).suffix.lower() in IMAGE_TYPES]
    texts = [name for name in names if name.lower().endswith(".txt")]
    if images and texts:
        raise ValueError(f"{path}: there are {len(images)} images and {len(texts)} texts. Put them into two folders.")
    if images:
        return ImagePool(path, images)
    if not texts:
        raise ValueError(f"{path}: there are no files that end in .txt, {', '.join(IMAGE_TYPES)}.")
    contents = [(path / name).read_bytes()[:LONGEST].decode(encoding, errors="replace") for name in texts]
    return TextPool(path, texts, contents)


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder and its subfolders; links that lead out of it are left out."""
    inside = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place) / name
            if not name.startswith(".") and path.resolve().is_relative_to(inside) and path.is_file():
                yield _check_name(path.relative_to(folder).as_posix())


def _check_name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The name of the file {name!r} is not UTF-8. Rename the file.") from error
    return name
