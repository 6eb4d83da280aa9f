"""Chromium without a window, driven through a pipe (the DevTools protocol): pages that change, forms, keys."""

import json
import os
import subprocess
import time

from browser import QUIET, chromium


class Page:
    """One page of a browser of its own."""

    def __init__(self, folder, width=1280, height=900, dark=False):
        ours, theirs = os.pipe(), os.pipe()  # to the browser, from the browser

        def arrange():
            os.dup2(ours[0], 3)
            os.dup2(theirs[1], 4)

        options = [*QUIET, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
        options += ["--blink-settings=preferredColorScheme=0"] if dark else []
        command = [chromium(), *options, "--remote-debugging-pipe", "about:blank"]
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=silent, stdout=silent, stderr=silent, preexec_fn=arrange, close_fds=False
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = os.fdopen(ours[1], "wb", 0), os.fdopen(theirs[0], "rb", 0)
        self._left, self._last, self._session = b"", 0, None
        self.console = []
        target = next(t for t in self._send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self._send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def open(self, url):
        self._send("Page.navigate", url=url)

    def run(self, expression):
        """The value of an expression of JavaScript."""
        found = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression, seconds=30):
        """Wait until an expression is true: its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(f"(() => {{ try {{ return {expression} }} catch {{ return null }} }})()")
            if found:
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{expression} is not true; {self.console}; {self.run('document.body.innerText')[:1000]}")

    def type(self, text):
        """Into what has the focus."""
        self._send("Input.insertText", text=text)

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def close(self):
        self._process.terminate()
        self._process.wait()
        self._to.close()
        self._from.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _send(self, method, **parameters):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self._last:
                assert "error" not in found, found
                return found["result"]
            self._note(found)

    def _note(self, message):
        if message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.console.append(message["params"])

    def _read(self):
        while b"\0" not in self._left:
            part = os.read(self._from.fileno(), 2**20)
            assert part, "the browser has ended"
            self._left += part
        message, self._left = self._left.split(b"\0", 1)
        return json.loads(message)
