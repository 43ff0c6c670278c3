"""The tools of an agent: which there are, and how one call is run."""
