# SPDX-License-Identifier: Apache-2.0
"""muster run: the private server and the shared one, ends of all sorts, plain output and the
terminal."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from muster_test import (LIMIT_S, SANITIZER_WORDS, SOURCE, Cases, Process, Skip, contains, equal,
                         fail, matches, muster_path)
from pods import Node, alive, container, exec_probe, pod, wait_until

ENDS_WITHIN_S = 10
cases = Cases()
JOBS = "/apis/batch/v1/namespaces/default/jobs"
STAY = "while :; do sleep 0.02; done"


class World:
    """Runs in a folder of their own, with no server unless a case starts one."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.number = 0
        self.node = None

    def path(self, name):
        self.number += 1
        return self.folder / f"{self.number}-{name}"

    def file(self, *objects):
        path = self.path("objects.json")
        path.write_text("\n".join(map(json.dumps, objects)))
        return path

    def env(self, **more):
        env = {name: value for name, value in os.environ.items()
               if name in ("PATH", "LANG") or name.endswith("SAN_OPTIONS")}
        data = self.node.server.data if self.node else self.folder / "none"
        return {**env, "HOME": str(self.folder), "TMPDIR": str(self.tmp), "MUSTER_DATA": str(data),
                **more}

    def start(self, *words, **env):
        return Process([muster_path(), "run", *words], env=self.env(**env), cwd=self.folder)

    def run(self, *words, code=0, **env):
        """To its end; (standard output, standard error) as lines."""
        with self.start(*words, **env) as process:
            got = process.wait()
            out, err = process.lines.rest(), process.errors.rest()
        check_clean(err)
        if got != code:
            fail(f"exit code {got}, wanted {code}:\n" + "\n".join(out[-30:] + err[-30:]))
        return out, err

    def check_tidy(self):
        equal(sorted(p.name for p in self.tmp.iterdir()), [], "left in the temporary folder")

    @contextlib.contextmanager
    def shared(self):
        self.node = Node(self.path("server"))
        try:
            yield self.node
            self.node.stop()
        finally:
            self.node.server.end()
            self.node = None


def check_clean(lines):
    for line in lines:
        for word in SANITIZER_WORDS:
            if word in line:
                fail("\n".join(lines[-60:]))


def end_by_signal(process, code=130):
    """Its lines from then on."""
    process.popen.send_signal(signal.SIGINT)
    equal(process.wait(), code, "exit code")
    errors = process.errors.rest()
    check_clean(errors)
    return process.lines.rest(), errors


def once(name, command, **more):
    return pod(name, container("main", command), restartPolicy="Never", **more)


def job(name, command, count=3, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": count, "completions": count, **spec,
                     "template": {"spec": {"restartPolicy": "Never",
                                           "containers": [container("main", command)]}}}}


# ---- the private server ----

@cases
def what_succeeds_ends_with_0_and_leaves_nothing(w):
    thing = pod("hello", container("first", "pwd; sleep 0.05; echo bye >&2"),
                container("then", "echo then", dependsOn=["first"]), restartPolicy="Never")
    out, err = w.run(w.file(thing, once("other", "echo other")))
    equal(err, [])
    for line in (f"hello/first | {w.folder}", "hello/first | bye", "hello/then | then",
                 "other/main | other"):
        equal(out.count(line), 1, f"how often {line!r} came")
    matches("\n".join(out), r"^pod/hello: succeeded in \d+\.\d s$")
    matches(out[-1], r"^2 succeeded, 0 failed; all ready after \d+\.\d s; no restarts; took")
    w.check_tidy()


@cases
def every_mistake_is_told_with_its_place_and_nothing_starts(w):
    path = w.path("wrong.yaml")
    path.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n"
                    "  - name: UPPER\n    comand: [x]\n")
    mark = w.path("mark")
    out, err = w.run(path, w.file(once("fine", f": > {mark}")), code=1)
    contains("\n".join(err), f"{path}:6:", f"{path}:7:", "UPPER", "comand")
    equal(out, [])
    equal(mark.exists(), False, "the good one ran")
    err = w.run(w.folder / "missing.yaml", code=1)[1]
    contains(err[0], "missing.yaml")
    w.check_tidy()


