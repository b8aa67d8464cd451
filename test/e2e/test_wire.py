# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, as bytes: bodies without end, connections by the thousand that never ask
for anything, requests inside requests, tokens of yesterday. Whoever behaves is served meanwhile.

What the parser refuses is a table in test/unit/os/test_http.c; here is what the whole server makes
of it. The release program is used when there is one: what counts is how much memory it takes."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import resource
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import warnings

from muster_test import (LIMIT_S, Cases, Server, Skip, contains, equal, fail, is_sanitized, matches,
                         muster_path)
from objects import World, configmap
from pods import wait_until

MEGABYTE = 1 << 20
SLOW = int(os.environ.get("MUSTER_TEST_SLOW", "10000"))
ANSWERS_S = 25  # the limits for a handshake and for headers are 10 s each
cases = Cases()


def connect(world, kind):
    """A connection without a word on it: to the unix socket, to the port, or with TLS on it."""
    if kind == "unix":
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(LIMIT_S)
        sock.connect(world.server.socket)
        return sock
    address = urllib.parse.urlsplit(world.server.url)
    sock = socket.create_connection((address.hostname, address.port), LIMIT_S)
    if kind == "tcp":
        return sock
    return world.server.tls_context().wrap_socket(sock, server_hostname=address.hostname)


def everything(sock):
    """What comes until the server has had enough."""
    data = b""
    sock.settimeout(LIMIT_S)
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while chunk := sock.recv(65536):
            data += chunk
    return data


def say(world, kind, *parts):
    with contextlib.closing(connect(world, kind)) as sock:
        for part in parts:
            sock.sendall(part)
        return everything(sock)


def status_word(world, word):
    text = pathlib.Path(f"/proc/{world.server.popen.pid}/status").read_text()
    return int(matches(text, rf"^{word}:\s+(\d+) kB")[1]) * 1024


@contextlib.contextmanager
def bounded_memory(world, most):
    """What is done inside takes at most this much more than there was before, at any moment."""
    pathlib.Path(f"/proc/{world.server.popen.pid}/clear_refs").write_text("5")
    before = status_word(world, "VmRSS")
    yield
    if is_sanitized(world.server.program):
        return
    grown = status_word(world, "VmHWM") - before
    if grown > most:
        fail(f"memory grew by {grown >> 20} MiB, {most >> 20} MiB were to be enough")


class Bystander(threading.Thread):
    """Somebody who behaves: new connections, all of which must be served."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.over, self.served, self.problem = world, threading.Event(), 0, None

    def run(self):
        while self.problem is None:
            for api in (self.world.server.local(), self.world.server.remote()):
                with contextlib.closing(api):
                    try:
                        api.get("/version")
                        self.served += 1
                    except (OSError, AssertionError) as error:
                        self.problem = f"a bystander was not served: {error!r}"
            if self.over.wait(0.1):
                return

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.join(LIMIT_S)
        if kind is None:
            equal((self.problem, self.served > 0), (None, True), "bystanders")


# ---- too much ----

HEAD = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n{}\r\n"


def flood(sock, head, piece, count):
    """Sends on and on, until an answer comes; the answer."""
    sock.sendall(head.encode())
    for _ in range(count):
        try:
            sock.settimeout(0)
            return sock.recv(65536) + everything(sock)
        except (BlockingIOError, ssl.SSLWantReadError):
            sock.settimeout(LIMIT_S)
        try:
            sock.sendall(piece)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            break
    return everything(sock)


@cases
def a_body_of_100_megabytes(world):
    authorized = f"Authorization: Bearer {world.server.token}\r\n"
    piece = b"x" * MEGABYTE
    with bounded_memory(world, 24 * MEGABYTE), Bystander(world):
        for kind in ("unix", "tls"):
            with contextlib.closing(connect(world, kind)) as sock:
                said = flood(sock, HEAD.format(authorized + "Content-Length: 104857600\r\n"),
                             piece, 100)
            contains(said.decode(), "HTTP/1.1 413", "RequestEntityTooLarge")
            with contextlib.closing(connect(world, kind)) as sock:
                said = flood(sock, HEAD.format(authorized + "Transfer-Encoding: chunked\r\n"),
                             b"100000\r\n" + piece + b"\r\n", 100)
            contains(said.decode(), "HTTP/1.1 413")
    with open(world.folder / "big.yaml", "w") as file:
        file.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n")
        for i in range(100):
            file.write(f"  k{i}: {'x' * MEGABYTE}\n")
    done = subprocess.run([muster_path(), "apply", "--data", world.server.data, "-f", file.name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal(done.returncode, 1, f"exit code ({done.stderr[:500]})")
    matches(done.stderr[:500], r"too large|larger than")
    equal(len(done.stderr) < 2000, True, "a short message")


@cases
def a_chunked_body_that_never_ends(world):
    """Neither of data nor of what stands around it."""
    with bounded_memory(world, 24 * MEGABYTE), Bystander(world):
        for piece, first in ((b"1\r\nx\r\n" * 10000, b""), (b"y" * 60000, b"1;"),
                             (b"X-More: and more\r\n" * 4000, b"0\r\n")):
            with contextlib.closing(connect(world, "unix")) as sock:
                head = HEAD.format("Transfer-Encoding: chunked\r\n") + first.decode()
                said = flood(sock, head, piece, 10000)
            matches(said.decode(), r"^HTTP/1.1 (413|400|431)")


@cases
def many_bodies_at_once_of_nobody(world):
    """Whoever has no token cannot make the server keep his bodies."""
    head = HEAD.format("Content-Length: 3145728\r\nAuthorization: Bearer m1.e30.AAAA\r\n").encode()
    with bounded_memory(world, 96 * MEGABYTE), contextlib.ExitStack() as stack:
        for _ in range(100):
            sock = stack.enter_context(contextlib.closing(connect(world, "tls")))
            with contextlib.suppress(OSError):
                sock.sendall(head)
                sock.sendall(b"x" * (3 * MEGABYTE - 10))
        world.api.get("/version")


@cases
def headers_without_end(world):
    big = b"GET /version HTTP/1.1\r\nHost: x\r\nX-Big: " + b"b" * MEGABYTE + b"\r\n\r\n"
    many = b"GET /version HTTP/1.1\r\nHost: x\r\n" + b"a:b\r\n" * 10000 + b"\r\n"
    fits = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + b"a:\r\n" * 8000 + b"\r\n"
    long = b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    with Bystander(world):
        for kind in ("unix", "tls"):
            for request in (big, many, long):
                matches(say(world, kind, request).decode(), r"^HTTP/1.1 431")
            matches(say(world, kind, fits).decode(), r"^HTTP/1.1 (200|401)")


# ---- too slow ----

def slow_count():
    """As many as the limit of open files leaves us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(SLOW, hard - 500)
    if count < 100:
        raise Skip(f"only {hard} open files")
    return count


