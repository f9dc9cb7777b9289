// Gantt charts on a canvas: drag a box to zoom, turn the wheel, hover for a job, search one, choose the colours.
async function gantt(root) {
  const about = JSON.parse(root.dataset.about), count = about.jobs, ids = about.ids.split(" ");
  const buffer = await unpacked(root.querySelector("script").textContent);
  const take = taker(buffer);
  const submit = take(Float64Array, count), start = take(Float64Array, count), finish = take(Float64Array, count);
  const size = take(Int32Array, count), user = take(Int32Array, count);
  const row = take(Int32Array, about.blocks), first = take(Int32Array, about.blocks), last = take(Int32Array, about.blocks);

  const canvas = root.querySelector("canvas"), told = root.querySelector("output"), key = root.querySelector(".key");
  const name = (job) => ids[job];
  const numbers = new Map(ids.map((id, job) => [id, job]));
  const whole = { from: 0, to: about.end, low: 0, high: about.cores };
  let view = { ...whole }, colours = [], found = -1, box = null;
  const LEFT = 70, BOTTOM = 44;

  function colour(by) {
    if (by === "user") return byUser();
    if (by === "job") {
      colours = Array.from({ length: count }, (_, job) => apart(job));
      key.innerHTML = "";
      return;
    }
    const of = { wait: (job) => start[job] - submit[job], size: (job) => size[job], "run time": (job) => finish[job] - start[job] };
    const scaled = by === "size" ? (value) => Math.log(value) : (value) => Math.log1p(value / 60);
    let most = by === "size" ? 2 : 1;
    for (let job = 0; job < count; job++) most = Math.max(most, of[by](job));
    colours = Array.from({ length: count }, (_, job) => ramp(scaled(of[by](job)) / scaled(most)));
    key.innerHTML = by === "size" ? rampLegend("1", `${most} cores`) : rampLegend("0", seconds(most));
  }
  function byUser() {
    const work = new Map();
    for (let job = 0; job < count; job++)
      work.set(user[job], (work.get(user[job]) || 0) + size[job] * (finish[job] - start[job]));
    const most = [...work].sort((a, b) => b[1] - a[1]).slice(0, FEW.length).map(([one]) => one);
    const own = new Map(most.map((one, place) => [one, FEW[place]]));
    colours = Array.from({ length: count }, (_, job) => own.get(user[job]) || OTHERS);
    const others = work.size > most.length ? [[`${work.size - most.length} others`, OTHERS]] : [];
    key.innerHTML = fewLegend([...most.map((one) => [`user ${one}`, own.get(one)]), ...others]);
  }
  const x = (time) => LEFT + ((time - view.from) / (view.to - view.from)) * (canvas.clientWidth - LEFT);
  const y = (core) => ((core - view.low) / (view.high - view.low)) * (canvas.clientHeight - BOTTOM);
  const time = (at) => view.from + ((at - LEFT) / (canvas.clientWidth - LEFT)) * (view.to - view.from);
  const core = (at) => view.low + (at / (canvas.clientHeight - BOTTOM)) * (view.high - view.low);

  function draw() {
    const [pen, wide, high] = cleared(canvas);
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
    const { ticks, title } = timeTicks(view.from, view.to, Math.max(2, (wide - LEFT) / 110));
    pen.textAlign = "center";
    for (const { at, text } of ticks) {
      pen.fillRect(x(at), high - BOTTOM, 1, 5);
      pen.fillText(text, Math.min(x(at), wide - 4 * text.length), high - BOTTOM + 17);
    }
    pen.fillText(title, (LEFT + wide) / 2, high - 8);
    const step = Math.max(1, 10 ** Math.floor(Math.log10(Math.max(view.high - view.low, 1) / 3)));
    const every = [step, 2 * step, 5 * step].find((one) => (view.high - view.low) / one <= 6) || 10 * step;
    pen.textAlign = "right";
    for (let at = Math.ceil(view.low / every) * every; at <= view.high; at += every) {
      pen.fillRect(LEFT - 5, Math.min(y(at), high - BOTTOM - 1), 5, 1);
      pen.fillText(at, LEFT - 8, Math.min(Math.max(y(at) + 4, 12), high - BOTTOM));
    }
    pen.save();
    pen.translate(13, (high - BOTTOM) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText("core", 0, 0);
    pen.restore();
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
    const span = view.to - view.from;
    const who = user[job] >= 0 ? `, user ${user[job]}` : "";
    return `job ${name(job)}${who}: ${size[job]} cores, waited ${seconds(start[job] - submit[job])}, ` +
      `ran ${seconds(finish[job] - start[job])}, from ${moment(start[job], span)} to ${moment(finish[job], span)}`;
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
    let low = Infinity, high = -1;
    for (let block = 0; block < row.length; block++)
      if (row[block] === job) {
        low = Math.min(low, first[block]);
        high = Math.max(high, last[block] + 1);
      }
    const lasts = finish[job] - start[job], wide = high - low;
    clipped({ from: start[job] - lasts, to: finish[job] + lasts, low: low - wide, high: high + wide });
    told.textContent = describe(job);  // with the digits of the new span
  });
  root.querySelector("button").addEventListener("click", () => {
    found = -1;
    clipped(whole);
  });
  window.addEventListener("resize", draw);
  colour(root.querySelector("select").value);
  draw();
  root.dataset.ready = Math.round(performance.now());
}
document.querySelectorAll(".gantt").forEach((root) => gantt(root));
