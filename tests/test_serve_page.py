"""The live page in a real browser: it updates by itself, its forms work, and no label comes alive in it."""

import browser
import pytest
from live_browser import Page
from serving import Server

EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
SPEC = {
    "loss": {"name": "ZeroOne", "classes": ["a", "b", EVIL]},
    "learner": {"name": "Ensemble", "budget": 6},
}
pytestmark = pytest.mark.skipif(
    browser.chromium() is None, reason="Chromium is not installed: apt-get install chromium"
)


def fed(server, name, rounds):
    learner = server.client(name).create(**SPEC)
    learner.learn_many(
        [{EVIL: float(i % 3), "n": 1.0} for i in range(rounds)], [["a", "b", EVIL][i % 3] for i in range(rounds)]
    )
    return learner


def test_the_page_lives(tmp_path):
    with Server(tmp_path / "data") as server, Page(tmp_path, 1280, 900, dark=True) as page:
        learner = fed(server, "first", 12)
        fed(server, "second", 3)
        page.open(server.url)
        page.until("document.querySelectorAll('#rounds tr').length >= 12")
        assert page.run("document.getElementById('title').textContent") == "first"
        assert page.run("document.querySelectorAll('.plot polyline').length") == 6
        assert page.run("document.querySelectorAll('#weights progress').length") == 8
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        ticket, _ = learner.ask({"n": 1.0})  # from elsewhere: the page shows it by itself
        page.until(f"document.querySelector('#tickets td')?.textContent === '{ticket}'")

        page.run("document.getElementById('x').focus()")  # by keyboard alone
        page.type('{"n": 2}')
        page.press("Enter", 13)
        page.until(f"document.getElementById('answer').textContent.startsWith('ticket {ticket + 1}: ')")
        assert page.run("document.activeElement.id") == "y"
        page.type("nonsense")
        page.press("Enter", 13)
        page.until("document.getElementById('answer').textContent.startsWith('unknown class')")
        refused = page.console.pop()  # the browser notes the status of the answer
        assert "422" in str(refused)
        page.run("document.getElementById('y').value = ''")
        page.type("b")
        page.press("Enter", 13)
        page.until("document.getElementById('answer').textContent.startsWith('round 13: the answer cost ')")
        page.until("document.querySelector('#rounds td').textContent === '13'")

        page.run("document.querySelector('#streams button[data-name=second]').click()")
        page.until("document.getElementById('title').textContent === 'second'")
        page.until("document.querySelectorAll('#rounds tr').length === 3")
        texts = page.run("document.getElementById('rounds').textContent")
        assert "<script>window.hacked" in texts or "<img src=x" in texts
        assert page.run("document.querySelectorAll('main img, main script').length") == 0
        assert page.run("window.hacked || null") is None
        assert page.console == []
        page.open(f"{server.url}/docs")
        page.until("document.querySelectorAll('section').length >= 10")
        assert "POST /streams/{name}/ask" in page.run("document.body.innerText")
        assert page.console == []
        page.open(server.url)
        page.until("document.querySelectorAll('#rounds tr').length >= 3")
        server.stop()  # does not wait for the page
        page.until("document.getElementById('live').textContent === 'not connected'")


def test_a_phone_and_a_token(tmp_path):
    secret = "0123456789abcdef0123"
    with Server(tmp_path / "data", env={"OSKAAR_TOKEN": secret}) as server, Page(tmp_path, 360, 740) as page:
        server.client("only", token=secret).create(**SPEC).learn_one({"n": 1.0}, "a")
        assert server.send("GET", "/streams")[0] == 401
        page.open(server.url)
        page.until("!document.getElementById('key').hidden")
        page.run("document.getElementById('token').focus()")
        page.type(secret)
        page.press("Enter", 13)
        page.until("document.querySelectorAll('#rounds tr').length === 1")
        assert page.run("document.documentElement.scrollWidth") <= 360
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert secret not in page.run("location.href + document.documentElement.outerHTML")
        assert all("401" in str(message) for message in page.console)
