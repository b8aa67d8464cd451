# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around the server: a full disk, one that cannot be written, a damaged file, a file
from the future, two servers for one folder. Each has to be told clearly and to damage nothing."""

import contextlib
import ctypes
import hashlib
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys

from muster_test import (Cases, Server, Skip, contains, equal, fail, matches, muster_path,
                         version_of)
from objects import configmap

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
KILOBYTE = 1024
PATH = "/api/v1/namespaces/default/configmaps"
cases = Cases()


def enter_own_mounts():
    """Mounts that only this process and its children see. None, or why it cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER
    if libc.unshare(flags) != 0:
        return f"no mount namespace: {os.strerror(ctypes.get_errno())}"
    if uid != 0:
        try:
            pathlib.Path("/proc/self/setgroups").write_text("deny")
            pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
            pathlib.Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        except OSError as error:
            return f"no user namespace: {error}"
    made = subprocess.run(["mount", "--make-rprivate", "/"], stderr=subprocess.PIPE, text=True)
    return made.stderr.strip() if made.returncode != 0 else None


NO_MOUNTS = enter_own_mounts() if __name__ == "__main__" else "not the main program"


@contextlib.contextmanager
def small_disk(folder, size):
    """A tmpfs of its own."""
    if NO_MOUNTS:
        raise Skip(NO_MOUNTS)
    path = pathlib.Path(folder)
    path.mkdir(parents=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
                          stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        raise Skip(made.stderr.strip())
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def remount(path, how):
    subprocess.run(["mount", "-o", f"remount,{how}", path], check=True)


@contextlib.contextmanager
def running(server):
    server.start()
    try:
        yield server
        server.stop()
    finally:
        server.end()


def sum_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def refused_start(server, *words):
    """A start that must fail: exit code 1, nothing on standard output, one clear message."""
    server.spawn()
    try:
        out = server.ready_line()
        code = None if out else server.wait()
    finally:
        server.end()
    equal((code, out), (1, ""), f"exit code and standard output ({server.stderr})")
    server.check_clean()
    contains(server.stderr, "error: ", *words)
    matches(server.stderr, r"^hint: ")
    equal(len(server.stderr.splitlines()) <= 4, True, f"few lines: {server.stderr}")


def with_content(folder):
    """A folder in which a server has run and stored something."""
    server = Server(folder)
    with running(server):
        api = server.local()
        for i in range(20):
            api.ok("POST", PATH, configmap(f"c{i}", {"text": "x" * 2000}))
        api.close()
    server.stderr_path.unlink()
    return server, server.data / "muster.db"


# ---- a full disk ----

def fill_up(path):
    """Takes all the space that is left."""
    with open(path, "wb", buffering=0) as file:
        for size in (64 * KILOBYTE, KILOBYTE, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size) == size:
                    pass


def write_until_refused(api):
    """The log may have room inside the file that it has already."""
    for i in range(2000):
        answer = api.call("POST", PATH, configmap(f"full{i}", {"text": "x" * 20000}))
        if answer.status != 201:
            return i, answer
    fail("it never ran full")


@cases
def a_full_disk_refuses_writes_and_goes_on_reading(folder):
    with small_disk(f"{folder}/full", "6m") as disk:
        server = Server(f"{folder}/full-server")
        server.data = disk / "data"
        with running(server):
            api = server.local()
            with contextlib.closing(api):
                made = api.ok("POST", PATH, configmap("before"))
                fill_up(disk / "filler")
                stored, answer = write_until_refused(api)
                equal(answer.status, 507, f"code ({answer.text[:300]})")
                status = answer.json()
                equal((status["kind"], status["reason"]), ("Status", "InsufficientStorage"), "status")
                contains(status["message"], "not stored", "disk full", "free some space")
                check_full(api, made, stored)
                (disk / "filler").unlink()
                check_freed(api, stored)
        with running(server):
            api = server.local()
            with contextlib.closing(api):
                names = {item["metadata"]["name"] for item in api.get(PATH)["items"]}
                equal(names, {"before", "after"} | {f"full{i}" for i in range(stored)}, "after a restart")


def check_full(api, made, stored):
    equal(api.get(f"{PATH}/before"), made, "reads go on")
    equal(len(api.get(PATH)["items"]), stored + 1, "lists go on")
    api.refused(404, "GET", f"{PATH}/full{stored}")
    with api.watch(PATH) as events:
        events.take(stored + 1)
    answer = api.call("GET", "/readyz?verbose")
    equal(answer.status, 500, "not ready")
    contains(answer.text, "[-]store", "disk full")
    equal(api.call("GET", "/livez").status, 200, "but alive")
    answer = api.call("DELETE", f"{PATH}/before")
    if answer.status == 200:
        fail("a deletion was acknowledged on a full disk")


def check_freed(api, stored):
    before = version_of(api.get(PATH))
    made = api.ok("POST", PATH, configmap("after"))
    equal(version_of(made) > before, True, "version rises")
    equal(api.call("GET", "/readyz").status, 200, "ready again")
    api.refused(404, "GET", f"{PATH}/full{stored}")


@cases
def a_disk_too_small_to_begin_with(folder):
    with small_disk(f"{folder}/tiny", "8k") as disk:
        server = Server(f"{folder}/tiny-server")
        server.data = disk / "data"
        refused_start(server, "disk full")


# ---- a disk that cannot be written ----

@cases
def a_read_only_folder(folder):
    with small_disk(f"{folder}/read-only", "6m") as disk:
        server = Server(f"{folder}/read-only-server")
        server.data = disk / "data"
        with running(server):
            pass
        server.stderr_path.unlink()
        before = sum_of(server.data / "muster.db")
        remount(disk, "ro")
        refused_start(server, str(server.data))
        matches(server.stderr, r"(?i)read-only|not writable|writable")
        equal(sum_of(server.data / "muster.db"), before, "the file")


@cases
def a_folder_that_cannot_be_made(folder):
    (pathlib.Path(folder) / "a-file").write_text("")
    server = Server(f"{folder}/no-folder")
    server.data = pathlib.Path(folder) / "a-file" / "data"
    server.spawn()
    try:
        equal(server.wait(), 1, "exit code")
    finally:
        server.end()
    contains(server.stderr, "error: ", "a-file")
    server.check_clean()


# ---- a file that is not what it should be ----

@cases
def a_damaged_file(folder):
    server, path = with_content(f"{folder}/damaged")
    with open(path, "r+b") as file:
        file.seek(4096)  # the head of the table's first page; further in there may be nothing
        file.write(b"\xa5" * 3000)
    before = sum_of(path)
    refused_start(server, str(path), "damaged", "backup")
    equal(sum_of(path), before, "the file")


@cases
def a_file_with_a_damaged_page(folder):
    server, path = with_content(f"{folder}/page")
    with open(path, "r+b") as file:
        file.seek(4096 + 3)  # of a page's head: how many cells it has, and where they begin
        file.write(b"\x7f\xff\x7f\xff")
    refused_start(server, str(path), "is damaged or not a store: ")
    equal("***" in server.stderr, False, "SQLite's frame in the first line")


@cases
def a_file_of_something_else(folder):
    server = Server(f"{folder}/other")
    server.data.mkdir(mode=0o700)
    path = server.data / "muster.db"
    path.write_text("this is a letter to a friend, not a database\n" * 100)
    before = sum_of(path)
    refused_start(server, str(path), "damaged or not a store")
    equal(sum_of(path), before, "the file")
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE recipes (name TEXT)")
    before = sum_of(path)
    server.stderr_path.unlink()
    refused_start(server, str(path), "another program")
    equal(sum_of(path), before, "the file")


@cases
def a_file_that_was_cut_off(folder):
    server, path = with_content(f"{folder}/cut")
    os.truncate(path, path.stat().st_size // 2)
    before = sum_of(path)
    refused_start(server, str(path), "damaged")
    equal(sum_of(path), before, "the file")


@cases
def a_file_from_a_newer_version(folder):
    server, path = with_content(f"{folder}/newer")
    with contextlib.closing(sqlite3.connect(path)) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute(f"PRAGMA user_version = {version + 1}")
    before = sum_of(path)
    refused_start(server, str(path), f"format {version + 1}", "newer version")
    equal(sum_of(path), before, "the file")


@cases
def an_object_that_is_not_json(folder):
    server, path = with_content(f"{folder}/not-json")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE objects SET value = '{\"a\":' WHERE name = 'c7'")
    refused_start(server, str(path), "c7", "not JSON")


# ---- two at once ----

@cases
def a_second_server_on_the_same_folder(folder):
    first = Server(f"{folder}/twice")
    with running(first):
        second = Server(f"{folder}/twice-second")
        second.data = first.data
        refused_start(second, str(first.popen.pid), "in use")
        equal(first.local().call("GET", "/readyz").status, 200, "the first one goes on")
        api = first.remote()
        with contextlib.closing(api):
            api.ok("POST", PATH, configmap("still-writes"))


@cases
def a_folder_is_free_after_kill_9(folder):
    server = Server(f"{folder}/killed")
    with running(server):
        api = server.local()
        made = api.ok("POST", PATH, configmap("a"))
        api.close()
        token, ca = server.token, server.ca()
        server.kill()
        server.start()
        api = server.local()
        equal(api.get(f"{PATH}/a"), made, "object")
        api.close()
        equal((server.token, server.ca()), (token, ca), "token and certificate stay")


# ---- signals ----

@cases
def two_signals_end_it_at_once(folder):
    server = Server(f"{folder}/signals")
    server.start()
    try:
        # The connection stays open, for which the first signal waits and the second does not.
        with server.local().watch(PATH) as events:
            server.popen.terminate()
            equal(events.rest(), [], "the watch ends")
            server.popen.terminate()
            equal(server.wait(), 0, "exit code")
        server.check_clean()
        equal((server.data / "muster.sock").exists(), False, "socket left behind")
    finally:
        server.end()


@cases
def a_wrong_option(folder):
    server = Server(f"{folder}/options", "--watch-windov", "5")
    server.spawn()
    try:
        equal(server.wait(), 2, "exit code")
    finally:
        server.end()
    contains(server.stderr, "--watch-windov", "--watch-window")


def ended(server):
    """What such a start comes to: it neither runs nor hangs."""
    server.spawn()
    try:
        code = server.wait()
    finally:
        server.end()
    server.check_clean()
    return code


@cases
def an_address_that_is_none(folder):
    for i, address in enumerate(["foo", "127.0.0.1:", ":-1", "127.0.0.1:http", "127.0.0.1:65536",
                                 "127.0.0.1:99999", "127.0.0.1:+1", "127.0.0.1:4294967296"]):
        server = Server(f"{folder}/address-{i}", "--listen", address)
        equal(ended(server), 2, f"exit code of {address}")
        contains(server.stderr, "error: option '--listen': ", f"'{address}'")
        equal(server.data.exists(), False, "something was begun")


@cases
def a_node_that_cannot_have_its_name(folder):
    for i, (option, value) in enumerate([("--node", "Bad_Name"), ("--node", ""),
                                         ("--node-label", "foo"), ("--node-label", "a b=c"),
                                         ("--node-label", "=x")]):
        server = Server(f"{folder}/name-{i}", option, value, node=True)
        equal(ended(server), 2, f"exit code of {option} '{value}'")
        contains(server.stderr, f"error: option '{option}': ")
        equal(server.data.exists(), False, "something was begun")
    server = Server(f"{folder}/name-of-none", "--node", "a")
    equal(ended(server), 2, "exit code with --no-node")
    contains(server.stderr, "option '--node': there is no node with --no-node")


@cases
def a_node_that_the_store_does_not_take(folder):
    nodes = pathlib.Path(folder) / "long.yaml"
    nodes.write_text(f"nodes: [{{name: {'a' * 64}}}]\n")
    server = Server(f"{folder}/refused", "--nodes", str(nodes))
    equal(ended(server), 1, "exit code")
    matches(server.stderr, r" node\.refused node=a{64} error=.*hostname.*no more than 63")
    equal(server.stderr.count("node.refused"), 1, "told once")


@cases
def an_address_in_use(folder):
    first = Server(f"{folder}/address")
    with running(first):
        second = Server(f"{folder}/address-second", "--listen", first.url.removeprefix("https://"))
        second.spawn()
        try:
            equal(second.wait(), 1, "exit code")
        finally:
            second.end()
        contains(second.stderr, "error: ", first.url.rsplit(":", 1)[1])


@cases
def a_shell_that_gives_few_descriptors(folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 512:
        raise Skip("the hard limit is low as well")
    server = Server(f"{folder}/descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with running(server):
            limits = resource.prlimit(server.popen.pid, resource.RLIMIT_NOFILE)
            equal(limits, (hard, hard), "the server's limits")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))



# ---- is the machine able ----

def check(data, *options):
    return subprocess.run([muster_path(), "up", "--check", "--data", str(data), *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@cases
def a_check_tells_what_works_and_leaves_nothing(folder):
    done = check(f"{folder}/able")
    equal(done.returncode, 0, done.stdout + done.stderr)
    for what in ("data directory", "other servers", "address", "kernel", "control groups",
                 "open files", "processes", "pressure"):
        matches(done.stdout, rf"^(ok|warn) +{what}  ")
    equal(os.path.exists(f"{folder}/able"), False, "the folder was left")
    equal("\033" in done.stdout, False, "colours on a pipe")


@cases
def a_check_tells_what_does_not(folder):
    server = Server(f"{folder}/unable")
    with running(server):
        port = server.url.rsplit(":", 1)[1]
        done = check(server.data, "--listen", f"127.0.0.1:{port}", "--no-node")
    equal(done.returncode, 1, done.stdout)
    matches(done.stdout, rf"^FAILED +other servers +process {server.popen.pid} uses")
    matches(done.stdout, rf"^FAILED +address +.*{port}")
    equal(done.stdout.count("hint: "), 2, f"hints in {done.stdout}")
    done = check("/proc/nowhere")
    equal(done.returncode, 1, done.stdout)
    matches(done.stdout, r"^FAILED +data directory +")


if __name__ == "__main__":
    sys.exit(cases.main())