@cases
def what_fails_ends_with_1_and_shows_the_end_of_its_log(w):
    up, mark = w.path("up"), w.path("mark")
    bad = once("bad", f"while ! test -f {up}; do sleep 0.02; done; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line-$i-; done; exit 7")
    good = pod("good", container("main", f"trap 'echo end > {mark}; exit 0' TERM; : > {up}; {STAY}"))
    out, err = w.run(w.file(good, bad), code=1)
    text = "\n".join(err)
    contains(text, "bad/main", "exit code 7", "bad/main | line-3-", "bad/main | line-12-")
    equal("line-2-" in text, False, "more than ten lines")
    contains("\n".join(out), "pod/bad: failed after", "main ended with exit code 7")
    matches(out[-1], r"^failed: 0 succeeded, 1 failed, 1 had not ended")
    equal(mark.read_text(), "end\n", "what the other did when it was stopped")
    w.check_tidy()


@cases
def a_time_limit_ends_with_124(w):
    out, err = w.run("--timeout", "700ms", w.file(pod("slow", container("main"))), code=124)
    equal(err, [])
    matches(out[-1], r"^timeout: 0 succeeded, 0 failed, 1 had not ended; (all ready after|not all got ready)")
    w.check_tidy()


@cases
def however_early_it_ends_nothing_is_left(w):
    thing = w.file(once("late", "exec sleep 1000"))
    for wait_ms in (1, 20, 40, 70, 100, 150, 200, 300):
        out, _ = w.run("--timeout", f"{wait_ms}ms", thing, code=124)
        contains(out[-1] if out else "", "timeout: ")
        equal(no_child(), True, f"all gone after {wait_ms} ms")
        w.check_tidy()


def ordered_pod(order):
    trap = f"trap 'echo {{0}} >> {order}; exit 0' TERM; echo {{0}} is up; {STAY}"
    return pod("app", container("db", trap.format("db")),
               container("web", trap.format("web"), dependsOn=["app"]),
               container("app", trap.format("app"), dependsOn=["db"]))


@cases
def an_interrupt_stops_in_reverse_order_and_ends_with_130(w):
    order = w.path("order")
    with w.start(w.file(ordered_pod(order))) as process:
        process.lines.until(r"^app/web \| web is up$")
        out, err = end_by_signal(process)
    equal(err, [])
    equal(order.read_text().split(), ["web", "app", "db"])
    contains("\n".join(out), "stopping 3 processes in reverse order; ^C kills them at once")
    matches(out[-1], "^interrupted: 0 succeeded, 0 failed, 1 had not ended")
    w.check_tidy()


@cases
def a_second_interrupt_does_not_wait(w):
    pids = w.path("pids")
    deaf = pod("deaf", container("main", f"trap '' TERM; echo $$$$ > {pids}; echo up; {STAY}"),
               grace=600)
    with w.start(w.file(deaf)) as process:
        process.lines.until(r"^deaf/main \| up$")
        process.popen.send_signal(signal.SIGINT)
        process.lines.until("^stopping 1 process ")
        out, _ = end_by_signal(process)
    contains("\n".join(out), "killing what still runs")
    equal(alive(int(pids.read_text())), False, "the process is alive")
    w.check_tidy()


@cases
def when_it_is_killed_its_server_and_its_pods_end_too(w):
    pids = w.path("pids")
    with w.start(w.file(once("orphan", f"echo $$$$ > {pids}; echo up; exec sleep 1000"))) as process:
        process.lines.until(r"^orphan/main \| up$")
        process.popen.kill()
        process.wait()
        wait_until(lambda: not alive(int(pids.read_text())), "the end of the pod")
    wait_until(no_child, "the end of its server")
    for folder in w.tmp.iterdir():  # nobody was left to remove it
        shutil.rmtree(folder)


def no_child():
    """Reaps what was left to us. Who is about to end, such as a spawner whose server is gone, may take
    a moment for it on a busy machine."""
    def too_late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(ENDS_WITHIN_S)
    try:
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        return True
    except TimeoutError:
        return False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@cases
def jobs_are_followed_to_their_end(w):
    out, _ = w.run(w.file(job("three", "echo $JOB_COMPLETION_INDEX done", completionMode="Indexed")))
    for index in range(3):
        matches("\n".join(out), rf"^three-{index}-\w+/main \| {index} done$")
    matches("\n".join(out), r"^job/three: succeeded in")
    out, err = w.run(w.file(job("bad", "echo oh; exit 3", 1, backoffLimit=0)), code=1)
    matches("\n".join(out), "^job/bad: failed after .*")
    matches("\n".join(err), r"^bad-\w+/main \| oh$")
    w.check_tidy()


