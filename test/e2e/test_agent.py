# SPDX-License-Identifier: Apache-2.0
"""muster-agent as parent and as sidecar, against a real server; the test is the controller.

Cases with a number are those that upstream pins of its agent, those with a letter it lacks; both are
those of our notes on it."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

from agents import EPOCH, Group, agent_path, jobset, jobsets, pods, running, token
from muster_test import Cases, Process, Skip, contains, equal, fail, is_sanitized
from objects import pod, server_world
from pods import alive, wait_until

cases = Cases()
SAY = 'echo "$MUSTER_EPOCH $$" >> "$LOG"; '
STAY = SAY + "exec sleep 1000"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, path="/barrier-is-lifted"):
    """The HTTP status; None while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def pid_of(line):
    return int(line.split()[1])


def requests(world):
    """How many the server has answered."""
    text = world.api.call("GET", "/metrics").text
    return sum(int(float(line.split()[-1])) for line in text.splitlines()
               if line.startswith("muster_http_requests_total"))


# ---- parent ----

@cases
def case_23_28_the_worker_starts_when_its_epoch_is_synced(world):
    group = Group(world)
    with running(group.parent(STAY)) as agent:
        group.wait_epoch(1)
        equal(group.lines(), [], "workers before the barrier is lifted")
        group.sync(1)
        equal(group.wait_lines(1)[0].split()[0], "1", "epoch of the worker")
        agent.errors.until("epoch 1: all members are here")


@cases
def a_death_is_announced_and_the_worker_starts_again_behind_the_barrier(world):
    group = Group(world)
    with running(group.parent(STAY)):
        group.sync(1)
        os.kill(pid_of(group.wait_lines(1)[0]), signal.SIGKILL)
        group.wait_epoch(2)
        equal(len(group.lines()), 1, "workers")
        group.deprecate(1)
        group.sync(2)
        equal([line.split()[0] for line in group.wait_lines(2)], ["1", "2"], "epochs")


@cases
def a_deprecated_worker_is_gone_before_the_next_epoch_is_announced(world):
    group = Group(world)
    escape = ('(setsid sh -c "echo x \\$\\$ >> $LOG; exec sleep 1000" &) ; '
              '(trap "" TERM; echo y $$ >> $LOG; sleep 1000) & ')
    with running(group.parent(escape + SAY + "sleep 1000; true")):
        group.sync(1)
        pids = [pid_of(line) for line in group.wait_lines(3)]
        group.deprecate(1)
        group.wait_epoch(2)
        equal([pid for pid in pids if alive(pid)], [], "processes of epoch 1")


@cases
def what_a_dead_worker_left_behind_is_ended_before_its_death_is_told(world):
    group = Group(world)
    with running(group.parent('setsid sh -c "echo x \\$\\$ >> $LOG; exec sleep 1000" & '
                              'while ! [ -s $LOG ]; do :; done; exit 3')):
        group.sync(1)
        left = pid_of(group.wait_lines(1)[0])
        group.wait_epoch(2)
        equal(alive(left), False, "what was left")


@cases
def epochs_that_were_missed_are_made_up_for(world):
    group = Group(world)
    with running(group.parent(STAY)):
        group.wait_epoch(1)
        group.status(deprecatedEpoch=4, syncedEpoch=4)
        group.sync(5)
        equal(group.wait_lines(1)[0].split()[0], "5", "epoch")


@cases
def success_ends_the_agent_with_zero(world):
    group = Group(world)
    with running(group.parent(SAY + "exit 0")) as agent:
        group.sync(1)
        equal(agent.wait(), 0, "exit code")
    equal(group.epoch(), "1", "epoch")


@cases
def codes_to_terminate_on_end_the_agent_with_that_code(world):
    group = Group(world)
    with running(group.parent(SAY + "exit 42", "--terminate-on", "40-42")) as agent:
        group.sync(1)
        equal(agent.wait(), 42, "exit code")
    equal(group.epoch(), "1", "epoch")
    group = Group(world)
    with running(group.parent(SAY + "kill -KILL $$", MUSTER_TERMINATE_ON="137")) as agent:
        group.sync(1)
        equal(agent.wait(), 137, "exit code of a worker that was killed")


