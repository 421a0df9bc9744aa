"""Operations on events, on the queue of jobs, and on all that belongs to a user."""

from __future__ import annotations

from prove.kills.steps.memory import PARTS
from prove.kills.steps.step import Ask, Given, Known, Step, StepContext, always, plain

REMARK = "remark"
"""The kind of the jobs that leave their token in the ledger."""
DISTILL = "distill"
"""The kind of those that distill the events of a session."""
MOOD = "mood"


def _plan_nothing(ask: Ask, known: Known, by: StepContext) -> Given:
    return {}


def _event(ask: Ask, given: Given, token: str) -> Given:
    return {
        "ids": [ask("events.record", kind="note", data={"by": token}, tags=[token], text=f"{token} noted").event_id]
    }


def _events(ask: Ask, given: Given, token: str) -> Given:
    many = [{"kind": "note", "tags": [token], "text": f"{token} {part}"} for part in PARTS]
    return {"ids": [event.event_id for event in ask("events.record_many", events=many)]}


def _chat(ask: Ask, given: Given, token: str) -> Given:
    return {"ids": [ask("events.record_chat_user", text=f"{token} told", tags=[token]).event_id]}


def _state(ask: Ask, given: Given, token: str) -> Given:
    return {"ids": [ask("events.record_state", key=MOOD, value=token, tags=[token]).event_id]}


def _tool_result(ask: Ask, given: Given, token: str) -> Given:
    recorded = ask("events.record_tool_result", tool="look", outputs=[{"value": token}], tags=[token], message=token)
    return {"ids": [recorded.event_id]}


def _distill(ask: Ask, given: Given, token: str) -> Given:
    summary = ask("events.distill_long_term", summary_tag=token)
    return {"ids": [event_id] if (event_id := plain(summary).get("event_id")) else []}


def _job(ask: Ask, given: Given, token: str) -> Given:
    return {"id": ask("jobs.enqueue", kind=REMARK, payload={"token": token}, unique_key=token).id}


def _plan_distill_job(ask: Ask, known: Known, by: StepContext) -> Given:
    return {"session": by.session}


def _distill_job(ask: Ask, given: Given, token: str) -> Given:
    payload = {"token": token, "session": given["session"]}
    return {"id": ask("jobs.enqueue", kind=DISTILL, payload=payload, unique_key=token).id}


def _export(ask: Ask, given: Given, token: str) -> Given:
    return {"conversations": len(plain(ask("admin.export_user_data"))["conversations"])}


def _plan_archive(ask: Ask, known: Known, by: StepContext) -> Given:
    return {"file": str(known.folder / f"{by.token}.zip")}


def _archive(ask: Ask, given: Given, token: str) -> Given:
    return {"lines": sum(ask("admin.export_user_archive", target=given["file"]).values())}


def _erase(ask: Ask, given: Given, token: str) -> Given:
    erased = ask("admin.delete_user_data", confirm=True)
    report = plain(erased)
    receipt, physical = plain(report["receipt"]), plain(report["physical"])
    return {"receipt": {name: receipt[name] for name in ("id", "hash", "seq")}, "gone": physical["done"]}


STEPS = (
    Step("event", 3, _plan_nothing, _event),
    Step("events", 2, _plan_nothing, _events),
    Step("chat", 1, _plan_nothing, _chat),
    Step("state", 3, _plan_nothing, _state),
    Step("tool_result", 2, _plan_nothing, _tool_result),
    Step("distill", 1, _plan_nothing, _distill),
    Step("job", 3, _plan_nothing, _job, always),
    Step("distill_job", 3, _plan_distill_job, _distill_job, always),
    Step("export", 0.5, _plan_nothing, _export, always),
    Step("archive_file", 0.5, _plan_archive, _archive, only="process"),
    Step("erase", 0.6, _plan_nothing, _erase, always),
)
