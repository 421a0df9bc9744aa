"""Export archives over HTTP: written to a temporary file first, since a truncated archive is useless, and then sent."""

from __future__ import annotations

import tempfile
from typing import IO

from longmind.runtime.durable_files import translate_disk_error
from longmind.server.endpoint import (
    HttpResponse,
    OperationHandler,
    ReceivedRequest,
    read_request,
    send_response,
    to_error_response,
)
from longmind.server.observability.middleware import Message, Receive, Send

ZIP = "application/zip"
_IN_MEMORY = 4 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024


class ArchiveHandler(OperationHandler):
    """The handler of export_user_archive: writes in a thread of its own and sends the file in chunks.

    Once the response has started, no error can change its status. So the whole archive is written before, and a
    failure to write it is an ordinary problem.
    """

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        request = await read_request(scope, receive, self.shared)
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            response = await self.shared.hop.run_separately(self._write_archive, request, file)
            if response.status >= 400:
                await send_response(send, response)
                return
            headers = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            while chunk := await self.shared.hop(file.read, _CHUNK_BYTES):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    def _write_archive(self, request: ReceivedRequest, file: IO[bytes]) -> HttpResponse:
        try:
            identity, arguments = self.read_arguments(request)
            self.call(identity, {**arguments, "target": file})
        except OSError as error:
            translated = translate_disk_error(error, "the archive in the folder for temporary files")
            return to_error_response(translated, request.headers)
        except Exception as error:
            return to_error_response(error, request.headers)
        size = file.tell()
        file.seek(0)
        headers = {
            "content-type": ZIP,
            "content-length": str(size),
            "content-disposition": 'attachment; filename="export.zip"',
        }
        return HttpResponse(200, {**identity.headers, **headers}, b"")
