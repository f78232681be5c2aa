"""Fuzz the readers of model files guided by coverage: ``python -m tests.fuzz_atheris -runs=100000``.

Needs `atheris`. Arguments are those of libFuzzer. The first byte chooses the reader; checksums of our files are made to
match, so that the fuzzer gets behind them.
"""

import sys
import warnings
from contextlib import suppress

import numpy as np


def main():
    import atheris

    with atheris.instrument_imports(include=["hingeline.files"]):
        from hingeline.files import layout
    from .fuzz_models import read, use, valid_files, valid_texts

    def repaired(content):
        """The content with checksums that match, if its header can be read at all."""
        try:
            view = memoryview(content)
            header, begin = layout._header(view)
            texts = header.pop(layout.METADATA)
            layout._require_no_gaps(header, len(content) - begin)
            arrays = {name: layout._array(view, begin, name, entry) for name, entry in header.items()}
            kept = {name: text for name, text in texts.items() if name not in (layout.ARRAY_SUMS, layout.TEXT_SUM)}
            return b"".join(map(bytes, layout.pieces(kept, arrays)))
        except (ValueError, KeyError, TypeError, AttributeError):
            return content

    def one_input(data):
        reader, content = ("libsvm", data[1:]) if data[:1] < b"\x80" else ("own", repaired(data[1:]))
        with suppress(ValueError):
            use(read(reader, content))

    def mutate(data, max_size, seed):
        """Bytes of the fuzzer, or a valid file of which the fuzzer changes a part."""
        rng = np.random.default_rng(seed)
        if len(data) < 100 or rng.random() < 0.05:
            own = rng.random() < 0.5
            files = valid_files() if own else valid_texts()
            data = (b"\xff" if own else b"\0") + files[rng.integers(len(files))]
        return atheris.Mutate(data, max_size)

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    valid_files(), valid_texts()
    atheris.Setup([sys.argv[0], "-max_len=40000", "-timeout=10", *sys.argv[1:]], one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