@contextlib.contextmanager
def busy_machine():
    """One more process that wants a core than there are."""
    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() + 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@cases
def what_a_short_command_says_is_shown_however_busy_the_machine_is(w):
    with w.shared(), busy_machine():
        for turn in range(20):
            out, _ = w.run("-n", "3", "--name", f"short-{turn}", "--", "sh", "-c", f"echo said $RANK in {turn}")
            said = sorted(line.partition(" | ")[2] for line in out if " | said " in line)
            equal(said, [f"said {rank} in {turn}" for rank in range(3)], "\n".join(out))


@cases
def a_command_gets_its_words_as_they_were_typed(w):
    words = ["$$", "$$$$", "$(RANK)", "$$(RANK)", "a$", "$RANK"]
    out, _ = w.run("-n", "1", "--name", "words", "--", "printf", "<%s>\\n", *words)
    equal([line.partition(" | ")[2] for line in out if " | " in line], [f"<{word}>" for word in words])
    w.check_tidy()


@cases
def a_line_without_an_end_is_shown_in_pieces(w):
    script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"
    out, _ = w.run("-n", "1", "--name", "long", "--", "sh", "-c", script)
    said = [line.partition(" | ")[2] for line in out if " | " in line]
    equal((sum(map(len, said[:-1])), said[-1]), (3000000, "end"))
    equal(max(map(len, said)) < 1 << 21, True, "pieces")
    w.check_tidy()


@cases
def files_that_run_nothing_are_fine(w):
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    contains(w.run(w.file(thing))[0][0], "nothing in these files runs")
    w.check_tidy()


@cases
def files_without_an_object_are_refused(w):
    for text in ("", "# later\n", "---\n---\n"):
        path = w.path("empty.yaml")
        path.write_text(text)
        equal(w.run(path, code=1), ([], ["error: no objects passed to run"]), repr(text))
    w.check_tidy()


# ---- what is shown ----

CONFIGURATION = {"apiVersion": "muster.dev/v1alpha1", "kind": "Configuration",
                 "waitForPodsReady": {"enable": True, "timeout": "77s"}}


def service(name, **more):
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": {"containers": [container("main")], **more}}}}


@cases
def a_configuration_and_nodes_make_the_private_server_and_what_serves_ends_with_the_jobs(w):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "share", "labels": {"on": "it"}}}
    placed = {"nodeSelector": {"on": "it"}}
    work = job("work", "true", 1)
    work["spec"]["template"]["spec"].update(placed)
    out, err = w.run(w.file(CONFIGURATION, node, work, service("serves", **placed)))
    equal(err, [])
    text = "\n".join(out)
    contains(text, "job/work: succeeded", "statefulset/serves: stopped")
    matches(out[-1], r"^1 succeeded, 0 failed, 1 stopped; ")
    w.check_tidy()


@cases
def members_on_a_share_of_the_machine_find_their_names(w):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "share", "labels": {"on": "it"}}}
    member = container("c", 'grep -q "named-w-0-1.named " "$MUSTER_HOSTS_FILE"')
    pods = {"restartPolicy": "Never", "nodeSelector": {"on": "it"}, "containers": [member]}
    work = {"completions": 2, "parallelism": 2, "backoffLimit": 0, "template": {"spec": pods}}
    out, err = w.run(w.file(node, {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "named"},
        "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": work}}]}}))
    equal(err, [])
    matches(out[-1], r"^1 succeeded, 0 failed")


@cases
def what_has_no_end_is_stopped_after_all_that_ended_was_told(w):
    there = w.path("there")
    work = job("work", f"while ! test -f {there}; do sleep 0.1; done; echo last words", 1)
    serves = service("serves", containers=[container(
        "main", f"trap 'echo bye; exit' TERM; : > {there}; while :; do sleep 0.1; done")])
    out, err = w.run(w.file(work, serves))
    equal(err, [])
    stopping = [line.startswith("stopping 1 process ") for line in out].index(True)
    before, after = "\n".join(out[:stopping]), "\n".join(out[stopping:])
    matches(before, r"^work-\w+/main \| last words$")
    contains(before, "job/work: succeeded")
    matches(after, r"^serves-0/main \| bye$")
    w.check_tidy()


