"""One module for each scenario: `measure(contender, place, size)` in a process of its own."""
