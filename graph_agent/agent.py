"""The agent in Python: ask it, watch it, interrupt it, resume it; async, or from sync code."""

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.types import Command, StateSnapshot

from graph_agent.answer_form import form_of, with_form
from graph_agent.backends import given_backend, open_backend
from graph_agent.bridge import iterate_sync, run_sync
from graph_agent.deps import Deps
from graph_agent.ending_events import ending_events
from graph_agent.errors import ApprovalNeededError, ConfigError
from graph_agent.events import WireEvent
from graph_agent.graph import compile_graph
from graph_agent.hooks import Hooks, PostToolUse, PreToolUse
from graph_agent.hooks.approvals import Decisions, decided, waiting_calls
from graph_agent.interrupts import Interrupt, InterruptQueue, drained_ids
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.registry import ModelRegistry
from graph_agent.per_loop import OncePerLoop
from graph_agent.question import Message, question, sendable
from graph_agent.result import AgentResult as AgentResult
from graph_agent.settings import RunOptions, Settings
from graph_agent.state import AgentState
from graph_agent.structured.shape import Schema, checked_form
from graph_agent.threads.kept import KeptThreads, Opened
from graph_agent.threads.listing import new_thread_id as new_thread_id
from graph_agent.tools.registry import Tool, ToolRegistry
from graph_agent.turns import DRAIN, LAST_EVENTS, Turns

Asked = HumanMessage | Command[str] | None
"""What a run begins with: a question, or what goes on with a thread."""


