# SPDX-License-Identifier: Apache-2.0
"""Saving a store while it is written to, and putting it back."""

import contextlib
import json
import pathlib
import subprocess
import sys
import threading

from muster_test import Cases, Server, contains, equal, fail, muster_path, version_of
from objects import configmap

PATH = "/api/v1/namespaces/default/configmaps"
ROUNDS = 5
cases = Cases()


def muster(server, *words):
    return subprocess.run([muster_path(), *words, "--data", str(server.data)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@contextlib.contextmanager
def running(server):
    server.start()
    try:
        yield server.local()
        server.stop()
    finally:
        server.end()


class Writer:
    """Creates objects, one after the other, and knows which were acknowledged."""

    def __init__(self, api):
        self.api, self.done, self.stop = api, 0, threading.Event()
        self.enough = threading.Condition()
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def _write(self):
        while not self.stop.is_set():
            self.api.ok("POST", PATH, configmap(f"w{self.done:06}"))
            with self.enough:
                self.done += 1
                self.enough.notify()

    def wait_for(self, count):
        with self.enough:
            if not self.enough.wait_for(lambda: self.done >= count, 60):
                fail("the writer stands still")

    def end(self):
        self.stop.set()
        self.thread.join()
        self.api.close()


def names_of(api):
    return {item["metadata"]["name"] for item in api.ok("GET", PATH)["items"]}


@cases
def what_was_acknowledged_before_a_backup_began_is_in_it(folder):
    server = Server(f"{folder}/busy")
    saved = []
    with running(server):
        writer = Writer(server.local())
        try:
            for i in range(ROUNDS):
                writer.wait_for(20 * (i + 1))
                before = writer.done
                told = muster(server, "backup", f"{folder}/busy-{i}.db", "-o", "json")
                equal(told.returncode, 0, told.stderr)
                saved.append((before, writer.done, json.loads(told.stdout)))
        finally:
            writer.end()
    for i, (before, after, told) in enumerate(saved):
        copy = Server(f"{folder}/copy-{i}")
        done = muster(copy, "restore", f"{folder}/busy-{i}.db")
        equal(done.returncode, 0, done.stderr)
        with running(copy) as api:
            names = names_of(api)
            api.close()
        missing = [n for n in range(before) if f"w{n:06}" not in names]
        equal(missing, [], f"missing in backup {i} of {before} to {after}")
        equal(len(names) <= after + 1, True, "nothing from the future")
        equal(told["objects"] >= len(names), True, "objects told")


@cases
def a_restore_brings_back_what_was_deleted_and_keeps_what_was_there(folder):
    server, file = Server(f"{folder}/back"), f"{folder}/back.db"
    with running(server) as api:
        api.ok("POST", PATH, configmap("kept", {"key": "old"}))
        equal(muster(server, "backup", file).returncode, 0, "backup")
        api.ok("DELETE", f"{PATH}/kept")
        later = version_of(api.ok("POST", PATH, configmap("later")))
        refused = muster(server, "restore", file)
        api.close()
    equal(refused.returncode, 1, "restore below a running server")
    contains(refused.stderr, "is in use by another instance", "hint: stop")
    done = muster(server, "restore", file)
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "kept as")
    with running(server) as api:
        equal(names_of(api), {"kept"}, "names")
        made = version_of(api.ok("POST", PATH, configmap("new")))
        equal(made > later, True, f"revisions go on: {made} after {later}")
        old = api.call("GET", f"{PATH}?watch=true&resourceVersion={later}")
        contains(old.text, '"code":410')
        api.close()
    before = list(server.data.glob("muster.db.before-*"))
    equal(len(before), 1, "the store from before")
    again = muster(server, "restore", str(before[0]))
    equal(again.returncode, 0, again.stderr)
    with running(server) as api:
        equal(names_of(api), {"later"}, "names of the store from before")
        api.close()


def refused(folder, name, words, *command):
    server = Server(f"{folder}/{name}")
    done = muster(server, *command)
    equal(done.returncode, 1, f"{command}: {done.stdout}{done.stderr}")
    contains(done.stderr, *words)
    equal((server.data / "muster.db").exists(), False, "a store was made")


@cases
def what_is_no_backup_is_refused_and_left_alone(folder):
    text = pathlib.Path(f"{folder}/text")
    text.write_text("not a database, but long enough to be taken for one " * 100)
    refused(folder, "a", ["damaged or not a store"], "restore", str(text))
    refused(folder, "b", ["cannot read", "No such file"], "restore", f"{folder}/nothing")
    refused(folder, "c", ["there is no store", "hint: "], "backup", f"{folder}/c.db")
    server = Server(f"{folder}/there")
    with running(server) as api:
        done = muster(server, "backup", str(text))
        equal(done.returncode, 1, "backup over another file")
        contains(done.stderr, "is no backup", "hint: ")
        equal(text.read_text().startswith("not a database"), True, "it is as it was")
        file = pathlib.Path(f"{folder}/there.db")
        for _ in range(2):  # an earlier backup is replaced
            equal(muster(server, "backup", str(file)).returncode, 0, "backup")
        equal(file.stat().st_mode & 0o777, 0o600, "mode")
        api.close()
    half = pathlib.Path(f"{folder}/half.db")
    half.write_bytes(file.read_bytes()[:5000])
    refused(folder, "d", ["damaged"], "restore", str(half))
    equal(sorted(p.name for p in pathlib.Path(folder).glob("*.part*")), [], "nothing half-made")


if __name__ == "__main__":
    sys.exit(cases.main())
