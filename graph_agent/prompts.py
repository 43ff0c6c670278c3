"""Every text that is sent to a model. Placeholders are filled with `str.format`."""

SYSTEM_PROMPT = (
    "You are a helpful assistant. Use the tools when they help to answer, "
    "and answer in the language of the question."
)

JSON_MODE = """{system}

Each reply is exactly one JSON object, in one of two forms:
{{{first}"type": "tool_call", "tool": "<name>", "args": {{...}}{last}}} calls a tool; \
its result comes in the next message.
{{{first}"type": "final_answer", "answer": "<text>"{last}}} answers the user and ends the task.

Tools:
{tools}

You cannot compute, know the time or the user's data by yourself: call the tool first."""

JSON_MODE_NO_TOOLS = """{system}

Each reply is exactly one JSON object:
{{{first}"type": "final_answer", "answer": "<text>"{last}}}"""

OBSERVATION = "Observation: {content}"

REFORMAT = (
    "Your last reply could not be used: {fault}. Reply again with exactly one JSON object, "
    'either {{"type": "tool_call", "tool": "<name>", "args": {{…}}}} '
    'or {{"type": "final_answer", "answer": "<text>"}}, and nothing else.'
)

UNREADABLE_REASONING = "(could not parse LLM output as JSON)"

USER_INTERRUPT = "[USER INTERRUPT]\n{content}"

SELECT_TOOLS = """Choose the tools that can help with the user's request: at most {limit}, \
the most useful first. Use only names from this list.

{catalogue}"""

STRUCTURED_TOOL = "Give the result in the form that was asked for."

STRUCTURED_JSON = """Reply with one JSON object that fits this JSON schema, and nothing else:
{schema}"""

STRUCTURED_REFORMAT = (
    "Your previous response could not be parsed as valid JSON of the wanted form: {fault}. "
    "Reply again with the corrected JSON object only."
)

SYNTHESIS_SYSTEM = """You write the answer that the user reads. You are given the question and \
the trace of the work that was done for it.
Present the results directly, in Markdown, in the language of the question. \
Do not mention tools, steps, observations or a trace, and do not say "based on".
Use only what the trace holds. If it does not hold what was asked, say plainly what is missing."""

SYNTHESIS_USER = """Question:
{question}
{interrupts}
Trace:
{trace}

Write the answer to the question."""

SYNTHESIS_INTERRUPTS = "\nAdded by the user meanwhile:\n{content}\n"

LIMIT_NOTE = "\n\n*Stopped at the limit of {limit} iterations; this is what was found until then.*"

UNFINISHED = "The work is not finished. This is what was done and found:\n\n{steps}"

NOTHING_FOUND = "The model gave no answer, and no tool was used. Ask again, or differently."

TRIMMED = "[{tokens} tokens cut here]"
"""Marks the place where a message was shortened to its head and tail."""

CALL_CANCELLED = "Cancelled before it finished; there is no result."
