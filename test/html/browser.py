"""A headless Chromium over its debugging pipe: pages at the size of a phone, clicks, and what they ask the network for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


class Browser:
    def __init__(self) -> None:
        program = shutil.which("chromium")
        if not program:
            raise SystemExit("chromium is missing (tools/setup/install --tests installs it)")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The pipe's ends are the child's descriptors 3 and 4.
        command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program, "--headless=new", "--no-sandbox"]
        command += ["--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = ours_in, ours_out
        self.pending, self.number, self.session = b"", 0, None
        self.events: list[dict] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def send(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message: dict = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self) -> dict:
        while b"\0" not in self.pending:
            piece = os.read(self.input, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.pending += piece
        text, _, self.pending = self.pending.partition(b"\0")
        return json.loads(text)

    def open(self, path: Path, width: int, height: int, *, phone: bool = False, fragment: str = "") -> None:
        """Afterwards `events` are those of this page."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=phone)
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri() + fragment)
        for _ in range(100):
            if self.evaluate("document.documentElement?.dataset.ready === 'yes'"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"the page does not become ready: {self.errors()}")

    def evaluate(self, expression: str) -> object:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def errors(self) -> list[str]:
        return [
            json.dumps(event["params"])[:300]
            for event in self.events
            if event.get("method") == "Runtime.exceptionThrown"
            or (event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] == "error")
        ]

    def requests(self) -> list[str]:
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
