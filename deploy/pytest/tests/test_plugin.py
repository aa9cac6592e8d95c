"""Tests of the plugin, each in a process of pytest of its own."""

from __future__ import annotations

import os
import pathlib
import select
import signal
import subprocess
import sys

import pytest

pytest_plugins = "pytester"

TWO_TESTS = """
    import os, pathlib

    def record(shop):
        worker = os.environ["PYTEST_XDIST_WORKER"]
        with open("servers", "a") as file:
            file.write("%s %s %s\\n" % (worker, shop.origin, shop.pid))
        assert shop.rest.list_cards()["data"] == []  # of the other worker, or of the other test
        shop.issue(shop.programs["standard"], {"external_ref": "the same"})

    def test_one(punchcard_shop): record(punchcard_shop)
    def test_two(punchcard_shop): record(punchcard_shop)
"""


def test_workers_are_apart(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TWO_TESTS)
    pytester.runpytest_subprocess("-n", "2", "--dist", "each").assert_outcomes(passed=4)
    servers = {tuple(line.split()) for line in pathlib.Path(pytester.path, "servers").read_text().splitlines()}
    assert sorted(worker for worker, _, _ in servers) == ["gw0", "gw1"]
    assert len({origin for _, origin, _ in servers}) == 2
    for _, _, pid in servers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot wait for the process of another")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_server_ends_with_pytest(pytester: pytest.Pytester, sent: signal.Signals) -> None:
    pytester.makepyfile(
        """
        import pytest, signal, time

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it

        @pytest.fixture
        def me(punchcard):
            yield
            print("answered", punchcard.rest.get_me()["shop"]["id"], flush=True)

        def test_waits(punchcard, me):
            print("pid", punchcard.pid, flush=True)
            while True:
                time.sleep(0.1)  # unlike one pause, this misses no signal
        """
    )
    command = [sys.executable, "-m", "pytest", "-s", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as running:
        assert running.stdout
        pid = next(int(line.split()[1]) for line in running.stdout if line.startswith("pid"))
        server = os.pidfd_open(pid)
        os.killpg(running.pid, sent)  # as Ctrl-C does
        rest = running.stdout.read()
    assert ("answered" in rest) == (sent == signal.SIGINT), "fixtures use the server until they have ended"
    ended, _, _ = select.select([server], [], [], 20)
    os.close(server)
    assert ended, "the server still runs"


def test_failure_shows_what_was_answered(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def cards(punchcard_shop):
            return punchcard_shop.rest

        def test_fails(cards):
            cards.get_card("crd_none")
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- punchcard -*", "1 requests *", "*GET    /api/public/v1/cards/crd_none  404 *not_found*"])


def test_options(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHCARD_CLOCK", "2031-01-01T00:00:00Z")  # which a test must not get
    monkeypatch.setenv("PUNCHCARD_DB", str(pytester.path / "kept.db"))
    pytester.makeini("[pytest]\npunchcard_args = --clock 2026-03-01T09:00:00Z\n")
    pytester.makepyfile("def test_clock(punchcard): assert punchcard.clock.now().isoformat() == '2026-03-01T09:00:00+00:00'")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    assert not (pytester.path / "kept.db").exists()

    pytester.makeini("[pytest]\npunchcard_args = --seed none.json\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["punchcard did not start: *", "*--seed (PUNCHCARD_SEED): *none.json*"])
    result.stdout.no_fnmatch_line("*Traceback*")

    pytester.makeini("[pytest]\npunchcard_binary = none/punchcard\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["punchcard did not start: *%s cannot be started: *" % (pytester.path / "none/punchcard")])

    result = pytester.runpytest_subprocess("--punchcard-binary", sys.executable)  # which is not a server
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["punchcard did not start: %s dev *" % sys.executable])


def test_others_start_no_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_other(): pass")
    pytester.runpytest_subprocess("--punchcard-binary", "none").assert_outcomes(passed=1)
