"""What an engine puts on the disk goes away: when the work ends, when the process is told to end, and at the next start after a kill."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from discreet.data.count import count
from discreet.data.engines import removed_on_termination, scratch_directory

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has neither the signals nor the locks")

SECRET = "patient-9f3a77c1"  # noqa: S105
DEFAULTS = """
import signal
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
"""
"""The signals of a process that nobody started with nohup: a child inherits those that are ignored."""
COMMAND = (
    DEFAULTS
    + """
import duckdb
connect = duckdb.connect

def with_little_memory(place, config):
    return connect(place, config={**config, "memory_limit": "60MB", "threads": 1})

duckdb.connect = with_little_memory
from discreet.cli import app
app()
"""
)
"""The command, with so little memory for its engine that a few million ids do not fit."""
MOST_ROWS = 6_000_000


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def spilling(temporary: Path) -> "subprocess.Popen[bytes]":
    """A release in the middle of counting, with ids in plain on the disk, that waits for more of its standard input."""
    asked = ["release", "-", "-c", "risk", "--categories", "low,high", "-e", "1", "--privacy-id", "who", "--quiet", "--output"]
    words = [sys.executable, "-c", COMMAND, *asked, str(temporary / "out.json")]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603
    assert process.stdin is not None
    process.stdin.write(b"who,risk\n")
    for start in range(0, MOST_ROWS, 20_000):
        process.stdin.write(b"".join(b"%s-%020d,low\n" % (SECRET.encode(), number) for number in range(start, start + 20_000)))
        if any(SECRET.encode() in path.read_bytes() for path in files_in(temporary)):
            return process
    process.kill()
    raise AssertionError("nothing was spilled, so nothing is tested")


def end(process: "subprocess.Popen[bytes]", number: signal.Signals) -> int:
    process.send_signal(number)
    code = process.wait(timeout=60)
    for stream in (process.stdin, process.stderr):
        assert stream is not None
        with suppress(BrokenPipeError):
            stream.close()
    return code


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_leaves_nothing(temporary: Path, number: signal.Signals) -> None:
    assert end(spilling(temporary), number) == 128 + number
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_command_leaves_is_removed_at_the_next_start(temporary: Path) -> None:
    assert end(spilling(temporary), signal.SIGKILL) == -signal.SIGKILL
    assert any(SECRET.encode() in path.read_bytes() for path in files_in(temporary))  # what is to be removed
    (temporary / "a.csv").write_text("risk\nlow\n")
    count(temporary / "a.csv", "risk", ["low", "high"])
    assert list(temporary.iterdir()) == [temporary / "a.csv"]


WAITING = (
    DEFAULTS
    + """
from discreet.data.engines import scratch_directory, removed_on_termination
from contextlib import nullcontext
import sys
with removed_on_termination() if sys.argv[1] == "guarded" else nullcontext(), scratch_directory() as place:
    with open(place + "/spilled", "w") as file:
        file.write("ids")
    print(place, flush=True)
    sys.stdin.read()
"""
)


def waiting(how: str) -> "tuple[subprocess.Popen[bytes], Path]":
    words = [sys.executable, "-c", WAITING, how]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603
    assert process.stdout is not None
    place = Path(process.stdout.readline().decode().strip())
    process.stdout.close()
    assert (place / "spilled").exists()
    return process, place


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_directories_go_when_the_process_is_told_to_end(temporary: Path, number: signal.Signals) -> None:
    process, place = waiting("guarded")
    assert end(process, number) == 128 + number
    assert not place.exists()
    process, place = waiting("plain")  # the same without the guard, or the test proves nothing
    assert end(process, number) == -number
    assert place.exists()


def test_a_directory_is_removed_by_others_once_its_process_is_dead(temporary: Path) -> None:
    process, place = waiting("guarded")
    with scratch_directory() as mine:
        assert (place / "spilled").exists()  # its process lives
        assert Path(mine).stat().st_mode & 0o077 == 0
        end(process, signal.SIGKILL)
        assert (place / "spilled").exists()
        with scratch_directory():
            assert not place.exists()
            assert Path(mine).exists()
    assert list(temporary.iterdir()) == []


def test_a_directory_goes_when_its_work_fails(temporary: Path) -> None:
    def work() -> None:
        with scratch_directory() as place:
            (Path(place) / "spilled").write_text("ids")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert list(temporary.iterdir()) == []


def test_nothing_else_is_removed(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / "kept").write_text("kept")
    (temporary / "discreet-spill-1-link").symlink_to(temporary / "elsewhere")
    (temporary / "discreet-spill-1-file").write_text("kept")
    (temporary / "discreet-new-xyz").mkdir()  # one that is about to be locked
    before = set(temporary.rglob("*"))
    with scratch_directory():
        pass
    assert set(temporary.rglob("*")) == before


def test_signals_are_as_before_afterwards(temporary: Path) -> None:
    received: list[int] = []
    handler, hangup = signal.signal(signal.SIGTERM, lambda number, _frame: received.append(number)), signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup: it stays ignored
        with removed_on_termination():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with removed_on_termination():
            os.kill(os.getpid(), signal.SIGTERM)  # handled by someone else, who keeps it
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGHUP, hangup)
    assert received == [signal.SIGTERM] * 2
