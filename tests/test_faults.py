"""Kills, ctrl-C, full disks and threads: a state is the one before or the one after, never anything else."""

import contextlib
import copy
import errno
import hashlib
import inspect
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import saved
from strategies import few

import oskaar
from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, losses
from oskaar.guards import uninterrupted
from oskaar.state import files
from oskaar.state.encode import Encoder
from oskaar.state.writing import replaced

# ---------------------------------------------------------------- kill -9 while saving


def killed_while_saving(folder, kills):
    """(moment of the kill, rounds of the state in the file, whether it is whole, files left behind) for each."""
    program = Path(__file__).with_name("killing.py")
    run = subprocess.run([sys.executable, program, folder, str(kills)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    found = [(moment, int(rounds), whole == "True", int(left)) for moment, rounds, whole, left in lines]
    assert [moment for moment, *_ in found] == ["open", "write", "fsync", "replace"] + ["random"] * kills
    assert all(whole for _, _, whole, _ in found)
    assert all(rounds == 30 for moment, rounds, *_ in found if moment != "random")
    assert [left for *_, left in found[:4]] == [0, 1, 1, 1]
    return found


def test_killed_while_saving(tmp_path):
    killed_while_saving(tmp_path, 20)


@pytest.mark.slow
def test_killed_while_saving_many_times(tmp_path):
    found = killed_while_saving(tmp_path, 400)[4:]
    assert {rounds for _, rounds, *_ in found} == {30, 60}
    assert sum(left for *_, left in found) > 20  # kills that came in the middle of a save


def test_what_a_kill_leaves_is_written_over(tmp_path):
    """At most one file is left, however many processes are killed, and the next save takes it away."""
    path = tmp_path / "learner.oskaar"
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os.replace = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
            try:
                OSKAAR(losses.ZeroOne(2)).save(path)
            finally:
                os._exit(1)
        assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
        assert [p.name for p in tmp_path.iterdir()] == [".learner.oskaar.0.tmp"]
    OSKAAR(losses.ZeroOne(2)).save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_saving_at_the_same_time(tmp_path):
    """Each writes to a file of its own; one of them is there in the end, whole."""
    path = tmp_path / "learner.oskaar"
    with replaced(path) as slow:
        slow.write(b"half")
        OSKAAR(losses.ZeroOne(2)).save(path)
        assert sorted(p.name for p in tmp_path.iterdir()) == [".learner.oskaar.0.tmp", "learner.oskaar"]
        assert oskaar.load(path).rounds == 0
    assert path.read_bytes() == b"half"
    learners = [OSKAAR(losses.ZeroOne(2)).fit([[0.0]] * n, [0] * n) for n in range(1, 5)]
    threads = [threading.Thread(target=lambda it=it: [it.save(path) for _ in range(8)]) for it in learners]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_bytes() == b"half" or oskaar.load(path).rounds > 0
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_of_a_file_stays(tmp_path, mode):
    path = tmp_path / "learner.oskaar"
    old = os.umask(0o027)
    try:
        OSKAAR(losses.ZeroOne(2)).save(path)
        assert path.stat().st_mode & 0o7777 == 0o640  # as any new file
        path.chmod(mode)
        OSKAAR(losses.ZeroOne(2)).save(path)
        assert path.stat().st_mode & 0o7777 == mode
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            OSKAAR(losses.ZeroOne(2)).save(path)
            assert (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode & 0o7777) == (65534, 65534, mode)
    finally:
        os.umask(old)


def test_a_group_that_cannot_be_kept_gains_nothing(tmp_path, monkeypatch):
    path = tmp_path / "learner.oskaar"
    OSKAAR(losses.ZeroOne(2)).save(path)
    path.chmod(0o664)
    real = os.stat

    def another_group(place, **more):
        found = real(place, **more)
        return os.stat_result([*found[:5], found.st_gid + 1, *found[6:]]) if str(place) == str(path) else found

    def refused(*args):
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", another_group)
        patch.setattr(os, "fchown", refused)
        OSKAAR(losses.ZeroOne(2)).save(path)
    assert path.stat().st_mode & 0o7777 == 0o644


def test_what_is_no_file_is_not_replaced(tmp_path):
    fifo, link, kept, device = (tmp_path / name for name in ("fifo", "link", "kept", "device"))
    os.mkfifo(fifo)
    places = [fifo, tmp_path]
    with contextlib.suppress(OSError):  # a device like /dev/null, where one may be made
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        places.append(device)
    for place in places:
        before = os.stat(place)
        with pytest.raises(OSError, match=r"no file|Is a directory"):
            OSKAAR(losses.ZeroOne(2)).save(place)
        assert os.path.samestat(before, os.stat(place))
    link.symlink_to(kept)  # to nothing, and then to a file
    for _ in range(2):
        OSKAAR(losses.ZeroOne(2)).save(link)
        assert link.is_symlink()
        assert oskaar.load(kept).rounds == 0
    assert {p.name for p in tmp_path.iterdir()} - {"device"} == {"fifo", "kept", "link"}


@pytest.mark.parametrize("name", ["n" * 255, "\u00e4" * 127, "n" * 101])
def test_long_names(tmp_path, name):
    path = tmp_path / name
    for _ in range(2):
        OSKAAR(losses.ZeroOne(2)).save(path)
        assert oskaar.load(path).rounds == 0
    assert [p.name for p in tmp_path.iterdir()] == [name]


# ---------------------------------------------------------------- a full disk


@pytest.mark.parametrize("after", [0, 100, 3000])
def test_full_disk(tmp_path, monkeypatch, after):
    """Whenever the disk is full, it is an error, the old file stays, nothing is left behind, the learner goes on."""
    path = tmp_path / "learner.oskaar"
    learner = OSKAAR(losses.ZeroOne(2)).fit([[0.0], [1.0]], [0, 1])
    learner.save(path)
    before, state = path.read_bytes(), learner.to_bytes()
    learner.learn_one([2.0], 1)

    def full(thing, file, write=files._write):
        real, room = file.write, after

        def limited(data):
            nonlocal room
            room -= len(data)
            if room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(data)

        class Disk:
            def __getattr__(self, name):
                return limited if name == "write" else getattr(file, name)

        write(thing, Disk())

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write", full)
        with pytest.raises(OSError, match="No space left"):
            learner.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert oskaar.load(path).to_bytes() == state
    learner.save(path)
    assert oskaar.load(path).rounds == 3


def test_files_that_may_not_grow(tmp_path):
    """The operating system itself refuses to write on."""
    path = tmp_path / "learner.oskaar"
    OSKAAR(losses.ZeroOne(2)).save(path)
    before = path.read_bytes()
    learner = BatchILE(losses.ZeroOne(2)).fit(saved.rows(300), [0, 1] * 150)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, old[1]))
        with pytest.raises(OSError, match="File too large"):
            learner.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_real_full_disk(tmp_path):
    """A file system of 64 KiB, where it may be made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no leave to mount a file system")
    try:
        path = disk / "learner.oskaar"
        OSKAAR(losses.ZeroOne(2)).save(path)
        before = path.read_bytes()
        with pytest.raises(OSError, match="No space left"):
            BatchILE(losses.ZeroOne(2)).fit(saved.rows(800, 20), [0, 1] * 400).save(path)
        assert path.read_bytes() == before
        assert [p.name for p in disk.iterdir()] == [path.name]
    finally:
        subprocess.run(["umount", disk], check=True)


# ---------------------------------------------------------------- ctrl-C while learning

LEARNERS = saved.learners()
INTERRUPTED = ["oskaar", "oskaar dicts", "oskaar budget", "oskaar reprojected", "salami", "salami window"]
INTERRUPTED += ["salami geometric", "salami budget", "salami dicts"]


class Interrupt:
    """Sends SIGINT at the n-th line that oskaar's code runs; counts lines, and those before anything is written."""

    def __init__(self, at):
        self.at, self.count, self.writing = at, 0, 0

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if "/oskaar/" not in code.co_filename or code.co_filename.endswith(("guards.py", "threads.py")):
            return None
        if event == "call" and code.co_name == "_commit" and "learners" in code.co_filename:
            self.writing = self.writing or self.count
        if event == "line":
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGINT)
        return self


