"""A server: its coroutines cannot be timed by a decorator, its storage can."""

import asyncio
import json
from typing import TYPE_CHECKING
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("async-server")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Journal:
    @_dft.log_init
    def __init__(self, path: str) -> None:
        self.stream = open(path, "a")

    @_dft.log
    def append(self, record: dict[str, object]) -> None:
        json.dump(record, self.stream)
        self.stream.flush()

    async def __aenter__(self) -> "Journal":
        return self

    async def __aexit__(self, *error: object) -> None:
        self.stream.close()


async def chunks(reader: asyncio.StreamReader) -> "AsyncIterator[bytes]":
    while data := await reader.read(1024):
        yield data


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with DFTracerFn("async-server", name="serve"):
        async with Journal("journal") as journal:
            async for data in chunks(reader):
                journal.append({"bytes": len(data)})


async def main() -> None:
    with DFTracerFn("async-server", name="main"):
        server = await asyncio.start_server(serve, port=8080)
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    if DFTRACER_ENABLE:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
    try:
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            pass  # Ctrl-C ends it
    finally:
        if DFTRACER_ENABLE:
            _dft_log.finalize()