class Drip:
    """Connections that send one byte a second, as long as they may."""

    def __init__(self, world, kind, count, text):
        self.text, self.ended, self.refused = text, 0, 0
        self.poll = select.epoll()
        self.socks = {}
        for _ in range(count):
            sock = self.open(world, kind)
            self.socks[sock.fileno()] = sock
            self.poll.register(sock.fileno(), select.EPOLLIN)

    @staticmethod
    def open(world, kind):
        """A server that is a moment behind lets one wait."""
        limit = time.monotonic() + LIMIT_S
        while True:
            try:
                sock = connect(world, kind)
                break
            except (BlockingIOError, ConnectionRefusedError):
                if time.monotonic() > limit:
                    raise
                time.sleep(0.01)
        sock.setblocking(False)
        return sock

    def drop(self, fd):
        self.poll.unregister(fd)
        self.socks.pop(fd).close()
        self.ended += 1

    def step(self, number):
        """One byte from each; who has been ended is counted."""
        byte = self.text[number % len(self.text):][:1]
        for fd, sock in list(self.socks.items()):
            try:
                sock.send(byte)
            except BlockingIOError:
                pass
            except OSError:
                self.drop(fd)
        for fd, _ in self.poll.poll(0, max(1, len(self.socks))):
            try:
                if self.socks[fd].recv(4096):
                    self.refused += 1  # told why; the end follows
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            self.drop(fd)

    def close(self):
        for sock in self.socks.values():
            sock.close()
        self.poll.close()


