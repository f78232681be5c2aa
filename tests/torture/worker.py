"""Worker process: runs trials as it is asked on stdin, one line of JSON for each on stdout."""

import contextlib
import faulthandler
import io
import json
import os
import resource
import signal
import sys
import traceback
import warnings
import zlib

import numpy as np

from tests.torture.faults import Fault
from tests.torture.runner import campaign_module

#: Address space of a worker in bytes: a huge size in a damaged state is an error, not a busy machine.
MEMORY = 6 << 30
#: A process that waits is ended after this multiple of the limit: other processes may have all cores.
PATIENCE = 6


def generator(name, seed, case, number):
    """Random numbers of one trial."""
    return np.random.default_rng([seed, zlib.crc32(f"{name}/{case}".encode()), number])


def outcome(module, name, seed, case, number):
    """Outcomes of one trial with their counts, or its fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = module.trial(case, generator(name, seed, case, number), number)
    except BaseException as error:
        kind = "broken promise" if isinstance(error, Fault) else type(error).__name__
        return {"fault": kind, "message": f"{error}\n{_trace(error)}"}
    return {"outcomes": found if isinstance(found, dict) else {found: 1}}


def _trace(error):
    """Traceback with the notes and the causes of an error."""
    return "".join(traceback.format_exception(error))[-3000:]


def _limit_time(limit):
    """End this process, with a traceback, after seconds of work, or after a longer time without work."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + limit) + 1, resource.RLIM_INFINITY))
    faulthandler.dump_traceback_later(PATIENCE * limit, exit=True)


def main(name, limit):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write between the answers
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)
    module = campaign_module(name)
    for line in sys.stdin:
        seed, case, first, count = json.loads(line)
        for number in range(first, first + count):
            _limit_time(limit)
            with contextlib.redirect_stdout(io.StringIO()):
                found = outcome(module, name, seed, case, number)
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps(found), file=answers, flush=True)
            if "end" in found.get("outcomes", ()):
                break


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
