"""A browser without a window, driven over the DevTools protocol through a pair of pipes.

Only what the tests of the page need, with nothing but the standard library. Chromium takes commands on its
file descriptor 3 and answers on 4 (--remote-debugging-pipe), each message a JSON text that ends in a zero.
"""

import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "chrome")
PATIENCE = 60  # seconds that any single answer may take before the test fails


def find_browser():
    """The path of a browser, or None."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One tab. Errors that the page reports gather in `errors`."""

    def __init__(self, path=None):
        self.errors = []
        self._number, self._inbox, self._events = 0, b"", []
        self._folder = tempfile.TemporaryDirectory()
        self._start(path or find_browser())
        target = self._call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self._session = None
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(domain + ".enable")
        self.size(1400, 900)

    def _start(self, path):
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        # Out of the way of 3 and 4, which the browser wants.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]
        os.close(commands)
        os.close(answers)

        def take_ends():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions",
             f"--user-data-dir={self._folder.name}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=take_ends)
        for end in ends:
            os.close(end)

    def close(self):
        try:
            self._call("Browser.close", {}, None)
        except (ConnectionError, OSError):
            pass
        self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    # ---------------------------------------------------------------------------------------------
    # The protocol

    def _read(self):
        while b"\0" not in self._inbox:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            if not ready:
                raise TimeoutError(f"the browser said nothing for {PATIENCE} s")
            block = os.read(self._in, 1 << 20)
            if not block:
                raise ConnectionError("the browser has gone")
            self._inbox += block
        message, self._inbox = self._inbox.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])
        self._events.append(method)

    def _call(self, method, parameters, session):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def call(self, method, **parameters):
        return self._call(method, parameters, self._session)

    def _load(self, url):
        self._events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            self._note(self._read())

    # ---------------------------------------------------------------------------------------------
    # What a person does

    def open(self, path, fragment=""):
        """Loads a file from disk and waits until its scripts have run."""
        self._load("about:blank")  # else another fragment of the same file would load nothing
        self.errors.clear()
        self._load(pathlib.Path(path).resolve().as_uri() + fragment)

    def run(self, script):
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    def press(self, key):
        """A key of the keyboard, as "a", "Enter", "ArrowDown", "Tab"."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37,
                 "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33, " ": 32}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        what = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **what)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{**what, "text": ""})

    def type(self, text):
        for letter in text:
            self.press(letter)

    def click(self, selector):
        """A real click in the middle of an element."""
        place = self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """"light" or "dark", as the system would say."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self):
        """The window as PNG, in base64."""
        return self.call("Page.captureScreenshot", format="png")["data"]