def run_interrupted(action, at):
    """Whether it was interrupted, and the tracer."""
    tracer, before, interrupted = Interrupt(at), sys.gettrace(), False
    sys.settrace(tracer)
    try:
        action()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        sys.settrace(before)
    return interrupted, tracer


def fingerprint(learner):
    """All arrays of a state, and its sums."""
    encoder, total = Encoder(), hashlib.sha256()
    encoder.value(learner, "learner")
    for array in encoder.arrays:
        total.update(repr(array.shape).encode() + array.tobytes())
    return (
        total.hexdigest(),
        learner.rounds,
        learner.regret,
        learner.surrogate_loss,
        learner.total_loss,
        learner._incomplete,
    )


def interrupted_at(name, how, most):
    """Ctrl-C at up to so many lines: the state is the one before the round or the one after it."""
    learner, xs, ys = LEARNERS[name]
    learner = copy.deepcopy(learner)
    learner.learn_many(xs[:23], ys[:23])  # the next row is folded into SALAMI's factor
    before, after = fingerprint(learner), copy.deepcopy(learner)

    def learn(it):
        it.learn_one(xs[23], ys[23]) if how == "learn_one" else it.partial_fit(xs[23:24], ys[23:24])

    lines = run_interrupted(lambda: learn(after), 0)[1]
    after, found = fingerprint(after), set()
    assert before != after
    assert 0 < lines.writing < lines.count - 3
    writing = range(lines.writing - 2, lines.count + 1, max(1, (lines.count - lines.writing) // most))
    for at in [1, lines.writing // 2, *writing]:
        twin = copy.deepcopy(learner)
        interrupted = run_interrupted(lambda twin=twin: learn(twin), at)[0]
        state = fingerprint(twin)
        assert state in (before, after), f"line {at} of {lines.count}, written from {lines.writing}"
        assert interrupted
        found.add(state == after)
    assert found == {False, True}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_ctrl_c_while_learning(name):
    interrupted_at(name, "learn_one", 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("how", ["learn_one", "partial_fit"])
def test_ctrl_c_at_many_lines(name, how):
    interrupted_at(name, how, 60)


LEARNER_IN_A_LOOP = """
import signal, sys
import numpy as np
from oskaar import OSKAAR, SALAMI, losses
X = np.random.default_rng(0).normal(size=(400, 3))
OSKAAR(losses.ZeroOne(3)).learn_many(X[:80], [0, 1] * 40)  # what is imported late: SciPy's modules swallow a signal
for make in (lambda: OSKAAR(losses.ZeroOne(3)), lambda: SALAMI(losses.ZeroOne(3), lam=0.5)):
    make().learn_many(X[:80], [0, 1] * 40)
    for _ in range(int(sys.argv[1])):
        learner, other = make(), make()
        try:
            print("ready", flush=True)
            while True:
                learner.learn_one(X[learner.rounds % 400], learner.rounds % 3)
        except KeyboardInterrupt:
            pass
        for t in range(learner.rounds):
            other.learn_one(X[t % 400], t % 3)
        print(learner.rounds, learner.to_bytes() == other.to_bytes(), flush=True)
"""


def interrupted_from_outside(times):
    """A real process that learns gets a real signal at random moments."""
    rng = np.random.default_rng()
    command = [sys.executable, "-c", LEARNER_IN_A_LOOP, str(times)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(2 * times):
            assert process.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.005, 0.06))
            process.send_signal(signal.SIGINT)
            rounds, same = process.stdout.readline().split()
            assert same == "True", f"after {rounds} rounds"


def test_ctrl_c_from_outside():
    interrupted_from_outside(6)


@pytest.mark.slow
def test_ctrl_c_from_outside_many_times():
    interrupted_from_outside(150)


def test_uninterrupted_leaves_handlers_as_they_were():
    calls = []
    old = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        mine = signal.getsignal(signal.SIGINT)
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            assert calls == []
        assert calls == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is mine
        with pytest.raises(ZeroDivisionError), uninterrupted():
            1 / 0  # noqa: B018
        assert signal.getsignal(signal.SIGINT) is mine
        for other in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, other)
            with uninterrupted():
                assert signal.getsignal(signal.SIGINT) is other
        thread = threading.Thread(target=lambda: uninterrupted().__enter__())
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize("name", ["oskaar", "salami", "oskaar budget"])
def test_an_error_in_the_middle_of_a_round_is_remembered(name, monkeypatch):
    """What no order of steps can mend, such as a lack of memory half way, is refused from then on."""
    learner, xs, ys = LEARNERS[name]
    learner = copy.deepcopy(learner)
    learner.learn_many(xs[:5], ys[:5])

    def no_memory(self, block):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(learner._inputs), "append", no_memory)
        with pytest.raises(MemoryError):
            learner.learn_one(xs[5], ys[5])
    for refused in (lambda: learner.predict_one(xs[0]), lambda: learner.learn_one(xs[5], ys[5]), learner.to_bytes):
        with pytest.raises(RuntimeError, match="in the middle of learning a round"):
            refused()
    learner.reset()
    learner.learn_many(xs[:5], ys[:5])
    assert learner.rounds == 5


# ---------------------------------------------------------------- errors anywhere


class Injected(Exception):
    """An error that comes at the n-th call (or line of some) of a function of oskaar; 0 only counts."""

    def __init__(self, at):
        super().__init__(at)
        self.at, self.count = at, 0

    def __call__(self, frame, event, arg):
        code = frame.f_code
        ours = "/oskaar/" in code.co_filename and not code.co_filename.endswith(("guards.py", "threads.py"))
        if event in ("call", "line") and ours and not code.co_flags & inspect.CO_GENERATOR:  # there it may be lost
            self.count += 1
            if self.count == self.at:
                raise self
        return self if code.co_name in ("commit", "_account") else None  # in these, at each line


def run_injected(action, at):
    """Whether the error came out, and how many calls there were."""
    error, before = Injected(at), sys.gettrace()
    sys.settrace(error)
    try:
        action()
    except Injected:
        return True, error.count
    finally:
        sys.settrace(before)
    return False, error.count


def whole(learner):
    """All of a state but how much room its arrays have."""
    kept = {name: value for name, value in vars(learner).items() if name not in ("_lock", "_memo", "_incomplete")}
    encoder, total = Encoder(), hashlib.sha256()
    encoder.value({name: kept[name] for name in sorted(kept)}, "learner")
    for node in encoder.nodes:
        total.update(repr(node if "growing" not in node and "sheet" not in node else 0).encode())
    for array in encoder.arrays:
        total.update(repr(array.shape).encode() + array.tobytes())
    return total.hexdigest()


ACTIONS = {
    "the first round": (0, lambda it, xs, ys: it.learn_one(xs[0], ys[0])),
    "scales": (3, lambda it, xs, ys: it.learn_one(xs[3], ys[3])),
    "a chunk": (4, lambda it, xs, ys: it.partial_fit(xs[4:7], ys[4:7])),
    "predict": (7, lambda it, xs, ys: it.predict_one(xs[7])),
    "ask": (7, lambda it, xs, ys: it.ask(xs[7])),
    "tell": (7, lambda it, xs, ys: it.tell(0, ys[1])),
    "reset": (7, lambda it, xs, ys: it.reset()),
    "fit": (7, lambda it, xs, ys: it.fit(xs[:3], ys[:3])),
    "set_params": (7, lambda it, xs, ys: it.set_params(**({"lam": 3.0} if hasattr(it, "lam") else {"eta": 0.25}))),
}


def between(learner, what, xs, ys):
    """The states after some of the rounds that an action learns."""
    found = set()
    for last in (5, 6) if what == "a chunk" else ():
        twin = copy.deepcopy(learner)
        twin.partial_fit(xs[4:last], ys[4:last])
        found.add(whole(twin))
    return found


def injected(name, what, most, shift=0):
    """An error at up to so many calls: the state is that before or that after, or the learner says it is torn.

    Of several rounds the first ones may be learned. The calls are spread over all, from any on (`shift`), and the
    last ones, which write, are all among them.
    """
    learner, xs, ys = LEARNERS[name]
    rounds, act = ACTIONS[what]
    learner = copy.deepcopy(learner)
    learner.learn_many(xs[:rounds], ys[:rounds])
    learner.ask(xs[1])
    after = copy.deepcopy(learner)
    calls = run_injected(lambda: act(after, xs, ys), 0)[1]
    known, torn = {whole(learner), whole(after), *between(learner, what, xs, ys)}, 0
    step = max(1, calls // most)
    for at in sorted({*range(1 + shift % step, calls + 1, step), *range(max(1, calls - most), calls + 1)}):
        twin = copy.deepcopy(learner)
        came_out = run_injected(lambda twin=twin: act(twin, xs, ys), at)[0]
        if twin._incomplete:
            torn += 1
            assert came_out
            with pytest.raises(RuntimeError, match="half way between two states"):
                twin.predict_one(xs[0])
        else:
            assert whole(twin) in known, f"call {at} of {calls}"
    assert (torn > 0) == (what not in ("predict", "ask", "fit", "set_params"))


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("name", few(["salami", "oskaar"], 2))
def test_an_error_at_any_call(name, what):
    injected(name, what, 12)


def test_an_error_between_two_chunks():
    """Past rows that are projected anew take one round at a time: the rounds before the error stay learned."""
    injected("oskaar reprojected", "a chunk", 12)


@pytest.mark.slow
@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("name", LEARNERS)
def test_an_error_at_many_calls(name, what):
    """Others in every run; a failure names its call."""
    if "window" in name or "features" not in name:
        injected(name, what, 30, int(np.random.default_rng().integers(2**31)))


class Moody:
    """A kernel that is a function, and fails at its n-th call."""

    def __init__(self):
        self.left = 0

    def __call__(self, a, b):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("no kernel today")
        return 1.0 + float(a == b)


@pytest.mark.parametrize("how", ["learn_one", "partial_fit"])
@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: OSKAAR(losses.ZeroOne(2), kernel),
        lambda kernel: SALAMI(losses.ZeroOne(2), kernel),
        lambda kernel: SALAMI(losses.ZeroOne(2), [saved.overlap, kernel], restarts="geometric"),
        lambda kernel: Ensemble(losses.ZeroOne(2), kernel),
        lambda kernel: SALAMI(losses.ZeroOne(2), kernel, budget=3),
    ],
)
def test_a_kernel_that_fails(make, how):
    """At whatever call, also when it is first tried: the round is refused and the learner goes on."""
    for rounds in (0, 1):
        failed = 0
        for at in range(1, 200):
            kernel = Moody()
            learner, reference = make(kernel), make(kernel)
            for it in (learner, reference):
                it.learn_many(list("ab")[:rounds], [0, 1][:rounds])
            kernel.left = at
            act = (lambda it: it.learn_one("b", 1)) if how == "learn_one" else (lambda it: it.partial_fit(["b"], [1]))
            try:
                act(learner)
            except (RuntimeError, ValueError):
                failed += 1
                kernel.left = 0
                act(learner)
            if kernel.left > 0:
                break
            kernel.left = 0
            act(reference)
            assert learner.rounds == rounds + 1
            np.testing.assert_allclose(learner.estimate("a"), reference.estimate("a"), atol=1e-12)
        assert failed


