"""The live view of a run on a terminal: what it does now, what it has done, the answer."""

from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from graph_agent.cli.rendering import Tail, answer_markdown, call_line, footer
from graph_agent.cli.safe_text import one_line
from graph_agent.events import WireEvent

REFRESHES = 8
"""Times a second that the moving part is drawn."""


class LiveView:
    """Shows what happens in a part that moves, and leaves what happened above it.

    Args:
        console: The terminal.
        answers: Whether the answer is shown too, not only the progress.
    """

    def __init__(self, console: Console, *, answers: bool) -> None:
        self._console = console
        self._answers = answers
        self._answer = ""
        self._calls: dict[str, Text] = {}
        self._live = self._new_live()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, event: WireEvent) -> None:
        """Show an event."""
        data = event["data"]
        match event["event"]:
            case "step":
                self._show_step(data)
            case "answer":
                self._show_answer(data["status"], data)
            case "phase":
                self._move(_spinner(one_line(data["phase"]).replace("_", " ")))
            case "inject":
                self._leave(Text(f"» {one_line(data['content'])}", style="yellow"))
            case "compact":
                kept, before = data["kept_messages"], data["original_messages"]
                self._leave(Text(f"compacted {before} messages to {kept}", style="dim"))
            case "done":
                self._live.stop()
                self._leave(footer(data))
            case "error" | "end":
                # After the end of a run that waits for a person, a question may be shown.
                self._live.stop()

    def _show_step(self, data: dict[str, Any]) -> None:
        if data["type"] == "iteration":
            self._show_call(data, done=data["status"] == "done")
        elif data["status"] == "start":
            self._move(_spinner("thinking" if data["type"] == "thinking" else "writing"))

    def _show_call(self, data: dict[str, Any], *, done: bool) -> None:
        if done:
            self._calls.pop(data["call_id"], None)
        else:
            self._calls[data["call_id"]] = call_line(data, width=self._console.width)
        self._move(Group(*(Spinner("dots", line) for line in self._calls.values())))
        if done:
            self._leave(call_line(data, width=self._console.width))

    def _show_answer(self, status: str, data: dict[str, Any]) -> None:
        if not self._answers:
            self._move(_spinner("writing the answer"))
        elif status == "done":
            self._move(Text())
            self._leave(answer_markdown(self._answer))
            self._answer = ""
        else:
            self._answer = self._answer + data["content"] if status == "delta" else ""
            # Drawn at the next refresh: pieces come faster than Markdown is worth drawing.
            self._moving().update(Tail(self._answer))

    def _move(self, renderable: RenderableType) -> None:
        self._moving().update(renderable, refresh=True)

    def _moving(self) -> Live:
        """Return the part that moves; a stopped one remembers where it was, so a new one begins."""
        if not self._live.is_started:
            self._live = self._new_live()
            self._live.start()
        return self._live

    def _new_live(self) -> Live:
        return Live(console=self._console, transient=True, refresh_per_second=REFRESHES)

    def _leave(self, renderable: RenderableType) -> None:
        self._console.print(renderable, markup=False, highlight=False)


def _spinner(text: str) -> Spinner:
    return Spinner("dots", Text(text, style="dim"))
