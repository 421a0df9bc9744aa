"""Dates that messages and questions name, resolved against the day on which they were said.

`time_words` and `rule` hold the means. `numeric`, `months`, `years`, `holidays`, `days`, `periods`, `relative` and
`recurrence` each hold the rules for one kind of date. `tense` finds out whether a date is past or to come, `modifiers`
reads the words next to a date, and `parser` runs them all. `annotation` writes what was found into a text.

No library does this: the arithmetic is small, and libraries that search running text take "may" and "sat" for dates.
"""

from longmind.language.dates.annotation import resolve_dates
from longmind.language.dates.parser import find_dates, may_ask_for_dates
from longmind.language.dates.span import DateSpan, Distance, Relation

__all__ = ["DateSpan", "Distance", "Relation", "find_dates", "may_ask_for_dates", "resolve_dates"]
