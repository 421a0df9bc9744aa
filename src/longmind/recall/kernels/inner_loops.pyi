# The twins take and answer the same.
from longmind.recall.kernels.numpy_kernels import best as best
from longmind.recall.kernels.numpy_kernels import copy_values as copy_values
from longmind.recall.kernels.numpy_kernels import fine_likeness as fine_likeness
from longmind.recall.kernels.numpy_kernels import hold as hold
from longmind.recall.kernels.numpy_kernels import likeness as likeness
from longmind.recall.kernels.numpy_kernels import rank as rank
from longmind.recall.kernels.numpy_kernels import total as total
from longmind.recall.kernels.numpy_kernels import values as values
from longmind.recall.kernels.numpy_kernels import window_scores as window_scores
from longmind.recall.kernels.numpy_kernels import word_scores as word_scores

VERSION: int
KNOWS_PROCESSOR: int
