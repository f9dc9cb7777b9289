// Gantt charts on a canvas: drag a box to zoom, turn the wheel, hover for a job, search one, colour by what you ask.
"use strict";

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function seconds(value) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]])
    if (Math.abs(value) >= 2 * size) return (value / size).toPrecision(4) + " " + unit;
  return Number(value.toPrecision(4)) + " s";
}

const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
  const mix = RAMP[low].map((from, i) => Math.round(from + (at - low) * (RAMP[low + 1][i] - from)));
  return `rgb(${mix})`;
}
const spread = (number) => `hsl(${(number * 137.508) % 360} 62% ${40 + ((number * 7) % 5) * 5}%)`;

async function gantt(root) {
  const about = JSON.parse(root.dataset.about), count = about.jobs, ids = about.ids.split(" ");
  const buffer = await unpacked(root.querySelector("script").textContent);
  let offset = 0;
  const take = (Kind, length) => {
    const found = new Kind(buffer, offset, length);
    offset += Math.ceil(found.byteLength / 8) * 8;
    return found;
  };
  const submit = take(Float64Array, count), start = take(Float64Array, count), finish = take(Float64Array, count);
  const size = take(Int32Array, count), user = take(Int32Array, count);
  const row = take(Int32Array, about.blocks), first = take(Int32Array, about.blocks), last = take(Int32Array, about.blocks);

  const canvas = root.querySelector("canvas"), told = root.querySelector("output"), pen = canvas.getContext("2d");
  const name = (job) => ids[job];
  const numbers = new Map(ids.map((id, job) => [id, job]));
  const whole = { from: 0, to: about.end, low: 0, high: about.cores };
  let view = { ...whole }, colours = [], found = -1, box = null;
  const LEFT = 56, BOTTOM = 28;

  function colour(by) {
    const wait = (job) => Math.log1p(start[job] - submit[job]), wide = (job) => Math.log(size[job]);
    const value = { wait, size: wide }[by];
    let most = 0;
    for (let job = 0; job < count; job++) most = Math.max(most, value ? value(job) : 0);
    colours = Array.from({ length: count }, (_, job) =>
      value ? ramp(most ? value(job) / most : 0) : spread(by === "user" ? user[job] + 1 : job));
  }
  const x = (time) => LEFT + ((time - view.from) / (view.to - view.from)) * (canvas.clientWidth - LEFT);
  const y = (core) => ((core - view.low) / (view.high - view.low)) * (canvas.clientHeight - BOTTOM);
  const time = (at) => view.from + ((at - LEFT) / (canvas.clientWidth - LEFT)) * (view.to - view.from);
  const core = (at) => view.low + (at / (canvas.clientHeight - BOTTOM)) * (view.high - view.low);

  function draw() {
    const wide = canvas.clientWidth, high = canvas.clientHeight, dense = window.devicePixelRatio || 1;
    canvas.width = wide * dense;
    canvas.height = high * dense;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, wide, high);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, wide - LEFT, high - BOTTOM);
    pen.clip();
    const gap = y(view.low + 1) > 4 ? 0.6 : 0;
    for (let block = 0; block < row.length; block++) {
      const job = row[block];
      if (finish[job] < view.from || start[job] > view.to || last[block] < view.low - 1 || first[block] > view.high) continue;
      const left = x(start[job]), top = y(first[block]);
      pen.fillStyle = job === found ? "#d40000" : colours[job];
      pen.fillRect(left, top, Math.max(x(finish[job]) - left, 0.5), y(last[block] + 1) - top - gap);
    }
    pen.restore();
    pen.fillStyle = "#333";
    pen.font = "12px sans-serif";
    pen.textAlign = "center";
    for (let tick = 0; tick <= 5; tick++) {
      const at = view.from + (tick / 5) * (view.to - view.from);
      pen.textAlign = tick === 0 ? "left" : tick === 5 ? "right" : "center";
      pen.fillText(seconds(at), x(at), high - 8);
    }
    pen.textAlign = "right";
    for (let tick = 0; tick <= 4; tick++) {
      const at = view.low + (tick / 4) * (view.high - view.low);
      pen.fillText(Math.round(at), LEFT - 6, Math.min(Math.max(y(at) + 4, 12), high - BOTTOM));
    }
    if (box) {
      pen.strokeStyle = "#d40000";
      pen.strokeRect(box.x, box.y, box.to - box.x, box.down - box.y);
    }
    root.dataset.view = [view.from, view.to, view.low, view.high].join(" ");
  }
  function clipped(next) {
    view = {
      from: Math.max(next.from, 0), to: Math.min(next.to, whole.to),
      low: Math.max(next.low, 0), high: Math.min(next.high, whole.high),
    };
    draw();
  }
  function describe(job) {
    const who = user[job] >= 0 ? `, user ${user[job]}` : "";
    return `job ${name(job)}${who}: ${size[job]} cores, waited ${seconds(start[job] - submit[job])}, ` +
      `ran ${seconds(finish[job] - start[job])}, from ${seconds(start[job])} to ${seconds(finish[job])}`;
  }
  function at(event) {
    const when = time(event.offsetX), where = Math.floor(core(event.offsetY));
    for (let block = 0; block < row.length; block++)
      if (first[block] <= where && where <= last[block] && start[row[block]] <= when && when < finish[row[block]])
        return row[block];
    return -1;
  }
  canvas.addEventListener("mousedown", (event) => {
    box = { x: event.offsetX, y: event.offsetY, to: event.offsetX, down: event.offsetY };
  });
  canvas.addEventListener("mousemove", (event) => {
    if (box) {
      box.to = event.offsetX;
      box.down = event.offsetY;
      draw();
      return;
    }
    const job = at(event);
    told.textContent = job < 0 ? "" : describe(job);
  });
  window.addEventListener("mouseup", () => {
    if (!box) return;
    const { x: left, y: top, to, down } = box;
    box = null;
    if (Math.abs(to - left) > 4 && Math.abs(down - top) > 4)
      clipped({
        from: time(Math.min(left, to)), to: time(Math.max(left, to)),
        low: core(Math.min(top, down)), high: core(Math.max(top, down)),
      });
    else draw();
  });
  canvas.addEventListener("click", (event) => {
    const job = at(event);
    if (job >= 0) {
      found = job;
      told.textContent = describe(job);
      draw();
    }
  });
  canvas.addEventListener("dblclick", () => clipped(whole));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = event.deltaY > 0 ? 1.25 : 0.8, when = time(event.offsetX), where = core(event.offsetY);
    clipped({
      from: when + (view.from - when) * factor, to: when + (view.to - when) * factor,
      low: where + (view.low - where) * factor, high: where + (view.high - where) * factor,
    });
  }, { passive: false });
  root.querySelector("select").addEventListener("change", (event) => {
    colour(event.target.value);
    draw();
  });
  root.querySelector("input").addEventListener("change", (event) => {
    const wanted = event.target.value.trim();
    const job = numbers.get(wanted);
    if (job === undefined) {
      told.textContent = `no job ${wanted}`;
      return;
    }
    found = job;
    told.textContent = describe(job);
    let low = Infinity, high = -1;
    for (let block = 0; block < row.length; block++)
      if (row[block] === job) {
        low = Math.min(low, first[block]);
        high = Math.max(high, last[block] + 1);
      }
    const lasts = finish[job] - start[job], wide = high - low;
    clipped({ from: start[job] - lasts, to: finish[job] + lasts, low: low - wide, high: high + wide });
  });
  root.querySelector("button").addEventListener("click", () => {
    found = -1;
    clipped(whole);
  });
  window.addEventListener("resize", draw);
  colour(about.users ? "user" : "job");
  draw();
  root.dataset.ready = Math.round(performance.now());
}
document.querySelectorAll(".gantt").forEach((root) => gantt(root));
