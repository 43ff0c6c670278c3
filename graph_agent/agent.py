"""The agent in Python: ask it, watch it, interrupt it, resume it; async, or from sync code."""

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.types import StateSnapshot

from graph_agent.answer_form import form_of, with_form
from graph_agent.backends import Backend, given_backend, open_backend
from graph_agent.bridge import iterate_sync, run_sync
from graph_agent.deps import Deps
from graph_agent.errors import ConfigError, ThreadNotFoundError
from graph_agent.events import WireEvent
from graph_agent.graph import compile_graph
from graph_agent.interrupts import Interrupt
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.registry import ModelRegistry
from graph_agent.per_loop import OncePerLoop
from graph_agent.question import Message, question, sendable
from graph_agent.result import AgentResult as AgentResult
from graph_agent.settings import RunOptions, Settings
from graph_agent.state import AgentState
from graph_agent.structured.shape import Schema, checked_form
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads import ThreadInfo, ThreadList, config_for
from graph_agent.threads import new_thread_id as new_thread_id
from graph_agent.tools.registry import Tool, ToolRegistry
from graph_agent.turns import LAST_EVENTS, Turns

Opened = tuple[Backend, AgentGraph]
"""What one event loop uses."""


class ReActAgent:
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
        )
        self._given = given_backend(checkpointer, store, self.settings.database)
        self._opened = OncePerLoop(self._open, _close)

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
        backend, _ = await self._opened.get()
        return await backend.add_to_run(thread_id, content)

    async def resume(
        self,
        thread_id: str,
        *,
        options: RunOptions | None = None,
        response_format: Schema | None = None,
    ) -> AgentResult:
        """Go on with an unfinished run from its last saved step; see `run` for the choices.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: Its last run is finished.
        """
        await self._expect_unfinished(thread_id)
        return await self._finished(thread_id, None, options, response_format)

    async def stream_resume(
        self, thread_id: str, *, options: RunOptions | None = None
    ) -> AsyncGenerator[WireEvent]:
        """Go on with an unfinished run and yield its further events; see `resume`, `stream`."""
        await self._expect_unfinished(thread_id)
        async with aclosing(self._reported(thread_id, None, options)) as events:
            async for event in events:
                yield event

    async def snapshot(self, thread_id: str) -> StateSnapshot:
        """Return a thread's state.

        Raises:
            ThreadNotFoundError: There is no such thread.
        """
        _, graph = await self._opened.get()
        snapshot = await graph.aget_state(config_for(thread_id))
        if not snapshot.values:
            raise ThreadNotFoundError(thread_id)
        return snapshot

    async def register(self, thread_id: str) -> None:
        """Put a new thread on the list before its first question."""
        await ThreadList(await self.store()).touch(thread_id)

    async def thread(self, thread_id: str) -> ThreadInfo | None:
        """Return a thread's line on the list, if there is such a thread."""
        return await ThreadList(await self.store()).get(thread_id)

    async def store(self) -> BaseStore:
        """Return where interrupts and the list of threads are kept."""
        backend, _ = await self._opened.get()
        return backend.store

    async def threads(self, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """List threads, the one used last first."""
        return await ThreadList(await self.store()).newest(limit, offset)

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

    async def _expect_unfinished(self, thread_id: str) -> None:
        snapshot = await self.snapshot(thread_id)
        if not snapshot.next and not snapshot.tasks:
            raise ConfigError(f"Thread {thread_id} has nothing to resume: its last run ended.")

    async def _reported(
        self, thread_id: str, message: HumanMessage | None, options: RunOptions | None
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
        self, thread_id: str, message: HumanMessage | None, options: RunOptions | None
    ) -> AsyncGenerator[WireEvent]:
        """Yield a run's events, then raise what ended it early."""
        backend, graph = await self._opened.get()
        turns = Turns(backend, graph, durability=self.settings.durability)
        async with aclosing(turns.events(thread_id, message, options)) as events:
            async for event in events:
                yield event

    def _asked(self, message: Message, options: RunOptions | None) -> HumanMessage:
        """Make the user's message, and check that the run's model can be sent it."""
        model = self.models.get(options.model) if options and options.model else self.model
        return sendable(question(message), vision=model.abilities.vision, model=model.name)

    async def _finished(
        self,
        thread_id: str | None,
        message: HumanMessage | None,
        options: RunOptions | None,
        response_format: Schema | None,
    ) -> AgentResult:
        """Run to the end and return what came of it."""
        options = with_form(options, response_format)
        async with aclosing(self._run(thread_id or new_thread_id(), message, options)) as events:
            told = [event async for event in events if event["event"] in LAST_EVENTS]
        done = next(event["data"] for event in told if event["event"] == "done")
        state = AgentState(**(await self.snapshot(done["thread_id"])).values)
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
