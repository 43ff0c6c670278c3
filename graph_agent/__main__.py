"""`python -m graph_agent` is `graph-agent`."""

from graph_agent.cli import main

if __name__ == "__main__":
    main()
