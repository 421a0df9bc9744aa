"""The HTTP client: the memory of one user on a server, with the methods and the values of `longmind.Memory`.

A call passes `memory_client` (or its awaitable twin), `memory_requests`, which makes a request of the arguments and a
value of the answer, and `transports`, which sends it. `server_connection`, `retry_policy` and `problem_errors` decide
and wait for nothing, so both transports share them. Only `transports` knows the HTTP library.
"""
