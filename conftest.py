"""Sets what has to stand in the environment of tests before anything is imported."""

import os

# Checkpoints hold plain data only, so they open where LangGraph trusts no other types.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# Counts are the same on every machine, whether or not it has the file of an encoding.
os.environ["TIKTOKEN_CACHE_DIR"] = ""
