# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Style and script of the report's HTML file."""

STYLE = """
section{margin:0 0 2em;overflow-x:auto}
pre{background:#f1f5f9;color:#0f172a;padding:1em;white-space:pre-wrap}
#operators table,#bad table,#machine table{border-collapse:collapse}
#operators td,#operators th,#bad td,#bad th,#machine td{
border-bottom:1px solid #cbd5e1;padding:3px 12px;text-align:left;overflow-wrap:anywhere}
canvas{box-sizing:border-box;display:block;width:100%;border:1px solid #cbd5e1;touch-action:none;cursor:grab}
"""

# The visible time is `span` microseconds from `from`.
SCRIPT = """
(() => {
  const text = document.getElementById("trace");
  if (!text) return;
  const {names, threads, boxes} = JSON.parse(text.textContent);
  const canvas = document.getElementById("lanes"), hint = document.getElementById("hint");
  const pen = canvas.getContext("2d"), lane = 24, axis = 20, side = 76;
  const lanes = [...new Set(boxes.map(b => b[0]))].sort((a, b) => a - b);
  const row = new Map(lanes.map((id, i) => [id, i]));
  const first = boxes.reduce((t, b) => Math.min(t, b[2]), Infinity);
  const last = boxes.reduce((t, b) => Math.max(t, b[2] + b[3]), -Infinity);
  const whole = boxes.length ? Math.max(last - first, 1) : 1;
  let from = boxes.length ? first : 0, span = whole;
  const height = axis + lane * lanes.length + 4;
  const colour = i => `hsl(${i * 137 % 360} 60% 62%)`;
  function draw() {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    pen.scale(scale, scale);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, width, height);
    pen.font = "11px sans-serif";
    const wide = width - side;
    for (const b of boxes) {
      const left = side + (b[2] - from) / span * wide;
      const right = left + Math.max(b[3] / span * wide, 0.5);
      if (left > width || right < side) continue;
      const x = Math.max(left, side), w = right - x;
      pen.fillStyle = colour(b[1]);
      pen.fillRect(x, axis + row.get(b[0]) * lane, w, lane - 3);
      const name = w > 20 && [names[b[1]], names[b[1]].replace(/ \\([^)]*\\)/g, "")]
        .find(text => pen.measureText(text).width < w - 6);
      if (name) {
        pen.fillStyle = "#000";
        pen.fillText(name, x + 3, axis + row.get(b[0]) * lane + 14);
      }
    }
    pen.fillStyle = "#334155";
    for (const [i, id] of lanes.entries())
      pen.fillText(threads[id] || id, 4, axis + i * lane + 14, side - 8);
    for (let i = 0; i < 8; i++)
      pen.fillText(`${((from - first + span * i / 8) / 1000).toFixed(3)} ms`, side + wide * i / 8, 12);
    canvas.dataset.span = span;
  }
  const part = x => (x - side) / (canvas.clientWidth - side);
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    const at = Math.max(part(e.offsetX), 0);
    const next = Math.min(Math.max(span * Math.exp(e.deltaY / 300), 1), whole);
    from += (span - next) * at;
    span = next;
    draw();
  }, {passive: false});
  canvas.addEventListener("dblclick", () => { from = first; span = whole; draw(); });
  canvas.addEventListener("pointermove", e => {
    if (e.buttons) {
      from -= e.movementX / (canvas.clientWidth - side) * span;
      draw();
      return;
    }
    const t = from + part(e.offsetX) * span;
    const i = Math.floor((e.offsetY - axis) / lane);
    const b = boxes.find(b => row.get(b[0]) === i && b[2] <= t && t <= b[2] + b[3]);
    hint.textContent = b ? `${threads[b[0]] || b[0]}: ${names[b[1]]}, ` +
      `${b[3].toFixed(1)} \\u00b5s, iteration ${b[4]}, ` +
      (b[5] < 0 ? "all samples" : `sample ${b[5]}`) : "\\u00a0";
  });
  window.addEventListener("resize", draw);
  draw();
})();
"""