# ---------------------------------------------------------------- threads


@pytest.mark.parametrize(
    "name", ["oskaar", "oskaar dicts", "salami", "salami geometric", "oskaar budget", "salami budget"]
)
def test_threads_that_predict_while_one_learns(name):
    """Every answer is that of the learner after some whole number of rounds."""
    learner, xs, ys = LEARNERS[name]
    learner, reference, xs, ys = copy.deepcopy(learner), copy.deepcopy(learner), xs[:24], ys[:24]
    asked, known = xs[0], {}
    learner.learn_many(xs[:2], ys[:2])
    reference.learn_many(xs[:2], ys[:2])
    for x, y in zip(xs[2:], ys[2:]):
        known[reference.estimate(asked).tobytes()] = reference.predict_one(asked)
        reference.learn_one(x, y)
    known[reference.estimate(asked).tobytes()] = reference.predict_one(asked)
    stop, problems, answers = threading.Event(), [], [0, 0]

    def predict(which):
        try:
            while not stop.is_set():
                estimate = learner.estimate(asked).tobytes()
                if estimate not in known:
                    problems.append("an estimate of no round")
                if learner.predict_one(asked) not in known.values() or len(learner.predict_many(xs[:3])) != 3:
                    problems.append("an answer of no round")
                answers[which] += 1
        except Exception as error:
            problems.append(repr(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=predict, args=(which,)) for which in range(2)]
    try:
        for thread in threads:
            thread.start()
        for x, y in zip(xs[2:], ys[2:]):
            learner.learn_one(x, y)
            time.sleep(0.0005)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not problems, problems[:3]
    assert min(answers) > 0
    assert learner.to_bytes() == reference.to_bytes()


