"""report_page.py PTC MODEL: the page of `ptc explain --html` in a real browser, on a desk and on a phone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from browser import Browser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

PTC, MODEL = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SECTIONS = ["summary", "kernels", "roofline", "graph", "memory", "source", "operators"]

CAPTURE = """ptc capture 1
{"target": "net.py:f", "torch": "2.11.0",
 "graphs": [{"function": "f", "source": "net.py:3", "ops": 2, "ends": 0, "calls": 1},
            {"function": "f", "source": "net.py:4", "ops": 1, "calls": 1}],
 "breaks": [{"reason": "Data-dependent branching", "source": "net.py:3", "function": "f", "code": "if x.sum() < 0:", "graph": 0}],
 "paths": [{"steps": [{"graph": 0}, {"branch": "net.py:3", "value": true}, {"graph": 1}], "ends": "returns"}]}
=== graph 0
def forward(self, x: "f32[4]"):
    s: "f32[]" = torch.ops.aten.sum.default(x)
    y: "b8[]" = torch.ops.aten.lt.Scalar(s, 0)
    return (y,)
=== graph 1
def forward(self, x: "f32[4]"):
    y: "f32[4]" = torch.ops.aten.neg.default(x)
    return (y,)
=== end
"""

SKIP = """def forward(self, x: "f32[64, 64]"):
    a: "f32[64, 64]" = torch.ops.aten.mm.default(x, x)
    b: "f32[64, 64]" = torch.ops.aten.mm.default(a, a)
    c: "f32[64, 64]" = torch.ops.aten.mm.default(b, b)
    d: "f32[64, 64]" = torch.ops.aten.mm.default(c, a)
    return (d,)
"""

HOSTILE = """def forward(self, x: "f32[4]"):
    # File: </script><script>document.documentElement.dataset.hacked='yes'</script>.py:3 in f, code: x
    y: "f32[4]" = torch.ops.aten.neg.default(x)
    return (y,)
