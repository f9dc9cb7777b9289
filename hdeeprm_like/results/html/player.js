// Schedules of the same jobs, played side by side: the machine moves to the left, the queue beside it grows and shrinks.
async function player(root) {
  const about = JSON.parse(root.dataset.about), count = about.jobs, total = about.cores;
  const take = taker(await unpacked(root.querySelector("script").textContent));
  const submit = take(Float64Array, count), size = take(Int32Array, count);
  const lanes = about.runs.map(({ blocks }, place) => ({
    start: take(Float64Array, count), finish: take(Float64Array, count),
    row: take(Int32Array, blocks), first: take(Int32Array, blocks), last: take(Int32Array, blocks),
    canvas: root.querySelectorAll("canvas")[place], told: root.querySelectorAll("output")[place],
  }));
  const slider = root.querySelector("input"), button = root.querySelector("button"), clock = root.querySelector("time");
  const WINDOW = about.end / 5, SECONDS = 40, QUEUE = 0.34, TILE = 9;
  let longest = 1, now = 0, running = false, before = null, frame = 0;
  for (const lane of lanes) for (let job = 0; job < count; job++) longest = Math.max(longest, lane.start[job] - submit[job]);
  const shade = (wait) => ramp(Math.log1p(wait / 60) / Math.log1p(longest / 60));

  function draw() {
    for (const lane of lanes) drawLane(lane);
    slider.value = (1000 * now) / about.end;
    clock.textContent = moment(now, 200 * 3600);
    root.dataset.now = now;
  }
  function drawLane(lane) {
    const [pen, wide, high] = cleared(lane.canvas), across = wide * (1 - QUEUE) - 14, bottom = high - 14;
    const x = (time) => across * (1 + (time - now) / WINDOW), y = (core) => (core / total) * bottom;
    pen.fillStyle = "#f1f3f5";
    pen.fillRect(0, 0, across, bottom);
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, across, bottom);
    pen.clip();
    for (let block = 0; block < lane.row.length; block++) {
      const job = lane.row[block], begin = lane.start[job], end = Math.min(lane.finish[job], now);
      if (begin > now || end < now - WINDOW) continue;
      pen.fillStyle = shade(begin - submit[job]);
      pen.fillRect(x(begin), y(lane.first[block]), Math.max(x(end) - x(begin) - 0.6, 0.8), y(lane.last[block] + 1) - y(lane.first[block]) - 0.3);
    }
    pen.restore();
    let waiting = 0, waits = 0, most = 0, come = 0, busy = 0, left = wide * (1 - QUEUE), top = 0, unseen = 0;
    for (let job = 0; job < count && submit[job] <= now; job++) {
      const wait = Math.min(lane.start[job], now) - submit[job];
      come++;
      waits += wait;
      most = Math.max(most, wait);
      if (lane.start[job] <= now) {
        if (lane.finish[job] > now) busy += size[job];
        continue;
      }
      waiting++;
      const long = Math.max(3, (size[job] / total) * wide * QUEUE);
      if (left + long > wide) [left, top] = [wide * (1 - QUEUE), top + TILE + 1];
      if (top + TILE > bottom) {
        unseen++;
        continue;
      }
      pen.fillStyle = shade(wait);
      pen.fillRect(left, top, long - 1, TILE);
      left += long;
    }
    pen.fillStyle = "#444";
    pen.font = "11px sans-serif";
    pen.fillText(`machine: ${Math.round((100 * busy) / total)} % busy`, 0, high - 2);
    pen.fillText(`queue: ${waiting} job${waiting === 1 ? "" : "s"}${unseen ? `, ${unseen} not drawn` : ""}`, wide * (1 - QUEUE), high - 2);
    lane.told.textContent = `mean wait so far ${seconds(come ? waits / come : 0, 3)}, longest ${seconds(most, 3)}`;
  }
  function step(at) {
    if (!running) return;
    now += ((at - (before ?? at)) / 1000 / SECONDS) * about.end;
    before = at;
    if (now >= about.end) [now, running] = [about.end, false];
    button.textContent = running ? "pause" : "play";
    draw();
    frame = requestAnimationFrame(step);
  }
  function play(wanted) {
    if (wanted && now >= about.end) now = 0;
    running = wanted;
    button.textContent = running ? "pause" : "play";
    root.dataset.running = running;
    before = null; // the date of the first frame, which may lie before that of the click
    cancelAnimationFrame(frame);
    if (running) frame = requestAnimationFrame(step);
  }
  button.addEventListener("click", () => play(!running));
  slider.addEventListener("input", () => {
    play(false);
    now = (slider.value / 1000) * about.end;
    draw();
  });
  window.addEventListener("resize", draw);
  root.querySelector(".key").innerHTML = "waited " + rampLegend("0", seconds(longest));
  now = about.begin * about.end;
  draw();
  root.dataset.ready = 1;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (about.plays && !calm)
    new IntersectionObserver((seen, watch) => {
      if (!seen[0].isIntersecting) return;
      watch.disconnect();
      play(true);
    }, { threshold: 0.4 }).observe(root);
}
document.querySelectorAll(".player").forEach((root) => player(root));
