# SPDX-License-Identifier: Apache-2.0
"""Heat maps of docs/cpu-grid.md, for scripts/grid_page.py: sizes across, distributions down, a panel a way to call."""
import html

from grid_results import GOAL, ONE_CALL, REUSED

# The last color holds for what is beyond the last border. Lost cells are red.
BORDERS = [(0.25, "#a50f15"), (0.5, "#cb3a2f"), (0.8, "#ef6b52"), (1.0, "#fcae91"), (GOAL, "#fff3b0"), (1.5, "#d9f0d3"), (2.0, "#a6dba0"),
           (4.0, "#5aae61"), (float("inf"), "#1b7837")]
DARK = {"#a50f15", "#cb3a2f", "#5aae61", "#1b7837"}
PANELS = {ONE_CALL: "one call, everything opened in it", REUSED: "a sorter that is kept"}
NAMES = {"reverse": "reversed", "nearly-sorted": "nearly sorted", "sorted-tail": "sorted with a tail", "bucket-sorted": "64 sorted runs",
         "bits:16": "low 16 bits only"}
ORDER = ["uniform", "normal", "sorted", "reverse", "nearly-sorted", "sorted-tail", "runs:2", "runs:4", "bucket-sorted", "values:2", "values:16", "values:1000",
         "entropy:2", "entropy:4", "entropy:8", "zipf:0.5", "zipf:1", "zipf:2", "bits:16"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 37, 20, 128, 62, 26


def plain(distribution):
    return distribution.removeprefix("whole:")


def name_of(distribution):
    distribution = plain(distribution)
    kind, _, number = distribution.partition(":")
    if kind == "values":
        return f"{int(number):,} values".replace(",", " ")
    if kind == "runs":
        return f"{number} sorted runs"
    if kind == "entropy":
        return f"AND of {number} words"
    return NAMES.get(distribution, distribution.replace(":", " "))


def place_of(distribution):
    name = plain(distribution)
    return (ORDER.index(name), name) if name in ORDER else (len(ORDER), name)


def color_of(ratio):
    return next(color for border, color in BORDERS if ratio < border)


def text_of(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def size_name(num_keys):
    power = num_keys.bit_length() - 1
    return f"2^{power}" if num_keys == 1 << power else str(num_keys)


def panel(cells, ours, rows, columns, left):
    """Cells of a color are one path, so that files stay small."""
    squares, words = {}, []
    by_place = {(cell.distribution, cell.num_keys): cell for cell in cells}
    for row, distribution in enumerate(rows):
        for column, num_keys in enumerate(columns):
            x, y = left + column * WIDTH, TOP + row * HEIGHT
            cell = by_place.get((distribution, num_keys))
            ratio = cell.ratio(ours) if cell else None
            color = "#e5e7eb" if ratio is None else color_of(ratio)
            squares.setdefault(color, []).append(f"M{x} {y}h{WIDTH - 1}v{HEIGHT - 1}h-{WIDTH - 1}z")
            if ratio is not None:
                of = ' class="d"' if color in DARK else ""
                words.append(f'<text x="{x + WIDTH // 2}" y="{y + 14}"{of}>{text_of(ratio)}</text>')
    parts = [f'<path fill="{color}" d="{"".join(paths)}"/>' for color, paths in squares.items()]
    heads = [f'<text x="{left + column * WIDTH + WIDTH // 2}" y="{TOP - 6}">{size_name(num_keys)}</text>'
             for column, num_keys in enumerate(columns)]
    return parts + words + heads + [f'<text class="h" x="{left}" y="{TOP - 22}">{PANELS[ours]}</text>']


def legend(y):
    parts, x, low = [], LEFT, "0"
    for border, color in BORDERS:
        high = "" if border == float("inf") else f"{border:g}"
        text = f"{low} to {high}" if high else f"{low} and more"
        goal = ' stroke="#111827" stroke-width="1.5"' if low == f"{GOAL:g}" else ""
        parts.append(f'<rect x="{x}" y="{y}" width="16" height="12" fill="{color}"{goal}/>'
                     f'<text class="l" x="{x + 21}" y="{y + 10}">{text}</text>')
        x, low = x + 92, high
    return parts + [f'<text class="l" x="16" y="{y + 10}">times as fast</text>',
                    f'<text class="l" x="{LEFT}" y="{y + 28}">Red: lost to the best peer. Framed: from {GOAL:g} on, the goal. '
                    'Grey: not measured.</text>']


def draw(cells, title):
    rows = sorted({cell.distribution for cell in cells}, key=place_of)
    columns = sorted({cell.num_keys for cell in cells})
    second = LEFT + len(columns) * WIDTH + GAP
    width = max(second + len(columns) * WIDTH + 16, LEFT + 92 * len(BORDERS) + 40)
    bottom = TOP + len(rows) * HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 50}" '
             f'font-family="DejaVu Sans, Arial, sans-serif" '
             'font-size="11" text-anchor="middle" fill="#1f2937">',
             "<style>.d{fill:#fff}.h{text-anchor:start;font-weight:bold}.l{text-anchor:start}.n{text-anchor:end}</style>",
             f'<rect width="{width}" height="{bottom + 50}" fill="#fff"/>',
             f'<text class="h" x="16" y="20" font-size="{14 if len(title) <= 105 else 12}">{html.escape(title)}</text>']
    parts += [f'<text class="n" x="{LEFT - 8}" y="{TOP + row * HEIGHT + 14}">{name_of(name)}</text>' for row, name in enumerate(rows)]
    parts += panel(cells, ONE_CALL, rows, columns, LEFT) + panel(cells, REUSED, rows, columns, second)
    return "\n".join([*parts, *legend(bottom + 12), "</svg>"]) + "\n"
