// What the viewers of a report share: packed arrays, times and colours.
"use strict";

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Takes arrays one after the other out of a buffer; each begins at a multiple of 8 bytes.
function taker(buffer) {
  let offset = 0;
  return (Kind, length) => {
    const found = new Kind(buffer, offset, length);
    offset += Math.ceil(found.byteLength / 8) * 8;
    return found;
  };
}

const UNITS = [[86400, "d", "days"], [3600, "h", "hours"], [60, "min", "minutes"], [1, "s", "seconds"]];
const STEPS = { d: [1, 2, 5], h: [1, 2, 3, 6, 12, 24], min: [1, 2, 5, 10, 15, 30, 60], s: [1, 2, 5] };

function seconds(value, digits = 4) {
  for (const [size, unit] of UNITS.slice(0, 3))
    if (Math.abs(value) >= 2 * size) return Number((value / size).toPrecision(digits)) + " " + unit;
  return Number(value.toPrecision(digits)) + " s";
}

// A moment in days, hours, minutes and seconds, as fine as a span of time on the screen lets one see.
function moment(value, span) {
  let left = value;
  const parts = [];
  for (const [size, unit] of UNITS) {
    const last = size <= span / 200 || size === 1;
    const digits = last && size === 1 && span < 200 ? Math.min(6, Math.ceil(-Math.log10(span / 2000))) : 0;
    const whole = last ? Number((left / size).toFixed(digits)) : Math.floor(left / size);
    if (whole || (last && !parts.length)) parts.push(`${whole} ${unit}`);
    if (last) break;
    left -= whole * size;
  }
  return parts.join(" ");
}

// Round times between two, with as many digits as they need, and the title of their axis.
function timeTicks(from, to, most) {
  const span = Math.max(to - from, 1e-6);
  const place = UNITS.findIndex(([size]) => span >= 2 * size || size === 1), [size, unit, name] = UNITS[place];
  const base = place > 0 ? Math.floor(from / UNITS[place - 1][0]) * UNITS[place - 1][0] : 0;
  const least = span / size / most, ten = 10 ** Math.floor(Math.log10(least));
  const own = STEPS[unit].filter((one) => one >= least);
  const step = least >= 1 && own.length ? own[0] : [1, 2, 5, 10].map((one) => one * ten).find((one) => one >= least);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), ticks = [];
  for (let at = Math.ceil((from - base) / size / step - 1e-9) * step; base + at * size <= to * (1 + 1e-12); at += step)
    ticks.push({ at: base + at * size, text: at.toFixed(digits) });
  return { ticks, title: base > 0 ? `${name} since ${moment(base, 200 * size)}` : `time (${name})` };
}

// Viridis, the darkest for the most: its colours differ in lightness, so that all readers tell them apart.
const RAMP = [[253, 231, 37], [94, 201, 98], [33, 145, 140], [59, 82, 139], [68, 1, 84]];
function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
  const mix = RAMP[low].map((from, i) => Math.round(from + (at - low) * (RAMP[low + 1][i] - from)));
  return `rgb(${mix})`;
}
// Okabe and Ito's colours, for things of which there are few.
const FEW = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"], OTHERS = "#8c8c8c";
const apart = (number) => ramp(((number * 24) % 61) / 60);

// A legend: a bar from the least to the most, or a square for each of few.
function rampLegend(low, high) {
  const stops = RAMP.map((mix) => `rgb(${mix})`).join(", ");
  return `${low} <i class="bar" style="background: linear-gradient(90deg, ${stops})"></i> ${high}`;
}
const fewLegend = (names) => names.map(([name, colour]) => `<i style="background: ${colour}"></i> ${name}`).join(" ");

// Sets a canvas to the dots of the screen and clears it.
function cleared(canvas) {
  const wide = canvas.clientWidth, high = canvas.clientHeight, dense = window.devicePixelRatio || 1;
  canvas.width = wide * dense;
  canvas.height = high * dense;
  const pen = canvas.getContext("2d");
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, wide, high);
  return [pen, wide, high];
}
