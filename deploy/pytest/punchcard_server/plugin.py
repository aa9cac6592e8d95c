"""The plugin for pytest: the fixtures punchcard and punchcard_shop."""

from __future__ import annotations

import typing as t

import pytest

from .server import Server, StartError, start

_SERVER = pytest.StashKey[Server]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("punchcard")
    group.addoption("--punchcard-binary", metavar="FILE", help="the program punchcard to start; by default that of the package")
    parser.addini("punchcard_binary", "the program punchcard to start, relative to the root directory")
    parser.addini("punchcard_args", "flags of \"punchcard dev\", such as --seed shop.json", type="args")


@pytest.fixture(scope="session")
def punchcard(pytestconfig: pytest.Config) -> t.Iterator[Server]:
    """A server for all tests of the process. Each worker of pytest-xdist has its own. Tests see what others left."""
    chosen = pytestconfig.getoption("--punchcard-binary")
    if not chosen and pytestconfig.getini("punchcard_binary"):
        chosen = pytestconfig.rootpath / pytestconfig.getini("punchcard_binary")
    try:
        server = start(*pytestconfig.getini("punchcard_args"), binary=chosen)
    except (StartError, FileNotFoundError) as failure:
        pytest.fail("punchcard did not start: %s" % failure, pytrace=False)
    with server:
        pytestconfig.stash[_SERVER] = server
        yield server
        del pytestconfig.stash[_SERVER]


@pytest.fixture
def punchcard_shop(punchcard: Server) -> Server:
    """The same server, reset before the test: the demo shop as at the start, and nothing of the tests before."""
    punchcard.reset()
    return punchcard


def _add_journal(item: pytest.Item) -> t.Generator[None, t.Any, None]:
    """Add what the server answered to the report of a test that failed with one of the fixtures."""
    outcome = yield
    report = outcome.get_result()
    server = item.config.stash.get(_SERVER, None)
    if report.failed and server and "punchcard" in getattr(item, "fixturenames", ()):
        try:
            text = server.journal()
        except OSError as failure:
            text = "the requests cannot be shown: %s\n%s" % (failure, server.log())
        report.sections.append(("punchcard", text))


pytest_runtest_makereport: t.Any = pytest.hookimpl(hookwrapper=True)(_add_journal)