@cases
def thousands_that_send_a_byte_a_second(world):
    """Half of them begin a handshake, half a request; all are ended, and others served from the
    first moment on."""
    count = slow_count()
    world.api.close()  # an idle one would have to give up its place
    before = status_word(world, "VmRSS")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 500
    # A handshake under way has buffers for two whole records.
    with bounded_memory(world, (count * 48 << 10) + 32 * MEGABYTE), Bystander(world):
        drips = [Drip(world, "unix", count // 2, b"GET /version HTTP/1.1\r\nHost: " + b"x" * 1000),
                 Drip(world, "tcp", count - count // 2, hello)]
        with contextlib.ExitStack() as stack:
            for drip in drips:
                stack.callback(drip.close)
            began = time.monotonic()
            second = 0
            while any(drip.socks for drip in drips):
                if time.monotonic() - began > LIMIT_S + ANSWERS_S:
                    fail(f"still there: {[len(drip.socks) for drip in drips]}")
                for drip in drips:
                    drip.step(second)
                second += 1
                time.sleep(max(0, began + second - time.monotonic()))  # a byte a second
            equal(sum(drip.ended for drip in drips), count, "ended")
    wait_until(lambda: world.metric("muster_connections") < 20, "their places are free")
    if not is_sanitized(world.server.program):
        wait_until(lambda: status_word(world, "VmRSS") < before + 16 * MEGABYTE, "their memory is given back")


@cases
def handshakes_that_stay_half_open(world):
    """Nothing said, half a hello, garbage, an old version, gone in the middle."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 100
    with contextlib.ExitStack() as stack, Bystander(world):
        open_ones = [stack.enter_context(contextlib.closing(connect(world, "tcp")))
                     for _ in range(200)]
        for i, sock in enumerate(open_ones):
            sock.sendall((b"", hello, hello[:3], b"")[i % 4])
        for junk in (b"\x00" * 4096, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x00\xff\xff" + b"\xff" * 9000,
                     b"\x15\x03\x01\x00\x02\x02\x28", b"\x80\x2e\x01\x00\x02"):
            say(world, "tcp", junk)
        for _ in range(50):
            sock = connect(world, "tcp")
            sock.sendall(hello[:20])
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        for sock in open_ones:
            equal(everything(sock)[:1] in (b"", b"\x15"), True, "an alert at most")
    warnings.simplefilter("ignore", DeprecationWarning)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with contextlib.closing(connect(world, "tcp")) as sock:
        try:
            old.wrap_socket(sock)
        except (ssl.SSLError, OSError):
            return
    fail("TLS 1.1 was accepted")


@cases
def watchers_that_never_read(world):
    """A hundred of them cost what one costs; who reads goes on. Past changes may take 32 MiB as bytes
    and as much again as views."""
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    ask = f"GET {path}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    with bounded_memory(world, 96 * MEGABYTE), contextlib.ExitStack() as stack:
        deaf = []
        for _ in range(100):
            sock = stack.enter_context(contextlib.closing(connect(world, "unix")))
            sock.sendall(ask)
            contains(sock.recv(12).decode(), "HTTP/1.1 200")
            deaf.append(sock)
        dropped = world.metric("muster_watches_dropped_total")
        with world.api.watch(path) as events:
            for i in range(24):
                world.put(ns, configmap(f"big{i % 4}-{i}", {"text": "x" * (MEGABYTE - 200)}))
                world.api.ok("DELETE", f"{path}/big{i % 4}-{i}")
                events.take(2)
        wait_until(lambda: world.metric("muster_watches_dropped_total") == dropped + 100, "dropped")


# ---- requests inside requests ----

def hidden(ns):
    return f"DELETE /api/v1/namespaces/{ns}/configmaps/kept HTTP/1.1\r\nHost: x\r\n\r\n"


@cases
def a_request_inside_a_request_is_not_taken(world):
    """Whatever a proxy in front might have read, the second request is never ours to execute."""
    ns = world.new_namespace()
    world.put(ns, configmap("kept"))
    inner = hidden(ns)
    path = f"/api/v1/namespaces/{ns}/configmaps"
    length = len(inner)
    shapes = [
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nContent-Length: 0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: {length}\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: {length + 5}\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0{length}x\r\n\r\n{inner}",
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0x{length:x}\r\n\r\n{inner}",
        f"GET {path} HTTP/1.1\nHost: x\n\n{inner}",
        f"GET {path} HTTP/1.1\r\nHost: x\r\nX: a\r\r\n\r\n{inner}",
        f"GET {path} HTTP/1.1\r\nHost: x\r\n folded: a\r\n\r\n{inner}",
        f"GET {path} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n{inner}",
        f"GET {path} HTTP/1.1 \r\nHost: x\r\n\r\n{inner}",
        f"GET {path}\0 HTTP/1.1\r\nHost: x\r\n\r\n{inner}",
    ]
    for shape in shapes:
        said = say(world, "unix", shape.encode()).decode()
        equal((said[:12], said.count("HTTP/1.1 ")), ("HTTP/1.1 400", 1), repr(shape[:120]))
        contains(said, "Connection: close")
    # A body that is one, with a request in it, is a body; and the next request is the next.
    nested = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{inner}"
    last = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    said = say(world, "unix", (nested + last).encode()).decode()
    equal(re.findall(r"HTTP/1.1 (\d+)", said), ["400", "200"], "answers")
    world.api.get(f"{path}/kept")


@cases
def what_clients_send_makes_no_header_and_no_line(world):
    """Texts that come back in headers, and lines of the access log, stay one line."""
    ns = world.new_namespace()
    path = f"/api/v1/namespaces/{ns}/configmaps"
    odd = {**configmap("a"), "x\r\nX-Injected: yes\r\n\r\n<html>": 1, 'quo"te\\': 2, "\u2028\x7f": 3}
    answer = world.api.call("POST", f"{path}?fieldValidation=Warn", odd)
    equal((answer.status, answer.headers["X-Injected"]), (201, None), "answer")
    equal("Warning" in answer.headers, True, "warned")
    for target in (f"{path}/%0d%0aX-Injected:%20yes", f"{path}?labelSelector=%0d%0aX-Injected:%20yes",
                   f"{path}?continue=%0d%0a", f"{path}/a%00b"):
        answer = world.api.call("GET", target)
        equal(answer.headers["X-Injected"], None, target)
        equal(400 <= answer.status < 500, True, f"{target}: {answer.status}")
    before = (world.server.data / "access.log").read_bytes().count(b"\n")
    fake = "2000-01-01T00:00:00Z admin GET /forged 200"
    world.api.call("GET", f"{path}/x%0a{urllib.parse.quote(fake)}",
                   headers={"User-Agent": "a\tb", "X-Forwarded-For": "1.2.3.4"})
    world.api.get("/version")
    log = (world.server.data / "access.log").read_text()
    equal(log.count("\n") <= before + 2, True, "lines of the access log")
    equal("\n" + fake in log, False, "a forged line")


# ---- tokens ----

def forged(world, claims):
    """A token with a good signature and claims of our own: what only the key's owner can make."""
    key = (world.server.data / "token.key").read_bytes()

    def text(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = "m1." + text(json.dumps(claims).encode())
    return f"{head}.{text(hmac.new(key, head.encode(), hashlib.sha256).digest())}"


@cases
def tokens_of_nobody_of_yesterday_and_of_no_role(world):
    good = world.server.token
    head, claims, signature = good.split(".")
    other = claims[:-1] + ("A" if claims[-1] != "A" else "B")
    bad = [f"{head}.{other}.{signature}", f"{head}.{claims}.", f"{head}..{signature}", head, "." * 1000,
           f"m0.{claims}.{signature}", f"{good}.{signature}", "x" * 20000, "%00", "null", good.upper()]
    bad += [forged(world, made) for made in (
        {"role": "king"}, {}, {"role": 7}, {"role": None}, {"role": "admin", "expires": 1},
        {"role": ["admin"]}, [], "admin", {"role": "agent"},
        {"role": "node"}, {"role": "admin", "expires": -5})]
    for token in bad:
        api = world.server.remote(token)
        with contextlib.closing(api):
            answer = api.call("GET", "/api/v1/namespaces")
            equal(answer.status in (401, 403), True, f"{token[:60]}: {answer.status}")
    api = world.server.remote(forged(world, json.loads(
        base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))))
    with contextlib.closing(api):
        api.get("/api/v1/namespaces")  # that the forged ones were refused for what they say
    log = (world.server.data / "access.log").read_text() + world.server.stderr
    for token in [good, *bad]:
        equal(len(token) > 20 and token in log, False, "a token in a log")


@cases
def a_new_key_voids_all_tokens(world):
    old = world.server.token
    world.api.close()
    world.server.stop()
    (world.server.data / "token.key").unlink()
    world.server.start()
    api = world.server.remote(old)
    with contextlib.closing(api):
        api.refused(401, "GET", "/api/v1/namespaces")
    api = world.server.remote()
    with contextlib.closing(api):
        api.get("/api/v1/namespaces")


@cases
def files_that_others_may_read_are_closed_again(world):
    """Somebody was generous with the data directory; the next start is not."""
    names = ["kubeconfig", "view.kubeconfig", "token.key", "muster.db", "pki/ca.key", "access.log"]
    world.api.close()
    world.server.stop()
    for name in names:
        (world.server.data / name).chmod(0o644)
    world.server.data.chmod(0o755)
    world.server.start()
    for name in names + ["muster.sock"]:
        mode = (world.server.data / name).stat().st_mode & 0o777
        equal(oct(mode & 0o077), "0o0", f"rights of {name}")


@contextlib.contextmanager
def wire_world(folder):
    server = Server(folder, program=muster_path(release=True)).start()
    try:
        world = World(pathlib.Path(folder), server)
        yield world
        world.api.close()
        server.stop()
    finally:
        server.end()


if __name__ == "__main__":
    os.environ.pop("MALLOC_PERTURB_", None)  # meson's: it fills what is allocated, and we measure memory
    sys.exit(cases.main(wire_world))
