"""Local models, run by onnxruntime on this machine."""
