"""Learns from refusals what an endpoint takes: a table from the server's words to a rule."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graph_agent.models.wire_rules import WireRules

REFUSED = {400, 404, 405, 415, 422, 501}
"""HTTP statuses with which an endpoint says that it does not take a request of this form."""
TEMPLATE = re.compile(r"jinja|template|unsupported|not support|param", re.IGNORECASE)
"""What a status 500 must say to be about the request's form: chat templates fail with it."""
ABOUT_THE_SCHEMA = (
    r"invalid (json )?schema|in context=|unsupported json schema|features not supported"
    r"|schema (conversion|is too)|schema.{0,60}(too many|exceeds)|too many.{0,40}schema"
    r"|\bgrammar\b(?!\W*can be specified)|failed to initialize samplers"
    r"|\$ref\b|\bkeywords?\b(?! argument)"
)
"""How servers refuse one schema, for what it holds, and not all of them.

Heard from OpenAI, vLLM (xgrammar), llama.cpp, Gemini and Anthropic. Where it is wrongly taken for
such a refusal, each further schema costs a request; the other way round, none would be sent again.
"""
LONGEST_WORDS = 4_000
"""Characters of a refusal that are looked at."""
REFUSES = (
    r"(not (be )?|n't |un)(support|allow|permit|recogni|implement|enabl|available|accept|able)"
    r"|unknown|unexpected|unavailable|invalid|extra inputs|requires? |no endpoints"
)
"""How servers say no."""

Parameters = Mapping[str, Any]
Change = Callable[[WireRules, str], WireRules]


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """What to change where a refusal says certain words about something that was asked for."""

    words: re.Pattern[str]
    change: Change
    asked: Callable[[Parameters], bool] = lambda _: True
    """Whether the request had what the words are about."""


def adapted(rules: WireRules, status: int, words: str, parameters: Parameters) -> WireRules | None:
    """Return the rules by which the endpoint may take the request, or None.

    Args:
        rules: By which it was refused.
        status: HTTP status of the refusal.
        words: What the endpoint said; not about one schema, which no rule can mend.
        parameters: The request without its messages.
    """
    text = _told(words)
    if status not in REFUSED and not (status == 500 and TEMPLATE.search(text)):
        return None
    changes = (
        adaptation.change(rules, text)
        for adaptation in ADAPTATIONS
        if adaptation.asked(parameters) and adaptation.words.search(text)
    )
    return next((changed for changed in changes if changed != rules), None)


def is_about_the_schema(words: str) -> bool:
    """Tell whether an endpoint refused a JSON schema for what it holds: it may take another.

    >>> is_about_the_schema("Invalid schema for response_format 'x': 'oneOf' is not permitted.")
    True
    >>> is_about_the_schema("response_format of type json_schema is not supported")
    False
    """
    return _SCHEMA.search(_told(words)) is not None


def refuses_the_schema(status: int, words: str, parameters: Parameters) -> bool:
    """Tell whether a refusal is about the JSON schema that the request asked for.

    Args:
        status: HTTP status of the refusal; some servers call a schema's fault their own.
        words: What the endpoint said.
        parameters: The request without its messages.
    """
    asked = _wants("json_schema")(parameters) and (status in REFUSED or status == 500)
    return asked and is_about_the_schema(words)


def _told(words: str) -> str:
    return " ".join(words[:LONGEST_WORDS].split())


def _has(*names: str) -> Callable[[Parameters], bool]:
    return lambda parameters: all(parameters.get(name) is not None for name in names)


def _is_forced(parameters: Parameters) -> bool:
    return parameters.get("tool_choice") not in (None, "auto", "none")


def _wants(kind: str) -> Callable[[Parameters], bool]:
    return lambda parameters: (parameters.get("response_format") or {}).get("type") == kind


def _sets(**flags: Any) -> Change:
    return lambda rules, _: replace(rules, **flags)


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _says_no(about: str) -> re.Pattern[str]:
    """Match words that name `about` and say no, in either order."""
    return _words(rf"^(?=.*({about}))(?=.*({REFUSES}))")


def _unforce(rules: WireRules, text: str) -> WireRules:
    by_any = rules.forced_tool_choice == "named" and re.search(r"\b(required|any)\b", text)
    return replace(rules, forced_tool_choice="required" if by_any else "auto")


def _rename_limit(rules: WireRules, text: str) -> WireRules:
    renamed = rules.token_limit == "max_tokens"
    return replace(rules, token_limit="max_completion_tokens" if renamed else "max_tokens")


def _send_reasoning(rules: WireRules, text: str) -> WireRules:
    steps = {"never": "calls", "calls": "every_call"}
    wanted: Any = steps.get(rules.reasoning_back, rules.reasoning_back)
    return replace(rules, reasoning_back=wanted)


def _without_blanks(rules: WireRules, text: str) -> WireRules:
    tried = rules.call_without_text
    return replace(
        rules, blank_texts=False, call_without_text="null" if tried == "empty" else "filler"
    )