"""


def explain(model: Path, *options: object) -> str:
    done = subprocess.run([PTC, "explain", model, *map(str, options)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def page(model: Path, folder: Path) -> Path:
    path = folder / "report.html"
    explain(model, "--html", path, "--peak-gflops", 500, "--peak-gbs", 50)
    return path


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def sections(browser: Browser, folder: Path) -> None:
    """All of the report is there, from one file and without a network."""
    report = json.loads(explain(MODEL, "--json"))
    path = page(MODEL, folder)
    browser.open(path, 1200, 900)
    assert browser.errors() == [], browser.errors()
    assert browser.requests() == [path.as_uri()], browser.requests()
    assert browser.evaluate("[...document.querySelectorAll('section')].map(s => s.id)") == SECTIONS
    count = len(report["kernels"])
    assert browser.evaluate("document.querySelectorAll('.row[data-k]').length") == count
    assert browser.evaluate("document.querySelectorAll('#graph g.pick').length") == count
    assert browser.evaluate("document.querySelectorAll('#graph path.edge').length") >= count - 1
    assert browser.evaluate("document.querySelectorAll('#memory rect.buf').length") >= 1
    assert browser.evaluate("document.querySelectorAll('#roofline circle').length") == sum(k["flops"] > 0 for k in report["kernels"])
    names = browser.evaluate("[...document.querySelectorAll('.row .name')].map(n => n.textContent.trim())")
    assert [name.split("_", 1)[1] for name in (k["name"] for k in report["kernels"])] == names, names


def both_ways(browser: Browser, folder: Path) -> None:
    """A kernel leads to its lines, a line to its kernels."""
    report = json.loads(explain(MODEL, "--json"))
    browser.open(page(MODEL, folder), 1200, 900)
    browser.evaluate("document.querySelectorAll('.row[data-k]')[2].click()")
    assert report["kernels"][2]["name"] in browser.evaluate("document.getElementById('detail').textContent")
    for place in ("#kernels .row", "#roofline circle", "#graph g", "#memory rect", "#source tr"):
        assert browser.evaluate(f"document.querySelectorAll('{place}.on').length") >= 1, place
    line = report["kernels"][2]["source"].split(", ")[0].rpartition(":")[2]
    assert browser.evaluate("document.querySelector('#source tr.on td').textContent") == line
    browser.evaluate("[...document.querySelectorAll('#source tr.used')].at(-1).click()")
    chosen = browser.evaluate("+document.querySelector('#kernels .row.on').dataset.k")
    last = browser.evaluate("[...document.querySelectorAll('#source tr.used')].at(-1).dataset.k")
    assert str(chosen) in last.split(), (chosen, last)


def phone(browser: Browser, folder: Path) -> None:
    """Nothing is wider than the screen, and letters are large enough to read."""
    for width in (320, 390):
        browser.open(page(MODEL, folder), width, 780, phone=True)
        assert browser.errors() == [], browser.errors()
        assert browser.evaluate("innerWidth") == width
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.getElementById('roofline').querySelector('svg').getBoundingClientRect().right") <= width
        sizes = "[...document.querySelectorAll('main *')].filter(e => e.childElementCount === 0 && e.textContent.trim()" \
            " && e.getClientRects().length).map(e => parseFloat(getComputedStyle(e).fontSize))"
        assert min(browser.evaluate(sizes)) >= 10.5, min(browser.evaluate(sizes))
        browser.evaluate("document.querySelector('.row[data-k]').click()")
        assert browser.evaluate("document.getElementById('detail').scrollWidth") <= width


def captures(browser: Browser, folder: Path) -> None:
    browser.open(page(write(folder, "capture.graph", CAPTURE), folder), 1000, 800)
    assert browser.errors() == [], browser.errors()
    text = browser.evaluate("document.getElementById('breaks').textContent")
    for part in ("2 graphs, 1 break, 1 run", "Data-dependent branching", "net.py:3 is true: graph 1", "torch.where"):
        assert part in text, text
    browser.evaluate("{ const s = document.querySelector('nav select'); s.value = 1; s.dispatchEvent(new Event('change')); }")
    assert browser.evaluate("document.querySelector('#summary h2').textContent") == "Graph 1: f"
    assert "aten.neg.default" in browser.evaluate("document.getElementById('operators').textContent")


def skips(browser: Browser, folder: Path) -> None:
    """A line from one box to another goes around those between them."""
    browser.open(page(write(folder, "skip.graph", SKIP), folder), 1000, 800)
    assert browser.errors() == [], browser.errors()
    crossed = browser.evaluate("""(() => {
      const box = g => g.querySelector('rect').getBoundingClientRect(), crossed = [];
      for (const edge of document.querySelectorAll('#graph path.edge')) {
        const ends = edge.dataset.k.split(' '), place = edge.getScreenCTM(), length = edge.getTotalLength();
        for (const g of document.querySelectorAll('#graph g.pick')) {
          if (ends.includes(g.dataset.k)) continue;
          const { left, right, top, bottom } = box(g);
          for (let at = 0; at <= length; at += 2) {
            const p = edge.getPointAtLength(at).matrixTransform(place);
            if (left < p.x && p.x < right && top < p.y && p.y < bottom) { crossed.push(`${ends} ${g.dataset.k}`); break; }
          }
        }
      }
      return crossed;
    })()""")
    assert browser.evaluate("document.querySelectorAll('#graph path.edge').length") == 5
    assert crossed == [], crossed


def measured(browser: Browser, folder: Path) -> None:
    """Times of a profile stand beside the best ones, in the list, the roofline and the graph."""
    model, library, trace = write(folder, "skip.graph", SKIP), folder / "model.so", folder / "trace.json"
    subprocess.run([PTC, "compile", model, "-o", library], check=True, timeout=120)
    names = [kernel["name"] for kernel in json.loads(explain(model, "--json"))["kernels"]]
    events = [{"ph": "X", "name": "model", "cat": "call", "ts": 0, "dur": 1000}]
    events += [{"ph": "X", "name": name, "cat": "kernel", "ts": 10 * i, "dur": 1 + i} for i, name in enumerate(names)]
    trace.write_text(json.dumps({"traceEvents": events}))
    kernels = json.loads(explain(model, "--json", "--profile", trace))["kernels"]
    assert [kernel["measured_ns"] for kernel in kernels] == [1000 * (1 + i) for i in range(len(names))], kernels
    path = folder / "report.html"
    explain(model, "--html", path, "--peak-gflops", 500, "--peak-gbs", 50, "--profile", trace)
    for width in (1200, 390):
        browser.open(path, width, 900)
        assert browser.errors() == [], browser.errors()
        rows = browser.evaluate("[...document.querySelectorAll('.row[data-k]')].map(row => row.textContent)")
        for index, row in enumerate(rows):
            assert f"{index + 1}.00 µs measured, at best" in row and "by" in row, row
        boxes = browser.evaluate("[...document.querySelectorAll('#graph g.pick')].map(g => g.textContent)")
        assert all(f"{index + 1}.00 µs, at best" in box for index, box in enumerate(boxes)), boxes
        # The later the slower: dots of one intensity lie below each other, and the line of 500 G operations/s is above.
        heights = browser.evaluate("[...document.querySelectorAll('#roofline circle')].map(c => +c.getAttribute('cy'))")
        assert heights == sorted(heights) and len(set(heights)) == len(names), heights
        whole = sum(range(1, len(names) + 1))
        cards = browser.evaluate("document.getElementById('summary').textContent")
        assert re.search(rf"(?<!\d){whole}(\.0+)? µsin kernels, measured", cards), (whole, cards)
    other = write(folder, "other.graph", HOSTILE)
    assert "the profile has 0 of 1 kernel (it is of another model" in explain(other, "--profile", trace)


def compared(browser: Browser, folder: Path) -> None:
    """Kernels of an earlier report beside those with the same operators; what stayed is counted alone."""
    before = json.loads(explain(MODEL, "--json"))
    first = before["kernels"][0]
    first |= {"name": "k0_older", "algorithm": "another way", "bytes": 2 * first["bytes"]}
    before["kernels"].append({"name": "k9_gone", "kind": "pointwise", "ops": ["nobody"], "bytes": 4096, "flops": 0})
    baseline = write(folder, "before.json", json.dumps(before))
    path = folder / "report.html"
    explain(MODEL, "--html", path, "--peak-gflops", 500, "--peak-gbs", 50, "--compare", baseline)
    for width in (1200, 390):
        browser.open(path, width, 900, phone=width < 640)
        assert browser.errors() == [], browser.errors()
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        rows = browser.evaluate("[...document.querySelectorAll('#comparison .row:not(.head)')].map(row => row.textContent)")
        assert len(rows) == 2, rows
        changed = next(row for row in rows if "another way" in row)
        assert "older" in changed and re.search(r"KiB → .* KiB \(−\d+ %\)", changed), rows
        assert any("gone" in row and "no kernel" in row and "4.0 KiB → 0 B" in row for row in rows), rows
        hint = browser.evaluate("document.querySelector('#comparison .hint').textContent")
        assert re.search(r"\d rows? of kernels as before", hint) and str(baseline) in hint, hint
    browser.evaluate("[...document.querySelectorAll('#comparison .row')].find(row => row.textContent.includes('older')).click()")
    assert browser.evaluate("document.querySelector('#kernels .row.on').dataset.k") == "0"


def hostile(browser: Browser, folder: Path) -> None:
    """What a model says is text."""
    browser.open(page(write(folder, "hostile.graph", HOSTILE), folder), 1000, 800)
    assert browser.evaluate("document.documentElement.dataset.hacked") is None
    assert "</script>" in browser.evaluate("document.getElementById('source').textContent")


def unsupported(browser: Browser, folder: Path) -> None:
    model = write(folder, "bad.graph", 'def forward(self, x: "f32[4]"):\n    y: "f32[4]" = torch.ops.nobody.knows(x)\n    return (y,)\n')
    browser.open(page(model, folder), 1000, 800)
    assert browser.errors() == [], browser.errors()
    assert "nobody.knows" in browser.evaluate("document.getElementById('troubles').textContent")


def main() -> None:
    with Browser() as browser:
        run_cases([sections, both_ways, phone, captures, skips, measured, compared, hostile, unsupported], browser)


if __name__ == "__main__":
    main()
