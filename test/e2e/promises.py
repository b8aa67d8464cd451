# SPDX-License-Identifier: Apache-2.0
"""The promises of the restart protocol (model/README.md), checked from what was written down.

Two records, four words a line. The workers' log, a file in the order in which things were:
    start EPOCH INDEX PID, beat ..., done ...    a worker's own words
    kill EPOCH INDEX PID                         the test is about to kill it
    lift EPOCH - -                               an agent is about to be told that this epoch is synced
And what the server stored, in the order of its revisions:
    said EPOCH INDEX REVISION                    a member's pod announces the epoch
    good EPOCH INDEX REVISION                    its pod has succeeded
    lift EPOCH - REVISION, over EPOCH - REVISION the JobSet's syncedEpoch, its deprecatedEpoch"""

import collections
import contextlib
import http.client
import os
import pathlib
import re
import signal
import threading
import time

from agents import EPOCH, jobsets, pods
from muster_test import fail, version_of

INDEX = "batch.kubernetes.io/job-completion-index"


def note(log, *words):
    """One line, in one write."""
    with open(log, "a", encoding="ascii") as file:
        file.write(" ".join(map(str, words)) + "\n")


def read_lines(log):
    return [line.split() for line in log.read_text().splitlines()]


def kill_worker(log, index, pid, signo=signal.SIGKILL):
    """Kills it; written down before, as from then on others may go on."""
    with contextlib.suppress(OSError):
        note_kill(log, index, pid)
        os.kill(pid, signo)


def note_kill(log, index, pid):
    """A process that has ended has no environment, one that is no worker yet has no epoch in it."""
    found = re.search(rb"(?:^|\0)MUSTER_EPOCH=(\d+)\0", pathlib.Path(f"/proc/{pid}/environ").read_bytes())
    if found:
        note(log, "kill", int(found[1]), index, pid)


class Book:
    """What the server stores of a group, read by two watches. Of what happened while the server was away
    nobody knows when: there an announcement counts from the beginning of the gap, a lift from its end, so
    that nobody is accused who may be right."""

    def __init__(self, server, ns):
        self.server, self.entries, self.is_over = server, [], False
        self.sources = {pods(ns): self._pod, jobsets(ns): self._set}
        self.seen = dict.fromkeys(self.sources, 0)
        self.open = {}
        self.threads = [threading.Thread(target=self._read, args=(path,), daemon=True)
                        for path in self.sources]
        for thread in self.threads:
            thread.start()

    def _pod(self, pod, since):
        notes = pod["metadata"].get("annotations", {})
        index, revision = notes.get(INDEX), version_of(pod) if since is None else since
        if pod.get("status", {}).get("phase") == "Succeeded":
            self.entries.append((revision, "good", 0, index))
        if EPOCH in notes:
            self.entries.append((revision, "said", int(notes[EPOCH]), index))

    def _set(self, thing, _):
        status = thing.get("status", {})
        for what, field in (("lift", "syncedEpoch"), ("over", "deprecatedEpoch")):
            self.entries.append((version_of(thing), what, status.get(field, 0), "-"))

    def _read(self, path):
        while not self.is_over:
            # What a server that is killed does to its connections, and silence.
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AssertionError):
                self._watch(path)
            time.sleep(0.02)

    def _watch(self, path):
        since = self.seen[path]
        with self.server.local().watch(path, sendInitialEvents="true", allowWatchBookmarks="true",
                                       resourceVersionMatch="NotOlderThan") as events:
            self.open[path] = events
            while (event := events.next()) is not None and event["type"] != "ERROR":
                if event["type"] in ("ADDED", "MODIFIED"):
                    self.sources[path](event["object"], since)
                elif event["type"] == "BOOKMARK":
                    since = None  # from here on each change comes by itself
                if since is None:
                    self.seen[path] = version_of(event["object"])

    def close(self):
        """Ends it, with all that is there by now."""
        self.is_over = True
        for path, thread in zip(self.sources, self.threads):
            while thread.is_alive():
                with contextlib.suppress(OSError, KeyError, AttributeError):
                    self.open[path].connection.sock.shutdown(2)
                thread.join(0.1)
        with contextlib.closing(self.server.local()) as api:
            for path, take in self.sources.items():
                for thing in api.get(path)["items"]:
                    take(thing, self.seen[path])


def check_book(entries, members):
    """S1 and S5 of what was stored; the last epoch that was lifted."""
    said, good, last = collections.Counter(), set(), {"lift": 0, "over": 0}
    for revision, what, epoch, index in sorted(entries):
        if what == "good":
            good.add(index)
        elif what == "said":
            if epoch < said[index]:
                fail(f"revision {revision}: {index} announces {epoch} after {said[index]} (S5)")
            said[index] = epoch
        elif epoch < last[what]:
            fail(f"revision {revision}: {what} goes from {last[what]} down to {epoch} (S5)")
        else:
            late = {i for i in map(str, range(members)) if said[i] < epoch} - good
            if what == "lift" and epoch > last["lift"] and late:
                fail(f"revision {revision}: {epoch} is lifted, {sorted(late)} had not announced it (S1)")
            last[what] = epoch
    return last["lift"]


def check(lines, members, lifted, is_told=False):
    """S1 to S5 of what workers wrote; `lifted` is the last epoch that was. With is_told each lift is in
    the log before any agent could know of it. Returns the last epoch."""
    started, told, killed, epoch = set(), set(), [], 0
    for number, (what, at, index, _) in enumerate(lines, 1):
        at = int(at)
        where = f"line {number}: {what} of {index} in epoch {at}"
        if what == "lift":
            told.add(at)
        elif what == "kill":
            killed.append((at, where))
        elif at < epoch:
            fail(f"{where} after a start in {epoch} ({'S5, ' if what == 'start' else ''}S2)")
        elif what == "start":
            if at > lifted or (is_told and at not in told):
                fail(f"{where}, which was not lifted (S1)")
            if (index, at) in started:
                fail(f"{where} again (S3)")
            started.add((index, at))
            epoch = at
    for at, where in killed:
        if at >= epoch:
            fail(f"{where}, and there is no later epoch (S4)")
    # Who has done its work before a last restart leaves the group, and is not started again.
    last = {index for index, at in started if at == epoch}
    last |= {index for what, _, index, _ in lines if what == "done"}
    if len(last) != members:
        fail(f"epoch {epoch}: only {sorted(last)} started in the end")
    return epoch
