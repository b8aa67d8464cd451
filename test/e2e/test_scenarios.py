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


def near(got, wanted, what, apart=0.11):
    """Pauses have up to 10 % of jitter."""
    if len(got) != len(wanted) or any(not w <= g <= w + (apart * w) for g, w in zip(got, wanted)):
        fail(f"{what}: got {got}, wanted about {wanted}")


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


@cases
def jobset_in_queue(_):
    tale = Tale("jobset-in-queue")
    ready = tale.find(kind="Workload", name="jobset-train", type="Condition", condition="PodsReady")
    equal([(line["ms"], line["reason"]) for line in ready][:4],
          [(0, "WaitForStart"), (10000, "Started"), (5 * MINUTE, "WaitForRecovery"),
           (5 * MINUTE + 10000, "Recovered")], "one restart in place")
    lost = 10 * MINUTE + 40000
    equal(tale.evicted("jobset-train", "PodsReadyTimeout")[0], lost + 2 * MINUTE, "no recovery")
    equal(tale.admitted("job-small"), [lost + 2 * MINUTE], "the other gang has its turn")
    equal(len(tale.evicted("jobset-train", "PodsReadyTimeout")), 2, "evictions")
    equal(tale.evicted("jobset-train", "Deactivated"), [45 * MINUTE], "switched off")
    equal(tale.admitted("jobset-train")[-1], 50 * MINUTE, "and on")
    placed = {line["value"] for line in tale.find(kind="Pod", type="Field", path="spec.nodeName")
              if line["name"].startswith("train")}
    equal(placed, {"node-0", "node-1"}, "only on nodes of its flavor")
    status = tale.object("JobSet", "train")["status"]
    equal((status["terminalState"], status["inPlaceRestarts"], status["restartsCountTowardsMax"]),
          ("Completed", 1, 1), "restarts")


@cases
def deadlock(_):
    tale = Tale("deadlock")
    equal(tale.admitted("jobset-one") + tale.admitted("jobset-two"), [0, 0], "both are admitted")
    equal(tale.turned("jobset-one", "PodsReady") + tale.turned("jobset-two", "PodsReady"), [],
          "neither is ready")
    equal(len(tale.find(kind="Pod", type="Container", state="ready")), 8, "half of each is")
    equal(tale.end["ms"] < MINUTE, True, "nothing can happen any more")


@cases
def deadlock_solved(_):
    tale = Tale("deadlock-solved")
    equal(tale.turned("jobset-one", "PodsReady"), [MINUTE], "the first is ready")
    equal(tale.admitted("jobset-two")[0], MINUTE, "then the second is admitted")
    equal(len(tale.evicted("jobset-two", "PodsReadyTimeout")) >= 1, True, "and finds no room")
    for name in ("one", "two"):
        done = tale.find(kind="JobSet", name=name, type="Condition", condition="Completed", status="True")
        equal(len(done), 1, f"{name} completes")


@cases
def blocked_until_ready(_):
    tale = Tale("blocked-until-ready")
    equal([tale.admitted("job-" + name) for name in ("first", "second", "third")],
          [[0], [MINUTE], [2 * MINUTE]], "each when the one before is ready")


@cases
def other_flavor(_):
    tale = Tale("other-flavor")
    equal(tale.evicted("job-gang", "PodsReadyTimeout"), [330000], "evicted")
    near(tale.admitted("job-gang"), [30000, 390000], "admitted")
    flavors = tale.object("Workload", "job-gang")["status"]["admission"]["podSetAssignments"][0]["flavors"]
    equal(flavors, {"cpu": "reserved"}, "flavor at the end")
    equal(len(tale.complete("gang")), 1, "complete")


def flavors_tried(tale, name):
    """Of its first pod set, at each admission."""
    path = "status.admission.podSetAssignments"
    lines = tale.find(kind="Workload", name=name, type="Field", path=path)
    return [line["value"][0]["flavors"]["cpu"] for line in lines if line["value"]]


