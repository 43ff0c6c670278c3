"""The API below `/api`: threads, their runs, interrupts, and what can be chosen."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, ConfigDict, Field

from graph_agent.agent import ReActAgent, new_thread_id
from graph_agent.errors import ThreadNotFoundError
from graph_agent.event_log import EventLog
from graph_agent.interrupts import InterruptQueue
from graph_agent.runs import Run, Runs
from graph_agent.server.sse import sse_response
from graph_agent.settings import RunOptions
from graph_agent.state import marked
from graph_agent.threads import ThreadInfo

router = APIRouter(prefix="/api")


class RunRequest(BaseModel):
    """The body that starts a run."""

    model_config = ConfigDict(extra="forbid")

    message: Annotated[str, Field(min_length=1)] | list[dict[str, Any]]
    """Text, or content blocks."""
    model: str | None = None
    """A model of the registry."""


class InterruptRequest(BaseModel):
    """A message for the run in progress."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, Field(min_length=1)]


class ThreadCreated(BaseModel):
    """A new thread."""

    thread_id: str


class InterruptAccepted(BaseModel):
    """A message that waits for the run."""

    id: str
    status: str = "queued"


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


@router.post("/threads", status_code=201)
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
async def read_thread(thread_id: str, agent: Agent, runs: AllRuns) -> dict[str, Any]:
    """Return a conversation's messages, and whether a run is in progress."""
    info = await _known(agent, thread_id)
    try:
        messages = (await agent.snapshot(thread_id)).values.get("messages", [])
    except ThreadNotFoundError:
        messages = []
    run = runs.newest(thread_id)
    return {
        "thread_id": thread_id,
        "title": info.title,
        "running": run is not None and run.running,
        "messages": [shown for message in messages if (shown := _shown(message))],
    }


@router.post("/threads/{thread_id}/runs", response_model=None)
async def start_run(
    thread_id: str,
    body: RunRequest,
    agent: Agent,
    runs: AllRuns,
    accept: Annotated[str, Header()] = "",
) -> StreamingResponse | JSONResponse:
    """Ask a question; its events come as Server-Sent Events, or, for JSON, its last one."""
    await _known(agent, thread_id)
    options = RunOptions(model=body.model)
    run = await runs.start(thread_id, body.message, options=options)
    if "application/json" in accept and "text/event-stream" not in accept:
        return await _last(run)
    return sse_response(run.log, after=run.log.first_id - 1)


@router.get("/threads/{thread_id}/events", response_model=None)
async def read_events(
    thread_id: str,
    agent: Agent,
    runs: AllRuns,
    last_event_id: Annotated[int, Header()] = 0,
) -> StreamingResponse:
    """Return the newest run's events again and on, after `Last-Event-ID`."""
    await _known(agent, thread_id)
    run = runs.newest(thread_id)
    return sse_response(run.log if run else EventLog(closed=True), after=last_event_id)


@router.post("/threads/{thread_id}/interrupts", status_code=202)
async def interrupt(
    thread_id: str, body: InterruptRequest, agent: Agent, runs: AllRuns
) -> InterruptAccepted:
    """Add a message to the run in progress."""
    run = runs.newest(thread_id)
    if run is None or not run.running:
        raise HTTPException(409, "No run is in progress on this thread; start one instead.")
    queued = await agent.interrupt(thread_id, body.content)
    return InterruptAccepted(id=queued.id)


@router.delete("/threads/{thread_id}/interrupts/{interrupt_id}", status_code=204)
async def recall(thread_id: str, interrupt_id: str, agent: Agent) -> Response:
    """Take back a message that still waits."""
    if not await InterruptQueue(await agent.store(), thread_id).recall(interrupt_id):
        raise HTTPException(409, "The message is no longer queued.")
    return Response(status_code=204)


@router.post("/threads/{thread_id}/cancel")
async def cancel(thread_id: str, runs: AllRuns) -> dict[str, bool]:
    """Stop the run in progress; the thread can go on."""
    return {"cancelled": await runs.cancel(thread_id)}


@router.get("/models")
async def list_models(agent: Agent) -> dict[str, Any]:
    """List what a run may choose, and what it uses otherwise."""
    model = agent.model
    return {
        "default": model.name,
        "models": sorted({model.name, *agent.models.specs}),
        "abilities": model.abilities.model_dump(),
        "context_size": model.context_size,
    }


@router.get("/tools")
async def list_tools(agent: Agent) -> list[dict[str, str]]:
    """List the tools on offer."""
    return [{"name": tool.name, "description": tool.description} for tool in agent.tools]


async def _known(agent: ReActAgent, thread_id: str) -> ThreadInfo:
    info = await agent.thread(thread_id)
    if info is None:
        raise ThreadNotFoundError(thread_id)
    return info


async def _last(run: Run) -> JSONResponse:
    """Wait for the run's end; an error becomes a problem document."""
    events = [numbered.event async for numbered in run.log.follow()]
    last = next(e for e in reversed(events) if e["event"] in {"done", "error"})
    if last["event"] == "done":
        return JSONResponse(last["data"])
    raise HTTPException(502, last["data"]["message"])


def _shown(message: BaseMessage) -> dict[str, Any] | None:
    """Return a message as a person sees it: no request of ours, no suppressed answer."""
    match message:
        case HumanMessage() if marked(message) != "reformat":
            return {"role": "user", "content": message.text}
        case AIMessage() if message.tool_calls or marked(message) == "answer":
            return {
                "role": "assistant",
                "content": message.text,
                "tool_calls": [
                    {"id": call["id"], "name": call["name"], "args": call["args"]}
                    for call in message.tool_calls
                ],
            }
        case ToolMessage():
            return {
                "role": "tool",
                "content": message.text,
                "name": message.name,
                "tool_call_id": message.tool_call_id,
                "status": message.status,
                "iter_elapsed": message.response_metadata.get("seconds"),
            }
    return None
