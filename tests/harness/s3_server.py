"""A server that speaks S3's protocol on loopback, and remembers what it was asked."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import ThreadedMotoServer
from pyarrow import fs


class S3Server:
    """Runs in a thread; what it holds is in memory."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.requests: list[tuple[str, str]] = []
        # While it is down it rejects everything, at once: clients try again when they do not reach a server.
        self.is_down = False
        # As servers that speak only a part of the protocol.
        self.ignores_conditions = False
        # S3 checks a condition and writes in one step, moto in two.
        self._conditional = threading.Lock()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)

    def __enter__(self) -> S3Server:
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        assert self._server._server is not None
        self._server._server.app = self._noting(self._server._server.app)
        self.files = fs.S3FileSystem(
            access_key="key",
            secret_key="not to be seen",
            endpoint_override=f"{host}:{port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        self.files.create_dir(self.bucket)
        return self

    def __exit__(self, *reason: object) -> None:
        self._server.stop()

    def hadoop_settings(self) -> dict[str, str]:
        """What users of Spark set."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.secret.key": "not to be seen",
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }

    def names(self, prefix: str) -> set[str]:
        """The files below a folder of the bucket, relative to it."""
        folder = f"{self.bucket}/{prefix}"
        infos = self.files.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
        return {info.path[len(folder) + 1 :] for info in infos if info.is_file}

    def _noting(self, app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        def noting(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
            if self.is_down:
                start_response("403 Forbidden", [])
                return [b""]
            if self.ignores_conditions:
                environ.pop("HTTP_IF_NONE_MATCH", None)
            if environ.keys() & {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"}:
                with self._conditional:
                    return app(environ, start_response)
            return app(environ, start_response)

        return noting
