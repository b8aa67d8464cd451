# SPDX-License-Identifier: Apache-2.0
"""kill -9 at any moment: what was acknowledged is there afterwards, whole, and time goes forward.

Each round starts the server on the same data, lets several writers work on objects of their own,
kills it without warning, and starts it again to compare. CRASH_ROUNDS says how many rounds (200);
the release program is used when there is one, since a sanitizer only makes rounds fewer."""

import hashlib
import os
import random
import sqlite3
import sys
import threading
import time

from muster_test import Api, Cases, Server, UnixConnection, equal, fail, muster_path, version_of
from objects import configmap, namespace

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "200"))
SEED = int(os.environ.get("CRASH_SEED", str(random.SystemRandom().randrange(1 << 32))))
WRITERS = 8
NAMES = 12  # objects of each writer
KILL_AFTER_S = (0.050, 0.150)
SHARED = 3  # objects that all writers write, mostly what is there already
PATH = "/api/v1/namespaces/crash/configmaps"
cases = Cases()


def sealed(text):
    """Data with a sum of itself inside: a torn value does not fit its own sum."""
    return {"text": text, "sum": hashlib.sha256(text.encode()).hexdigest()}


def is_whole(data):
    return hashlib.sha256(data["text"].encode()).hexdigest() == data["sum"]


class Known:
    """What is known of one object. `sure` is the last acknowledged state (version, data; data None
    when deleted); `maybe` what was asked for after it and never answered."""

    def __init__(self):
        self.sure = (0, None)
        self.maybe = []


class Shared:
    """An object that all write. Whose write came last is not known, but which version was told:
    whoever hears "it is so already" has heard of a version as well."""

    def __init__(self):
        self.lock = threading.Lock()
        self.number = 0
        self.told = {}  # version: data

    def next(self, rng):
        with self.lock:
            self.number += rng.random() < 0.2
            return sealed(f"shared {self.number}")

    def hear(self, version, data):
        with self.lock:
            if self.told.setdefault(version, data) != data:
                fail(f"version {version} has two values")


class Writer(threading.Thread):
    """Creates, changes and deletes objects of its own until the connection breaks."""

    def __init__(self, server, number, known, shared, rng):
        super().__init__(daemon=True)
        self.server = server
        self.shared = shared
        self.number = number
        self.known = known
        self.rng = rng
        self.acknowledged = 0
        self.problem = None

    def run(self):
        api = Api(lambda: UnixConnection(self.server.socket))
        try:
            while True:
                self.step(api)
        except (OSError, EOFError, ConnectionError, ValueError) as error:
            # A broken connection, or half an answer: nothing was acknowledged.
            self.problem = None if self.server.dying.is_set() else error
        except Exception as error:  # told by the test, not by the thread
            if not self.server.dying.is_set() or isinstance(error, AssertionError):
                self.problem = error
        finally:
            api.close()

    def step(self, api):
        if self.rng.random() < 0.3:
            self.write_shared(api)
        else:
            self.write_own(api)

    def write_shared(self, api):
        number = self.rng.randrange(SHARED)
        data = self.shared[number].next(self.rng)
        answer = api.call("PUT", f"{PATH}/shared-{number}", configmap(f"shared-{number}", data))
        if answer.status != 200:
            fail(f"{answer.status}: {answer.text[:300]}")
        self.shared[number].hear(version_of(answer.json()), data)
        self.acknowledged += 1

    def write_own(self, api):
        name = f"w{self.number}-{self.rng.randrange(NAMES)}"
        known = self.known.setdefault(name, Known())
        there = known.sure[1] is not None
        if there and self.rng.random() < 0.2:
            known.maybe.append(None)
            answer = api.call("DELETE", f"{PATH}/{name}")
            self.settle(known, answer, 200, None)
            return
        text = f"{name} {self.rng.getrandbits(64):x} " + "x" * self.rng.randrange(3000)
        data = sealed(text)
        known.maybe.append(data)
        if there:
            answer = api.call("PUT", f"{PATH}/{name}", configmap(name, data))
            self.settle(known, answer, 200, data)
        else:
            answer = api.call("POST", PATH, configmap(name, data))
            self.settle(known, answer, 201, data)

    def settle(self, known, answer, wanted, data):
        if answer.status != wanted:
            fail(f"{answer.status}, wanted {wanted}: {answer.text[:300]}")
        body = answer.json()
        # A deletion's answer carries no version, but it is later than what was there.
        version = version_of(body) if data is not None else known.sure[0]
        known.sure = (version, data)
        known.maybe = []
        self.acknowledged += 1


