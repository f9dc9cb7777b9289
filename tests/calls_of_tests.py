"""Plugin of pytest that writes which functions of the package each test calls, and how long it computes.

    PYTHONPATH=tests python -m pytest -p calls_of_tests --calls FILE tests/engine

A call is the file and the first line of a function. What a fixture of a whole file calls counts for each test of that
file. Only tests that pass are written.
"""

import json
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = "hdeeprm_like/"
now, called, of_files, began, seconds = set(), {}, defaultdict(set), {}, {}  # all but the first by names of tests


def trace(frame, event, argument):
    """Note a call; its lines are not followed, which would take long."""
    _, inside, path = frame.f_code.co_filename.rpartition(PACKAGE)
    if inside:
        now.add((inside + path, frame.f_code.co_firstlineno))


def pytest_addoption(parser):
    parser.addoption("--calls", type=Path, help="file to write")


def pytest_runtest_setup(item):
    now.clear()
    began[item.nodeid] = time.process_time()
    threading.settrace(trace)
    sys.settrace(trace)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    before = now.copy()
    now.clear()
    made = yield
    if fixturedef.scope != "function":
        of_files[request.node.nodeid.partition("::")[0]] |= now
    now.update(before)
    return made


def pytest_runtest_logreport(report):
    if report.nodeid not in began:
        return  # it was skipped before its setup
    seconds[report.nodeid] = time.process_time() - began[report.nodeid]
    if report.when == "call" and report.passed:
        called[report.nodeid] = now.copy()


def pytest_sessionfinish(session):
    sys.settrace(None)
    found = {
        test: {"seconds": seconds[test], "calls": sorted(calls | of_files[test.partition("::")[0]])}
        for test, calls in called.items()
    }
    session.config.getoption("--calls").write_text(json.dumps(found))