def _with_text(unfit: str) -> Change:
    """Return the change for a server that refuses one spelling of "no text"."""

    def change(rules: WireRules, text: str) -> WireRules:
        if rules.call_without_text != unfit:
            return rules
        return replace(rules, call_without_text="empty" if rules.blank_texts else "filler")

    return change


_SCHEMA = _words(ABOUT_THE_SCHEMA)
_COMBINED = r"combin|together|with|both|alongside|simultaneous|at the same time"
ADAPTATIONS = (
    Adaptation(
        words=_words(
            rf"(json|response.?format).{{0,60}}({_COMBINED}).{{0,40}}(tool|function)"
            rf"|(tool|function).{{0,60}}({_COMBINED}).{{0,40}}(json|response.?format)"
        ),
        asked=_has("tools", "response_format"),
        change=_sets(json_beside_tools=False),
    ),
    Adaptation(words=_words(r"tool.?choice"), asked=_is_forced, change=_unforce),
    Adaptation(
        words=_words(r"parallel.?tool.?calls"),
        asked=_has("parallel_tool_calls"),
        change=_sets(parallel_tool_calls=False),
    ),
    Adaptation(
        # `tools[0]…` is about one tool's form, not about tools.
        words=_says_no(r"\btools?(?![\w-]|[\[.]\w)|tool.?(use|call)|function.?call|tool choice"),
        asked=_has("tools"),
        change=_sets(tools=False),
    ),
    Adaptation(
        words=_words(
            rf"^(?!.*({ABOUT_THE_SCHEMA})).*"
            r"(response.?format|json.?schema|structured.?output|grammar|guided)"
        ),
        asked=_wants("json_schema"),
        change=_sets(json_schema=False),
    ),
    Adaptation(
        # A prompt without the word "json" is another fault.
        words=_words(r"^(?!.*must contain the word).*(response.?format|json.?(mode|object))"),
        asked=_wants("json_object"),
        change=_sets(json_object=False),
    ),
    Adaptation(
        words=_words(r"stream.?options|include.?usage"),
        asked=_has("stream_options"),
        change=_sets(stream_usage=False),
    ),
    Adaptation(
        words=_words(r"max_completion_tokens"),
        asked=lambda given: "max_tokens" in given or "max_completion_tokens" in given,
        change=_rename_limit,
    ),
    Adaptation(
        words=_says_no(r"temperature"), asked=_has("temperature"), change=_sets(temperature=False)
    ),
    Adaptation(
        words=_words(r"(only|must|requires?)\b.{0,40}\bstream|\bstream\b.{0,40}(must|only|requir)"),
        asked=lambda given: not given.get("stream"),
        change=_sets(stream_only=True),
    ),
    Adaptation(
        words=_words(
            r"reasoning.{0,80}(passed back|must be|missing|required)|missing.{0,20}reasoning"
        ),
        change=_send_reasoning,
    ),
    Adaptation(words=_says_no(r"reasoning"), change=_sets(reasoning_back="never")),
    Adaptation(
        words=_words(r"(system|developer) \w+.{0,40}(not (be )?(support|enabl|allow)|unsupported)"),
        change=_sets(system="user"),
    ),
    Adaptation(
        words=_words(
            r"system.{0,60}\b(beginning|first|start|only one|multiple)"
            r"|(only one|multiple).{0,20}system"
        ),
        change=lambda rules, _: replace(
            rules, system="first" if rules.system == "anywhere" else rules.system
        ),
    ),
    Adaptation(words=_words(r"alternat|consecutive|same role"), change=_sets(alternate_roles=True)),
    Adaptation(
        words=_words(r"\blast (role|message)|prefill|\bends? with (an? )?(user|assistant|model)"),
        change=_sets(assistant_last=False),
    ),
    Adaptation(
        words=_words(r"(expected|must (be|start|begin)|first).{0,60}\buser\b|roles must alternate"),
        change=_sets(user_first=True),
    ),
    Adaptation(
        words=_words(
            r"\bblank\b|non-?whitespace|(content|text)\b.{0,60}"
            r"(\bempty|non-?empty|at least 1 char|too short)"
        ),
        change=_without_blanks,
    ),
    Adaptation(
        words=_words(r"content.{0,80}(<nil>|\bnull\b|\bNone)|NoneType"), change=_with_text("null")
    ),
    Adaptation(
        words=_words(r"missing.{0,40}content|content.{0,40}(field required|is required|missing)"),
        change=_with_text("absent"),
    ),
    Adaptation(
        words=_words(r"(tool|function).?call.?ids?\b.{0,80}(length|long|must be|a-z|at most)"),
        change=_sets(short_ids=True),
    ),
    Adaptation(
        words=_says_no(r"image|vision|multi.?modal"),
        change=_sets(images=False),
    ),
    Adaptation(
        words=_words(r"(expected|must be) (a )?(valid )?string|invalid type: sequence"),
        change=_sets(content_lists=False),
    ),
)
"""In the order in which they are tried: what is said about a part comes before the whole."""


def refuses_tools(status: int | None, words: str) -> bool:
    """Tell from a refusal whether the endpoint takes no tools at all."""
    changed = adapted(WireRules(), status or 0, words, {"tools": []})
    return changed is not None and not changed.tools
