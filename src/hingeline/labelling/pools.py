"""Pools of examples: rows of a table, texts, images. What is shown of them, searched and exported."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["IMAGE_TYPES", "ImagePool", "Pool", "TablePool", "TextPool", "read_pool"]

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


class Pool:
    """Examples that a person may be asked to label.

    Parameters
    ----------
    name : str
        Name that the page shows.
    names : sequence of str
        Name of each example.
    """

    kind = ""
    #: Names of the columns of :meth:`cells`.
    columns: Sequence[str] = ("name",)

    def __init__(self, name: str, names: Sequence[str]) -> None:
        self.name, self.names = name, names

    def __len__(self) -> int:
        return len(self.names)

    def shown(self, row: int) -> dict[str, Any]:
        """Content of an example for the page."""
        raise NotImplementedError

    def cells(self, row: int) -> list[Any]:
        """Values of an example for exports."""
        return [self.names[row]]

    def words(self, row: int) -> str:
        """Text in which searches look."""
        return self.names[row]

    def snippet(self, row: int) -> str:
        """One line that describes an example."""
        return self.words(row)[:SNIPPET]

    def identity(self, n_rows: int) -> str:
        """Hash of the content of the first rows."""
        digest = hashlib.sha256(repr((self.kind, *self.columns)).encode())
        for row in range(n_rows):
            digest.update(repr(self._content(row)).encode())
        return digest.hexdigest()

    def _content(self, row: int) -> Any:
        return self.cells(row)


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
    """

    kind = "table"

    def __init__(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        super().__init__(name, range(len(rows)))  # type: ignore[arg-type]
        self.columns, self.rows = list(columns), rows

    def shown(self, row: int) -> dict[str, Any]:
        cells = [cell[:SHOWN] for cell in self.rows[row]]
        return {"fields": list(zip(self.columns, cells, strict=True))}

    def cells(self, row: int) -> list[Any]:
        return list(self.rows[row])

    def words(self, row: int) -> str:
        return " · ".join(cell for cell in self.rows[row] if cell)

    def column(self, name: str) -> list[str]:
        """Cells of a column."""
        if name not in self.columns:
            raise ValueError(f"{self.name} has no column {name!r}. It has {', '.join(map(repr, self.columns))}.")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def without(self, names: Sequence[str]) -> TablePool:
        """Pool without some columns."""
        for name in names:
            self.column(name)
        kept = [k for k, name in enumerate(self.columns) if name not in names]
        return TablePool(self.name, [self.columns[k] for k in kept], [[row[k] for k in kept] for row in self.rows])


class TextPool(Pool):
    """Texts, each with a name.

    Parameters
    ----------
    name : str
        Name of the pool.
    names, texts : sequence of str
        Names of the files, and their contents.
    """

    kind = "text"
    columns = ("name", "text")

    def __init__(self, name: str, names: Sequence[str], texts: Sequence[str]) -> None:
        super().__init__(name, names)
        self.texts = texts

    def shown(self, row: int) -> dict[str, Any]:
        return {"text": self.texts[row][:SHOWN]}

    def cells(self, row: int) -> list[Any]:
        return [self.names[row], self.texts[row]]

    def words(self, row: int) -> str:
        return f"{self.names[row]} · {self.texts[row]}"

    def snippet(self, row: int) -> str:
        return " ".join(f"{self.names[row]} · {self.texts[row][: 2 * SNIPPET]}".split())[:SNIPPET]


class ImagePool(Pool):
    """Images in a folder.

    Parameters
    ----------
    name : str
        Name of the pool.
    folder : Path
        Folder.
    names : sequence of str
        Names of the files, relative to the folder.
    """

    kind = "image"

    def __init__(self, name: str, folder: Path, names: Sequence[str]) -> None:
        super().__init__(name, names)
        self.folder = folder

    def shown(self, row: int) -> dict[str, Any]:
        return {"image": f"image/{row}"}

    def path(self, row: int) -> Path:
        """File of an image."""
        return self.folder / self.names[row]

    def content_type(self, row: int) -> str:
        """Content type of an image, by the ending of its name."""
        return IMAGE_TYPES[self.path(row).suffix.lower()]

    def _content(self, row: int) -> Any:
        return self.names[row], self.path(row).stat().st_size


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
        raise ValueError(f"{path} holds no examples.")
    return pool


def _read_csv(path: Path, header: str, encoding: str) -> TablePool:
    content = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not {encoding}. Give the encoding with --encoding.") from error
    rows = list(_csv_rows(path, text))
    if not rows:
        return TablePool(path.name, [], [])
    names = rows[0]
    if header == "yes" or (header == "auto" and not any(map(is_number, names))):
        del rows[0]
    else:
        names = [f"column {k}" for k in range(1, len(names) + 1)]
    return TablePool(path.name, _different(names), rows)


def _csv_rows(path: Path, text: str) -> Iterator[list[str]]:
    """Yield the lines of a CSV file that are not empty, all with the same number of cells."""
    first = text[:LONGEST].partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    csv.field_size_limit(LONGEST)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    width = 0
    try:
        for cells in reader:
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise ValueError(f"{path}, line {reader.line_num}: {len(cells)} cells. The first line has {width}.")
            yield cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}.") from error


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _different(names: Sequence[str]) -> list[str]:
    """Names of columns, made different from one another and not empty."""
    found: list[str] = []
    for k, name in enumerate(names, 1):
        name = name.strip() or f"column {k}"
        found.append(name if name not in found else f"{name} ({k})")
    return found


def _read_parquet(path: Path) -> TablePool:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path} is a Parquet file, which needs pyarrow: pip install pyarrow.") from error
    table = parquet.ParquetFile(path).read()
    columns = [["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns]
    return TablePool(path.name, _different(table.column_names), list(zip(*columns, strict=True)))


def _read_folder(path: Path, encoding: str) -> Pool:
    names = sorted(_files(path))
    images = [name for name in names if Path(name).suffix.lower() in IMAGE_TYPES]
    texts = [name for name in names if name.lower().endswith(".txt")]
    label = path.resolve().name
    if images and texts:
        raise ValueError(f"{path} holds {len(images)} images and {len(texts)} texts. Put them into two folders.")
    if images:
        return ImagePool(label, path, images)
    if not texts:
        raise ValueError(f"{path} holds no files that end in .txt, {', '.join(IMAGE_TYPES)}.")
    contents = [(path / name).read_bytes()[:LONGEST].decode(encoding, errors="replace") for name in texts]
    return TextPool(label, texts, contents)


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder and its subfolders; links that lead out of it are left out."""
    inside = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place) / name
            if not name.startswith(".") and path.resolve().is_relative_to(inside) and path.is_file():
                yield path.relative_to(folder).as_posix()
