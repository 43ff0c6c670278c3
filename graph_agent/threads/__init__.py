"""Threads: the list of them, and what is done with one between its runs."""
