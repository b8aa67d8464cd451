# SPDX-License-Identifier: Apache-2.0
"""The README's tour, typed in as it stands.

In its ```sh blocks a line "$ COMMAND" is run by one shell from the top of the source tree, and the
lines below it are what it must print: "*" stands for any text, a line "*" for any lines, and spaces
are not counted. A command without such lines must succeed. A command that ends in "&" starts a server;
its --data folder is replaced by a temporary one throughout."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

from muster_test import SOURCE, Cases, Process, Skip, equal, fail, kubectl_path, muster_path

HEADING = "Five-minute tour"
cases = Cases()


def section(text):
    """The lines of the tour, without those of the next heading on; None when there is none."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(rf"#+\s+{HEADING}\s*", line, re.I):
            level = len(line) - len(line.lstrip("#"))
            rest = lines[number + 1:]
            end = next((i for i, other in enumerate(rest)
                        if re.match(r"#{1,%d}\s" % level, other) and not inside_block(rest[:i])), len(rest))
            return rest[:end]
    return None


def inside_block(lines):
    return sum(line.startswith("```") for line in lines) % 2 == 1


def steps_of(lines):
    """[(command, [expected lines])] of all sh blocks."""
    steps, block = [], None
    for line in lines:
        if line.startswith("```"):
            block = line[3:].strip() if block is None else None
        elif block in ("sh", "console", "shell"):
            if line.startswith("$ "):
                steps.append((line[2:].strip(), []))
            elif steps and steps[-1][0].endswith("\\") and not steps[-1][1]:
                steps[-1] = (steps[-1][0][:-1] + line.strip(), [])
            elif steps and not line.startswith("#"):
                steps[-1][1].append(line)
    return steps


def squeezed(line):
    return re.sub(r"\s+", " ", line).strip()


def line_matches(pattern, line):
    """Only "*" is special: tours are full of brackets and question marks."""
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


class Tour:
    """A shell that keeps its variables, and the servers started on the way."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.replaced = {}
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "kubectl").symlink_to(kubectl_path())
        self.env = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(self.folder), "TZ": "UTC",
                    "MUSTER_TOUR": muster_path()}
        self.shell = Process(["bash"], self.env, SOURCE, stdin=subprocess.PIPE)
        self.servers = []

    def here(self, text):
        """The command or line with this build's program and temporary folders."""
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        return re.sub(r"(?<![\w/.-])build/muster(?![\w-])", '"$MUSTER_TOUR"', text)

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
        words = shlex.split(command.rstrip("& "))
        if "--data" in words:
            data = words[words.index("--data") + 1]
            self.replaced[data] = str(self.folder / "tour")
        words = [muster_path() if word == "build/muster" else self.here(word) for word in words]
        server = Process(words, self.env, SOURCE)
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
        # Expected lines name folders, never programs.
        wanted = [self.here(line) for line in without_blank_end(expected)]
        if not wanted:
            equal(code, 0, f"exit code of {command!r}: {lines}")
        elif not lines_match(wanted, lines):
            fail("\n".join(["it printed:", *lines, "wanted:", *wanted]))

    def stop(self):
        for server in self.servers:
            server.popen.send_signal(signal.SIGTERM)
            equal(server.wait(), 0, f"exit code: {server.errors.rest()}")
            equal("Sanitizer" in "\n".join(server.errors.rest()), False, "found by a sanitizer")


@contextlib.contextmanager
def make_world(folder):
    tour = Tour(folder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(tour.shell)
        try:
            yield tour
            tour.stop()
        finally:
            for server in tour.servers:
                stack.enter_context(server)


@cases
def the_comparison_can_fail(_):
    table = [(["a"], ["a"], True), (["a"], ["b"], False), (["a*c"], ["abbc"], True), (["*"], [], True),
             (["*"], ["a", "b"], True), (["*", "b"], ["a", "b"], True), (["*", "b"], ["a"], False),
             (["a   b"], ["a b  "], True), (["x[0].y: *"], ["x[0].y: z"], True),
             (["x[0].y"], ["x0.y"], False), (["a"], ["a", "b"], False)]
    for patterns, lines, wanted in table:
        equal(lines_match(patterns, lines), wanted, f"{patterns} against {lines}")
    equal(steps_of(["```sh", "$ a \\", "b", "out", "```", "$ not this", "```c", "$ nor this", "```"]),
          [("a b", ["out"])], "steps")


def add_steps():
    path = SOURCE / "README.md"
    lines = section(path.read_text()) if path.exists() else None
    if lines is None:
        def skip(_):
            raise Skip(f"the README has no section {HEADING!r}")
        cases.add("the tour", skip)
        return
    steps = steps_of(lines)
    cases.add("the tour has steps", lambda _: equal(len(steps) > 0, True, "steps"))
    for command, expected in steps:
        name = command if len(command) < 70 else command[:67] + "..."
        cases.add(name.replace("#", "no.").replace("\\", "/"),
                  lambda tour, step=(command, expected): tour.step(*step))


if __name__ == "__main__":
    add_steps()
    sys.exit(cases.main(make_world))
