"""The one way to get data from a model: three levels, from a forced call down to plain text."""

from graph_agent.structured.call import StructuredCallResult as StructuredCallResult
from graph_agent.structured.call import structured_llm_call as structured_llm_call
from graph_agent.structured.shape import Schema as Schema
