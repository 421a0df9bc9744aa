"""The share of answers that a summary keeps: `./dev bench summaries --data ../shared/bench`.

For each question, the share of the words of its answer that stand in the summaries of the sessions that hold it. `lead`
takes sentences from the beginning and `random` any; the rows with `dated` take them from what the extractive summariser
chooses among, with questions and courtesies left out and dates made whole. `rolling` folds all sessions of a history
into one summary, session by session.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.evaluation.corpus_loader import prepare_turns
from benchmarks.evaluation.dataset import Dataset, Question, Session, read_datasets
from benchmarks.measure import RESULTS, environment, load, table, write_json
from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.language.chat_text import parse_chat_text
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.summaries.extractive import ExtractiveSummariser
from longmind.summaries.sentence_selection import select_lines
from longmind.summaries.summary_line import SummaryLine, render_lines

OUTPUT = RESULTS / "summaries.json"
LIMITS = (500, 1_000, 2_000)
ROLLING_LIMITS = (2_000, 4_000, 8_000)
ROLLING_CORPORA = 5

Messages = Sequence[SourceMessage]
Summarise = Callable[[Messages, int], str]
_SUMMARISER = ExtractiveSummariser()


def main() -> None:
    options = _read_options()
    results: dict[str, Any] = {"environment": environment("longmind"), "load before": load(), "datasets": {}}
    for dataset in read_datasets(options.data):
        questions = [each for each in dataset.questions if each.category != "adversarial" and _list_words(each.answer)]
        measured = {
            "per session": _measure_sessions(dataset, questions),
            "rolling": _measure_rolling(dataset.limit(ROLLING_CORPORA), questions),
        }
        results["datasets"][dataset.name] = {**measured, "messages per second": _measure_speed(dataset)}
    results["load after"] = load()
    write_json(Path(options.output), results)
    _show(results["datasets"])


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"), help="a folder of conversations")
    parser.add_argument("--output", default=str(OUTPUT))
    return parser.parse_args()


def _summarise(messages: Messages, limit: int) -> str:
    return _SUMMARISER.summarise(None, messages, limit)


def _list_sentences(messages: Messages) -> list[SummaryLine]:
    return [
        SummaryLine("", "", sentence) for message in messages for sentence in parse_chat_text(message.text).sentences
    ]


def _take_first(lines: Sequence[SummaryLine], limit: int) -> str:
    return _fill(lines, range(len(lines)), limit)


def _take_random(lines: Sequence[SummaryLine], limit: int) -> str:
    return _fill(lines, random.Random(0).sample(range(len(lines)), len(lines)), limit)


def _fill(lines: Sequence[SummaryLine], order: Iterable[int], limit: int) -> str:
    chosen: list[int] = []
    told = ""
    for place in order:
        if len(told) + len(lines[place].text) > limit:
            continue
        more = render_lines(lines[each] for each in sorted([*chosen, place]))
        if len(more) <= limit:
            chosen.append(place)
            told = more
    return told


CONTENDERS: dict[str, Summarise] = {
    "extractive": _summarise,
    "lead": lambda messages, limit: _take_first(_list_sentences(messages), limit),
    "random": lambda messages, limit: _take_random(_list_sentences(messages), limit),
    "lead, dated": lambda messages, limit: _take_first(list(select_lines(messages)), limit),
    "random, dated": lambda messages, limit: _take_random(list(select_lines(messages)), limit),
    "all that was said": lambda messages, limit: "\n".join(message.text for message in messages),
}


def _measure_sessions(dataset: Dataset, questions: Sequence[Question]) -> dict[str, dict[int, float]]:
    sessions = {session.id: to_source_messages(session) for session in _list_sessions(dataset)}
    asked = {session_id for question in questions for session_id in question.gold_sessions}
    kept: dict[str, dict[int, float]] = {}
    for name, summarise in CONTENDERS.items():
        kept[name] = {}
        for limit in LIMITS:
            told = {session_id: _list_words(summarise(sessions[session_id], limit)) for session_id in asked}
            kept[name][limit] = _compute_share(
                (each.answer, [told[one] for one in each.gold_sessions]) for each in questions
            )
    return kept


def _measure_rolling(dataset: Dataset, questions: Sequence[Question]) -> dict[int, float]:
    """Measure one rolling summary of a whole history, into which each session is folded."""
    kept = {}
    for limit in ROLLING_LIMITS:
        told = {}
        for corpus, sessions in dataset.corpora.items():
            summary: str | None = None
            for session in sessions:
                summary = _SUMMARISER.summarise(summary, to_source_messages(session), limit)
            told[corpus] = _list_words(summary or "")
        kept[limit] = _compute_share((each.answer, [told[each.corpus]]) for each in questions if each.corpus in told)
    return kept


def _compute_share(answers: Iterable[tuple[str, Sequence[set[str]]]]) -> float:
    """Return the mean percentage of an answer's words that the summaries of its sessions contain."""
    shares = []
    for answer, told in answers:
        words = _list_words(answer)
        shares.append(len(words & set().union(*told)) / len(words))
    return round(100 * mean(shares), 1)


def _list_words(text: str) -> set[str]:
    return {stem_of(word) for word in words_of(text) if word not in STOP_WORDS}


def _list_sessions(dataset: Dataset) -> list[Session]:
    return list({session.id: session for corpus in dataset.corpora.values() for session in corpus}.values())


def _measure_speed(dataset: Dataset) -> int:
    talks = [to_source_messages(session) for session in _list_sessions(dataset)]
    began = time.process_time()
    for talk in talks:
        _summarise(talk, LIMITS[-1])
    return round(sum(map(len, talks)) / (time.process_time() - began))


def _show(datasets: Mapping[str, Any]) -> None:
    for name, measured in datasets.items():
        print(f"{name}: percent of the words of answers that are kept")
        rows = [(how, *shares.values()) for how, shares in measured["per session"].items()]
        print(table(("<a session in characters", *map(str, LIMITS)), rows))
        print(
            table(("<a history in characters", *map(str, ROLLING_LIMITS)), [("rolling", *measured["rolling"].values())])
        )
        print(f"{measured['messages per second']:,} messages a second of one core\n")


def to_source_messages(session: Session) -> list[SourceMessage]:
    """Return the turns of a session as the messages that a summariser reads."""
    first = session.turns[0].speaker
    return [
        SourceMessage(
            id=loaded.turn.id,
            role="user" if loaded.turn.speaker in ("user", first) else "assistant",
            text=loaded.text,
            said_at=to_micros(loaded.turn.at),
        )
        for loaded in prepare_turns(session)
    ]


if __name__ == "__main__":
    main()
