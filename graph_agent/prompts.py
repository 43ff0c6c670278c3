"""Every text that is sent to a model. Placeholders are filled with `str.format`."""

from typing import Literal

SYSTEM_PROMPT = (
    "You are a helpful assistant that answers questions with the help of tools, "
    "in the language of the question."
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

SAID_NOTHING = "Your last reply held neither a tool call nor an answer. Give one of them now."

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

STRUCTURED_ANSWER_SYSTEM = """You put the outcome of work that was done into data of a given form.
Take every value from the record of the work and from the answer. Invent nothing: what is not \
known is left out or null, where the form allows it."""

STRUCTURED_ANSWER_USER = """Question: {question}{interrupts}

Record of the work:
{trace}

Answer that the user was given:
{answer}"""

SYNTHESIS_SYSTEM = """You write the final answer to the user's question from a record of the \
work done.
Present the results directly, in Markdown. Do not mention tools, steps or the record, and do not \
say "based on". Write in the language of the question."""

SYNTHESIS_USER = """Question: {question}{interrupts}

Record of the work:
{trace}{draft}"""

SYNTHESIS_INTERRUPTS = "\n\nAdded by the user meanwhile:\n{content}"

SYNTHESIS_DRAFT = "\n\nDraft answer: {content}"

LIMIT_NOTE = "\n\n*Stopped at the limit of {limit}; this is what was found until then.*"

REPEATED_CALL = (
    "\n\n[You made this same call before, and the result was the same. Do not make it again: try "
    "something else, or answer with what you have.]"
)
"""Stands behind the result of a call that is made again and again."""

REMINDER = """[REMINDER]
Keep to the task: {question}{added}
Answer as soon as enough is known; until then, take only steps that the task needs."""

COMPLETION_CHECK = """[CHECK]
Before the answer goes out: is every part of the task answered by the results above?
The task: {question}{added}
If something is missing, call the tools for it now; else give the complete final answer again."""

GOAL_ADDED = "\nHeed also what the user added since, marked [USER INTERRUPT]."

EARLIER_STEPS = "[{count} earlier steps are left out]\n{summary}"

UNFINISHED = "The work is not finished. This is what was done and found:\n\n{steps}"

NOTHING_FOUND = "The model gave no answer, and no tool was used. Ask again, or differently."

SummaryHint = Literal["react_iteration", "general"]
"""What kind of text is summed up."""

SUMMARIZE: dict[SummaryHint, str] = {
    "react_iteration": (
        "You sum up the work that an assistant has done so far for a question, for the assistant "
        "itself, who goes on with it. Keep every fact, number, name and path that was found, what "
        "was tried and failed, and what is left to do. Write in the language of the conversation, "
        "in short sentences, and nothing but the summary."
    ),
    "general": (
        "You sum up the earlier part of a conversation for the assistant, who goes on with it. "
        "Keep what the user asked for and decided, and every fact, number and name that may be "
        "needed later. Write in the language of the conversation, in short sentences, and nothing "
        "but the summary."
    ),
}

SUMMARIZE_REQUEST = "{question}{so_far}To be summed up:\n{text}"

SUMMARY_QUESTION = "The question: {content}\n\n"

SUMMARY_SO_FAR = "Summary so far, to be kept and extended:\n{content}\n\n"

SUMMARY = "[Summary of what came before]\n{content}"

IMAGE = "[image]"
"""Stands for an image where only text is told."""

IMAGE_LEFT_OUT = "[image left out: this model reads no images]"

TRIMMED = "[{tokens} tokens cut here]"
"""Marks the place where a message was shortened to its head and tail."""

CALL_CANCELLED = "Cancelled before it finished; there is no result."
