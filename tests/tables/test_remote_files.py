"""Tables in files elsewhere: on web servers and in whatever fsspec knows, and what is said if they are not there."""

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from ssgp.tables.files import TableFileError, open_table

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

TABLE = pa.table({"key": [f"{i:03d}" for i in range(100)], "size": [i / 4 for i in range(100)]})
WRITERS = {".parquet": pq.write_table, ".csv": csv.write_csv}
BLOCK = 5 << 20  # what fsspec reads at once


def test_files_elsewhere():
    with fsspec.open("memory://far/table.parquet", "wb") as file:
        pq.write_table(TABLE, file)
    for name in ("memory://far/table.parquet", "memory://far/*.parquet", "memory://far"):
        assert open_table(name).read().equals(TABLE)
    with pytest.raises(TableFileError, match=r"there is no file 'memory://far/other.parquet'"):
        open_table("memory://far/other.parquet")


def test_without_fsspec_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(TableFileError, match=r"not installed: pip install 'ssgp\[remote\]'"):
        open_table("s3://bucket/table.csv")


def test_a_driver_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(TableFileError, match=r"pip install 'fsspec\[s3\]'"):
        open_table("s3://bucket/table.csv")


class WebServer(SimpleHTTPRequestHandler):
    """Files of a folder, whole or, if asked to, from the middle."""

    ranges = False

    def log_message(self, *parts):
        """Quietly."""

    def end_headers(self):
        if self.ranges:
            self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def do_GET(self):  # the name is http.server's
        asked = self.headers.get("Range")
        if not (self.ranges and asked):
            return super().do_GET()
        whole = Path(self.translate_path(self.path)).read_bytes()
        first, last = (int(number or len(whole) - 1) for number in asked.removeprefix("bytes=").split("-"))
        part = whole[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(whole)}")
        self.end_headers()
        self.wfile.write(part)


@pytest.fixture(params=[False, True], ids=["whole files", "parts of files"])
def website(request, tmp_path):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    handler = type("Handler", (WebServer,), {"ranges": request.param})
    with ThreadingHTTPServer(("localhost", 0), partial(handler, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", WRITERS)
def test_a_web_server(website, suffix, tmp_path):
    path = tmp_path / f"table{suffix}"
    table = pa.table({"x": np.random.default_rng(0).random(900_000)})
    WRITERS[suffix](table, path)
    assert path.stat().st_size > BLOCK, "a file that is read as one block shows nothing"
    source = open_table(f"{website}/table{suffix}")
    assert source.column_names == ["x"]
    assert pa.concat_tables(source.batches()).equals(table)


def test_a_page_that_is_not_there_and_a_server_that_is_not(website):
    with pytest.raises(TableFileError, match=r"there is no file '.*none.csv' \(404"):
        open_table(f"{website}/none.csv")
    with pytest.raises(TableFileError, match=r"there is no file '.*none.csv' \(Cannot connect to host localhost:1 "):
        open_table("http://localhost:1/none.csv")


def test_a_place_that_cannot_be_reached(monkeypatch):

    def refuse(*_, **__):
        raise RuntimeError("no credentials")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "info", refuse)
    with pytest.raises(TableFileError, match=r"'memory://far.csv' cannot be reached: no credentials"):
        open_table("memory://far.csv")


def test_sizes_are_known():
    with fsspec.open("memory://sizes/table.csv", "wb") as file:
        file.write(b"x\n1\n2\n")
    assert open_table("memory://sizes/table.csv").n_bytes == 6
