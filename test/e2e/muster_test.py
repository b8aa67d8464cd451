# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: a server of their own, kubectl with nothing of the user's, raw
HTTP, and TAP.

Waiting is always for an event (a line, a watch event, the end of a process) and always bounded by
LIMIT_S, which no healthy run comes near. Everything lives in one temporary folder and every process
is a child or grandchild of the test, so that the end can check that nothing was left behind."""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import queue
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = int(os.environ.get("MUSTER_TEST_LIMIT", "60"))
PR_SET_CHILD_SUBREAPER = 36
SANITIZER_WORDS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:",
                   "WARNING: ThreadSanitizer", "Assertion `")


class Skip(Exception):
    """This case cannot be tried here; the text says why."""


def muster_path(release=False):
    """The server to try: with `release` the plain one, when there is one, else the build's own."""
    folder = os.environ.get("MUSTER_RELEASE")
    if release and folder and os.access(os.path.join(folder, "muster"), os.X_OK):
        return os.path.join(folder, "muster")
    return os.environ.get("MUSTER") or str(SOURCE / "build-san" / "muster")


def is_sanitized(program):
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()


def kubectl_path():
    found = subprocess.run([SOURCE / "scripts" / "kubectl-path"], stdout=subprocess.PIPE, text=True)
    if found.returncode != 0:
        raise Skip("no kubectl that is new enough")
    return found.stdout.strip()


# ---- comparing ----

def fail(text):
    raise AssertionError(text)


def equal(got, wanted, what="value"):
    if got != wanted:
        fail(f"{what}: got {got!r}, wanted {wanted!r}")


def contains(text, *words):
    for word in words:
        if word not in text:
            fail(f"{word!r} is not in:\n{text}")


def matches(text, pattern):
    found = re.search(pattern, text, re.M)
    return found if found else fail(f"/{pattern}/ does not match:\n{text}")


# ---- waiting for processes and lines ----

class Lines:
    """The lines of a pipe, read by a thread, each waited for with a limit."""

    def __init__(self, pipe):
        self.queue = queue.Queue()
        self.seen = []
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe):
        for line in pipe:
            self.queue.put(line.rstrip("\n"))
        self.queue.put(None)

    def next(self, limit=LIMIT_S):
        """The next line, None at the end."""
        try:
            line = self.queue.get(timeout=limit)
        except queue.Empty:
            fail(f"no further line in {limit} s after {self.seen[-5:]}")
        if line is None:
            self.queue.put(None)
        else:
            self.seen.append(line)
        return line

    def until(self, pattern, limit=LIMIT_S):
        """Reads up to a line that matches; returns the match."""
        while True:
            line = self.next(limit)
            if line is None:
                fail(f"it ended before a line /{pattern}/ came; it said: {self.seen[-5:]}")
            found = re.search(pattern, line)
            if found:
                return found

    def rest(self):
        lines = []
        while (line := self.next()) is not None:
            lines.append(line)
        return lines