def check_object(name, known, found):
    """`found` is the stored object or None."""
    data = found["data"] if found else None
    if data is not None and not is_whole(data):
        fail(f"{name} is torn: {str(data)[:200]}")
    if data == known.sure[1]:
        if found and version_of(found) < known.sure[0]:
            fail(f"{name} went back from {known.sure[0]} to {version_of(found)}")
    elif data not in known.maybe:
        fail(f"{name}: acknowledged {str(known.sure)[:200]}, found {str(found)[:300]}, "
             f"under way {str(known.maybe)[:200]}")
    elif found and version_of(found) <= known.sure[0]:
        fail(f"{name}: a later write has version {version_of(found)}, not above {known.sure[0]}")
    # From here on what is stored is what is known.
    known.sure = (version_of(found) if found else known.sure[0], data)
    known.maybe = []


def check_shared(found, shared):
    for number, item in enumerate(shared):
        stored = found.pop(f"shared-{number}")
        version, told = version_of(stored), max(item.told, default=0)
        if version < told:
            fail(f"shared-{number} is at {version}, but {told} was told")
        if item.told.get(version, stored["data"]) != stored["data"] or not is_whole(stored["data"]):
            fail(f"shared-{number}: version {version} was told with {item.told[version]}, "
                 f"is {stored['data']}")
        item.told = {version: stored["data"]}


def check_all(api, known, shared, newest):
    """Compares everything; returns the version of the list."""
    listed = api.get(PATH)
    found = {item["metadata"]["name"]: item for item in listed["items"]}
    check_shared(found, shared)
    version = version_of(listed)
    sure = max((item.sure[0] for item in known.values()), default=0)
    if version < sure or version < newest:
        fail(f"the store is at {version}, but {sure} was acknowledged and {newest} was seen before")
    for name in found:
        if name not in known:
            fail(f"{name} was never written")
    for name, item in known.items():
        check_object(name, item, found.get(name))
    return version


def one_round(server, known, shared, rng, newest):
    """Starts, compares, writes, kills. Returns the newest version seen and how many were
    acknowledged."""
    server.start()
    ready = time.monotonic()
    server.dying = threading.Event()
    api = server.local()
    newest = check_all(api, known, shared, newest)
    api.close()
    shares = [{name: item for name, item in known.items() if name.startswith(f"w{i}-")}
              for i in range(WRITERS)]
    writers = [Writer(server, i, shares[i], shared, random.Random(rng.random())) for i in range(WRITERS)]
    for writer in writers:
        writer.start()
    # The one place where time itself is the input: the moment of death.
    time.sleep(max(0, ready + rng.uniform(*KILL_AFTER_S) - time.monotonic()))
    server.dying.set()
    server.kill()
    for writer in writers:
        writer.join(30)
        if writer.is_alive():
            fail("a writer hangs")
        if writer.problem is not None:
            raise writer.problem
    for share in shares:
        known.update(share)
    return newest, sum(writer.acknowledged for writer in writers)


@cases
def nothing_acknowledged_is_lost(folder):
    print(f"# seed {SEED}, {ROUNDS} rounds, {muster_path(release=True)}", flush=True)
    rng = random.Random(SEED)
    server = Server(folder, "--log-level", "warn", program=muster_path(release=True))
    known, newest, total = {}, 0, 0
    shared = [Shared() for _ in range(SHARED)]
    try:
        server.start()
        api = server.local()
        api.ok("POST", "/api/v1/namespaces", namespace("crash"))
        for i in range(SHARED):
            api.ok("POST", PATH, configmap(f"shared-{i}", sealed("shared")))
        api.close()
        server.kill()
        for number in range(ROUNDS):
            try:
                newest, count = one_round(server, known, shared, rng, newest)
            except Exception:
                print(f"# round {number}", flush=True)
                raise
            total += count
        server.start()
        api = server.local()
        check_all(api, known, shared, newest)
        api.close()
        server.stop()
    finally:
        server.end()
    print(f"# {total} acknowledged writes in {ROUNDS} rounds", flush=True)
    equal(total > ROUNDS * WRITERS, True, "writes enough to mean something")


@cases
def the_file_is_whole(folder):
    with sqlite3.connect(f"{folder}/data/muster.db") as database:
        equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity_check")
        newest = database.execute("SELECT max(revision) FROM objects").fetchone()[0]
        told = database.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()[0]
        equal(newest <= told, True, "revision of the store is not below an object's")
    database.close()


if __name__ == "__main__":
    sys.exit(cases.main())
