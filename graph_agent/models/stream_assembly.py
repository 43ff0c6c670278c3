"""Reads a streamed reply: text and reasoning as they come, calls and usage once they are whole.

Calls are held back to the end, for LangChain would mend one that was cut; the usage too, for it
adds up what some servers repeat in every piece.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.call_assembly import CallAssembly
from graph_agent.models.event_stream import BROKEN_OFF
from graph_agent.models.reasoning import reasoning_field, split_content
from graph_agent.models.reply import read_calls, read_usage, unreadable_places
from graph_agent.models.think_splitter import ThinkSplitter


class StreamAssembly:
    """Puts the pieces of one streamed reply together."""

    def __init__(self, known_names: Collection[str] = (), *, begins_thinking: bool = False) -> None:
        """Begin a reply.

        Args:
            known_names: What the model may call.
            begins_thinking: The opening tag of a think block may be missing.
        """
        self._calls = CallAssembly(known_names)
        self._splitter = ThinkSplitter(begins_thinking=begins_thinking)
        self._usage: Mapping[str, Any] | None = None
        self._finish_reason: str | None = None
        self._reasoning: list[str] = []
        self._text: list[str] = []

    def add(self, piece: Mapping[str, Any]) -> AIMessageChunk:
        """Take one piece, and return what it adds that may be shown at once."""
        self._usage = piece.get("usage") or self._usage
        choice = (piece.get("choices") or [None])[0] or {}
        delta = choice.get("delta") or {}
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        for call in delta.get("tool_calls") or []:
            self._calls.add(call)
        content = split_content(delta.get("content") or delta.get("refusal") or "")
        parts = self._splitter.feed(content.text)
        return self._chunk(reasoning_field(delta) + content.reasoning + parts.reasoning, parts.text)

    def end(self, *, on_purpose: bool) -> AIMessageChunk:
        """Return what was held back: the calls, the usage, and why the reply ended.

        Args:
            on_purpose: Whether the server said that the stream is over.

        Raises:
            ModelUnavailableError: Nothing says that the reply is whole.
        """
        if not on_purpose and self._finish_reason is None:
            raise ModelUnavailableError(BROKEN_OFF)
        said = self._chunk(*self._splitter.end())
        calls, invalid = read_calls(list(self._calls.calls()))
        # LangChain mends what it can of an object's text. That of a cut one is put into the text
        # of a JSON string, in which it finds no object; `read_arguments` finds none either.
        return AIMessageChunk(
            content=said.content,
            additional_kwargs=said.additional_kwargs,
            tool_call_chunks=[
                tool_call_chunk(
                    name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=number
                )
                for number, call in enumerate([*calls, *invalid])
            ],
            usage_metadata=read_usage(self._usage),
            response_metadata=self._metadata(),
        )

    def whole(self) -> AIMessage:
        """Return the reply, once it has ended, as if it had been no stream."""
        raw_calls = list(self._calls.calls())
        calls, invalid = read_calls(raw_calls)
        reasoning = "".join(self._reasoning).strip()
        return AIMessage(
            content="".join(self._text),
            tool_calls=calls,
            invalid_tool_calls=invalid,
            additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
            usage_metadata=read_usage(self._usage),
            response_metadata=self._metadata() | (unreadable_places(raw_calls) if invalid else {}),
            id=f"run-{uuid4()}",
        )

    def _chunk(self, reasoning: str, text: str) -> AIMessageChunk:
        self._reasoning.append(reasoning)
        self._text.append(text)
        kept = {"reasoning_content": reasoning} if reasoning else {}
        return AIMessageChunk(content=text, additional_kwargs=kept)

    def _metadata(self) -> dict[str, Any]:
        return {"finish_reason": self._finish_reason} if self._finish_reason else {}
