"""A headless Chromium that tests drive, over its debugging pipe: no driver, no package.

    with browser(width=390, height=844) as page:
        page.open(path); page.click("button"); page.evaluate("document.title")

Messages are JSON with a zero byte at the end: the browser reads file descriptor 3, writes 4.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

# Runs a program that finds two given files as its numbers 3 and 4. They are moved out of the way
# first, as one may have such a number already.
LAUNCH = """
import os, sys
reading, writing = (os.dup2(int(n), 100 + k) for k, n in enumerate(sys.argv[1:3]))
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable():
    """The path of Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def need_chromium():
    """Skips where there is no Chromium; in CI, which installs it, that is a failure."""
    if executable() is None:
        message = "no Chromium here: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@contextlib.contextmanager
def browser(width, height, dark=False):
    """A page of a new browser with a window of that size."""
    to_read, to_write = os.pipe(), os.pipe()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                sys.executable, "-c", LAUNCH, str(to_read[0]), str(to_write[1]), executable(),
                "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
                "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank",
            ],
            pass_fds=(to_read[0], to_write[1]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read[0])
        os.close(to_write[1])
        page = Page(os.fdopen(to_read[1], "wb", 0), os.fdopen(to_write[0], "rb"))
        try:
            page.attach(width, height, dark)
            yield page
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                page.send("Browser.close", session=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
            page.writer.close()
            page.reader.close()


class Page:
    def __init__(self, writer, reader):
        self.writer, self.reader = writer, reader
        self.number, self.session = 0, None
        self.errors = []  # uncaught exceptions and requests of the page

    def send(self, method, session=True, **params):
        """The result of a command; what happens meanwhile is noted."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        text = bytearray()
        while (byte := self.reader.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            text += byte
        answer = json.loads(text)
        if answer.get("method") == "Runtime.exceptionThrown":
            self.errors.append(answer["params"]["exceptionDetails"])
        if answer.get("method") == "Network.requestWillBeSent":
            url = answer["params"]["request"]["url"]
            if not url.startswith(("file:", "about:", "data:")):
                self.errors.append(url)
        return answer

    def attach(self, width, height, dark):
        target = self.send("Target.createTarget", session=False, url="about:blank")["targetId"]
        self.session = self.send(
            "Target.attachToTarget", session=False, targetId=target, flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path):
        self.send("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + 20
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end, "the page does not load"
            time.sleep(0.02)

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def text(self, selector):
        """What a reader sees of the first element of a selector."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def visible(self, selector):
        """Whether an element has a place on the page."""
        return self.evaluate(
            f"!!(document.querySelector({json.dumps(selector)}) || {{getClientRects: () => []}})"
            ".getClientRects().length"
        )

    def click(self, selector):
        """A click of the mouse in the middle of an element, which must be what is hit there."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center'});"
            "const r = e.getBoundingClientRect();"
            "const x = r.x + r.width / 2, y = r.y + r.height / 2;"
            "const hit = document.elementFromPoint(x, y);"
            "return [x, y, e === hit || e.contains(hit)]; })()"
        )
        assert place, f"nothing is {selector}"
        x, y, hit = place
        assert hit, f"{selector} is covered at {x}, {y}"
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path, whole=False):
        answer = self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        ) if not whole else self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={
                "x": 0, "y": 0, "scale": 1, "width": self.evaluate("innerWidth"),
                "height": self.evaluate("document.documentElement.scrollHeight"),
            },
        )  # fmt: skip
        path.write_bytes(base64.b64decode(answer["data"]))