@cases
def a_server_that_runs_keeps_its_own_configuration(w):
    with w.shared() as node:
        file = w.file(CONFIGURATION, job("work", "true", 1), service("serves"))
        out, err = w.run(file)
        equal(err, [f"{file}:1: a Configuration is for a server that starts: the one that runs "
                    "keeps its own"])
        matches(out[-1], r"^1 succeeded, 0 failed, 1 stopped; ")
        equal(node.api.get("/apis/apps/v1/statefulsets")["items"], [], "what served is stopped")
        kept = node.api.get("/apis/batch/v1/jobs")["items"]
        equal([one["metadata"]["name"] for one in kept], ["work"], "what ended stays")


@cases
def a_wrong_or_a_second_configuration_is_told_with_its_place(w):
    wrong = {**CONFIGURATION, "waitForPodsReady": {"enable": 1}}
    _, err = w.run(w.file(once("x", "true"), wrong), code=1)
    matches(err[0], r":2:\d+: waitForPodsReady.enable: Invalid value: \"integer\"")
    _, err = w.run(w.file(CONFIGURATION, CONFIGURATION), code=1)
    matches(err[0], r":2: there is a second Configuration; the first is in .*:1$")


@cases
def the_verdict_as_json(w):
    out, err = w.run("-o", "json", w.file(once("good", "echo hi")))
    verdict = json.loads("\n".join(out))
    equal((verdict["result"], verdict["exitCode"], verdict["succeeded"]), ("succeeded", 0, 1))
    equal([o["name"] for o in verdict["objects"]], ["good"])
    contains("\n".join(err), "good/main | hi", "pod/good: succeeded")
    out, _ = w.run("-o", "json", "-q", w.file(once("bad", "exit 1")), code=1)
    verdict = json.loads("\n".join(out))
    equal((verdict["result"], verdict["failed"]), ("failed", 1))
    equal(verdict["objects"][0]["message"], "main ended with exit code 1")


@cases
def quiet_and_without_logs(w):
    equal(w.run("--quiet", w.file(once("a", "echo hi")))[0], ["a/main | hi"])
    out, _ = w.run("--logs=false", w.file(once("a", "echo hi")))
    equal([line for line in out if "|" in line], [])
    matches(out[-1], "^1 succeeded")


@cases
def plain_lines_tell_what_is_blocked(w):
    go = w.path("go")
    thing = pod("app", container("db", readinessProbe=exec_probe(f"test -f {go}")),
                container("web", dependsOn=["db"]))
    with w.start(w.file(thing)) as process:
        process.lines.until(r"^pod/app: 0/2 ready, 1 starting, 1 blocked \(waits for container db\)$")
        go.write_text("")
        process.lines.until(r"^pod/app: 2/2 ready in \d+\.\d s$")
        out, _ = end_by_signal(process)
    equal([line for line in out + process.lines.seen if "\033" in line], [])
    contains("\n".join(out), "pod/app: stopped")


@cases
def where_vreplicas_go_is_shown(w):
    with Process([muster_path(), "run", "--logs=false", "examples/sources.yaml"], env=w.env(),
                 cwd=SOURCE) as process:
        process.lines.until(r"^vpod/orders: 6/6 placed on \d pods, ")
        out, _ = end_by_signal(process)
    contains("\n".join(out), "vpod/clicks: stopped")
    w.check_tidy()