COPIES = {
    "pickle": lambda it: pickle.loads(pickle.dumps(it)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "to_bytes": lambda it: oskaar.from_bytes(it.to_bytes()),
}


@pytest.mark.parametrize("name", ["oskaar budget", "salami"])
def test_copies_made_while_a_thread_learns(name):
    """Each is the state after some whole number of rounds, however it is made."""
    learner, xs, ys = LEARNERS[name]
    learner, reference, known = copy.deepcopy(learner), copy.deepcopy(learner), {}
    for x, y in zip(xs, ys):
        reference.learn_one(x, y)
        known[reference.rounds] = (reference.estimate(xs[0]).tobytes(), reference.regret, reference.surrogate_loss)
    learner.learn_one(xs[0], ys[0])
    done, problems, seen = threading.Event(), [], set()

    def learn():
        for x, y in zip(xs[1:], ys[1:]):
            learner.learn_one(x, y)
            time.sleep(0.0005)
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=learn)
    thread.start()
    try:
        while not done.is_set():
            for how, copied in COPIES.items():
                again = copied(learner)
                again._check_state()
                if (again.estimate(xs[0]).tobytes(), again.regret, again.surrogate_loss) != known[again.rounds]:
                    problems.append((how, again.rounds))
                seen.add(again.rounds)
    finally:
        thread.join()
        sys.setswitchinterval(interval)
    assert not problems
    assert len(seen) > 2


