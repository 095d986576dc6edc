#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Loads every page of the built site in a headless Chromium.

    browser.py FOLDER [--shots FOLDER]

A page fails if it writes an error to the console, if something that it loads is missing, or if it is wider than a
narrow screen. Search, copy buttons and the dark theme are tried as well. --shots saves pictures of some pages. Without
a Chromium, nothing is checked, and it says so.
"""

from __future__ import annotations

import argparse
import base64
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NARROW, WIDE = (390, 844), (1300, 1000)
SHOTS = (
    "index.html", "tutorial.html", "from-dali.html", "operators.html", "operators/index.html", "operators/rotate.html",
    "api.html", "examples/getting_started.html", "examples/augmentations.html",
)  # fmt: skip
TIMEOUT = 30.0


class Browser:
    """A Chromium that is controlled through a pair of pipes (--remote-debugging-pipe)."""

    def __init__(self, program: str, profile: str) -> None:
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()

        def connect() -> None:  # Chromium reads commands from descriptor 3 and answers on 4
            ours = (os.dup(to_read), os.dup(to_write))
            os.dup2(ours[0], 3)
            os.dup2(ours[1], 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--no-first-run",
        ]
        self.process = subprocess.Popen(
            [program, *flags, "--hide-scrollbars", f"--user-data-dir={profile}"],
            preexec_fn=connect, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            data = os.read(self.inp, 1 << 16)
            if not data:
                raise RuntimeError("Chromium ended")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method: str, **params: Any) -> Any:
        """Calls a method and waits for its result. Events that come first are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def load(self, url: str) -> list[str]:
        """Loads a page. Returns its errors."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message())
        self.value("new Promise(done => setTimeout(done, 0))")
        return [text for event in self.events if (text := complaint(event))]

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        got = self.call(
            "Runtime.evaluate",
            expression=expression, awaitPromise=True, returnByValue=True, userGesture=True,
        )  # fmt: skip
        return got["result"].get("value")

    def until(self, expression: str) -> Any:
        """Waits until an expression is true, for some time, and returns its last value."""
        end = time.monotonic() + TIMEOUT
        while not (value := self.value(expression)) and time.monotonic() < end:
            time.sleep(0.05)
        return value

    def resize(self, size: tuple[int, int]) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def shot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def complaint(event: dict[str, Any]) -> str:
    """What an event says is wrong, or an empty text."""
    method, params = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        return "exception: " + params["exceptionDetails"]["text"]
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
        return "console: " + json.dumps(params["args"])[:200]
    if method == "Log.entryAdded" and params["entry"]["level"] == "error":
        return f"log: {params['entry']['text']} {params['entry'].get('url', '')}"
    if method == "Network.responseReceived" and params["response"]["status"] >= 400:
        return f"{params['response']['status']}: {params['response']['url']}"
    return ""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # a browser may ask for it; no page names it
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *args: Any) -> None:
        pass


def check_pages(browser: Browser, site: Path, url: str) -> list[str]:
    """Every page, on a narrow screen."""
    out = []
    browser.resize(NARROW)
    for page in sorted(site.rglob("*.html")):
        name = str(page.relative_to(site))
        out += [f"{name}: {text}" for text in browser.load(url + name)]
        width = browser.value("document.documentElement.scrollWidth")
        if width > NARROW[0]:
            out.append(f"{name}: {width} pixels wide on a screen of {NARROW[0]}")
    browser.resize(WIDE)
    return out


def check_behaviour(browser: Browser, url: str) -> list[str]:
    """Search, copy buttons, themes."""
    out = browser.load(url + "search.html?q=resize")
    found = "document.querySelectorAll('#search-results li a[href*=\"operators/resize\"]').length"
    if not browser.until(found):
        out.append("search.html: a search for `resize` does not find its page")
    out += browser.load(url + "operators/resize.html")
    if not browser.until("document.querySelectorAll('button.copybtn').length"):
        out.append("operators/resize.html: no copy button")
    copy = """
        document.addEventListener('copy', () => window.copied = document.activeElement.value);
        document.querySelector('button.copybtn').click(); window.copied"""
    if "fn.resize(" not in str(browser.value(copy)):
        out.append("operators/resize.html: the copy button does not copy the example")
    background = "getComputedStyle(document.body).backgroundColor"
    seen = set()
    for _ in range(3):
        browser.value("document.querySelector('.theme-toggle').click()")
        seen.add(browser.value(background))
    if len(seen) < 2:
        out.append("the button for the dark theme has no effect")
    return out


def take_shots(browser: Browser, url: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        browser.load(url + "index.html")
        browser.value(f"localStorage.setItem('theme', '{theme}')")
        for size, kind in ((WIDE, "wide"), (NARROW, "narrow")):
            browser.resize(size)
            for page in SHOTS:
                browser.load(url + page)
                browser.shot(folder / f"{page.replace('/', '-')[:-5]}-{theme}-{kind}.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--shots", type=Path)
    args = parser.parse_args()
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if not program:
        print("browser: Chromium is not installed: the pages are not loaded")
        return 0
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(args.site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            out = check_pages(browser, args.site, url) + check_behaviour(browser, url)
            if args.shots:
                take_shots(browser, url, args.shots)
        finally:
            browser.close()
    server.shutdown()
    count = len(list(args.site.rglob("*.html")))
    print(f"browser: {count} pages, {len(out)} complaints")
    print("\n".join(out), end="\n" if out else "", file=sys.stderr)
    return bool(out) or not count


if __name__ == "__main__":
    sys.exit(main())
