"""What a host may say about tool calls; a person too, where a hook asks one."""

from graph_agent.hooks.verdicts import (
    Allow,
    Ask,
    Change,
    Deny,
    Hooks,
    PostToolUse,
    PreToolUse,
    ToolOutcome,
    ToolUse,
    Verdict,
    called,
    decision,
    verdict_of,
)

__all__ = [
    "Allow",
    "Ask",
    "Change",
    "Deny",
    "Hooks",
    "PostToolUse",
    "PreToolUse",
    "ToolOutcome",
    "ToolUse",
    "Verdict",
    "called",
    "decision",
    "verdict_of",
]
