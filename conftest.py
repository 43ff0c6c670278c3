"""Sets what has to stand in the environment of tests before anything is imported."""

import os
import signal

# Checkpoints hold plain data only, so they open where LangGraph trusts no other types.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# Counts are the same on every machine, whether or not it has the file of an encoding.
os.environ["TIKTOKEN_CACHE_DIR"] = ""
# A shell starts what runs in the background with Ctrl-C ignored, and processes inherit that; tests
# send it to those that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
