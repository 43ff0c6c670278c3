"""Runs of a server: each as a task of its own, with events that any process can follow."""
