# SPDX-License-Identifier: Apache-2.0
"""Workers, agents, connections and the server are killed at random, and the promises of the restart
protocol (model/README.md) are checked from what the workers themselves wrote down, what was done to
them and what the server stored (promises.py).

Once the test is the kubelet: it runs an agent for each pod that the server's own controllers make, starts
it again when it dies, and reports success. Once a server with a node runs the workers, and its spawners
are killed as well. MUSTER_CHAOS="N SECONDS [SEED]" makes both larger."""

import collections
import contextlib
import os
import pathlib
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from agents import agent_path, jobset, jobsets, pods
from muster_test import LIMIT_S, Cases, Server, fail
from objects import World
from promises import Book, check, check_book, kill_worker, note, note_kill, read_lines

cases = Cases()

# Every line is one write to a file in append mode, so the file is the order in which things were.
# The beats are what a second epoch would be caught by; no process is started for them.
WORKER = r"""
exec 9<> <(:)
echo "start $MUSTER_EPOCH $INDEX $$" >> "$LOG"
while ! [ -e "$GO" ]; do
    read -t 0.1 -u 9
    echo "beat $MUSTER_EPOCH $INDEX $$" >> "$LOG"
done
echo "done $MUSTER_EPOCH $INDEX $$" >> "$LOG"
"""


class Tunnel:
    """The server's socket at another path, whose connections can be cut; as short as it can be,
    because all of them are served by one thread. What it tells of lifts it writes down first."""

    def __init__(self, path, target, log):
        self.path, self.target, self.log = str(path), target, log
        self.pairs = {}
        self.tails = {}  # of what servers said last: a word may come in two parts
        self.lifted = set()
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(512)
        self.is_over = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _accept(self, poll):
        client, _ = self.listener.accept()
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.connect(self.target)
        except OSError:
            client.close()
            server.close()
            return
        with self.lock:
            self.pairs[client.fileno()] = (client, server)
            self.pairs[server.fileno()] = (server, client)
            self.tails[server.fileno()] = b""
        for one in (client, server):
            poll.register(one.fileno(), select.EPOLLIN)

    def _drop(self, poll, fd):
        with self.lock:
            source, other = self.pairs.pop(fd)
            self.pairs.pop(other.fileno(), None)
        for one in (source, other):
            self.tails.pop(one.fileno(), None)
            with contextlib.suppress(OSError):
                poll.unregister(one.fileno())
            one.close()

    def _note_lifts(self, fd, data):
        text = self.tails[fd] + data
        self.tails[fd] = text[-40:]
        for epoch in map(int, re.findall(rb'"syncedEpoch":(\d+)[,}]', text)):
            if epoch not in self.lifted:
                self.lifted.add(epoch)
                note(self.log, "lift", epoch, "-", "-")

    def _serve(self):
        poll = select.epoll()
        poll.register(self.listener.fileno(), select.EPOLLIN)
        while not self.is_over:
            for fd, _ in poll.poll(0.2):
                if fd == self.listener.fileno():
                    self._accept(poll)
                    continue
                if fd not in self.pairs:
                    continue
                source, other = self.pairs[fd]
                try:
                    data = source.recv(65536, socket.MSG_DONTWAIT)
                    if fd in self.tails:
                        self._note_lifts(fd, data)
                    if data:
                        other.sendall(data)
                except BlockingIOError:  # the event was that of a connection which had this number before
                    continue
                except OSError:
                    data = b""
                if not data:
                    self._drop(poll, fd)
        poll.close()

    def cut(self, chance, dice):
        """Breaks some of them, as a network does."""
        with self.lock:
            for one, _ in list(self.pairs.values()):
                if dice.random() < chance:
                    with contextlib.suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.is_over = True
        self.thread.join(LIMIT_S)
        self.listener.close()
        for one, _ in list(self.pairs.values()):
            one.close()


