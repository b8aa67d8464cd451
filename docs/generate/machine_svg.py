# SPDX-License-Identifier: Apache-2.0
"""State machines as SVG, from lists of states and moves, the same bytes every time.

States stand in a column, in the order of their table. A move to the next state goes straight down;
other moves leave to the right (down) or to the left (up) and join the lane of the state that they lead
to, one lane a target, with its own colour. Nothing is placed by hand: a new row of a table is a new
line here."""

import html

BOX_WIDTH, PORT, GAP, LETTER = 132, 24, 30, 6.7
LANE, MARGIN, TITLE = 20, 24, 58
LANES = ["#2b6cb0", "#b7472a", "#2f855a", "#805ad5", "#b7791f", "#c2417a", "#4a5568"]
FILLS = {"waits": ("#fdf4dc", "#b7791f"), "runs": ("#dff2e6", "#2f855a"), "over": ("#eceff3", "#5b6470")}
LEGEND = [("waits", "waits"), ("runs", "has a process"), ("over", "is over")]
STYLE = ("text{font:13px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#1d2430}"
         ".title{font-size:17px;font-weight:bold}.soft{font-size:12px;fill:#5b6470}"
         ".state{font-weight:bold;text-anchor:middle}.event{font-size:12px}")


class Machine:
    def __init__(self, name, title, source):
        self.name, self.title, self.source = name, title, source
        self.states, self.moves = [], []  # (name, class), (from, event, to, act)


def parse(text):
    """What docs/generate prints."""
    machines = []
    for line in text.splitlines():
        kind, *words = line.split("\t")
        if kind == "machine":
            machines.append(Machine(*words))
        elif kind == "state":
            machines[-1].states.append(tuple(words))
        else:
            machines[-1].moves.append(tuple(words))
    return machines


def label_of(move):
    _, event, _, act = move
    return f"{event}: {act}" if act else event


