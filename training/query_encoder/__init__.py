"""The query encoder: the built-in embedder's weights with fixed states in the place of its instruction.

The embedder expects an instruction before every question, which is about half of the tokens of a usual one. What the
instruction adds to the attention hardly depends on the question, so its keys and values are averaged over many
questions and become constants of a graph, `src/longmind/providers/local/arctic-s.query.onnx`. So do the averages of a
quarter of the units between the two matrices of each layer, those that change the least. The graph has no weights of
its own beyond these and small vectors: matrices are read from the file of the embedder. Run
`python -m training.query_encoder` to write it again; it takes about a minute.

R@10 of turns on the development sets, with the embedder and its instruction, and with this encoder:

                vectors alone    fused with words (ranks)
    LoCoMo       71.1   71.6       69.8   69.9
    LongMemEval  81.4   82.5       87.1   88.2
    BEAM         53.4   55.3       50.1   49.6
    RealMem      29.6   30.9       30.0   29.6
"""
