"""An export as a ZIP archive: written to a file first, since an archive that breaks off is none, and then sent."""

from __future__ import annotations

import tempfile
from typing import IO

from longmind.runtime.durable_files import translate_disk_error
from longmind.server.endpoint import Asked, Doing, Response, failure, read_request, send_response
from longmind.server.observability.middleware import Message, Receive, Send

ZIP = "application/zip"
_IN_MEMORY = 4 * 1024 * 1024
_PIECE = 256 * 1024


class SendArchive(Doing):
    """Writes archives in threads of their own, and sends them piece by piece."""

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        asked = await read_request(scope, receive, self.desk)
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            response = await self.desk.hop.run_separately(self._write, asked, file)
            if response.status >= 400:
                await send_response(send, response)
                return
            headers = [(name.lower().encode(), value.encode()) for name, value in response.headers.items()]
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            while piece := await self.desk.hop(file.read, _PIECE):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    def _write(self, asked: Asked, file: IO[bytes]) -> Response:
        try:
            identity, arguments = self.arguments(asked)
            self.call(identity, {**arguments, "target": file})
        except OSError as error:
            return failure(translate_disk_error(error, "the archive in the folder for temporary files"), asked.headers)
        except Exception as error:
            return failure(error, asked.headers)
        size = file.tell()
        file.seek(0)
        told = {
            "content-type": ZIP,
            "content-length": str(size),
            "content-disposition": 'attachment; filename="export.zip"',
        }
        return Response(200, {**identity.headers, **told}, b"")
