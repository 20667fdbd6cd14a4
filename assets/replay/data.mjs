// The replay as the server describes it; see graphviz_app/figures/replay.py.

export class Replay {
  constructor(document) {
    Object.assign(this, document);
    this.count = this.start.length;
    this.laneCount = this.lanes.length;
    this.#indexLanes();
    this.byPath = new Map();
    for (let i = this.count - 1; i >= 0; i--) if (this.path[i]) this.byPath.set(this.path[i], i);
  }

  /** First bar of each lane, and the furthest end up to each bar: bars of a lane may overlap. */
  #indexLanes() {
    this.laneStart = new Uint32Array(this.laneCount + 1);
    this.reach = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      this.laneStart[this.lane[i] + 1]++;
      const same = i && this.lane[i - 1] === this.lane[i];
      this.reach[i] = same ? Math.max(this.reach[i - 1], this.end[i]) : this.end[i];
    }
    for (let l = 0; l < this.laneCount; l++) this.laneStart[l + 1] += this.laneStart[l];
  }

  /** First bar of a lane that ends after a time. */
  firstEndingAfter(lane, time) {
    let low = this.laneStart[lane];
    let high = this.laneStart[lane + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.reach[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The bar at a time, or the nearest one within a reach of it; -1 if there is none. */
  at(lane, time, within) {
    let best = -1;
    let distance = within;
    const end = this.laneStart[lane + 1];
    for (let i = this.firstEndingAfter(lane, time - within); i < end; i++) {
      if (this.start[i] > time + within) break;
      const away = Math.max(this.start[i] - time, time - this.end[i], 0);
      if (away <= distance) {
        distance = away;
        best = i;
        if (!away && this.end[i] - this.start[i] > within) break;
      }
    }
    return best;
  }

  /** Dependencies that end and start at a node's bars, as indices into `from` and `to`. */
  arrowsOf(i) {
    if (!this.leaving) {
      this.leaving = new Map();
      this.arriving = new Map();
      const add = (map, path, arrow) => (map.has(path) ? map.get(path).push(arrow) : map.set(path, [arrow]));
      for (let arrow = 0; arrow < this.from.length; arrow++) {
        add(this.leaving, this.path[this.from[arrow]], arrow);
        add(this.arriving, this.path[this.to[arrow]], arrow);
      }
    }
    const path = this.path[i];
    return path ? { into: this.arriving.get(path) ?? [], outOf: this.leaving.get(path) ?? [] } : { into: [], outOf: [] };
  }

  label(i) {
    return this.labels[this.labelIndex[i]];
  }
}

/** Read what the server sent. */
export function decode(document) {
  const { label, text, type, ...rest } = document;
  return new Replay({ ...rest, labelIndex: label, textIndex: text, typeIndex: type });
}