@cases
def a_worker_that_is_not_there_counts_as_a_death(world):
    group = Group(world)
    with running(group.agent("--", "/nonexistent/worker")) as agent:
        group.sync(1)
        agent.errors.until("cannot run '/nonexistent/worker': No such file")
        agent.errors.until("the worker ended with 127")
        group.wait_epoch(2)


@cases
def signals_reach_the_worker_and_exit_codes_come_back(world):
    group = Group(world)
    script = ('trap "echo usr1 >> $LOG" USR1; trap "echo term >> $LOG; exit %d" TERM; echo up >> $LOG; '
              'while :; do sleep 0.05; done')
    for end, code in ((7, 143), (0, 0)):
        group.log.write_text("")
        with running(group.parent(script % end)) as agent:
            if end == 7:
                group.sync(1)
            else:
                group.wait_epoch(2)
                group.status(deprecatedEpoch=1, syncedEpoch=2)
            group.wait_lines(1)
            agent.popen.send_signal(signal.SIGUSR1)
            group.wait_lines(2)
            agent.popen.send_signal(signal.SIGTERM)
            equal(agent.wait(), code, "exit code")
        equal(group.lines(), ["up", "usr1", "term"], "what the worker saw")


@cases
def a_worker_that_does_not_end_is_killed_after_the_grace_period(world):
    group = Group(world)
    with running(group.parent('trap "" TERM; echo up $$ >> $LOG; while :; do sleep 1; done',
                              "--grace", "1")) as agent:
        group.sync(1)
        worker = pid_of(group.wait_lines(1)[0])
        agent.popen.terminate()
        equal(agent.wait(), 143, "exit code")
        equal(alive(worker), False, "the worker")


@cases
def told_to_end_behind_the_barrier_it_ends_at_once(world):
    group = Group(world)
    for signo in (signal.SIGTERM, signal.SIGINT):
        with running(group.parent(STAY)) as agent:
            agent.errors.until("waits for the other members")
            agent.popen.send_signal(signo)
            equal(agent.wait(), 128 + signo, "exit code")


@cases
def a_worker_may_have_time_to_end_before_a_restart(world):
    group = Group(world)
    script = 'trap "echo saved >> $LOG; exit 0" TERM; echo up >> $LOG; while :; do sleep 0.05; done'
    with running(group.parent(script, "--restart-grace", "30")):
        group.sync(1)
        group.wait_lines(1)
        group.deprecate(1)
        group.wait_epoch(2)  # exit 0 of a worker that was told to end is no success
        equal(group.lines(), ["up", "saved"], "what the worker did")


# ---- crashes ----

@cases
def case_25_f_a_killed_agent_takes_its_worker_along_and_the_next_one_goes_on(world):
    group = Group(world)
    with group.parent(STAY) as agent:
        group.sync(1)
        worker = pid_of(group.wait_lines(1)[0])
        agent.popen.kill()
        agent.wait()
        wait_until(lambda: not alive(worker), "the end of the worker")
    with running(group.parent(STAY)):
        group.wait_epoch(2)  # 1 was synced: it had a worker
        group.status(deprecatedEpoch=1, syncedEpoch=2)
        group.wait_lines(2)


@cases
def case_d_f_agents_killed_behind_the_barrier_do_not_use_up_an_epoch(world):
    group = Group(world)
    for come_so_far in (lambda _: None, lambda _: group.wait_epoch(1),
                        lambda agent: agent.errors.until("epoch 1: waits")):
        with group.parent(STAY) as agent:
            come_so_far(agent)
            agent.popen.kill()
            agent.wait()
    with running(group.parent(STAY)) as agent:
        agent.errors.until("epoch 1: waits")
        group.sync(1)
        equal(group.wait_lines(1)[0].split()[0], "1", "epoch")
        os.kill(pid_of(group.lines()[0]), signal.SIGKILL)
        group.wait_epoch(2)
        equal(len(group.lines()), 1, "workers of epoch 1")


