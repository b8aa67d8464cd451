# SPDX-License-Identifier: Apache-2.0
"""Pages of documentation, typed in as they stand.

In a ```sh block a line "$ COMMAND" is run by one shell a page, and the lines below it are what it must
print: "*" stands for any text, a line "*" for any lines, and spaces are not counted. A command without
such lines must succeed. "muster up ... &" starts a server, whose first line is what it prints; "; wait"
behind a command waits for its end, as in a shell whose child it is. Folders called /tmp/muster-NAME are
replaced by temporary ones throughout.

A ```yaml block whose first line is "# NAME.yaml" is a file that commands may use; one that holds a whole
object must be valid. A block that cannot be run here is marked "```sh not-run". A command anywhere else
is an error of the page: nobody would notice when it stops working."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess

from muster_test import SOURCE, Process, Skip, equal, fail, kubectl_path, muster_path

COMMAND = re.compile(r"(build/)?(muster|muster-agent|kubectl|make|apt-get|systemctl|sqlite3) ")


class Page:
    def __init__(self, text):
        self.steps = []  # (command, [expected lines])
        self.files = {}  # name: text
        self.objects = []  # whole objects without a name
        self.errors = []
        self.not_run = 0  # blocks
        block, body, first = None, [], 0
        for number, line in enumerate(text.splitlines(), 1):
            if not line.lstrip().startswith("```"):
                body.append(line)
            elif block is None:
                block, body, first = line.strip()[3:].strip(), [], number
            else:
                self.add_block(block, body, first)
                block = None

    def add_block(self, kind, lines, number):
        if kind == "sh":
            self.add_steps(lines, number)
        elif kind == "sh not-run":
            self.not_run += 1
        elif kind == "yaml":
            self.add_file(lines)
        elif any(line.startswith("$ ") or COMMAND.match(line) for line in lines):
            self.errors.append(f"line {number}: commands in a block that nobody runs: mark it sh, or sh not-run")

    def add_steps(self, lines, number):
        steps = []
        for line in lines:
            if line.startswith("$ "):
                steps.append((line[2:].strip(), []))
            elif steps and steps[-1][0].endswith("\\") and not steps[-1][1]:
                steps[-1] = (steps[-1][0][:-1] + line.strip(), [])
            elif steps and not line.startswith("#"):
                steps[-1][1].append(line)
        if not steps:
            self.errors.append(f"line {number}: no line begins with \"$ \": what is to be run?")
        self.steps += steps

    def add_file(self, lines):
        name = re.fullmatch(r"# (\S+\.yaml)\b.*", lines[0]) if lines else None
        text = "\n".join(lines) + "\n"
        if name:
            self.files[name[1]] = text
        elif re.match(r"apiVersion:", text):
            self.objects.append(text)


# ---- comparing ----

def squeezed(line):
    return re.sub(r"\s+", " ", line).strip()


def line_matches(pattern, line):
    """Only "*" is special: pages are full of brackets and question marks."""
    parts = [re.escape(part) for part in squeezed(pattern).split("*")]
    return re.fullmatch(".*".join(parts), squeezed(line), re.S) is not None


def lines_match(patterns, lines):
    if not patterns:
        return not lines
    if patterns[0].strip() == "*":
        return any(lines_match(patterns[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and line_matches(patterns[0], lines[0]) and lines_match(patterns[1:], lines[1:])


def without_blank_end(lines):
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


# ---- running ----

class Desk:
    """A shell that keeps its variables, in a folder that looks like the top of the source tree after
    `make`, and the servers that were started on the way."""

    def __init__(self, folder, page):
        self.folder = pathlib.Path(folder)
        (self.folder / "build").mkdir(parents=True)
        self.add_tools()
        for name, text in page.files.items():
            (self.folder / name).write_text(text)
        self.env = {"PATH": f"{self.folder / 'build'}:{os.environ['PATH']}", "HOME": str(self.folder),
                    "TMPDIR": str(self.folder), "TZ": "UTC", "LANG": "C.UTF-8"}
        self.shell = Process(["bash"], self.env, self.folder, stdin=subprocess.PIPE)
        self.servers = []

    def add_tools(self):
        build = pathlib.Path(muster_path()).resolve().parent
        for name in ("muster", "muster-agent", "muster-agent-tls"):
            if (build / name).exists():
                (self.folder / "build" / name).symlink_to(build / name)
        (self.folder / "build" / "kubectl").symlink_to(kubectl_path())
        (self.folder / "examples").symlink_to(SOURCE / "examples")

    def here(self, text):
        return re.sub(r"/tmp/muster-", f"{self.folder}/", text)

    def run(self, command):
        """Output (both streams) and exit code."""
        mark = "--end-of-step--"
        self.shell.popen.stdin.write(f"{{ {self.here(command)}\n}} 2>&1 </dev/null; "
                                     f"printf '\\n{mark}%d\\n' $?\n")
        self.shell.popen.stdin.flush()
        lines = []
        while True:
            line = self.shell.lines.next()
            if line is None:
                fail(f"the shell ended: {lines}")
            if line.startswith(mark):
                return without_blank_end(lines), int(line[len(mark):])
            lines.append(line)

    def start(self, command):
        """A server; its first line is what the step prints."""
        words = shlex.split(self.here(command.rstrip("& ")))
        words[0] = str(self.folder / "build" / "muster")
        server = Process(words, self.env, self.folder)
        self.servers.append(server)
        line = server.lines.next()
        if line is None:
            fail("\n".join(server.errors.rest()))
        return [line]

    def step(self, command, expected):
        code = 0
        if command.endswith("&"):
            lines = self.start(command)
        else:
            lines, code = self.run(command)
            if command.endswith("; wait"):
                self.servers[-1].wait()
        wanted = [self.here(line) for line in without_blank_end(expected)]
        if not wanted:
            equal(code, 0, f"exit code of {command!r}: {lines}")
        elif not lines_match(wanted, lines):
            fail("\n".join(["it printed:", *lines, "wanted:", *wanted]))

    def stop(self):
        """Ends servers that still run; those that do not were killed by the page."""
        for server in self.servers:
            if server.popen.poll() is None:
                server.popen.send_signal(signal.SIGTERM)
                equal(server.wait(), 0, f"exit code: {server.errors.seen}")
            equal("Sanitizer" in "\n".join(server.errors.rest()), False, "found by a sanitizer")


@contextlib.contextmanager
def desk_of(folder, page):
    desk = Desk(folder, page)
    with contextlib.ExitStack() as stack:
        stack.enter_context(desk.shell)
        try:
            yield desk
            desk.stop()
        finally:
            for server in desk.servers:
                stack.enter_context(server)


def check_objects(page, folder):
    """Whole objects in a page are valid."""
    for number, text in enumerate([*page.objects, *page.files.values()]):
        if not re.search(r"^apiVersion:", text, re.M):
            continue
        if re.search(r"^kind: Configuration$", text, re.M):
            continue
        path = pathlib.Path(folder) / f"object-{number}.yaml"
        path.write_text(text)
        done = subprocess.run([muster_path(), "validate", path], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        equal(done.returncode, 0, f"muster validate: {done.stdout}\nof\n{text}")


def add_page(cases, path):
    """Cases for each step of a page. The world of the cases is a folder."""
    page = Page(path.read_text())
    name = path.relative_to(SOURCE).as_posix()
    state = {}

    def begin(folder):
        equal(page.errors, [], name)
        place = pathlib.Path(folder) / re.sub(r"\W", "-", name)
        state["world"] = desk_of(place, page)
        state["desk"] = state["world"].__enter__()
        state["failed"] = True
        check_objects(page, place)
        state["failed"] = False

    def step(command, expected):
        if "desk" not in state or state.get("failed"):
            raise Skip("something before it failed")
        state["failed"] = True
        state["desk"].step(command, expected)
        state["failed"] = False

    def end(_):
        if "desk" not in state:
            raise Skip("it was not begun")
        state["world"].__exit__(None, None, None)

    cases.add(f"{name}: {len(page.steps)} commands, {page.not_run} blocks that are not run", begin)
    for command, expected in page.steps:
        short = command if len(command) < 60 else command[:57] + "..."
        cases.add(f"{name}: " + short.replace("#", "no.").replace("\\", "/"),
                  lambda _, words=(command, expected): step(*words))
    cases.add(f"{name}: its servers end", end)
    return page