class Kubelet:
    """Runs an agent for each pod, for as long as the pod is there and has not succeeded."""

    def __init__(self, world, ns, folder, log):
        self.world, self.ns, self.folder, self.log = world, ns, folder, log
        self.tunnel = Tunnel(folder / "tunnel", world.server.socket, log)
        self.agents = {}  # pod name: (Popen, uid, index)
        self.done = set()
        self.go = folder / "go"

    def start(self, name, uid, index):
        env = {"PATH": os.environ["PATH"], "MUSTER_SOCKET": self.tunnel.path, "NAMESPACE": self.ns,
               "POD_NAME": name, "POD_UID": uid, "JOBSET_NAME": "set", "LOG": str(self.log),
               "GO": str(self.go), "INDEX": str(index)}
        for known in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if known in os.environ:
                env[known] = os.environ[known]
        with open(self.folder / "agents.log", "ab") as errors:
            popen = subprocess.Popen([agent_path(), "--", "bash", "-c", WORKER], env=env,
                                     stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        self.agents[name] = (popen, uid, index)

    def adopt(self):
        """Agents for pods that have none."""
        for pod in self.world.api.get(pods(self.ns))["items"]:
            meta = pod["metadata"]
            if meta["name"] not in self.agents and meta["name"] not in self.done:
                self.start(meta["name"], meta["uid"],
                           meta["annotations"]["batch.kubernetes.io/job-completion-index"])

    def look_after(self):
        """Starts again who has died, reports who has succeeded."""
        for name, (popen, uid, index) in list(self.agents.items()):
            if popen.poll() is None:
                continue
            del self.agents[name]
            if popen.returncode != 0:
                self.start(name, uid, index)
                continue
            self.done.add(name)
            self.world.api.patch(f"{pods(self.ns)}/{name}/status", {"status": {"phase": "Succeeded"}})

    def lines(self):
        return read_lines(self.log)

    @staticmethod
    def worker(popen):
        """The process of an agent's worker, as far as it is there."""
        with contextlib.suppress(OSError):
            kids = pathlib.Path(f"/proc/{popen.pid}/task/{popen.pid}/children").read_text().split()
            return int(kids[0]) if kids else None

    def workers(self):
        found = [(index, self.worker(popen)) for popen, _, index in self.agents.values()]
        return sorted((index, pid) for index, pid in found if pid is not None)

    def kill_agent(self, name):
        """And the kernel its worker."""
        popen, _, index = self.agents[name]
        pid = self.worker(popen)
        if pid is not None:
            with contextlib.suppress(OSError):
                note_kill(self.log, index, pid)
        popen.kill()

    def end(self):
        for popen, _, _ in self.agents.values():
            popen.terminate()
        for popen, _, _ in self.agents.values():
            popen.wait(LIMIT_S)


def beating(lines, members, synced):
    """Who has lately run in this epoch."""
    return {index for what, epoch, index, _ in lines[-4 * members:] if epoch == synced and what in ("start", "beat")}


def torment(kubelet, server, dice):
    """One blow."""
    what = dice.choices(("worker", "agent", "cut", "server"), (10, 5, 4, 1))[0]
    if what == "worker":
        workers = kubelet.workers()
        for index, pid in dice.sample(workers, min(len(workers), dice.choice((1, 1, 1, 3)))):
            kill_worker(kubelet.log, index, pid, dice.choice((signal.SIGKILL, signal.SIGTERM)))
    elif what == "agent":
        name = dice.choice(sorted(kubelet.agents)) if kubelet.agents else None
        if name:
            kubelet.kill_agent(name)
    elif what == "cut":
        kubelet.tunnel.cut(dice.choice((0.05, 0.3, 1.0)), dice)
    else:
        kubelet.world.api.close()
        server.kill()
        server.start()
    return what


# ---- the checks themselves ----

def forged(text):
    return [line.split() for line in text.split(", ")]


def stored(text):
    return [(int(revision), what, int(epoch), index) for what, epoch, index, revision in forged(text)]


def refuses(word, checked, *words):
    try:
        checked(*words)
    except AssertionError as error:
        if word in str(error):
            return
    fail(f"no complaint about {word} of {words}")


BEGUN = "lift 1 - -, start 1 0 7, start 1 1 8, beat 1 0 7, "


@cases
def a_log_that_breaks_a_promise_is_seen(world):
    del world
    refuses("S1", check, forged("start 1 0 7, lift 1 - -, start 1 1 8"), 2, 1, True)
    refuses("S1", check, forged(BEGUN + "kill 1 0 7, start 2 0 9, lift 2 - -, start 2 1 10"), 2, 2, True)
    refuses("S1", check, forged(BEGUN + "start 2 0 9, start 2 1 10"), 2, 1)
    refuses("S2", check, forged(BEGUN + "lift 2 - -, start 2 0 9, beat 1 1 8, start 2 1 10"), 2, 2)
    refuses("S2", check, forged(BEGUN + "lift 2 - -, start 2 0 9, done 1 1 8"), 2, 2)
    refuses("S3", check, forged(BEGUN + "start 1 0 9"), 2, 1)
    refuses("S4", check, forged(BEGUN + "kill 1 1 8, beat 1 0 7, done 1 0 7"), 2, 1)
    refuses("S4", check, forged(BEGUN + "kill 1 1 8, lift 2 - -, start 2 0 9, start 2 1 10, kill 2 0 9, "
                                "done 2 1 10, done 2 0 9"), 2, 2)
    refuses("S5", check, forged("lift 2 - -, start 2 0 7, start 2 1 8, lift 1 - -, start 1 0 9"), 2, 2)
    refuses("started in the end", check, forged(BEGUN + "lift 2 - -, start 2 0 9"), 2, 2)
    check(forged(BEGUN + "kill 1 0 7, kill 1 0 7, beat 1 1 8, lift 2 - -, start 2 0 9, start 2 1 10"), 2, 2, True)
    check(forged(BEGUN + "lift 3 - -, start 3 0 8, start 3 1 9, done 3 0 8, kill 3 1 9, lift 4 - -, "
                         "start 4 1 11"), 2, 4, True)


@cases
def a_book_that_breaks_a_promise_is_seen(world):
    del world
    refuses("S1", check_book, stored("said 1 0 5, lift 1 - 6, said 1 1 7"), 2)
    refuses("S1", check_book, stored("said 1 0 5, said 1 1 6, lift 1 - 7, said 2 1 8, lift 2 - 9"), 2)
    refuses("S1", check_book, stored("said 1 0 5, said 1 1 6, lift 1 - 7, said 2 1 8, lift 2 - 9, good 0 0 10"), 2)
    refuses("S5", check_book, stored("said 2 0 5, said 1 0 6"), 1)
    refuses("S5", check_book, stored("said 2 0 5, lift 2 - 6, lift 1 - 7"), 1)
    refuses("S5", check_book, stored("over 2 - 6, over 1 - 7"), 1)
    # In any order: revisions tell.
    last = check_book(stored("lift 2 - 11, said 1 1 6, lift 1 - 7, over 1 - 9, said 2 1 8, said 1 0 5, "
                             "said 2 0 10, good 0 1 12, said 3 0 13, lift 3 - 14"), 2)
    if last != 3:
        fail(f"the last epoch that was lifted is 3, not {last}")


@cases
def a_group_survives_what_is_done_to_it(world):
    wish = os.environ.get("MUSTER_CHAOS", "16 15").split()
    members, seconds = int(wish[0]), float(wish[1])
    seed = int(wish[2]) if len(wish) > 2 else random.randrange(1 << 32)
    print(f"# {members} members, {seconds} s, seed {seed}", flush=True)
    dice = random.Random(seed)
    ns = world.new_namespace()
    folder = pathlib.Path(world.folder)
    log = folder / "workers.log"
    log.touch()
    kubelet, book = Kubelet(world, ns, folder, log), Book(world.server, ns)
    thing = jobset("set", members, restarts=1000000)
    del thing["spec"]["managedBy"]
    world.api.ok("POST", jobsets(ns), thing)
    blows = collections.Counter()

    def settle(limit=LIMIT_S):
        """All members run in one epoch, and have done so since."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            kubelet.adopt()
            kubelet.look_after()
            status = world.api.get(f"{jobsets(ns)}/set")["status"]
            synced = str(status.get("syncedEpoch", 0))
            if len(beating(kubelet.lines(), members, synced)) == members:
                return
            time.sleep(0.05)
        fail(f"the members did not come together: {status}\n{kubelet.lines()[-members:]}\n"
             + (folder / "agents.log").read_text(errors="replace")[-3000:])

    try:
        settle()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            blows[torment(kubelet, world.server, dice)] += 1
            kubelet.look_after()
            if dice.random() < 0.2:
                settle()
            else:
                time.sleep(dice.random() * 0.3)  # the pace of trouble, not of the test
        settle()
        kubelet.go.touch()
        limit = time.monotonic() + LIMIT_S
        while kubelet.agents and time.monotonic() < limit:
            kubelet.look_after()
            time.sleep(0.05)
        world.api.wait_for(jobsets(ns), lambda s: s["status"].get("terminalState") == "Completed")
    finally:
        kubelet.end()
        kubelet.tunnel.close()
        book.close()
    epoch = check(kubelet.lines(), members, check_book(book.entries, members), is_told=True)
    said = (folder / "agents.log").read_text(errors="replace")
    for word in ("Sanitizer", "runtime error:", "Assertion"):
        if word in said:
            fail(said[-4000:])
    print(f"# {dict(blows)}, {epoch} epochs", flush=True)
    if epoch < 2:
        fail("nothing was restarted: the test tried nothing")


# ---- the node as agent ----

class Machine:
    """A server with a node, and one group on it."""

    def __init__(self, folder, members):
        self.folder, self.members = folder, members
        self.log, self.go = folder / "node-workers.log", folder / "node-go"
        self.log.touch()
        self.server = Server(folder / "machine", node=True).start()
        self.api = self.server.local()
        self.book = Book(self.server, "default")
        index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        worker = {"name": "w", "command": ["bash", "-c", WORKER.replace("$$", "$$$$")], "env": [
            {"name": "LOG", "value": str(self.log)}, {"name": "GO", "value": str(self.go)},
            {"name": "INDEX", "valueFrom": {"fieldRef": {"fieldPath": index}}}]}
        thing = jobset("set", members, restarts=1000000)
        del thing["spec"]["managedBy"]
        spec = thing["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        spec.update({"restartPolicy": "OnFailure", "containers": [worker], "terminationGracePeriodSeconds": 1})
        self.api.ok("POST", jobsets("default"), thing)

    def status(self):
        return self.api.get(f"{jobsets('default')}/set").get("status", {})

    def lines(self):
        return read_lines(self.log)

    def workers(self):
        """Who began last in each place, as far as it is there."""
        pids = {index: int(pid) for what, _, index, pid in self.lines() if what == "start"}
        return sorted((index, pid) for index, pid in pids.items() if os.path.exists(f"/proc/{pid}"))

    def spawners(self):
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{entry}/cmdline").read_text().split("\0")
                if "spawner" in words and str(self.folder) in " ".join(words):
                    found.append(int(entry))
        return found

    def come_back(self, gently):
        self.api.close()
        if gently:
            self.server.stop()
        else:
            self.server.kill()
        self.server.start()
        self.api = self.server.local()

    def settle(self):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            status = self.status()
            synced = str(status.get("syncedEpoch", 0))
            if len(beating(self.lines(), self.members, synced)) == self.members:
                return
            time.sleep(0.05)
        fail(f"the members did not come together: {status}\n{self.lines()[-self.members:]}\n"
             + self.server.stderr[-3000:])


def kill_all(pids):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def torment_machine(machine, dice):
    """One blow."""
    what = dice.choices(("worker", "server", "goodbye", "spawners"), (14, 2, 1, 2))[0]
    if what in ("server", "goodbye"):
        machine.come_back(gently=what == "goodbye")
        return what
    spawners = machine.spawners() if what == "spawners" else []
    workers = machine.workers()
    for index, pid in dice.sample(workers, min(len(workers), dice.choice((1, 1, 1, 3)))):
        kill_worker(machine.log, index, pid)
    if spawners:
        time.sleep(dice.random() * 0.06)  # into the midst of the starts that follow
        kill_all(spawners)
    return what


@cases
def a_group_on_a_node_survives_it_too(world):
    wish = os.environ.get("MUSTER_CHAOS", "16 10").split()
    members, seconds = int(wish[0]), float(wish[1])
    seed = int(wish[2]) if len(wish) > 2 else random.randrange(1 << 32)
    print(f"# {members} members, {seconds} s, seed {seed}", flush=True)
    dice = random.Random(seed)
    blows = collections.Counter()
    machine = Machine(pathlib.Path(world.folder), members)
    try:
        machine.settle()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            blows[torment_machine(machine, dice)] += 1
            if dice.random() < 0.3:
                machine.settle()
            else:
                time.sleep(dice.random() * 0.3)  # the pace of trouble, not of the test
        machine.settle()
        machine.go.touch()
        machine.api.wait_for(jobsets("default"), lambda s: s["status"].get("terminalState") == "Completed")
        machine.api.close()
        machine.book.close()
        machine.server.stop()
    finally:
        machine.go.touch()  # workers that a failure left behind end by themselves
        machine.server.end()
    epoch = check(machine.lines(), members, check_book(machine.book.entries, members))
    print(f"# {dict(blows)}, {epoch} epochs", flush=True)
    if epoch < 2:
        fail("nothing was restarted: the test tried nothing")


@contextlib.contextmanager
def chaos_world(folder):
    server = Server(folder).start()
    try:
        world = World(folder, server)
        yield world
        world.api.close()
        server.stop()
    finally:
        server.end()


if __name__ == "__main__":
    sys.exit(cases.main(chaos_world))