@cases
def same_flavor(_):
    tale = Tale("same-flavor")
    near(tale.admitted("job-gang"), [0, 360000], "admitted")
    equal(flavors_tried(tale, "job-gang"), ["spot", "reserved"], "flavors")
    equal(len(tale.complete("gang")), 1, "complete")


@cases
def fragmented(_):
    tale = Tale("fragmented")
    equal(len(tale.evicted("job-pair", "PodsReadyTimeout")), 3, "evictions")
    equal(tale.admitted("job-small"), tale.evicted("job-pair", "PodsReadyTimeout")[:1], "others go on")
    equal(tale.admitted("job-pair")[-1] > 20 * MINUTE, True, "the last try comes when a machine is free")
    equal(len(tale.complete("pair")), 1, "complete")


@cases
def never_ready(_):
    tale = Tale("never-ready")
    equal(len(tale.admitted("job-broken")), 4, "a try and three retries")
    equal(tale.object("Workload", "job-broken")["spec"]["active"], False, "deactivated")
    equal(len(tale.evicted("job-broken", "DeactivatedDueToRequeuingLimitExceeded")), 1, "reason")
    equal(len(tale.complete("good-1") + tale.complete("good-2")), 2, "the others ran meanwhile")


@cases
def reactivated(_):
    tale = Tale("reactivated")
    near(tale.admitted("job-gang"), [1000, 361000, 40 * MINUTE], "admitted")
    equal(tale.complete("gang"), [40 * MINUTE + 10000 + 10 * MINUTE], "complete")


@cases
def too_long(_):
    tale = Tale("too-long")
    near(tale.admitted("job-endless"), [0, 15 * MINUTE + 10000], "admitted")
    near(tale.evicted("job-endless", "DeactivatedDueToMaximumExecutionTimeExceeded"),
         [35 * MINUTE + 10000], "after ten and twenty minutes")
    equal(tale.object("Workload", "job-endless")["spec"]["active"], False, "deactivated")
    equal(len(tale.complete("next") + tale.complete("high")), 2, "the others ran")


@cases
def strict_fifo(_):
    tale = Tale("strict-fifo")
    running, front, small = (tale.admitted("job-" + name) for name in ("running", "front", "small"))
    equal(running, [0], "running")
    equal(front, tale.complete("running"), "the front when the one before it is over")
    equal(small, tale.complete("front"), "the small one after the front")


@cases
def preempted(_):
    tale = Tale("preempted")
    equal(tale.evicted("job-low", "Preempted"), [2 * MINUTE], "preempted")
    equal(tale.admitted("job-high"), [2 * MINUTE], "the preemptor is in at once")
    equal(len(tale.admitted("job-low")), 2, "no flapping")
    equal(tale.admitted("job-low")[1], tale.complete("high")[0], "and back when it is over")


@cases
def recovery(_):
    tale = Tale("recovery")
    lost = tale.turned("job-gang", "PodsReady", "False", reason="WaitForRecovery")
    equal(len(lost), 1, "not ready any more")
    equal(tale.evicted("job-gang", "PodsReadyTimeout")[0], lost[0] + 2 * MINUTE, "evicted")
    equal(len(tale.complete("gang") + tale.complete("small")), 2, "both complete")


@cases
def ten_retries(_):
    tale = Tale("ten-retries")
    tries = tale.admitted("job-gang")
    pauses = [after - before - 5 * MINUTE for before, after in zip(tries, tries[1:])]
    near(pauses, [min(MINUTE * 2 ** n, 60 * MINUTE) for n in range(10)], "pauses")
    equal(sum(min(60 * 2 ** n, 3600) for n in range(10)), 5 * 3600 + 3 * 60, "their sum")
    equal(tale.object("Workload", "job-gang")["spec"]["active"], False, "deactivated")


if __name__ == "__main__":
    sys.exit(cases.main())