class Process:
    """A program that runs beside the test."""

    def __init__(self, command, env=None, cwd=None, stdin=subprocess.DEVNULL):
        self.popen = subprocess.Popen([str(word) for word in command], env=env, cwd=cwd, text=True,
                                      stdin=stdin, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
        self.lines = Lines(self.popen.stdout)
        self.errors = Lines(self.popen.stderr)

    def wait(self, limit=LIMIT_S):
        try:
            return self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            fail(f"{self.popen.args[:3]} did not end in {limit} s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends it if it still runs, takes its pipes down."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        if self.popen.stdin:
            self.popen.stdin.close()
        for lines, pipe in ((self.lines, self.popen.stdout), (self.errors, self.popen.stderr)):
            lines.thread.join(LIMIT_S)
            pipe.close()


# ---- raw HTTP ----

class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=LIMIT_S):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


class Events:
    """One watch: an iterator over its events; next() fails after LIMIT_S without one."""

    def __init__(self, connection, response):
        self.connection = connection
        self.response = response

    def next(self):
        """The next event, None when the server has ended the watch."""
        try:
            line = self.response.readline()
        except (TimeoutError, socket.timeout):
            fail("the watch is silent")
        except http.client.IncompleteRead:
            return None
        return json.loads(line) if line else None

    def take(self, count):
        events = [self.next() for _ in range(count)]
        if None in events:
            fail(f"the watch ended early: {brief(events)}")
        return events

    def until(self, wanted):
        """Events up to and with the first for which wanted(event) is true."""
        events = []
        while True:
            event = self.next()
            if event is None:
                fail(f"the watch ended early: {brief(events)}")
            events.append(event)
            if wanted(event):
                return events

    def rest(self):
        events = []
        while (event := self.next()) is not None:
            events.append(event)
        return events

    def close(self):
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def brief(events):
    """Events as "ADDED name rv", to compare and to print."""
    return [event and "{} {}".format(event["type"],
                                     event["object"].get("metadata", {}).get("name", "-"))
            for event in events]


def version_of(thing):
    return int(thing["metadata"]["resourceVersion"])


class Api:
    """Raw HTTP with one kept connection."""

    def __init__(self, connect, token=None):
        self.connect = connect
        self.token = token
        self.connection = None

    def _headers(self, body, headers):
        merged = {"Accept": "application/json"}
        if self.token:
            merged["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            merged["Content-Type"] = "application/json"
        merged.update(headers or {})
        return merged

    def call(self, method, path, body=None, headers=None):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if self.connection is None:
            self.connection = self.connect()
        try:
            self.connection.request(method, path, body, self._headers(body, headers))
            response = self.connection.getresponse()
            return Answer(response, response.read())
        except Exception:
            self.close()
            raise

    def ok(self, method, path, body=None, headers=None):
        """The parsed answer of a call that must succeed."""
        answer = self.call(method, path, body, headers)
        if answer.status >= 300:
            fail(f"{method} {path}: {answer.status} {answer.text[:500]}")
        return answer.json()

    def get(self, path):
        return self.ok("GET", path)

    def patch(self, path, body, kind="merge"):
        return self.ok("PATCH", path, body,
                       {"Content-Type": f"application/{kind}-patch+json"})

    def refused(self, status, method, path, body=None, headers=None):
        """The Status of a call that must be refused with this code."""
        answer = self.call(method, path, body, headers)
        if answer.status != status:
            fail(f"{method} {path}: {answer.status}, wanted {status}: {answer.text[:500]}")
        parsed = answer.json()
        equal((parsed["kind"], parsed["status"], parsed["code"]), ("Status", "Failure", status),
              "Status object")
        return parsed

    def watch(self, path, **params):
        """Opens a watch on a connection of its own."""
        query = urllib.parse.urlencode({"watch": "1", **params})
        connection = self.connect()
        connection.request("GET", f"{path}?{query}", headers=self._headers(None, None))
        response = connection.getresponse()
        if response.status != 200:
            body = response.read().decode()
            connection.close()
            fail(f"watch {path}?{query}: {response.status} {body}")
        return Events(connection, response)

    def wait_gone(self, path, name):
        """Waits on a watch until the object of this name is not there."""
        with self.watch(path, fieldSelector=f"metadata.name={name}", sendInitialEvents="true",
                        resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true") as events:
            there = any(event["type"] == "ADDED"
                        for event in events.until(lambda event: event["type"] == "BOOKMARK"))
            if there:
                events.until(lambda event: event["type"] == "DELETED")

    def wait_for(self, path, wanted):
        """Waits on a watch until an object of the collection satisfies wanted(object)."""
        with self.watch(path) as events:
            return events.until(lambda event: event["type"] in ("ADDED", "MODIFIED") and
                                wanted(event["object"]))[-1]["object"]

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


# ---- the server ----

class Server:
    """A `muster up` in a folder of its own; with node=True it runs pods. `cwd` is where it is
    started, and so where the commands of its pods are."""

    def __init__(self, folder, *options, program=None, node=False, cwd=None):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.options = options if node else ("--no-node", *options)
        self.program = program or muster_path()
        self.cwd = cwd
        self.popen = None
        self.stderr_path = self.folder / "stderr"
        self.folder.mkdir(parents=True, exist_ok=True)

    def spawn(self):
        with open(self.stderr_path, "ab") as stderr:
            self.popen = subprocess.Popen(
                [self.program, "up", "--data", str(self.data), *self.options], cwd=self.cwd,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        return self

    def start(self):
        self.spawn()
        line = self.ready_line()
        found = re.fullmatch(r"ready api=(\S+) kubeconfig=(\S+) dashboard=\S+\n", line)
        if not found:
            self.end()
            fail(f"no ready line but {line!r}; {self.stderr[-2000:]}")
        self.url, self.kubeconfig = found[1], found[2]
        config = pathlib.Path(self.kubeconfig).read_text()
        self.token = matches(config, r"token: (\S+)")[1].strip('"')
        self.socket = str(self.data / "muster.sock")
        return self

    def ready_line(self):
        """Its line on standard output; what there is when it ends before, or takes too long."""
        fd, line, limit = self.popen.stdout.fileno(), b"", time.monotonic() + LIMIT_S
        while not line.endswith(b"\n"):
            if not select.select([fd], [], [], max(0, limit - time.monotonic()))[0]:
                break
            data = os.read(fd, 4096)
            if not data:
                break
            line += data
        return line.decode()

    @property
    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def local(self):
        """The API on the unix socket, as admin."""
        return Api(lambda: UnixConnection(self.socket))

    def tls_context(self):
        return ssl.create_default_context(cadata=self.ca())

    def ca(self):
        import base64
        config = pathlib.Path(self.kubeconfig).read_text()
        return base64.b64decode(matches(config, r"certificate-authority-data: (\S+)")[1]).decode()

    def remote(self, token=None):
        """The API over TLS; the admin's token unless another is given ("" for none)."""
        address = urllib.parse.urlsplit(self.url)
        context = self.tls_context()
        return Api(lambda: http.client.HTTPSConnection(address.hostname, address.port,
                                                       timeout=LIMIT_S, context=context),
                   self.token if token is None else token)

    def wait(self, limit=LIMIT_S):
        try:
            code = self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            fail(f"the server did not end in {limit} s")
        self.popen.stdout.close()
        return code

    def stop(self):
        """SIGTERM; it must end with 0 and no sanitizer may have found anything."""
        self.popen.send_signal(signal.SIGTERM)
        code = self.wait()
        self.check_clean()
        if code != 0:
            fail(f"exit code {code} on SIGTERM:\n{self.stderr[-4000:]}")

    def kill(self):
        self.popen.kill()
        self.wait()

    def end(self):
        """For cleaning up after a failure: whatever happened, it is gone afterwards."""
        if self.popen is not None and self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()

    def check_clean(self):
        for word in SANITIZER_WORDS:
            if word in self.stderr:
                fail(f"the server's stderr has {word!r}:\n{self.stderr[-4000:]}")


# ---- kubectl ----

class Kubectl:
    """kubectl with a home of its own, so that neither the user's configuration nor his cache
    counts."""

    def __init__(self, folder, kubeconfig, program=None):
        self.home = pathlib.Path(folder) / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.program = program or kubectl_path()
        keep = ("PATH", "LANG", "TMPDIR", "MUSTER_HIDE_TIMING")
        self.env = {name: os.environ[name] for name in keep if name in os.environ}
        self.env.update(HOME=str(self.home), KUBECONFIG=str(kubeconfig), TZ="UTC",
                        KUBECACHEDIR=str(self.home / "cache"))

    def run(self, *words, stdin=None, code=0, env=None):
        """Runs it to its end; the exit code must be `code` (None: any)."""
        done = subprocess.run([self.program, *map(str, words)], env={**self.env, **(env or {})},
                              input=stdin if stdin is not None else "", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
        if code is not None and done.returncode != code:
            fail(f"kubectl {' '.join(map(str, words))}: exit code {done.returncode}, wanted {code}\n"
                 f"{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done

    def __call__(self, *words, **options):
        return self.run(*words, **options).stdout

    def refused(self, *words, code=1, **options):
        """Standard error of a run that must fail."""
        return self.run(*words, code=code, **options).stderr

    def apply(self, *objects, **options):
        return self("apply", "-f", "-", stdin="\n".join(map(json.dumps, objects)), **options)

    def beside(self, *words, env=None):
        return Process([self.program, *words], {**self.env, **(env or {})})


# ---- a proxy that can cut ----

class Proxy:
    """Plain HTTP on a free port of loopback to the server's unix socket. Each request gets a
    connection of its own; `before(request_line)` runs first and may hold it back; cut() breaks all
    that are open."""

    def __init__(self, target, before=None):
        self.target = target
        self.before = before
        self.open = set()
        self.requests = []
        self.lock = threading.Lock()
        self.threads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _head(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(65536)
            if not data:
                return b""
            head += data
        lines, body = head.split(b"\r\n\r\n", 1)
        kept = [line for line in lines.split(b"\r\n")
                if not line.lower().startswith((b"connection:", b"authorization:"))]
        return b"\r\n".join(kept + [b"Connection: close", b"", b""]) + body

    def _serve(self, client):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self.lock:
            self.open |= {client, server}
        try:
            head = self._head(client)
            if head:
                line = head.split(b"\r\n", 1)[0].decode()
                self.requests.append(line)
                if self.before:
                    self.before(line)
                server.connect(self.target)
                server.sendall(head)
                self._pump(client, server)
        except OSError:
            pass
        with self.lock:
            self.open -= {client, server}
        client.close()
        server.close()

    @staticmethod
    def _pump(client, server):
        while True:
            for source in select.select([client, server], [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                (server if source is client else client).sendall(data)

    def cut(self):
        with self.lock:
            for end in self.open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join(LIMIT_S)
        self.cut()
        for thread in self.threads:
            thread.join(LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- cases ----

class Cases:
    """Cases in the order of writing, run one after the other, told as TAP.

    with Cases() as cases: cases.run("name", function)  — or the decorator form:
        @cases
        def name_of_the_case(world): ...
    """

    def __init__(self):
        self.list = []

    def __call__(self, function):
        self.list.append((function.__name__.replace("_", " "), function))
        return function

    def add(self, name, function):
        self.list.append((name, function))

    def main(self, make_world=None):
        """Runs all; make_world(folder) is a context manager that gives what cases need."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # A test that is told to end, as after a time limit, takes its servers and folders down too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        wanted = sys.argv[1:]
        chosen = [case for case in self.list if not wanted or any(w in case[0] for w in wanted)]
        folder = tempfile.mkdtemp(prefix="muster-e2e-")
        report = Report(len(chosen) + 2)
        try:
            self._run(chosen, make_world or no_world, folder, report)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            report.tell("no process is left behind", check_no_child)
        return report.finish()

    @staticmethod
    def _run(chosen, make_world, folder, report):
        ran = 0
        try:
            with make_world(folder) as world:
                for name, function in chosen:
                    ran += 1
                    report.tell(name, lambda call=function: call(world))
        except Skip as reason:
            for name, _ in chosen[ran:]:
                report.line(True, name, f" # SKIP {reason}")
            report.line(True, "the server starts and ends well", f" # SKIP {reason}")
            return
        except Exception:
            for name, _ in chosen[ran:]:
                report.line(False, name, "")
            report.line(False, "the server starts and ends well", "")
            report.note(traceback.format_exc())
            return
        report.line(True, "the server starts and ends well", "")


class Report:
    def __init__(self, count):
        self.number = 0
        self.failed = 0
        print(f"1..{count}", flush=True)

    def line(self, ok, name, directive):
        self.number += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{directive}", flush=True)

    @staticmethod
    def note(text):
        print("\n".join("# " + line for line in text.splitlines()), flush=True)

    def tell(self, name, call):
        began = time.monotonic()
        try:
            call()
        except Skip as reason:
            self.line(True, name, f" # SKIP {reason}")
        except Exception:
            self.line(False, name, "")
            self.note(traceback.format_exc())
        else:
            self.line(True, name, "")
        took = time.monotonic() - began
        if took > 5:
            self.note(f"took {took:.1f} s")

    def finish(self):
        return 1 if self.failed else 0


@contextlib.contextmanager
def no_world(folder):
    yield folder


def check_no_child():
    """Nothing that this test started may run on; what does is ended here, so that it is told once."""
    with contextlib.suppress(ChildProcessError):  # those of a killed server have become ours: reap
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    left = []
    for pid in children():
        with contextlib.suppress(OSError):
            left.append(pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    equal(left, [], "left behind")


def children():
    found = []
    for path in pathlib.Path("/proc/self/task").glob("*/children"):
        found += [int(pid) for pid in path.read_text().split()]
    return found
