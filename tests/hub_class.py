"""A class on a hub: learners who all work at the same time, and a table of how long each step took and of the memory in use."""

import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
from hub_kit import belongs_to

STEPS = ("log in", "start and pull", "open", "run", "quiz", "save")


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def quiz_code(notebook, item):
    return f'from course_lib.quiz import ask\nask("{notebook}", "{item}")'


def attend(learner, cells, answers, item="Q1"):
    """One learner's hour. cells: chooses the code cells to run from the notebook. answers: what is sent for the quiz item.

    The notebook is saved with its outputs, and `learner.saved` is what was saved.
    """
    with learner.timed("log in"):
        learner.log_in()
    with learner.timed("start and pull"):
        learner.pull()
    with learner.timed("open"):
        learner.open()
    with learner.timed("run"):
        learner.run(cells(learner.notebook))
    with learner.timed("quiz"):
        view = learner.kernel.execute(quiz_code(learner.notebook_name, item))
        learner.kernel.answer(view, {item: answers})
        learner.kernel.execute("None")  # it comes after the answer: when it is done, the answer has been kept
    with learner.timed("save"):
        learner.save()


class Meter:
    """Looks at the hub's processes again and again while a class works. Use it in a with block."""

    def __init__(self, hub, names, every=3.0):
        self.hub, self.names, self.every = psutil.Process(hub.process.pid), names, every
        self.owner, self.peak, self.total, self.cpu = {}, {}, 0, {}
        self.done = threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.done.set()
        self.thread.join()

    def _watch(self):
        while not self.done.wait(self.every):
            self._look()

    def _look(self):
        total = 0
        for process in [self.hub, *self.hub.children(recursive=True)]:
            try:
                key = self.owner.setdefault(process, self._key(process))
                used, times = process.memory_info().rss, process.cpu_times()
            except psutil.Error:
                continue  # it has ended meanwhile
            total += used
            self.peak[key] = max(self.peak.get(key, 0), used)
            self.cpu[process] = times.user + times.system
        self.total = max(self.total, total)

    def _key(self, process):
        """(whose it is, what it is)"""
        whose = next((name for name in self.names if belongs_to(process, name)), "")
        words = " ".join(process.cmdline())
        what = "server" if "jupyterhub.singleuser" in words else "kernel" if "ipykernel" in words else "other"
        return whose, what if whose else "hub and proxy"

    def table(self):
        """The highest memory of each sort of process, in MB: rows of (what, median, highest)."""
        sorts = ("server", "kernel", "hub and proxy")
        found = {sort: [used / 1e6 for (_, what), used in self.peak.items() if what == sort] for sort in sorts}
        return [(f"memory of a {sort} (MB)" if sort != "hub and proxy" else "memory of hub or proxy (MB)", statistics.median(used), max(used))
                for sort, used in found.items() if used]  # fmt: skip


def work(hub, learners, hour):
    """Let all learners do their `hour(learner)` at once. Returns the table, as text; raises the first error of any."""
    begin = time.monotonic()
    with Meter(hub, [learner.name for learner in learners]) as meter, ThreadPoolExecutor(len(learners)) as room:
        for done in [room.submit(hour, learner) for learner in learners]:
            done.result()
    wall = time.monotonic() - begin
    taken = {step: [learner.seconds[step] for learner in learners] for step in STEPS}
    rows = [(f"{step} (s)", statistics.median(seconds), max(seconds)) for step, seconds in taken.items()] + meter.table()
    lines = [f"{what:32}{middle:10.1f}{most:10.1f}" for what, middle, most in rows]
    return "\n".join([f"{len(learners)} learners at once: {wall:.0f} s, {sum(meter.cpu.values()):.0f} CPU s, {meter.total / 1e9:.1f} GB at most",
                      f"{'':32}{'median':>10}{'most':>10}", *lines])  # fmt: skip