def test_copies_share_nothing():
    learner = SALAMI(losses.ZeroOne(3)).fit(saved.rows(6), [0, 1, 2] * 2)
    before = learner.to_bytes()
    for copied in COPIES.values():
        again = copied(learner)
        again.learn_one(saved.rows(1)[0], 0)
        assert again._lock is not learner._lock
        assert learner.to_bytes() == before
        assert again.rounds == 7
    lock = learner._lock
    assert learner.set_params(lam=0.3)._lock is lock


def test_settings_change_between_two_calls():
    """Another thread that predicts meanwhile finishes first."""
    learner = OSKAAR(losses.ZeroOne(2), Slow()).fit([[0.0], [1.0]], [0, 1])
    learner.kernel.begun.clear()
    thread = threading.Thread(target=learner.predict_one, args=([0.5],))
    thread.start()
    assert learner.kernel.begun.wait(30)
    learner.set_params(lam=2.0)
    assert learner.kernel.ended.is_set()
    thread.join()


class Slow:
    """A kernel that says when it is asked, and takes its time."""

    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, X, Y):
        self.ended.clear()
        self.begun.set()
        time.sleep(0.05)
        self.ended.set()
        return 1.0 + np.asarray(X, dtype=float) @ np.asarray(Y, dtype=float).T

    def __deepcopy__(self, memo):
        return self


