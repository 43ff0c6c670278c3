"""Remembers what each endpoint takes, for the life of the process."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graph_agent.errors import ContextOverflowError, ModelRefusedError, ToolsRefusedError
from graph_agent.models.adaptation import adapted, refuses_the_schema, refuses_tools
from graph_agent.models.calibration import Calibration
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.failures import classify
from graph_agent.models.wire_rules import WireRules, rules_for

OVERFLOW_SHARE = 0.6
"""Share of a prompt that did not fit which the next one may take."""


class KnownEndpoint:
    """One model at one address, and the rules by which it takes requests.

    Its rules change by assignment alone, so that threads and event loops may share it.
    """

    def __init__(self, rules: WireRules | None = None) -> None:
        self.rules = rules or WireRules()
        """As they are known now; they change with what is refused."""
        self.refused_schemas: frozenset[str] = frozenset()
        """Digests of the `response_format`s that it refused for what their schemas hold."""
        self.calibration = Calibration()
        """How far off our count of a prompt's tokens is there."""
        self.prompt_limit: int | None = None
        """Tokens, by our count, that a prompt may take there; None: what is set up was never too
        much."""

    def rules_of(self, parameters: Mapping[str, Any]) -> WireRules:
        """Return the rules of one request: a schema that was refused is not sent again."""
        refused = self.has_refused(parameters.get("response_format"))
        return replace(self.rules, json_schema=False) if refused else self.rules

    def has_refused(self, form: Mapping[str, Any] | None) -> bool:
        """Tell whether a `response_format` was refused for what its schema holds."""
        if form is None or not self.refused_schemas:
            return False
        return _digest(form) in self.refused_schemas

    def refuse(self, form: Mapping[str, Any]) -> None:
        """Note that a `response_format` was refused for what its schema holds."""
        self.refused_schemas |= {_digest(form)}

    def take_again(self, form: Mapping[str, Any]) -> None:
        """Forget that it was refused."""
        self.refused_schemas -= {_digest(form)}

    def expect_tools(self) -> None:
        """Raise what the endpoint said when it refused tools, if it did.

        Raises:
            ToolsRefusedError: It takes no tools.
        """
        if not self.rules.tools:
            raise ToolsRefusedError(
                "The model's endpoint took no tools before, or its model wrote its calls as text. "
                "Set `abilities = { tool_call = false }` for the model in graph-agent.toml.",
                status=400,
            )

    def forget_tools(self) -> None:
        """Note that the endpoint takes no tools, or makes nothing of them."""
        self.rules = replace(self.rules, tools=False)

    def learn_overflow(self, tokens: int) -> None:
        """Note that a prompt of so many tokens, by our count, did not fit."""
        self.prompt_limit = int(OVERFLOW_SHARE * min(tokens, self.prompt_limit or tokens))

    def learn_about_tools(self, refusal: ModelRefusedError) -> None:
        """Find out whether any provider's refusal was about tools.

        Raises:
            ToolsRefusedError: It was.
        """
        about_form = not isinstance(refusal, ContextOverflowError | ToolsRefusedError)
        if about_form and refuses_tools(refusal.status, str(refusal)):
            self.forget_tools()
            raise ToolsRefusedError(str(refusal), status=refusal.status) from refusal


class Adapting:
    """One request, asked again by other rules for as long as its refusals say how."""

    def __init__(self, endpoint: KnownEndpoint, parameters: Mapping[str, Any]) -> None:
        """Begin a request.

        Args:
            endpoint: Who is asked.
            parameters: The request without its messages, as it is meant.
        """
        self._endpoint = endpoint
        self._parameters = parameters
        self._tried: list[tuple[WireRules, str]] = []

    @property
    def rules(self) -> WireRules:
        """By which to ask next."""
        return self._endpoint.rules_of(self._parameters)

    def after(self, refusal: EndpointError, used: WireRules, parameters: Mapping[str, Any]) -> None:
        """Change the rules so that the request may be asked again.

        Args:
            refusal: What the endpoint answered.
            used: The rules of the refused request.
            parameters: The refused request without its messages.

        Raises:
            ToolsRefusedError: It takes no tools: the request must be put in another way.
            EndpointError: The refusal itself: there is nothing left to change.
        """
        words, status = f"{refusal.message} {refusal.body}", refusal.status_code or 0
        self._tried.append((used, words))
        tried = [rules for rules, _ in self._tried]
        if self.rules not in tried:
            return  # another request has learned meanwhile
        too_long = isinstance(classify(refusal), ContextOverflowError)
        if not too_long and refuses_the_schema(status, words, parameters):
            self._endpoint.refuse(parameters["response_format"])
            return  # the rules for this schema alone are other ones now
        changed = None if too_long else adapted(self.rules, status, words, parameters)
        if changed is None or changed in tried:
            self._forget_what_did_not_help(words)
            raise refusal
        self._learn(changed)
        if changed.tools < used.tools:
            raise ToolsRefusedError(
                f"The model's endpoint takes no tools ({refusal.status_code}): {refusal.message}",
                status=refusal.status_code,
            ) from refusal
        if changed.images < used.images:
            raise refusal

    def _learn(self, rules: WireRules) -> None:
        """Let rules hold for the endpoint, but what is about this request's schema for it alone."""
        known = self._endpoint.rules
        if self.rules != known:
            rules = replace(rules, json_schema=known.json_schema)
        self._endpoint.rules = rules

    def _forget_what_did_not_help(self, words: str) -> None:
        """Take the last change back if the endpoint says the same as before it."""
        if len(self._tried) > 1 and self._tried[-2][1] == words:
            before = self._tried[-2][0]
            self._learn(before)
            if before.json_schema and self.rules != before:
                self._endpoint.take_again(self._parameters["response_format"])


def _digest(form: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


_ENDPOINTS: dict[tuple[str, str, WireRules], KnownEndpoint] = {}


def endpoint_at(base_url: str, model: str, given: Mapping[str, Any] | None = None) -> KnownEndpoint:
    """Return what is known of a model at an address; all who ask share it.

    Args:
        base_url: The address, with `/v1`.
        model: The name that it knows.
        given: Flags of `WireRules` that the config file sets.
    """
    rules = rules_for(base_url, given)
    return _ENDPOINTS.setdefault((base_url, model, rules), KnownEndpoint(rules))


def forget_endpoints() -> None:
    """Forget what was learned: who asks anew begins anew."""
    _ENDPOINTS.clear()
