"""A script of its own: serves one GGUF file by llama.cpp until its standard input closes.

`graph_agent.models.embedded` starts it. It imports nothing of the package, so that it is up in a
moment. Its first line on standard output is the address that it listens at.
"""

import os
import signal
import sys

import xllamacpp

ERRORS_ONLY = 1
"""llama.cpp's verbosity; what it says goes to standard error."""
CACHE_MIB = 1024
"""Memory for the prompts of other conversations, so that they need not be read again."""


def main(path: str, context_size: str, parallel: str, threads: str) -> None:
    """Load the model, say where it listens, and leave when the parent is gone."""
    # Ctrl-C in a terminal reaches this process too, but the parent decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = int(context_size) * int(parallel)
    params.n_parallel = int(parallel)
    params.cpuparams.n_threads = int(threads)
    params.use_jinja = True
    params.cache_ram_mib = CACHE_MIB
    params.verbosity = ERRORS_ONLY
    # No page in a browser has business here.
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # Taking the server down while it works would hang, or crash; there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
