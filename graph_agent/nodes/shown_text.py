"""Keeps a tool call that a model writes in place of an answer from being shown."""

import re

from langchain_core.messages import AIMessage

from graph_agent.errors import ModelError
from graph_agent.protocols.actions import UnreadableError, read_actions
from graph_agent.tools.registry import ToolRegistry

MAYBE_CALL = re.compile(
    r"""\s*(?:                                      # nothing but space so far, or
        <(?:[|/\w]*(?:>\s*\{?.*)?)?                  # a tag, such as <tool_call>
      | `{1,3}(?:(?<=```)\w*\s*\{?.*)?              # a code fence, with an object in it
      | [\[{]\s*.*                                  # an object, or a list of them
    )?""",
    re.VERBOSE | re.DOTALL,
)
"""How a call written as text begins, also where only a part of its beginning is there."""
ENDS_LIKE_CALL = re.compile(r"(?:[}\]]|```|</\w+>)\s*$")
SAYS_CALL = re.compile(r'"type"\s*:\s*"(?:tool_call|function)"|<tool_call>')


class ShownText:
    """Passes a streamed answer on as it comes, but holds it back while it may be a call.

    What begins like JSON is held to its end; an answer in JSON then comes as a whole.
    """

    def __init__(self, tools: ToolRegistry) -> None:
        self._tools = tools
        self._held = ""
        self._passed = ""

    def more(self, text: str) -> str:
        """Take a piece, and return what can be shown now."""
        self._held += text
        if not self._passed and MAYBE_CALL.fullmatch(self._held):
            return ""
        return self._pass(self._held)

    def rest(self) -> str:
        """Return what was held back, once all is there; of a final answer, its text.

        Raises:
            ModelError: It is a call, or ends with one.
        """
        whole = self._passed + self._held
        if not ENDS_LIKE_CALL.search(whole) and not self._held:
            return ""
        return self._pass(self._read(whole))

    def _pass(self, text: str) -> str:
        self._passed, self._held = self._passed + text, ""
        return text

    def _read(self, whole: str) -> str:
        """Return what is still to be shown of the whole text."""
        try:
            actions = read_actions(AIMessage(whole))
        except UnreadableError:
            if SAYS_CALL.search(whole):
                raise ModelError("The model wrote half a call in place of an answer.") from None
            return self._held
        if SAYS_CALL.search(whole) or any(self._tools.get(call.tool) for call in actions.calls):
            raise ModelError("The model wrote a call in place of an answer.")
        return self._held if actions.calls or self._passed else actions.answer
