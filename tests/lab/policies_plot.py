#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures where load goes under each algorithm, from 5% to 130% of capacity, in the lab of
policy_lab.py, and writes docs/policies.svg (measured points over the model's lines) and the table
of docs/policies.md between its two markers. Needs root.

  policies_plot.py --bin build/bin [--docs docs]
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from lab import Lab  # noqa: E402  (the path must be there first)
from policy_lab import ALGORITHMS, PolicyLab, connections, misfit, ramp  # noqa: E402

CAPACITIES = {"a": 120, "b": 80, "c": 200}
NAMES = {"a": "za, 120 connections", "b": "zb, 80", "c": "zc in the other region, 200"}
COLORS = {"a": "#0b6e99", "b": "#d9730d", "c": "#6b4fa0"}
PERCENTS = list(range(5, 131, 5))
SHOWN = [5, 25, 50, 75, 100, 130]
BEGIN, END = "<!-- measured -->\n", "<!-- end of measured -->\n"
MOST = 1.35  # of an axis: 135%


def measure(lab):
    """By algorithm: lists of percent, load, measured, model."""
    results = {}
    for algorithm in ALGORITHMS:
        lab.policy(f"--load-balancing-algorithm={algorithm}")
        results[algorithm] = [(percent, load, measured, lab.model(algorithm, CAPACITIES, load))
                              for percent, load, measured in ramp(lab, CAPACITIES, PERCENTS)]
        print(algorithm, "differs by at most", f"{largest(results[algorithm]):.1f} connections", flush=True)
    return results


def worst(rows):
    return max(misfit(measured, wanted, load) for _, load, measured, wanted in rows)


def largest(rows):
    """The largest difference, in connections."""
    return max(abs(measured.get(name, 0) - wanted[name]) for _, _, measured, wanted in rows for name in wanted)


class Panel:
    """One algorithm: fill of each group over the load."""
    WIDTH, HEIGHT = 330, 210

    def __init__(self, left, top):
        self.left, self.top, self.parts = left, top, []

    def at(self, load, fill):
        return self.left + self.WIDTH * load / MOST, self.top + self.HEIGHT * (1 - fill / MOST)

    def line(self, points, style):
        self.parts.append(f'<polyline fill="none" {style} points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def text(self, x, y, words, style=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words}</text>')

    def draw(self, title, rows):
        for tick in (0, 0.5, 1):
            grid = 'stroke="#dddddd"'
            self.line([self.at(0, tick), self.at(MOST, tick)], grid)
            self.line([self.at(tick, 0), self.at(tick, MOST)], grid)
            self.text(*(c + d for c, d in zip(self.at(0, tick), (-6, 4))), f"{tick * 100:.0f}%", 'text-anchor="end"')
            self.text(*(c + d for c, d in zip(self.at(tick, 0), (0, 16))), f"{tick * 100:.0f}%", 'text-anchor="middle"')
        self.text(self.left, self.top - 8, title, 'font-weight="bold"')
        for group, capacity in CAPACITIES.items():
            self.line([self.at(0, 0)] + [self.at(percent / 100, wanted[group] / capacity) for percent, _, _, wanted in rows],
                      f'stroke="{COLORS[group]}" stroke-width="1.5"')
            for percent, _, measured, _ in rows:
                x, y = self.at(percent / 100, measured.get(group, 0) / capacity)
                self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{COLORS[group]}"/>')
        return self.parts


def svg(results):
    width, height = 830, 620
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for number, (algorithm, rows) in enumerate(results.items()):
        parts += Panel(55 + 410 * (number % 2), 40 + 275 * (number // 2)).draw(algorithm, rows)
    x = 55
    for group, name in NAMES.items():
        parts.append(f'<circle cx="{x}" cy="{height - 18}" r="4" fill="{COLORS[group]}"/>')
        parts.append(f'<text x="{x + 9}" y="{height - 14}">{group}: {name}</text>')
        x += 190
    parts.append(f'<text x="{x}" y="{height - 14}">lines: model, dots: measured</text>')
    return "\n".join(parts + ["</svg>", ""])


def table(results):
    lines = ["| algorithm | " + " | ".join(f"{percent}%" for percent in SHOWN) + " | largest difference |",
             "|---|" + "---|" * (len(SHOWN) + 1)]
    for algorithm, rows in results.items():
        cells = []
        for percent, _, measured, wanted in rows:
            if percent in SHOWN:
                cells.append("<br>".join(f"{g} {measured.get(g, 0)} ({wanted[g]:.0f})" for g in CAPACITIES))
        lines.append(f"| `{algorithm}` | " + " | ".join(cells) + f" | {largest(rows):.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "../../build/bin"))
    parser.add_argument("--docs", default=os.path.join(HERE, "../../docs"))
    options = parser.parse_args()
    with Lab(options.bin, backends=3) as base:
        lab = PolicyLab(base)
        lab.start(connections(CAPACITIES))
        results = measure(lab)
    with open(f"{options.docs}/policies.svg", "w", encoding="utf-8") as out:
        out.write(svg(results))
    with open(f"{options.docs}/policies.md", encoding="utf-8") as page:
        before, rest = page.read().split(BEGIN)
        after = rest.split(END)[1]
    with open(f"{options.docs}/policies.md", "w", encoding="utf-8") as out:
        out.write(before + BEGIN + "\n" + table(results) + "\n" + END + after)
    return 1 if any(worst(rows) > 0.05 for rows in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
