"""Rules that only some servers have, about messages; each returns a reason or None."""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import TypeAlias

from graph_agent.testing.replies import Json

Produced: TypeAlias = Mapping[str, Collection[str | None]]
"""Call id → every reasoning with which a call of that id was produced."""

_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


def developer_role_is_absent(body: Json) -> str | None:
    """No message has OpenAI's own role `developer`."""
    for index, message in enumerate(body["messages"]):
        if message["role"] == "developer":
            return (
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{index}].role: unknown variant `developer`, "
                "expected one of `system`, `user`, `assistant`, `tool`"
            )
    return None


def content_is_not_null(body: Json) -> str | None:
    """No message says `content: null`, as Ollama demands."""
    if any("content" in each and each["content"] is None for each in body["messages"]):
        return "invalid message content type: <nil>"
    return None


def content_is_not_empty(body: Json) -> str | None:
    """No text is the empty string, as Bedrock demands."""
    for index, message in enumerate(body["messages"]):
        if message.get("content") == "":
            return (
                f"The text field in the ContentBlock object at messages.{index}.content.0 is "
                "blank. Add text to the text field, and try again."
            )
    return None


def content_is_present(body: Json) -> str | None:
    """Every message has the key `content`."""
    for index, message in enumerate(body["messages"]):
        if "content" not in message:
            return (
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{index}]: missing field `content`"
            )
    return None


def assistants_are_not_empty(body: Json) -> str | None:
    """Every assistant message has text or calls, as Mistral demands."""
    for message in body["messages"]:
        if message["role"] == "assistant" and not (
            message.get("content") or message.get("tool_calls")
        ):
            return "Assistant message must have either content or tool_calls, but not none."
    return None


def system_comes_first(body: Json) -> str | None:
    """A system message is the first one, and the only one."""
    if any(message["role"] == "system" for message in body["messages"][1:]):
        return "System message must be at the beginning."
    return None


def user_speaks_first(body: Json) -> str | None:
    """After the system message comes a user's."""
    roles = [each["role"] for each in body["messages"] if each["role"] != "system"]
    if roles[:1] != ["user"]:
        return f"After the optional system message, expected a user message, got {roles[:1]}."
    return None


def user_or_tool_speaks_last(body: Json) -> str | None:
    """The last message is one that a model can reply to, as Mistral demands."""
    last = body["messages"][-1]["role"]
    if last not in ("user", "tool"):
        return f"Expected last role User or Tool for serving but got {last}"
    return None


def roles_alternate(body: Json) -> str | None:
    """No role other than tool speaks twice in a row."""
    roles = [message["role"] for message in body["messages"]]
    for index, (before, after) in enumerate(pairwise(roles), start=1):
        if before == after != "tool":
            return (
                "Conversation roles must alternate "
                f"user/assistant/user/assistant/...: messages[{index}] is a second {after}."
            )
    return None


def ids_are_mistrals(body: Json) -> str | None:
    """Call ids are nine letters or digits."""
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            if not _MISTRAL_ID.fullmatch(call["id"]):
                return (
                    f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
                )
    return None


def reasoning_comes_back(body: Json, produced: Produced) -> str | None:
    """A call message carries the reasoning it was produced with.

    Calls that `produced` does not know came from another process or model: any string will do.
    """
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            reasoning = message.get("reasoning_content")
            known = produced.get(call["id"])
            if reasoning not in known if known else not isinstance(reasoning, str):
                return (
                    "The `reasoning_content` in the thinking mode must be passed back to the API."
                )
    return None