class ReActAgent(KeptThreads):
    """Answers questions with tools; each thread is saved at every step and found by its id.

    >>> from graph_agent.testing import ScriptedChatModel
    >>> agent = ReActAgent(ScriptedChatModel(replies=["Hello!"]), database="memory:")
    >>> agent.run_sync("Hi").answer
    'Hello!'
    """

    def __init__(
        self,
        model: LanguageModel | BaseChatModel | str | None = None,
        tools: Iterable[Tool] = (),
        *,
        checkpointer: BaseCheckpointSaver[str] | None = None,
        store: BaseStore | None = None,
        models: ModelRegistry | None = None,
        fast_model: LanguageModel | BaseChatModel | None = None,
        response_format: Schema | None = None,
        pre_tool_use: PreToolUse | None = None,
        post_tool_use: PostToolUse | None = None,
        **settings: Any,
    ) -> None:
        """Set the agent up; nothing is opened yet.

        Args:
            model: A chat model, or a name that the registry knows; None takes what is set up.
            tools: LangChain tools, or plain typed functions with a docstring.
            checkpointer: Where threads are kept, in place of the `database` setting.
            store: Where interrupts are queued, in place of the `database` setting.
            models: The models that a run may choose by name.
            fast_model: Selects tools and summarises; None means `model`.
            response_format: A pydantic model or a JSON schema; see `build_graph`.
            pre_tool_use: Allows, denies or changes a tool call, or asks a person.
            post_tool_use: Changes what the model reads of a result.
            settings: Any setting by its name (see `Settings`).

        Raises:
            ConfigError: A setting, the model's name, a tool or the schema is wrong.
        """
        self.settings = Settings.load(keywords=settings)
        self._models = models = models or ModelRegistry(settings=self.settings)
        self._deps = Deps(
            model=models.wrapped(model),
            tools=ToolRegistry(tools),
            settings=self.settings,
            models=models,
            fast_model=models.wrapped(fast_model) if fast_model else None,
            response_format=checked_form(response_format),
            hooks=Hooks(pre_tool_use=pre_tool_use, post_tool_use=post_tool_use),
        )
        self._given = given_backend(checkpointer, store, self.settings.database)
        super().__init__(OncePerLoop(self._open, _close))

    @property
    def model(self) -> LanguageModel:
        """The model that the loop and the synthesis use."""
        return self._deps.model

    @property
    def models(self) -> ModelRegistry:
        """The models that a run may choose by name."""
        return self._models

    @property
    def tools(self) -> ToolRegistry:
        """The tools on offer."""
        return self._deps.tools

    async def run(
        self,
        message: Message,
        *,
        thread_id: str | None = None,
        options: RunOptions | None = None,
        response_format: Schema | None = None,
    ) -> AgentResult:
        """Ask a question and wait for the answer.

        Args:
            message: Text, or content blocks.
            thread_id: The conversation it belongs to; None begins a new one.
            options: Choices for this run only.
            response_format: A pydantic model or a JSON schema of an object: the result's
                `structured` then holds the answer as an instance or a dict that fits it.

        Raises:
            ConfigError: The message or the schema is one that the model cannot be sent.
            ModelError: The endpoint failed; what was done until then is saved.
            ThreadBusyError: A run is in progress on the thread.
            ApprovalNeededError: A person has to decide about a tool call; the run is paused.
        """
        asked = self._asked(message, options)
        return await self._finished(thread_id, asked, options, response_format)

    async def stream(
        self,
        message: Message,
        *,
        thread_id: str | None = None,
        options: RunOptions | None = None,
    ) -> AsyncGenerator[WireEvent]:
        """Ask a question and yield the run's events; the last ones are `done` or `error`, `end`.

        Whoever closes the iteration early cancels the run.

        Raises:
            ConfigError: The message or the schema is one that the model cannot be sent.
            ThreadBusyError: A run is in progress on the thread.
        """
        thread_id = thread_id or new_thread_id()
        asked, options = self._asked(message, options), with_form(options, None)
        async with aclosing(self._reported(thread_id, asked, options)) as events:
            async for event in events:
                yield event

    async def interrupt(self, thread_id: str, content: str) -> Interrupt:
        """Add a message to the run in progress on a thread; it is answered in the same run.

        Raises:
            NotRunningError: No run is in progress, in this process or another of the database.
            ConfigError: The message is empty.
        """
        return await (await self.backend()).add_to_run(thread_id, content)

    async def resume(
        self,
        thread_id: str,
        *,
        decisions: Decisions | None = None,
        options: RunOptions | None = None,
        response_format: Schema | None = None,
    ) -> AgentResult:
        """Go on with an unfinished run from its last saved step; see `run` for the choices.

        A run that had ended goes on where messages were added to it that nobody has answered. One
        that waits for a person goes on with `decisions`: `"allow"` or `"deny"` for all calls, or
        for each by its `interrupt_id` `"allow"`, `"deny"`, `{"deny": why}` or `{"args": {…}}`.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: Its last run is finished, and nothing was added; or a decision is none.
            ApprovalNeededError: A decision is missing, or the run waits again.
            ThreadBusyError: A run is in progress on the thread.
        """
        step = await self._step_to_resume(thread_id, decisions)
        return await self._finished(thread_id, step, options, response_format)

    async def stream_resume(
        self,
        thread_id: str,
        *,
        decisions: Decisions | None = None,
        options: RunOptions | None = None,
    ) -> AsyncGenerator[WireEvent]:
        """Go on with an unfinished run and yield its further events; see `resume`, `stream`."""
        step = await self._step_to_resume(thread_id, decisions)
        async with aclosing(self._reported(thread_id, step, options)) as events:
            async for event in events:
                yield event

    def run_sync(self, message: Message, **choices: Any) -> AgentResult:
        """Ask from a script or a notebook cell; see `run`."""
        return run_sync(self.run(message, **choices))

    def stream_sync(self, message: Message, **choices: Any) -> Generator[WireEvent, None, None]:
        """Watch from a script or a notebook cell; see `stream`. `close` cancels the run."""
        return iterate_sync(self.stream(message, **choices))

    async def aclose(self) -> None:
        """Close the database and the models' connections; the agent may be used again."""
        await self._opened.close()
        await self.models.aclose()
        for model in (self._deps.model, self._deps.fast_model):
            if model is not None:
                await model.aclose()

    def close(self) -> None:
        """Close from sync code; see `aclose`."""
        run_sync(self.aclose())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _step_to_resume(
        self, thread_id: str, decisions: Decisions | None
    ) -> Command[str] | None:
        """Return what goes on with a thread's last run."""
        snapshot = await self.snapshot(thread_id)
        if snapshot.interrupts:
            self._expect_hook(thread_id, snapshot)
            return decided(thread_id, snapshot, decisions)
        if decisions is not None:
            raise ConfigError(f"Nothing of thread {thread_id} waits for a decision.")
        if snapshot.next or snapshot.tasks:
            return None
        queued = await InterruptQueue(await self.store(), thread_id).pending()
        if {item.id for item in queued} <= drained_ids(snapshot.values["messages"]):
            raise ConfigError(f"Thread {thread_id} has nothing to resume: its last run ended.")
        return DRAIN

    def _expect_hook(self, thread_id: str, snapshot: StateSnapshot) -> None:
        """Refuse to go on without the hook that asked: nobody would look at the decisions."""
        asked = any("call_id" in call for call in waiting_calls(snapshot))
        if asked and self._deps.hooks.pre_tool_use is None:
            raise ConfigError(
                f"Thread {thread_id} waits for a decision about tool calls, and this agent has no "
                "`pre_tool_use`. Set it up as it was when the run paused, then resume."
            )

    async def _reported(
        self, thread_id: str, message: Asked, options: RunOptions | None
    ) -> AsyncGenerator[WireEvent]:
        """Yield a run's events and end quietly after an `error`: the event has told it."""
        ended = False
        try:
            async with aclosing(self._run(thread_id, message, options)) as events:
                async for event in events:
                    ended = ended or event["event"] == "end"
                    yield event
        except Exception:
            if not ended:
                raise

    async def _run(
        self, thread_id: str, message: Asked, options: RunOptions | None
    ) -> AsyncGenerator[WireEvent]:
        """Yield a run's events, then raise what ended it early."""
        backend, graph = await self._opened.get()
        turns = Turns(backend, graph, durability=self.settings.durability)
        told = set[str]()
        async with aclosing(turns.events(thread_id, message, options)) as events:
            async for event in events:
                told.add(event["event"])
                if event["event"] == "end" and not told & {"done", "error"}:
                    for last in await self._untold(thread_id, message):
                        yield last
                yield event

    async def _untold(self, thread_id: str, step: Asked) -> list[WireEvent]:
        """Return what was to be told before the `end` of a run that told neither `done` nor error.

        Raises:
            ConfigError: There was nothing to do.
        """
        snapshot = await self.snapshot(thread_id)
        if snapshot.interrupts:
            return []  # It waits for a person.
        if step is DRAIN:
            raise ConfigError(f"Thread {thread_id} has nothing to resume: it was recalled.")
        # It had ended, and its process died before that was saved as a step.
        state = AgentState(**snapshot.values)
        return ending_events(state, thread_id, now=self._deps.now())

    def _asked(self, message: Message, options: RunOptions | None) -> HumanMessage:
        """Make the user's message, and check that the run's model can be sent it."""
        model = self.models.get(options.model) if options and options.model else self.model
        return sendable(question(message), vision=model.abilities.vision, model=model.name)

    async def _finished(
        self,
        thread_id: str | None,
        message: Asked,
        options: RunOptions | None,
        response_format: Schema | None,
    ) -> AgentResult:
        """Run to the end and return what came of it."""
        options, thread_id = with_form(options, response_format), thread_id or new_thread_id()
        async with aclosing(self._run(thread_id, message, options)) as events:
            told = [event async for event in events if event["event"] in LAST_EVENTS]
        snapshot = await self.snapshot(thread_id)
        done = next((event["data"] for event in told if event["event"] == "done"), None)
        if done is None:
            raise ApprovalNeededError(thread_id, waiting_calls(snapshot))
        state = AgentState(**snapshot.values)
        return AgentResult.of(
            done,
            state,
            system_prompt=self.settings.system_prompt,
            response_format=form_of(options) or self._deps.response_format,
        )

    async def _open(self) -> Opened:
        backend = self._given or await open_backend(self.settings.database)
        graph = compile_graph(self._deps, checkpointer=backend.checkpointer, store=backend.store)
        return backend, graph


async def _close(opened: Opened) -> None:
    await opened[0].close()
