"""The API below `/api`: threads, their runs, interrupts, and what can be chosen."""

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from graph_agent.agent import ReActAgent, new_thread_id
from graph_agent.errors import ApprovalNeededError, ConfigError, ThreadNotFoundError
from graph_agent.events import Done
from graph_agent.hooks.approvals import waiting_calls
from graph_agent.interrupts import InterruptQueue
from graph_agent.plain_text import cleaned
from graph_agent.runs.runs import Run, Runs
from graph_agent.server.bodies import (
    CancelOutcome,
    InterruptAccepted,
    InterruptRequest,
    ModelChoice,
    ResumeRequest,
    RunRequest,
    ThreadCreated,
    ThreadState,
    ToolInfo,
    shown,
)
from graph_agent.server.problems import problem, status_of
from graph_agent.server.sse import EventStream
from graph_agent.settings import RunOptions
from graph_agent.threads.listing import ThreadInfo

router = APIRouter(prefix="/api")

EVENT_STREAM = {
    "text/event-stream": {
        "schema": {
            "type": "string",
            "description": "The run's events: `id` a number that grows, `event` a name, `data` "
            "JSON. The last one is `end`; a comment comes where it is silent for long.",
        }
    }
}


def the_agent(request: Request) -> ReActAgent:
    """Return the agent that the app serves."""
    agent: ReActAgent = request.app.state.agent
    return agent


def the_runs(request: Request) -> Runs:
    """Return the app's runs."""
    runs: Runs = request.app.state.runs
    return runs


def wants_json(accept: Annotated[str, Header(include_in_schema=False)] = "") -> bool:
    """Tell whether the client waits for a run's `done` in place of its events."""
    return "application/json" in accept and "text/event-stream" not in accept


Agent = Annotated[ReActAgent, Depends(the_agent)]
AllRuns = Annotated[Runs, Depends(the_runs)]
WantsJson = Annotated[bool, Depends(wants_json)]


@router.post("/threads", status_code=HTTPStatus.CREATED)
async def create_thread(agent: Agent) -> ThreadCreated:
    """Begin a conversation."""
    thread_id = new_thread_id()
    await agent.register(thread_id)
    return ThreadCreated(thread_id=thread_id)


