"""Dates that messages name, resolved against the time at which they were said.

`words` and `rule` are the means; `numeric`, `months`, `years`, `holidays`, `days`, `periods`, `counted` and `recurring`
each hold one kind of date; `tense` tells past from future, `surroundings` reads what stands beside a date, and
`finding` runs them all. There is no library behind it: the sums are small, and libraries that search a whole text read
"may" and "sat" as dates.
"""

from longmind.language.dates.annotation import resolved
from longmind.language.dates.parser import find_dates, may_ask_for_dates
from longmind.language.dates.span import DateSpan, Distance, Relation

__all__ = ["DateSpan", "Distance", "Relation", "find_dates", "may_ask_for_dates", "resolved"]