# ---------------------------------------------------------------- forks


def in_child(action):
    """What an action prints in a forked process, which has some seconds."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)  # a deadlock ends it
        try:
            message = str(action())
        except BaseException as error:
            message = repr(error)
        os.write(into, message.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        message = file.read().decode()
    assert os.waitpid(pid, 0)[1] == 0, "it did not end"
    return message


class Pausing:
    """Stops a thread at a call until it is let go."""

    def __init__(self):
        self.there, self.go_on = threading.Event(), threading.Event()

    def __call__(self):
        self.there.set()
        self.go_on.wait(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("where", ["forecast", "commit"])
def test_a_fork_while_a_thread_learns(where, monkeypatch):
    """The child has the state before the round; or, if it was being written, says so. It never waits for ever."""
    learner = OSKAAR(losses.ZeroOne(2)).fit([[0.0], [1.0]], [0, 1])
    other = OSKAAR(losses.ZeroOne(2)).fit([[0.0], [1.0]], [0, 1])
    before, pausing = learner.estimate([0.3]).tolist(), Pausing()
    kind, name = (type(learner._inputs), "append") if where == "commit" else (type(learner._estimator), "forecast")
    real = getattr(kind, name)

    def stopped(self, *given):
        if threading.current_thread() is not threading.main_thread():
            pausing()
        return real(self, *given)

    monkeypatch.setattr(kind, name, stopped)
    thread = threading.Thread(target=learner.learn_one, args=([2.0], 1))
    thread.start()
    assert pausing.there.wait(60)
    try:
        message = in_child(lambda: learner.estimate([0.3]).tolist())
        assert in_child(lambda: other.estimate([0.3]).tolist()) == str(before)
        if where == "commit":
            assert "half way between two states" in message
            assert in_child(lambda: (learner.reset(), learner.rounds)[1]) == "0"
        else:
            assert message == str(before)
    finally:
        pausing.go_on.set()
        thread.join()
    assert learner.rounds == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:This process")
def test_workers_that_are_forked_while_threads_predict():
    learner = SALAMI(losses.ZeroOne(3)).fit(saved.rows(12), [0, 1, 2] * 4)
    stop, X = threading.Event(), saved.rows(20)

    def predict():
        while not stop.is_set():
            learner.predict_many(X)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        answers = [in_child(lambda: learner.predict_many(X)) for _ in range(6)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert set(answers) == {str(learner.predict_many(X))}


def test_threads_that_learn_take_turns():
    learner = OSKAAR(losses.ZeroOne(3))
    X = saved.rows(90)
    threads = [threading.Thread(target=learner.learn_many, args=(X[i::3], [i] * 30)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.rounds == 90
    assert learner._estimator.solver.factor.n == 90


def test_a_stream_refuses_what_it_did_not_learn():
    learner = SALAMI(losses.ZeroOne(3))
    X = saved.rows(80)
    stream = learner.stream(X, [0, 1, 2, 0] * 20)
    next(stream)
    learner.predict_one(X[0])
    learner.learn_one(X[0], 1)
    with pytest.raises(RuntimeError, match="must not learn anything else"):
        next(stream)


def test_saving_while_learning(tmp_path):
    """What is saved by one thread while another learns is the state after a whole round."""
    learner = SALAMI(losses.ZeroOne(3), lam=0.5)
    X, path = saved.rows(60), tmp_path / "learner.oskaar"
    thread = threading.Thread(target=learner.learn_many, args=(X[:1], [0]))
    thread.start()
    thread.join()
    thread = threading.Thread(target=lambda: [learner.learn_one(x, i % 3) for i, x in enumerate(X[1:], 1)])
    thread.start()
    while thread.is_alive():
        learner.save(path)
        again = oskaar.load(path)
        other = SALAMI(losses.ZeroOne(3), lam=0.5)
        for i in range(again.rounds):
            other.learn_one(X[i], i % 3)
        assert again.to_bytes() == other.to_bytes()
    thread.join()
    assert pickle.loads(pickle.dumps(learner)).rounds == 60
    assert Path(path).exists()
