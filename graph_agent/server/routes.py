"""The API below `/api`: threads, their runs, interrupts, and what can be chosen."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse

from graph_agent.agent import ReActAgent, new_thread_id
from graph_agent.errors import ThreadNotFoundError
from graph_agent.events import Done
from graph_agent.interrupts import InterruptQueue
from graph_agent.plain_text import cleaned
from graph_agent.runs import Run, Runs
from graph_agent.server.bodies import (
    CancelOutcome,
    InterruptAccepted,
    InterruptRequest,
    ModelChoice,
    RunRequest,
    ThreadCreated,
    ThreadState,
    ToolInfo,
    shown,
)
from graph_agent.server.problems import problem, status_of
from graph_agent.server.sse import sse_response
from graph_agent.settings import RunOptions
from graph_agent.threads import ThreadInfo

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


Agent = Annotated[ReActAgent, Depends(the_agent)]
AllRuns = Annotated[Runs, Depends(the_runs)]


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
    """Return a conversation's messages, and whether a run is in progress."""
    info = await _known(agent, thread_id)
    try:
        messages = (await agent.snapshot(thread_id)).values.get("messages", [])
    except ThreadNotFoundError:
        messages = []
    run = runs.newest(thread_id)
    return ThreadState(
        thread_id=thread_id,
        title=info.title,
        running=run is not None and run.running,
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
    agent: Agent,
    runs: AllRuns,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> StreamingResponse | JSONResponse:
    """Ask a question; its events come as Server-Sent Events, or, for JSON, its `done` alone."""
    await _known(agent, thread_id)
    if body.model is not None:
        agent.models.get(body.model)  # An unknown one is the request's fault, not the run's.
    options = RunOptions(model=body.model, response_format=body.response_format)
    run = await runs.start(thread_id, body.message, options=options)
    if "application/json" in accept and "text/event-stream" not in accept:
        return await _last(run)
    return sse_response(run.log)


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
    run = runs.newest(thread_id)
    if run is None:
        raise HTTPException(
            HTTPStatus.NOT_FOUND, "No events of this thread are kept; read the thread instead."
        )
    return sse_response(run.log, after=last_event_id)


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
async def cancel(thread_id: str, agent: Agent, runs: AllRuns) -> CancelOutcome:
    """Stop the run in progress; the thread can go on."""
    await _known(agent, thread_id)
    return CancelOutcome(cancelled=await runs.cancel(thread_id))


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


async def _last(run: Run) -> JSONResponse:
    """Wait for the run's end; an error becomes a problem document."""
    data: dict[str, Any] = {}
    async for numbered in run.log.follow():
        if numbered.event["event"] in {"done", "error"}:
            data = numbered.event["data"]
    if "code" in data:
        return problem(status_of(data["code"]), data["message"], data["code"])
    return JSONResponse(cleaned(data))