class Drawing:
    def __init__(self, machine):
        self.machine = machine
        self.order = {name: index for index, (name, _) in enumerate(machine.states)}
        self.out = []
        self.sides = {"left": self.moves_to(lambda a, b: b < a), "right": self.moves_to(lambda a, b: b > a + 1)}
        self.down = self.moves_to(lambda a, b: b == a + 1)
        self.own = self.moves_to(lambda a, b: a == b)
        self.lanes = {side: sorted({self.order[move[2]] for move in moves}, reverse=side == "right")
                      for side, moves in self.sides.items()}
        self.place()

    def moves_to(self, wanted):
        return [move for move in self.machine.moves if wanted(self.order[move[0]], self.order[move[2]])]

    def colour(self, target):
        return LANES[target % len(LANES)]

    # ---- where everything is ----

    def place(self):
        """Ports first, since boxes are as high as their ports need; then boxes, then lanes."""
        wide = {side: max([len(label_of(move)) for move in moves] or [0]) * LETTER + 16
                for side, moves in self.sides.items()}
        wide["right"] = max([wide["right"]] + [len(label_of(move)) * LETTER + 34 for move in self.own])
        self.left = MARGIN + len(self.lanes["left"]) * LANE + (wide["left"] if self.sides["left"] else 0)
        self.right = self.left + BOX_WIDTH
        inner = self.right + wide["right"]
        self.lane_x = {("left", target): self.left - wide["left"] - LANE * n
                       for n, target in enumerate(self.lanes["left"])}
        self.lane_x.update({("right", target): inner + LANE * n for n, target in enumerate(self.lanes["right"])})
        self.width = max(inner + len(self.lanes["right"]) * LANE + MARGIN,
                         MARGIN * 2 + len(self.machine.title) * 10, self.wide_down() + MARGIN)
        self.ports, self.boxes, y = {}, [], TITLE
        for index in range(len(self.machine.states)):
            height = max(34, PORT * max(self.port_count(index, "left"), self.port_count(index, "right")) + 8)
            self.boxes.append((y, height))
            self.set_ports(index, y)
            y += height + GAP + 15 * max(0, len(self.down_from(index)) - 1)
        self.height = y - GAP + 40

    def wide_down(self):
        longest = max([len(label_of(move)) for move in self.down] or [0])
        return self.left + BOX_WIDTH / 2 + 10 + longest * LETTER

    def down_from(self, index):
        return [move for move in self.down if self.order[move[0]] == index]

    def port_keys(self, index, side):
        """What a box has on a side, from the top: lanes that end there, loops, moves that leave."""
        keys = [("in", side, index)] if index in self.lanes[side] else []
        if side == "right":
            keys += [("loop", move) for move in self.own if self.order[move[0]] == index]
        keys += [("out", move) for move in self.sides[side] if self.order[move[0]] == index]
        return keys if side == "right" else keys[1:] + keys[:1] if keys[:1] == [("in", side, index)] else keys

    def port_count(self, index, side):
        return len(self.port_keys(index, side))

    def set_ports(self, index, y):
        height = self.boxes[index][1]
        for side in ("left", "right"):
            keys = self.port_keys(index, side)
            top = y + (height - PORT * len(keys)) / 2
            for n, key in enumerate(keys):
                self.ports[key] = top + PORT * n + PORT / 2 + 4

    # ---- drawing ----

    def add(self, line):
        self.out.append(line)

    def text(self, x, y, text, style="event", anchor=None):
        at = f' text-anchor="{anchor}"' if anchor else ""
        self.add(f'<text class="{style}" x="{x:g}" y="{y:g}"{at}>{html.escape(text)}</text>')

    def path(self, d, colour, arrow=True):
        end = f' marker-end="url(#{colour[1:]})"' if arrow else ""
        self.add(f'<path d="{d}" stroke="{colour}"{end}/>')

    def draw_boxes(self):
        for (name, kind), (y, height) in zip(self.machine.states, self.boxes):
            fill, stroke = FILLS[kind]
            self.add(f'<rect x="{self.left:g}" y="{y:g}" width="{BOX_WIDTH}" height="{height:g}" rx="8" '
                     f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>')
            self.text(self.left + BOX_WIDTH / 2, y + height / 2 + 5, name, "state")

    def draw_down(self):
        for index, (y, height) in enumerate(self.boxes[:-1]):
            moves = self.down_from(index)
            if not moves:
                continue
            x, top, end = self.left + BOX_WIDTH / 2, y + height, self.boxes[index + 1][0]
            self.path(f"M{x:g} {top:g}V{end - 1:g}", self.colour(index + 1))
            for n, move in enumerate(moves):
                self.text(x + 8, (top + end) / 2 + 4 + 15 * (n - (len(moves) - 1) / 2), label_of(move))

    def draw_loops(self):
        for move in self.own:
            y, x = self.ports[("loop", move)], self.right
            self.path(f"M{x:g} {y - 7:g}h10a5.5 5.5 0 0 1 0 11h-9", self.colour(self.order[move[0]]))
            self.text(x + 22, y + 2, label_of(move))

    def draw_side(self, side):
        edge, turn = (self.right, 1) if side == "right" else (self.left, -1)
        for target in self.lanes[side]:
            lane, end = self.lane_x[(side, target)], self.ports[("in", side, target)]
            moves = [move for move in self.sides[side] if self.order[move[2]] == target]
            for move in moves:
                y = self.ports[("out", move)]
                way = 6 if end > y else -6
                self.path(f"M{edge:g} {y:g}H{lane - 6 * turn:g}Q{lane:g} {y:g} {lane:g} {y + way:g}",
                          self.colour(target), arrow=False)
                self.text(edge + 8 * turn, y - 4, label_of(move), anchor=None if turn > 0 else "end")
            ys = [self.ports[("out", move)] for move in moves]
            start = min(ys) + 6 if end > min(ys) else max(ys) - 6
            way = -6 if end > start else 6
            self.path(f"M{lane:g} {start:g}V{end + way:g}Q{lane:g} {end:g} {lane - 6 * turn:g} {end:g}"
                      f"H{edge + turn:g}", self.colour(target))

    def draw(self):
        self.add(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
                 f'width="{self.width:g}" height="{self.height:g}">')
        self.add(f"<title>{html.escape(self.machine.title)}</title><style>{STYLE}</style>")
        self.add("<defs>" + "".join(
            f'<marker id="{c[1:]}" markerWidth="9" markerHeight="8" refX="7.5" refY="4" orient="auto" '
            f'markerUnits="userSpaceOnUse"><path d="M0 0 9 4 0 8z" fill="{c}"/></marker>' for c in LANES) + "</defs>")
        self.add(f'<rect width="{self.width:g}" height="{self.height:g}" fill="#ffffff"/>')
        self.text(MARGIN, 28, self.machine.title, "title")
        self.text(MARGIN, 45, self.machine.source, "soft")
        self.add('<g fill="none" stroke-width="1.4">')
        mark = len(self.out)
        self.draw_down()
        self.draw_side("right")
        self.draw_side("left")
        self.draw_loops()
        lines = self.out[mark:]
        self.out[mark:] = [line for line in lines if line.startswith("<path")] + ["</g>"]
        self.out += [line for line in lines if not line.startswith("<path")]
        self.draw_boxes()
        self.draw_legend()
        self.add("</svg>")
        return "\n".join(self.out) + "\n"

    def draw_legend(self):
        x, y = MARGIN, self.height - 16
        for kind, text in LEGEND:
            fill, stroke = FILLS[kind]
            self.add(f'<rect x="{x:g}" y="{y - 10:g}" width="12" height="12" rx="3" fill="{fill}" stroke="{stroke}"/>')
            self.text(x + 18, y, text, "soft")
            x += 36 + len(text) * LETTER


def svg(machine):
    return Drawing(machine).draw()
