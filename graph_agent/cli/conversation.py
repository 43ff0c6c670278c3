"""Follows one thread's runs to their end, and asks the person at the terminal where one waits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

import typer

from graph_agent.agent import ReActAgent
from graph_agent.cli.exit_codes import ExitCode
from graph_agent.cli.follow import Events, follow
from graph_agent.cli.safe_text import one_line
from graph_agent.cli.views import View, Views
from graph_agent.errors import ApprovalNeededError
from graph_agent.events import Approval, End
from graph_agent.hooks.approvals import Decisions, waiting_calls

Follow: TypeAlias = Callable[[Events, View, str], Awaitable[ExitCode | None]]
Calls: TypeAlias = list[dict[str, Any]]


class Conversation:
    """Asks a thread, or goes on with it, in one view.

    Args:
        agent: Whom to ask.
        runner: Where the agent lives.
        thread_id: The thread.
        views: Where the runs are shown.
        follow: Shows a stretch of a run.
    """

    def __init__(
        self,
        agent: ReActAgent,
        runner: asyncio.Runner,
        thread_id: str,
        views: Views,
        *,
        follow: Follow = follow,
    ) -> None:
        self._agent = agent
        self._runner = runner
        self._thread_id = thread_id
        self._views = views
        self._follow = follow
        self.waits = False
        """Whether the run has been left waiting for a person."""

    def ask(self, question: str) -> ExitCode:
        """Ask a question and follow its run."""
        return self._to_the_end(self._agent.stream(question, thread_id=self._thread_id), {})

    def resume(self, everything: str | None, each: Mapping[str, Any] | None = None) -> ExitCode:
        """Go on with an unfinished run.

        Args:
            everything: What is decided about all calls that wait, `"allow"` or `"deny"`.
            each: What is decided about calls by their ids, whatever is decided about all.
        """
        given = dict(each or {})
        if everything and given:
            ids = [call["interrupt_id"] for call in self._waiting()]
            given = dict.fromkeys(ids, everything) | given
        events = self._resumed(given or everything)
        return self._to_the_end(events, given)

    def _to_the_end(self, events: Events, given: Mapping[str, Any]) -> ExitCode:
        while True:
            try:
                code = self._runner.run(self._shown(events))
                waiting = [] if code is not None else self._waiting()
            except ApprovalNeededError as error:
                code, waiting = None, error.approvals
                self._show(waiting)
            if code is not None or not waiting:
                return ExitCode.INTERNAL if code is None else code
            decisions = self._decided(waiting, given)
            if decisions is None:
                self.waits = True
                typer.echo(_waiting_line(waiting, self._thread_id), err=True)
                return ExitCode.STOPPED
            events, given = self._resumed(decisions), {}

    async def _shown(self, events: Events) -> ExitCode | None:
        return await self._follow(events, self._views, self._thread_id)

    def _resumed(self, decisions: Decisions | None) -> Events:
        return self._agent.stream_resume(self._thread_id, decisions=decisions)

    def _waiting(self) -> Calls:
        return waiting_calls(self._runner.run(self._agent.snapshot(self._thread_id)))

    def _show(self, waiting: Calls) -> None:
        """Tell again what waits: the run that told it has ended long ago."""
        for call in waiting:
            if "call_id" in call:
                self._views.show(Approval(**call).wire())
        self._views.show(End().wire())

    def _decided(self, waiting: Calls, given: Mapping[str, Any]) -> Decisions | None:
        person = self._views.person
        if person is None:
            return None
        if by_itself := [call for call in waiting if "call_id" not in call]:
            # A tool that asks by itself takes one answer, and no ids.
            answer = person.decide(by_itself[:1])
            return answer and next(iter(answer.values()))
        decisions = person.decide(waiting)
        return decisions and {**given, **decisions}


def _waiting_line(waiting: Iterable[Mapping[str, Any]], thread_id: str) -> str:
    names = ", ".join(f"`{one_line(call.get('tool_name', 'a tool'))}`" for call in waiting)
    return (
        f"waiting: a person has to decide about {names}; go on with "
        f"`graph-agent resume {one_line(thread_id)} --allow` or `--deny`"
    )