@cases
def case_b_it_outlives_the_server(world):
    group = Group(world)
    with running(group.parent(STAY)) as agent:
        group.sync(1)
        first = pid_of(group.wait_lines(1)[0])
        world.api.close()
        world.server.kill()
        agent.errors.until("the connection to the server failed|cannot reach the server")
        os.kill(first, signal.SIGKILL)
        agent.errors.until("restart at epoch 2")
        world.server.start()
        group.wait_epoch(2)
        group.status(deprecatedEpoch=1, syncedEpoch=2)
        group.wait_lines(2)


@cases
def a_version_that_the_server_forgot_is_no_trouble(world):
    group = Group(world)
    with running(group.parent(STAY)) as agent:
        group.wait_epoch(1)
        world.api.close()
        world.server.kill()  # its window of changes is in memory: nobody can resume
        agent.errors.until("the connection to the server failed|cannot reach the server")
        world.server.start()
        for number in range(50):
            world.api.ok("POST", pods(group.ns), pod(f"other-{number}", namespace=group.ns))
        group.sync(1)
        group.wait_lines(1)


@cases
def another_pod_of_its_name_is_not_its_own(world):
    group = Group(world)
    with running(group.parent(STAY)) as agent:
        group.sync(1)
        worker = pid_of(group.wait_lines(1)[0])
        path = f"{pods(group.ns)}/m-0"
        world.api.ok("DELETE", path + "?gracePeriodSeconds=0")
        world.api.ok("POST", pods(group.ns), pod("m-0", namespace=group.ns))
        os.kill(worker, signal.SIGKILL)
        agent.errors.until("is another one now")
        equal(agent.wait(), 143, "exit code")
    equal(group.epoch(), None, "epoch of the new pod")


@cases
def an_epoch_that_no_agent_wrote_is_told_of(world):
    """The server lets no epoch go down; what cannot be put right is tried at leisure."""
    group = Group(world)
    world.api.patch(f"{pods(group.ns)}/m-0", {"metadata": {"annotations": {EPOCH: "99"}}})
    before = requests(world)
    with running(group.parent(STAY)) as agent:
        agent.errors.until("the server refuses to change pod .*m-0: 422 .*may not go down")
        agent.popen.terminate()
        agent.wait()
    if requests(world) > before + 40:
        fail(f"{requests(world) - before} requests")


@cases
def a_late_announcement_changes_nothing(world):
    """A repeated patch is the agent's own words again, after it has gone on."""
    group = Group(world)
    with running(group.parent(STAY)):
        old = group.wait_epoch(1)
        group.sync(1)
        group.wait_lines(1)
        group.deprecate(1)
        group.wait_epoch(2)
        path = f"{pods(group.ns)}/m-0"
        meta = old["metadata"]
        world.api.refused(409, "PATCH", path, {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
                          "annotations": {EPOCH: "1"}}}, {"Content-Type": "application/merge-patch+json"})
        swap = [{"op": "test", "path": "/metadata/annotations/jobset.sigs.k8s.io~1epoch", "value": "1"},
                {"op": "add", "path": "/metadata/annotations/jobset.sigs.k8s.io~1epoch", "value": "2"}]
        answer = world.api.call("PATCH", path, swap, {"Content-Type": "application/json-patch+json"})
        if answer.status not in (409, 422):
            fail(f"a swap from an epoch that is over: {answer.status}")


# ---- no restart in place, and the end ----

@cases
def without_restart_in_place_the_worker_just_runs(world):
    for options in ({"strategy": "Recreate"},
                    {"annotations": {"jobset.sigs.k8s.io/disable-in-place-restart": ""}}):
        group = Group(world, **options)
        with running(group.parent(SAY + "exit 5")) as agent:
            equal(agent.wait(), 5, "exit code")
        equal(group.epoch(), None, "epoch")


