"""Chromium without a window: what a page becomes in it, and what it complains of."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0"),
)

SWITCH = """<script>
(function () {
  const real = window.matchMedia.bind(window), asked = [];
  let turned = false;
  window.matchMedia = query => !query.includes("color-scheme") ? real(query) : {
    get matches() { return real(query).matches !== turned; }, addEventListener: (type, f) => asked.push(f),
  };
  window.turn = function () {
    turned = true;
    document.documentElement.style.setProperty("--learner", "#123456");
    asked.forEach(f => f());
    const line = document.querySelector("#running .scatterlayer path.js-line");
    return [document.documentElement.dataset.drawn, line ? getComputedStyle(line).stroke : null];
  };
})();
</script>"""
"""A device whose light or dark setting is turned by hand."""

PROBE = """<script>
setTimeout(function () {
  const style = getComputedStyle(document.body), page = document.documentElement;
  const line = document.querySelector("#running .scatterlayer path.js-line");
  const seen = {
    drawn: page.dataset.drawn || null, width: innerWidth, scroll: page.scrollWidth, background: style.backgroundColor,
    plots: Array.from(document.querySelectorAll(".plot")).filter(p => p.querySelector(".main-svg")).map(p => p.id),
    images: document.querySelectorAll(".heatmaplayer image").length,
    line: line ? getComputedStyle(line).stroke : null,
    hacked: window.hacked || null, heading: document.querySelector("h1").textContent,
  };
  seen.turned = turn();
  (parent === window ? window : parent).postMessage(JSON.stringify(seen), "*");
}, 1500);
</script>"""

LISTEN = """<!DOCTYPE html><body style="margin:0"><pre id="seen"></pre><script>
addEventListener("message", e => { document.getElementById("seen").textContent += e.data + "\\n"; });
</script>"""


def chromium():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def look(page: str, folder: Path, widths=(1280,), dark=False):
    """What a page becomes at some widths, each in a frame of its own, and the messages of the console."""
    turning = page.replace("</head>", SWITCH + "</head>", 1)
    (folder / "page.html").write_text(turning.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    frames = [f'<iframe src="page.html" width="{w}" height="900" style="border:0"></iframe>' for w in widths]
    (folder / "frames.html").write_text(LISTEN + "".join(frames), encoding="utf-8")
    options = [
        *QUIET,
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=20000",
        "--window-size=1400,1000",
    ]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [chromium(), *options, "--dump-dom", (folder / "frames.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    seen = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    found = [json.loads(line) for line in unescape(seen[1]).splitlines()] if seen else []
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return sorted(found, key=lambda one: one["width"]), console