@cases
def a_reader_that_goes_ends_it(w):
    program = [muster_path(), "run", str(w.file(pod("talks", container(
        "main", "while :; do echo line; sleep 0.05; done"))))]
    with subprocess.Popen(program, env=w.env(), cwd=w.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as popen:
        while "talks/main | line" not in popen.stdout.readline():
            pass
        popen.stdout.close()
        errors = popen.stderr.read()
        equal(popen.wait(LIMIT_S), 130)
    check_clean(errors.splitlines())
    w.check_tidy()


# ---- a shared server ----

@cases
def a_running_server_is_used_and_keeps_what_ended(w):
    with w.shared() as node:
        thing = w.file(once("one", "echo hi"))
        w.run(thing)
        first = node.api.ok("GET", "/api/v1/namespaces/default/pods/one")
        equal(first["status"]["phase"], "Succeeded")
        out, _ = w.run(thing)
        contains("\n".join(out), "one/main | hi")
        again = node.api.ok("GET", "/api/v1/namespaces/default/pods/one")
        if again["metadata"]["uid"] == first["metadata"]["uid"]:
            fail("it did not run once more")
        w.run("--private", thing)
        w.run("--server", f"unix:{node.server.socket}", thing, MUSTER_DATA="/nowhere")
        equal(len(node.api.ok("GET", "/api/v1/namespaces/default/pods")["items"]), 1)
        w.check_tidy()


@cases
def a_group_that_has_ended_runs_once_more_under_its_name(w):
    with w.shared() as node:
        path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/same"
        w.run("-n", "2", "--name", "same", "--", "true")
        first = node.api.ok("GET", path)
        out, _ = w.run("-n", "2", "--name", "same", "--", "sh", "-c", "echo rank $RANK")
        contains("\n".join(out), " | rank 1")
        again = node.api.ok("GET", path)
        if again["metadata"]["uid"] == first["metadata"]["uid"]:
            fail("it is the group of before")
        w.check_tidy()


@cases
def a_group_does_not_take_the_name_of_one_that_runs(w):
    with w.shared():
        with w.start("-n", "2", "--name", "same", "--", "sleep", "1000") as process:
            process.lines.until(r"^jobset/same: 2/2 ready")
            _, err = w.run("-n", "2", "--name", "same", "--", "true", code=1)
            equal(err, ["error: jobset/same is there already, and has not ended",
                        "hint: take another --name, or end it with: muster delete jobset same -n default"])
            end_by_signal(process)
        w.check_tidy()


@cases
def an_interrupt_takes_away_what_it_made_and_no_more(w):
    with w.shared() as node:
        order = w.path("order")
        before = pod("before", container("main"))
        node.run(before)
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
        with w.start(w.file(settings, before, ordered_pod(order))) as process:
            process.lines.until(r"^pod/before was there already")
            process.lines.until(r"^app/web \| web is up$")
            out, err = end_by_signal(process)
        equal(err, [])
        contains("\n".join(out), "stopping 4 processes")
        equal(order.read_text().split(), ["web", "app", "db"])
        left = node.api.ok("GET", "/api/v1/namespaces/default/pods")["items"]
        equal([p["metadata"]["name"] for p in left], ["before"])
        node.api.refused(404, "GET", "/api/v1/namespaces/default/configmaps/settings")
        node.delete("before", grace=0)


@cases
def a_second_interrupt_does_not_wait_for_a_shared_server(w):
    with w.shared() as node:
        pids = w.path("pids")
        deaf = pod("deaf", container("main", f"trap '' TERM; echo $$$$ > {pids}; echo up; {STAY}"),
                   grace=600)
        with w.start(w.file(deaf)) as process:
            process.lines.until(r"^deaf/main \| up$")
            process.popen.send_signal(signal.SIGINT)
            process.lines.until("^stopping 1 process ")
            end_by_signal(process)
        wait_until(lambda: not alive(int(pids.read_text())), "the end of the process")
        equal(node.api.ok("GET", "/api/v1/namespaces/default/pods")["items"], [])


@cases
def a_failure_leaves_what_failed_and_stops_the_rest(w):
    with w.shared() as node:
        w.run(w.file(pod("stays", container("main")), once("bad", "exit 2")), code=1)
        left = node.api.ok("GET", "/api/v1/namespaces/default/pods")["items"]
        equal([p["metadata"]["name"] for p in left], ["bad"])


@cases
def until_ready_leaves_it_to_the_server(w):
    thing = w.file(pod("stays", container("main")))
    err = w.run("--until", "ready", thing, code=2)[1]
    contains("\n".join(err), "--until ready", "hint: start one with: muster up")
    with w.shared() as node:
        out, _ = w.run("--until", "ready", thing)
        matches("\n".join(out), r"^pod/stays: 1/1 ready in")
        left = node.api.ok("GET", "/api/v1/namespaces/default/pods/stays")
        equal(left["status"]["phase"], "Running")
        node.delete("stays", grace=0)


@cases
def a_server_that_dies_and_an_object_that_is_deleted(w):
    with w.shared() as node:
        with w.start(w.file(pod("gone", container("main")))) as process:
            process.lines.until("^pod/gone: 1/1 ready")
            node.delete("gone", grace=0)
            equal(process.wait(), 1)
            matches("\n".join(process.lines.rest()), "^pod/gone: gone after .*somebody deleted it")
        with w.start(w.file(once("left", "exec sleep 1000"))) as process:
            process.lines.until("^pod/left: 1/1 ready")
            node.stop()
            equal(process.wait(), 3)
            contains("\n".join(process.errors.rest()), "cannot reach the server")
        node.server.start()
        node.api = node.server.local()
        node.delete("left", grace=0)


# ---- the terminal ----

class Screen:
    """As much of a terminal as run needs: lines, going up, erasing what is below; colours are
    counted and dropped."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.colors = self.moves = 0

    def put(self, char):
        if self.column == self.columns:
            self.down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1

    def down(self):
        self.row += 1
        self.column = 0
        if self.row == len(self.lines):
            self.lines.append("")

    def feed(self, text):
        for part in re.findall(r"\033\[[0-9;]*[A-Za-z]|\033.|[^\033]", text):
            if part == "\n":
                self.down()
            elif part == "\r":
                self.column = 0
            elif part.endswith("m") and len(part) > 1:
                self.colors += 1
            elif part.endswith("A") and len(part) > 1:
                self.moves += 1
                self.row = max(0, self.row - int(part[2:-1] or 1))
            elif part == "\033[J":
                self.lines[self.row] = self.lines[self.row][:self.column]
                del self.lines[self.row + 1:]
            elif part.startswith("\033"):
                fail(f"unexpected {part!r}")
            else:
                self.put(part)


class Terminal:
    """muster run on a terminal of its own, which is also its controlling one."""

    def __init__(self, w, *words, columns=100, rows=20, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(w.folder)
            os.execve(muster_path(), [muster_path(), "run", *map(str, words)],
                      w.env(**{"TERM": "xterm", "LANG": "C.UTF-8", **env}))
        self.columns = columns
        self.screen = Screen(columns)
        self.text = ""
        self.resize(columns, rows)

    def resize(self, columns, rows=20):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.text += data.decode(errors="replace")
        self.screen.feed(data.decode(errors="replace"))
        return bool(data)

    def until(self, wanted, what):
        """Reads until wanted(lines of the screen)."""
        end = time.monotonic() + LIMIT_S
        while not wanted(self.screen.lines):
            if time.monotonic() > end or not self.read(0.2):
                fail(f"{what} did not come; the screen is\n" + "\n".join(self.screen.lines))

    def key(self, text):
        os.write(self.fd, text.encode())

    def finish(self):
        end = time.monotonic() + LIMIT_S
        while self.read(1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                fail("it does not end; the screen is\n" + "\n".join(self.screen.lines))
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def has(pattern):
    return lambda lines: any(re.search(pattern, line) for line in lines)


@cases
def a_terminal_has_a_bar_that_is_drawn_in_place_and_collapses(w):
    go = w.path("go")
    thing = pod("app", container("db", "echo db up; exec sleep 1000",
                                 readinessProbe=exec_probe(f"test -f {go}")),
                container("web", "echo web up; exec sleep 1000", dependsOn=["db"]))
    terminal = Terminal(w, w.file(thing))
    terminal.until(has(r"^• pod/app  [█▒░]{24}  0/2 ready, 1 starting, 1 blocked \(waits"), "the bar")
    terminal.until(has(r"^app/db \| db up$"), "the log")
    bars = [line for line in terminal.screen.lines if "pod/app" in line]
    equal(len(bars), 1, "bars on the screen")
    go.write_text("")
    terminal.until(has(r"^✔ pod/app  2/2 ready in \d+\.\d s$"), "the end of the bar")
    terminal.until(has(r"^app/web \| web up$"), "the other log")
    lines = [line for line in terminal.screen.lines if line]
    matches(lines[-1], "^✔ pod/app")  # below the logs
    terminal.key("\003")
    equal(terminal.finish(), 130)
    lines = [line for line in terminal.screen.lines if line]
    contains("\n".join(lines), "stopping 2 processes", "interrupted: 0 succeeded")
    equal(len([line for line in lines if "pod/app" in line]), 1, "bars at the end")
    if terminal.screen.moves < 3 or terminal.screen.colors < 3:
        fail(f"{terminal.screen.moves} times drawn again, {terminal.screen.colors} colours")
    w.check_tidy()


@cases
def a_terminal_without_colours_and_one_that_can_nothing(w):
    thing = w.file(once("a", "printf '\\033[31mred\\033[0m \\033[2Jdone\\n'"))
    terminal = Terminal(w, thing, NO_COLOR="1")
    equal(terminal.finish(), 0)
    contains("\n".join(terminal.screen.lines), "✔ pod/a  succeeded in", "a/main | red done")
    equal([c for c in re.findall(r"\033\[\d*m", terminal.text) if c not in ("\033[31m", "\033[0m")],
          [], "colours of ours")
    terminal = Terminal(w, once_file(w), TERM="dumb")
    equal(terminal.finish(), 0)
    equal("\033" in terminal.text, False, "an escape sequence")
    contains(terminal.text, "pod/b: succeeded in")
    terminal = Terminal(w, once_file(w), LANG="C")
    equal(terminal.finish(), 0)
    matches("\n".join(terminal.screen.lines), r"^\+ pod/b  succeeded in")


def once_file(w):
    return w.file(once("b", "echo hi"))


@cases
def a_terminal_that_becomes_narrow_keeps_one_bar(w):
    blocked = [container(f"c{i}", dependsOn=["db"]) for i in range(20)]
    thing = pod("a-long-name-for-an-application",
                container("db", readinessProbe=exec_probe("false")), *blocked)
    terminal = Terminal(w, w.file(thing), columns=100)
    terminal.until(has(r"20 blocked"), "the bar")
    terminal.resize(30)
    # A terminal breaks the line that is there; the next draw has to take all of it away.
    wide = next(line for line in terminal.screen.lines if "blocked" in line)
    at = terminal.screen.lines.index(wide)
    parts = [wide[i:i + 30] for i in range(0, len(wide), 30)]
    terminal.screen.lines[at:at + 1] = parts
    terminal.screen.row += len(parts) - 1
    terminal.screen.columns = 30
    terminal.until(has(r"^• pod/a-lon…  0/21 ready"), "the narrow bar")
    equal([line for line in terminal.screen.lines if "long-name" in line], [], "left of the wide bar")
    terminal.key("\003")
    equal(terminal.finish(), 130)
    w.check_tidy()


# ---- the examples ----

def example(w, folder, user=None):
    """sixty processes: all ready, and all gone after an interrupt."""
    program = muster_path(release=True)
    env = w.env(TMPDIR=str(folder), HOME=str(folder), MUSTER_DATA=str(folder / "none"))
    with subprocess.Popen([program, "run", "examples/oltp.yaml"], env=env, cwd=SOURCE, user=user,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as popen:
        lines = []
        for line in popen.stdout:
            lines.append(line)
            if "pod/oltp: 60/60 ready in" in line:
                popen.send_signal(signal.SIGINT)
        errors = popen.stderr.read()
        equal((popen.wait(LIMIT_S), errors), (130, ""), "exit code and errors")
    text = "".join(lines)
    matches(text, r"^interrupted: .*; all ready after .*; no restarts")
    stops = re.findall(r"^oltp/(\S+) \| stopping$", text, re.M)
    # Each log has a stream of its own, and one may overtake another.
    equal((len(stops), "config" in stops[-4:]), (60, True), f"what stopped, in the order {stops}")
    equal(list(folder.iterdir()), [], "left behind")


@cases
def the_application_of_sixty_processes(w):
    example(w, w.tmp)


@cases
def the_same_as_an_ordinary_user(w):
    if os.geteuid() != 0:
        raise Skip("it ran as an ordinary user already")
    nobody = 65534
    folder = w.path("nobody")
    folder.mkdir()
    os.chown(folder, nobody, nobody)
    w.folder.chmod(0o755)
    able = subprocess.run(["test", "-r", SOURCE / "examples/oltp.yaml", "-a", "-x",
                           muster_path(release=True)], user=nobody)
    if able.returncode != 0:
        raise Skip("another user cannot read the sources")
    example(w, folder, nobody)


@contextlib.contextmanager
def world(folder):
    yield World(folder)


if __name__ == "__main__":
    sys.exit(cases.main(world))