@router.get("/threads")
async def list_threads(
    agent: Agent,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[ThreadInfo]:
    """List conversations, the one used last first."""
    return await agent.threads(limit, offset)


@router.get("/threads/{thread_id}")
async def read_thread(thread_id: str, agent: Agent, runs: AllRuns) -> ThreadState:
    """Return a conversation's messages, and whether a run is in progress or waits for a person."""
    info = await _known(agent, thread_id)
    try:
        snapshot = await agent.snapshot(thread_id)
        messages, waiting = snapshot.values.get("messages", []), waiting_calls(snapshot)
    except ThreadNotFoundError:
        messages, waiting = [], []
    running = await runs.running(thread_id)
    return ThreadState(
        thread_id=thread_id,
        title=info.title,
        running=running,
        # A run that goes on by decisions is saved as waiting until its next step.
        approvals=[] if running else cleaned(waiting),
        messages=[seen for message in messages if (seen := shown(message))],
    )


@router.post(
    "/threads/{thread_id}/runs",
    response_model=None,
    responses={200: {"model": Done, "description": "The run", "content": EVENT_STREAM}},
)
async def start_run(
    thread_id: str,
    body: RunRequest,
    request: Request,
    agent: Agent,
    runs: AllRuns,
    as_json: WantsJson,
) -> Response:
    """Ask a question; its events come as Server-Sent Events, or, for JSON, its `done` alone."""
    await _known(agent, thread_id)
    if body.model is not None:
        agent.models.get(body.model)  # An unknown one is the request's fault, not the run's.
    options = RunOptions(model=body.model, response_format=body.response_format)
    run = await runs.start(thread_id, body.message, options=options)
    return await _told(run, request, as_json=as_json)


@router.post(
    "/threads/{thread_id}/resume",
    response_model=None,
    responses={200: {"model": Done, "description": "The run", "content": EVENT_STREAM}},
)
async def resume_run(
    thread_id: str,
    request: Request,
    agent: Agent,
    runs: AllRuns,
    as_json: WantsJson,
    body: ResumeRequest | None = None,
) -> Response:
    """Go on with a run that broke off, was cancelled or waits for decisions."""
    await _known(agent, thread_id)
    try:
        run = await runs.resume(thread_id, decisions=(body and body.decisions) or None)
    except ThreadNotFoundError:
        raise ConfigError(
            f"Thread {thread_id} has nothing to resume: it was asked nothing."
        ) from None
    return await _told(run, request, as_json=as_json)


@router.get(
    "/threads/{thread_id}/events",
    response_class=StreamingResponse,
    responses={200: {"description": "The newest run", "content": EVENT_STREAM}},
)
async def read_events(
    thread_id: str,
    agent: Agent,
    runs: AllRuns,
    last_event_id: Annotated[int, Header()] = 0,
) -> StreamingResponse:
    """Return the newest run's events again and on, after `Last-Event-ID`."""
    await _known(agent, thread_id)
    events = await runs.follow(thread_id, last_event_id)
    if events is None:
        raise HTTPException(
            HTTPStatus.NOT_FOUND, "No events of this thread are kept; read the thread instead."
        )
    return EventStream(events)


@router.post("/threads/{thread_id}/interrupts", status_code=HTTPStatus.ACCEPTED)
async def interrupt(thread_id: str, body: InterruptRequest, agent: Agent) -> InterruptAccepted:
    """Add a message to the run in progress."""
    await _known(agent, thread_id)
    queued = await agent.interrupt(thread_id, body.content)
    return InterruptAccepted(id=queued.id)


@router.delete("/threads/{thread_id}/interrupts/{interrupt_id}", status_code=HTTPStatus.NO_CONTENT)
async def recall(thread_id: str, interrupt_id: str, agent: Agent) -> None:
    """Take back a message that still waits."""
    await _known(agent, thread_id)
    if not await InterruptQueue(await agent.store(), thread_id).recall(interrupt_id):
        raise HTTPException(HTTPStatus.CONFLICT, "The message is no longer queued.")


@router.post("/threads/{thread_id}/cancel")
async def cancel(thread_id: str, agent: Agent, runs: AllRuns, response: Response) -> CancelOutcome:
    """Stop the run in progress, in whatever process; the thread can go on.

    The status is 202 where another process was asked and has not stopped it yet.
    """
    await _known(agent, thread_id)
    try:
        return CancelOutcome(cancelled=await runs.cancel(thread_id))
    except TimeoutError:
        response.status_code = HTTPStatus.ACCEPTED
        return CancelOutcome(cancelled=False)


@router.get("/models")
async def list_models(agent: Agent) -> ModelChoice:
    """List what a run may choose, and what it uses otherwise."""
    model = agent.model
    return ModelChoice(
        default=model.name,
        models=sorted({model.name, *agent.models.specs}),
        abilities=model.abilities,
        context_size=model.context_size,
    )


@router.get("/tools")
async def list_tools(agent: Agent) -> list[ToolInfo]:
    """List the tools on offer."""
    return [ToolInfo(name=tool.name, description=tool.description) for tool in agent.tools]


async def _known(agent: ReActAgent, thread_id: str) -> ThreadInfo:
    info = await agent.thread(thread_id)
    if info is None:
        raise ThreadNotFoundError(thread_id)
    return info


async def _told(run: Run, request: Request, *, as_json: bool) -> Response:
    """Tell a run to the client that started it, who takes it along where that is set so."""
    agent: ReActAgent = request.app.state.agent
    leave = run.cancel if agent.settings.on_disconnect == "cancel" else None
    if not as_json:
        return EventStream(run.log.follow(), over=leave)
    if leave is not None:
        await _ended_or_left(run, request)
        await leave()
    await run.ended.wait()
    return _outcome(run)


async def _ended_or_left(run: Run, request: Request) -> None:
    """Wait for a run's end, or until its client goes away."""
    waits = [asyncio.create_task(run.ended.wait()), asyncio.create_task(_left(request))]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


async def _left(request: Request) -> bool:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return True


def _outcome(run: Run) -> JSONResponse:
    """Return a run's `done`; an error or a pause becomes a problem document."""
    data = run.outcome
    if not data:
        raise ApprovalNeededError(run.thread_id, run.approvals)
    if "code" in data:
        return problem(status_of(data["code"]), data["message"], data["code"])
    return JSONResponse(cleaned(data))
