"""One structured call under way: what was asked, what came, and what the endpoint refused."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.errors import ContextOverflowError, ModelRefusedError, ToolsRefusedError
from graph_agent.models.adaptation import is_about_the_schema
from graph_agent.models.language_model import LanguageModel
from graph_agent.structured.shape import Shape, UnfitError

Found = tuple[dict[str, Any], Any]
"""The data, and the value that they make."""
Form = Literal["tool_call", "json_schema", "json_object", "text"]
"""A way to ask for data."""

NOT_ABLE = {400, 404, 405, 415, 422, 501}
"""HTTP statuses with which an endpoint says that it cannot do what was asked."""


class NotAbleError(UnfitError):
    """The endpoint refused the form, not the request; the text quotes it."""


@dataclass(kw_only=True)
class Attempt:
    """Asks, and remembers."""

    model: LanguageModel
    messages: Sequence[BaseMessage]
    shape: Shape[Any]
    regex_fallback: Callable[[str], dict[str, Any] | None] | None
    replies: list[AIMessage] = field(default_factory=list)
    calls: int = 0
    """Requests so far, refused ones too."""
    raw: str = ""
    """What the model said last."""
    faults: list[str] = field(default_factory=list)
    """Why each reply, or request, was in vain."""
    _refused: dict[Form, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """In what words the endpoint refused a form, and the parameters that asked for it."""
    _taken: set[Form] = field(default_factory=set)

    async def ask(self, messages: Sequence[BaseMessage], form: Form, **call: Any) -> AIMessage:
        """Ask once; for any JSON in place of a schema that the endpoint refused before.

        Raises:
            NotAbleError: The endpoint cannot do it in this form.
            ModelError: It failed otherwise.
        """
        if self.model.endpoint.has_refused(call.get("response_format")):
            if not self.model.abilities.json_mode:
                raise NotAbleError("the endpoint refused this schema before")
            form, call["response_format"] = "json_object", {"type": "json_object"}
        self.calls += 1
        try:
            reply = await self.model.ask(messages, **call)
        except ModelRefusedError as error:
            if form == "text" or not _is_inability(error):
                raise
            if form not in self._taken:
                self._refused[form] = (str(error), call)
            raise NotAbleError(str(error)) from error
        self._taken.add(form)
        self.replies.append(reply)
        self.raw = reply.text or _arguments(reply)
        self._learn()
        return reply

    def read(self, candidates: Iterable[dict[str, Any]]) -> Found:
        """Return the first data that fit.

        Raises:
            UnfitError: Says why the first ones do not.
        """
        fault: UnfitError | None = None
        for raw in candidates:
            try:
                return self.shape.read(raw)
            except UnfitError as error:
                fault = fault or error
        raise fault or UnfitError("there is no JSON object")

    def _learn(self) -> None:
        """Remember what the endpoint lacks, now that it took the same request in another form."""
        endpoint = self.model.endpoint
        for form, (words, call) in self._refused.items():
            if form == "json_object":
                endpoint.rules = replace(endpoint.rules, json_object=False)
            elif form == "json_schema" and is_about_the_schema(words):
                endpoint.refuse(call["response_format"])
            elif form == "json_schema":
                endpoint.rules = replace(endpoint.rules, json_schema=False)
        self._refused.clear()
        self.model.learn()


def _is_inability(error: ModelRefusedError) -> bool:
    """Tell an endpoint that cannot do it so from one that would refuse the request anyhow."""
    if isinstance(error, ToolsRefusedError):
        return True
    return error.status in NOT_ABLE and not isinstance(error, ContextOverflowError)


def _arguments(reply: AIMessage) -> str:
    calls = [*reply.tool_calls, *reply.invalid_tool_calls]
    return "\n".join(
        call["args"] if isinstance(call["args"], str) else json.dumps(call["args"])
        for call in calls
    )
