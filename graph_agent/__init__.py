"""A ReAct agent engine as a LangGraph state machine."""
