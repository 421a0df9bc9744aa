"""Reading requests and writing responses: bodies, headers, parameters and limits."""