@cases
def a_verdict_ends_worker_and_agent(world):
    now = "2026-01-01T00:00:00Z"
    group = Group(world)
    with running(group.parent(STAY)) as agent:
        group.sync(1)
        worker = pid_of(group.wait_lines(1)[0])
        group.status(conditions=[{"type": "Failed", "status": "True", "reason": "X", "message": "",
                                  "lastTransitionTime": now}])
        equal(agent.wait(), 143, "exit code")
        equal(alive(worker), False, "the worker")
    with running(group.parent(STAY)) as agent:
        equal(agent.wait(), 143, "exit code of one that comes after the verdict")
    equal(len(group.lines()), 1, "workers")


# ---- sidecar ----

@cases
def case_31_a_sidecar_answers_the_probe_after_the_lift_and_ends_with_its_code(world):
    group = Group(world)
    port = free_port()
    with running(group.agent(STARTUP_PROBE_PORT=str(port), RESTART_POD_IN_PLACE_EXIT_CODE="64")) as agent:
        group.wait_epoch(1)
        equal(ask(port), 503, "before the lift")
        equal(ask(port, "/other"), 404, "another path")
        group.sync(1)
        wait_until(lambda: ask(port) == 200, "200")
        kids = pathlib.Path(f"/proc/{agent.popen.pid}/task/{agent.popen.pid}/children")
        equal(kids.read_text(), "", "workers of a sidecar")
        equal(ask(port, "/barrier-is-lifted?x=y"), 200, "with a query")
        equal(ask(port, "/barrier-is-lifted/x"), 404, "below it")
        group.deprecate(1)
        equal(agent.wait(), 64, "exit code")
    with running(group.agent(STARTUP_PROBE_PORT=str(port), IN_PLACE_RESTART_EXIT_CODE="7",
                             STARTUP_PROBE_PATH="/barrier-is-down")) as agent:
        group.wait_epoch(2)
        equal(ask(port, "/barrier-is-down"), 503, "before the lift")
        group.sync(2)
        wait_until(lambda: ask(port, "/barrier-is-down") == 200, "200")
        group.status(previousInPlaceRestartAttempt=1)
        equal(agent.wait(), 7, "exit code")


@cases
def case_32_a_sidecar_opens_at_once_without_restart_in_place(world):
    group = Group(world, strategy="Recreate")
    port = free_port()
    with running(group.agent("--probe-port", str(port))) as agent:
        wait_until(lambda: ask(port) == 200, "200")
        agent.popen.terminate()
        equal(agent.wait(), 143, "exit code")


@cases
def clients_that_say_nothing_do_not_block_the_probe(world):
    group = Group(world)
    port = free_port()
    with running(group.agent("--probe-port", str(port))):
        group.wait_epoch(1)
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        equal(ask(port), 503, "answer")
        for one in silent:
            one.close()


@cases
def a_port_that_is_taken_is_told(world):
    group = Group(world)
    with socket.create_server(("0.0.0.0", 0)) as taken:
        with running(group.agent("--probe-port", str(taken.getsockname()[1]))) as agent:
            equal(agent.wait(), 1, "exit code")
            agent.errors.until("cannot listen on port .* for the startup probe: Address (already )?in use")


# ---- transport ----

@cases
def over_tls_with_a_token_of_its_own(world):
    group = Group(world)
    secrets = group.folder / "secrets"
    secrets.mkdir()
    (secrets / "ca").write_text(world.server.ca())
    (secrets / "token").write_text(token(world, "--role", "agent", "--namespace", group.ns,
                                         "--jobset", "set", "--pod", "m-0") + "\n")
    env = {"MUSTER_SOCKET": "", "MUSTER_SERVER": world.server.url, "MUSTER_CA": str(secrets / "ca"),
           "MUSTER_TOKEN_FILE": str(secrets / "token")}
    with running(group.parent(STAY, **env)) as agent:
        group.sync(1)
        os.kill(pid_of(group.wait_lines(1)[0]), signal.SIGKILL)
        group.wait_epoch(2)
        group.status(deprecatedEpoch=1, syncedEpoch=2)
        group.wait_lines(2)
        equal(os.readlink(f"/proc/{agent.popen.pid}/exe").endswith("muster-agent-tls"), True, "TLS")


