"""The server of examples/server: answers to many clients at once, refusals, clients that keep silent, and its end.

    server_test.py PTC SERVER
"""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from safetensors_file import read_tensors

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

PTC, SERVER = (Path(argument).resolve() for argument in sys.argv[1:3])
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits"
IMAGES = read_tensors(DIGITS / "images.safetensors")["images"]
EXPECTED = read_tensors(DIGITS / "expected.safetensors")  # PyTorch's probabilities, and what the images show
COUNT, CLIENTS = len(EXPECTED["labels"]), 8
SECONDS = 20  # nothing here takes so long, however busy the machine is


@contextlib.contextmanager
def running(library: Path, threads: int) -> Iterator[tuple[subprocess.Popen, int]]:
    """A server and its port. It must end with 0 when it is told to."""
    process = subprocess.Popen([SERVER, library, "0", str(threads)], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        yield process, int(line.rsplit(":", 1)[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0, process.returncode
    finally:
        process.kill()
        process.communicate()


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def connect(port: int, text: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), SECONDS)
    connection.sendall(text)
    return connection


def read_status(connection: socket.socket) -> int:
    """Of an answer that comes whole, before the server ends the connection."""
    with connection, connection.makefile("rb") as answer:
        return int(answer.read().split()[1])


def pixels(first: int, last: int) -> bytes:
    return IMAGES[64 * first : 64 * last].tobytes()


def check_answer(port: int, first: int, last: int) -> int:
    """Asks for images of the file, and compares with PyTorch; how many digits are what the images show."""
    status, body = ask(port, "POST", "/classify", pixels(first, last))
    assert status == 200, (status, body)
    answer = json.loads(body)
    assert len(answer["digits"]) == len(answer["probabilities"]) == last - first
    for image, digit, row in zip(range(first, last), answer["digits"], answer["probabilities"]):
        expected = EXPECTED["0"][10 * image : 10 * image + 10]
        assert len(row) == 10 and max(abs(a - b) for a, b in zip(row, expected)) < 1e-5, (image, row, expected)
        assert digit == row.index(max(row)), (image, digit, row)
    return sum(map(int.__eq__, answer["digits"], EXPECTED["labels"][first:last]))


def many_clients(library: Path, folder: Path) -> None:
    """Each asks for all images, in parts of its own size, so that no two have the same answers."""

    def ask_for_all(client: int) -> int:
        part = 5 + 3 * client
        return sum(check_answer(port, first, min(first + part, COUNT)) for first in range(0, COUNT, part))

    with running(library, 4) as (_, port), ThreadPoolExecutor(CLIENTS) as pool:
        rights = list(pool.map(ask_for_all, range(CLIENTS)))
    rows = [EXPECTED["0"][10 * image : 10 * image + 10] for image in range(COUNT)]
    right = sum(row.index(max(row)) == label for row, label in zip(rows, EXPECTED["labels"]))
    assert rights == [right] * CLIENTS, (rights, right)


def refusals(library: Path, folder: Path) -> None:
    nan = b"\0\0\xc0\x7f"
    with running(library, 2) as (_, port):
        for status, message, method, path, body in (
            (400, "'images' (0): dimension 0 has size 0, allowed: 1..4096", "POST", "/classify", b""),
            (400, "'images' (0): dimension 0 has size 4097, allowed: 1..4096", "POST", "/classify", bytes(4097 * 256)),
            (400, "'images' (0)", "POST", "/classify", pixels(0, 1)[:-4]),
            (400, "'images' (0)", "POST", "/classify", pixels(0, 1) + b"x"),
            (400, "no finite probabilities", "POST", "/classify", nan + pixels(0, 1)[4:]),
            (413, "at most 4194304 bytes", "POST", "/classify", bytes((4 << 20) + 256)),
            (404, "GET /health", "GET", "/classify", None),
            (404, "GET /health", "GET", "/other", None),
        ):
            answer = ask(port, method, path, body)
            assert answer[0] == status and message in answer[1].decode(), (status, message, answer)
        for status, text in (
            (413, b"POST /classify HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
            (413, b"POST /classify HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
            (431, b"GET /health HTTP/1.1\r\n" + b"Filler: text\r\n" * 1000),
            (404, b"\r\n\r\n"),
        ):
            connection = connect(port, text)
            connection.shutdown(socket.SHUT_WR)
            assert read_status(connection) == status, (status, text[:80])
        cut_off = connect(port, b"POST /classify HTTP/1.1\r\ncontent-length: 256\r\n\r\nabc")
        cut_off.shutdown(socket.SHUT_WR)
        assert read_status(cut_off) == 400
        assert ask(port, "GET", "/health") == (200, b"ok\n")
        check_answer(port, 0, 16)


def silent_clients(library: Path, folder: Path) -> None:
    """As many as there are threads, of which one sends a header every now and then: others get their answers."""
    with running(library, 2) as (_, port):
        silent, slow = connect(port), connect(port, b"GET /health HTTP/1.1\r\n")
        with ThreadPoolExecutor(1) as pool:
            health = pool.submit(ask, port, "GET", "/health")
            start = time.monotonic()
            while not health.done() and time.monotonic() < start + SECONDS:
                with contextlib.suppress(OSError):  # the server has given it up
                    slow.sendall(b"A: b\r\n")
                time.sleep(0.1)
            assert health.result(SECONDS) == (200, b"ok\n")
        assert read_status(silent) == 408
        slow.close()


def end_of_server(library: Path, folder: Path) -> None:
    """A request that has begun when SIGTERM comes is answered, and a later one finds no server."""
    with running(library, 2) as (process, port):
        begun = connect(port, b"POST /classify HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 256\r\n\r\n")
        assert begun.recv(100).startswith(b"HTTP/1.1 100 ")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)  # for the signal to do what it does
        assert process.poll() is None, process.returncode
        begun.sendall(pixels(0, 1))
        assert read_status(begun) == 200
        assert process.wait(SECONDS) == 0, process.returncode
        try:
            connect(port).close()
        except ConnectionRefusedError:
            return
    raise AssertionError("a connection after the end")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "digits.so")
        subprocess.run([PTC, "compile", DIGITS / "model.pt2", "-o", library], check=True)
        run_cases([many_clients, refusals, silent_clients, end_of_server], library)


if __name__ == "__main__":
    main()
