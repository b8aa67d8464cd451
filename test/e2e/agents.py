# SPDX-License-Identifier: Apache-2.0
"""Agents beside a server, where the test is the controller: it says when a barrier lifts."""

import contextlib
import os
import pathlib
import subprocess

from muster_test import Process, equal, muster_path
from objects import pod
from pods import wait_until

EPOCH = "jobset.sigs.k8s.io/epoch"
ATTEMPT = "jobset.sigs.k8s.io/in-place-restart-attempt"


def agent_path():
    return os.environ.get("MUSTER_AGENT") or str(pathlib.Path(muster_path()).parent / "muster-agent")


def jobsets(ns):
    return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{ns}/jobsets"


def pods(ns):
    return f"/api/v1/namespaces/{ns}/pods"


def jobset(name, members=1, strategy="InPlaceRestart", restarts=100, **meta):
    """Nobody's: the test does what its controller would do."""
    template = {"spec": {"containers": [{"name": "worker", "command": ["true"]}]}}
    job = {"completions": members, "parallelism": members, "backoffLimit": 2147483647,
           "podReplacementPolicy": "Failed", "template": template}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, **meta},
            "spec": {"managedBy": "test.dev/nobody",
                     "failurePolicy": {"maxRestarts": restarts, "restartStrategy": strategy},
                     "replicatedJobs": [{"name": "w", "template": {"spec": job}}]}}


class Group:
    """A JobSet with one pod for each member, and agents for them."""

    def __init__(self, world, members=1, **options):
        self.world = world
        self.ns = world.new_namespace()
        self.folder = pathlib.Path(world.folder) / self.ns
        self.folder.mkdir()
        self.log = self.folder / "log"
        self.log.touch()
        world.api.ok("POST", jobsets(self.ns), jobset("set", members, **options))
        for i in range(members):
            world.api.ok("POST", pods(self.ns), pod(f"m-{i}", namespace=self.ns))

    def env(self, member=0, **more):
        kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
                if name in os.environ}
        return {**kept, "MUSTER_SOCKET": self.world.server.socket, "NAMESPACE": self.ns,
                "POD_NAME": f"m-{member}", "JOBSET_NAME": "set", "LOG": str(self.log), **more}

    def agent(self, *words, member=0, **env):
        return Process([agent_path(), *words], env=self.env(member, **env))

    def parent(self, script, *options, member=0, **env):
        """An agent whose worker is a script; $LOG is a file that all of them may add lines to."""
        return self.agent(*options, "--", "sh", "-c", script, member=member, **env)

    def status(self, **fields):
        """What the controller says."""
        return self.world.api.patch(f"{jobsets(self.ns)}/set/status", {"status": fields})

    def sync(self, epoch, members=1):
        """Lifts the barrier once the members are there; one that is late would ask for the next."""
        for member in range(members):
            self.wait_epoch(epoch, member)
        self.status(syncedEpoch=epoch)

    def deprecate(self, epoch):
        self.status(deprecatedEpoch=epoch)

    def lines(self):
        return self.log.read_text().splitlines()

    def wait_lines(self, count):
        wait_until(lambda: len(self.lines()) >= count, f"{count} lines of workers")
        return self.lines()

    def wait_epoch(self, epoch, member=0):
        """The pod when it has announced this epoch."""
        found = self.world.api.wait_for(
            pods(self.ns), lambda p: p["metadata"]["name"] == f"m-{member}" and
            p["metadata"].get("annotations", {}).get(EPOCH) == str(epoch))
        equal(found["metadata"]["annotations"][ATTEMPT], str(epoch - 1), "upstream's annotation")
        return found

    def epoch(self, member=0):
        notes = self.world.api.get(f"{pods(self.ns)}/m-{member}")["metadata"].get("annotations", {})
        return notes.get(EPOCH)


@contextlib.contextmanager
def running(process):
    """Ended by SIGTERM when the case is over; a sanitizer's words are a failure."""
    with process:
        yield process
        if process.popen.poll() is None:
            process.popen.terminate()
            process.wait()
    said = "\n".join(process.errors.seen + process.errors.rest())
    for word in ("Sanitizer", "runtime error:", "Assertion"):
        if word in said:
            raise AssertionError(said)


def token(world, *options):
    made = subprocess.run([world.server.program, "token", "create", "--data", str(world.server.data),
                           *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal(made.returncode, 0, f"exit code of token create ({made.stderr})")
    return made.stdout.strip()