@cases
def a_server_that_is_not_trusted_is_refused(world):
    group = Group(world)
    env = {"MUSTER_SOCKET": "", "MUSTER_SERVER": world.server.url, "MUSTER_TOKEN": "x"}
    with running(group.parent(STAY, **env)) as agent:
        agent.errors.until("the connection to the server failed: .*(issuer|self|authority)")
        agent.errors.until("--ca")
    (group.folder / "empty").write_text("")
    with running(group.parent(STAY, MUSTER_CA=str(group.folder / "empty"), **env)) as agent:
        equal(agent.wait(), 1, "exit code")
        agent.errors.until("cannot read certificates")


@cases
def tokens_that_do_not_fit_are_told_with_a_remedy(world):
    group = Group(world)
    env = {"MUSTER_SOCKET": "", "MUSTER_SERVER": world.server.url,
           "MUSTER_CA": str(group.folder / "ca")}
    (group.folder / "ca").write_text(world.server.ca())
    other = token(world, "--role", "agent", "--namespace", group.ns, "--jobset", "no", "--pod", "m-1")
    for text, pattern, remedy in (("m1.x.y", "401", "token"), (other, "403", "role agent")):
        with running(group.parent(STAY, MUSTER_TOKEN=text, **env)) as agent:
            agent.errors.until(f"the server refuses .* {pattern}")
            agent.errors.until(remedy)
    with running(group.parent(STAY, MUSTER_TOKEN_FILE="/nonexistent", **env)) as agent:
        agent.errors.until("cannot read the token '/nonexistent'")


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1])
    return fail(f"no Rss of {pid}")


@cases
def it_is_small(world):
    """Of the release's programs: a sanitizer's shadow is larger than both."""
    folder = os.environ.get("MUSTER_RELEASE")
    program = os.path.join(folder, "muster-agent") if folder else ""
    if not os.access(program, os.X_OK) or is_sanitized(program) or not is_static(program):
        raise Skip("no release build, or none against musl")
    group = Group(world)
    (group.folder / "ca").write_text(world.server.ca())
    tls = {"MUSTER_SOCKET": "", "MUSTER_SERVER": world.server.url,
           "MUSTER_CA": str(group.folder / "ca"), "MUSTER_TOKEN": world.server.token}
    for number, (env, most) in enumerate((({}, 100), (tls, 3000)), 1):
        with running(Process([program, "--", "sleep", "1000"], env=group.env(**env))) as agent:
            group.wait_epoch(number)
            group.status(deprecatedEpoch=number - 1, syncedEpoch=number)
            agent.errors.until("the worker starts")
            size = resident_kb(agent.popen.pid)
            print(f"# {os.readlink(f'/proc/{agent.popen.pid}/exe').rsplit('/', 1)[1]}: {size} KB",
                  flush=True)
            if size > most:
                fail(f"{size} KB resident, at most {most}")


def is_static(program):
    with open(program, "rb") as file:
        return b"ld-linux" not in file.read()


@cases
def usage_is_explained(world):
    del world
    done = subprocess.run([agent_path(), "--help"], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "help")
    contains(done.stdout, "usage: muster-agent", "examples:", "RESTART_POD_IN_PLACE_EXIT_CODE")
    done = subprocess.run([agent_path()], capture_output=True, text=True, env={})
    equal(done.returncode, 2, "exit code without anything")
    contains(done.stderr, "NAMESPACE is not set", "fieldRef metadata.namespace")
    done = subprocess.run([agent_path(), "--sokket", "x"], capture_output=True, text=True, env={})
    equal(done.returncode, 2, "exit code of a wrong option")
    contains(done.stderr, "--socket")


if __name__ == "__main__":
    sys.exit(cases.main(server_world))
