"""What an agent loop costs: ours beside those that others write. See `python -m benchmarks -h`."""
