// The axis of time: readable steps, plain numbers in the unit that the server chose.

/** Times of ticks between two times, about `wanted` of them, and the digits that tell them apart. */
export function ticks(from, to, scale, wanted) {
  const span = (to - from) / scale;
  if (!(span > 0)) return { times: [], digits: 0 };
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const times = [];
  for (let k = Math.ceil(from / scale / step - 1e-9); k * step <= to / scale + 1e-9; k++) {
    times.push(k * step * scale);
  }
  return { times, digits: Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) };
}
