"""Which rules hold for which profile, in the order in which a request meets them."""

from collections.abc import Iterator

from graph_agent.testing import message_rules, request_rules, server_rules
from graph_agent.testing.message_rules import MESSAGE_RULES, Rule
from graph_agent.testing.profiles import Profile
from graph_agent.testing.refusal import Refusal
from graph_agent.testing.replies import Json
from graph_agent.testing.request_rules import REQUEST_RULES
from graph_agent.testing.server_rules import Produced

_BY_FLAG: tuple[tuple[str, Rule], ...] = (
    ("refuses_unknown_parameters", request_rules.parameters_are_known),
    ("refuses_unknown_parameters", message_rules.message_fields_are_known),
    ("refuses_developer_role", server_rules.developer_role_is_absent),
    ("refuses_null_content", server_rules.content_is_not_null),
    ("refuses_empty_content", server_rules.content_is_not_empty),
    ("refuses_absent_content", server_rules.content_is_present),
    ("refuses_empty_assistant", server_rules.assistants_are_not_empty),
    ("needs_json_word", request_rules.json_mode_is_announced),
    ("mistral_ids", server_rules.ids_are_mistrals),
)
_BY_TEMPLATE: tuple[tuple[str, Rule], ...] = (
    ("needs_system_first", server_rules.system_comes_first),
    ("needs_user_first", server_rules.user_speaks_first),
    ("needs_alternation", server_rules.roles_alternate),
    ("needs_reply_due", server_rules.user_or_tool_speaks_last),
)
"""Rules that a chat template enforces, so they fail with the profile's `template_status`."""


def find_refusal(body: Json, profile: Profile, produced: Produced) -> Refusal | None:
    """Say why the profile's server refuses the request, or None.

    What the server cannot do comes before what the client did wrong, as far as both hold.

    Args:
        body: The parsed request.
        profile: Whose rules hold.
        produced: The reasoning behind each call that this server made.
    """
    if not profile.checks:
        return None
    return next(_refusals(body, profile, produced), None)


def _refusals(body: Json, profile: Profile, produced: Produced) -> Iterator[Refusal]:
    yield from _inabilities(body, profile)
    flagged = [rule for flag, rule in _BY_FLAG if getattr(profile, flag)]
    for rule in (*REQUEST_RULES, *MESSAGE_RULES, *flagged):
        if reason := rule(body):
            yield Refusal(message=reason, malformed=True)
    for flag, rule in _BY_TEMPLATE:
        if getattr(profile, flag) and (reason := rule(body)):
            prefix = "Jinja Exception: " if profile.error_shape == "llamacpp" else ""
            yield Refusal(message=prefix + reason, status=profile.template_status, malformed=True)
    if profile.needs_reasoning_back and (
        reason := server_rules.reasoning_comes_back(body, produced)
    ):
        yield Refusal(message=reason, code="invalid_request_error", malformed=True)


def _inabilities(body: Json, profile: Profile) -> Iterator[Refusal]:
    tools = body.get("tools")
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if profile.refuses_tools and tools:
        yield profile.refuses_tools
    if profile.refuses_json_schema and kind == "json_schema":
        yield Refusal(message=profile.refuses_json_schema)
    if profile.refuses_json_with_tools and tools and kind in ("json_object", "json_schema"):
        yield Refusal(message=profile.refuses_json_with_tools)
    choice = body.get("tool_choice")
    if profile.refuses_auto_tool_choice and tools and choice in (None, "auto"):
        yield Refusal(message=profile.refuses_auto_tool_choice)
    if profile.refuses_forced_tool_choice and choice not in (None, "auto", "none"):
        yield Refusal(message=profile.refuses_forced_tool_choice)
