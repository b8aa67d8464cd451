# SPDX-License-Identifier: Apache-2.0
"""The scenarios that are shipped: each says in its first lines what happens, and that it does is
tested here."""

import json
import subprocess
import sys

from muster_test import SOURCE, Cases, equal, fail, muster_path

cases = Cases()
MINUTE = 60 * 1000


class Tale:
    def __init__(self, name):
        done = subprocess.run([muster_path(), "simulate", "-o", "jsonl",
                               SOURCE / "examples" / "scenarios" / f"{name}.yaml"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal((done.returncode, done.stderr), (0, ""), "exit code and stderr")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.lines, self.end = lines[:-1], lines[-1]

    def find(self, **wanted):
        return [line for line in self.lines if all(line.get(k) == v for k, v in wanted.items())]

    def turned(self, name, condition, status="True", **more):
        """When a condition of a Workload turned so."""
        return [line["ms"] for line in self.find(kind="Workload", name=name, type="Condition",
                                                 condition=condition, status=status, **more)]

    def admitted(self, name):
        return self.turned(name, "Admitted")

    def evicted(self, name, reason):
        return self.turned(name, "Evicted", reason=reason)

    def complete(self, name):
        done = self.find(kind="Job", name=name, type="Condition", condition="Complete", status="True")
        return [line["ms"] for line in done]

    def object(self, kind, name):
        for obj in self.end["objects"]:
            if obj["kind"] == kind and obj["metadata"]["name"] == name:
                return obj
        return fail(f"no {kind} {name} at the end")


@cases
def node_lost(_):
    tale = Tale("node-lost")
    ready = tale.find(kind="Node", name="node-1", type="Condition", condition="Ready")
    equal([(line["ms"], line["status"]) for line in ready],
          [(0, "True"), (100000, "Unknown"), (180000, "True")], "node-1")
    equal([line["ms"] for line in tale.find(kind="Pod", type="Phase", phase="Failed")],
          [10 * MINUTE + 40000] * 2, "pods of node-2")
    equal(len(tale.complete("long")), 1, "complete")


@cases
def slow_starts(_):
    tale = Tale("slow-starts")
    ready = [line["ms"] for line in tale.find(kind="Pod", type="Container", state="ready")]
    equal(ready, [2000 * (1 + i // 4) for i in range(40)], "ready, four by four")


@cases
def restart_in_place(_):
    tale = Tale("restart-in-place")
    synced = tale.find(kind="JobSet", type="Field", path="status.syncedEpoch")
    equal([(line["ms"], line["value"]) for line in synced][-2:], [(0, 1), (5 * MINUTE, 2)], "epochs")
    equal(len(tale.find(kind="Pod", type="Created")), 8, "no pod was made anew")
    failed = tale.find(kind="JobSet", type="Condition", condition="Failed", status="True")
    equal([line["ms"] for line in failed], [10 * MINUTE], "one death too many")


if __name__ == "__main__":
    sys.exit(cases.main())
