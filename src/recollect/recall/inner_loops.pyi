# The twins take and answer the same.
from recollect.recall.plain_loops import best as best
from recollect.recall.plain_loops import fine_likeness as fine_likeness
from recollect.recall.plain_loops import hold as hold
from recollect.recall.plain_loops import kept_values as kept_values
from recollect.recall.plain_loops import likeness as likeness
from recollect.recall.plain_loops import rank as rank
from recollect.recall.plain_loops import total as total
from recollect.recall.plain_loops import values as values
from recollect.recall.plain_loops import word_scores as word_scores

VERSION: int
KNOWS_PROCESSOR: int
