"use strict";
// Draws a directed graph in layers, in time close to linear. items: [{w, h}] in an order in which makers come first;
// edges: [{from, to}], indices. Gives every item x, y (its top left corner), and every edge `points`, or none if it is
// so long that a line through the whole picture would tell nothing.
const GAP_X = 26, GAP_Y = 32, LONGEST = 36, MOST_BENDS = 60000, GUTTER = 70;
const isTall = (w, h) => h > 5000 && h > 5 * w;

// wrap: a drawing much taller than wide is split into columns next to each other.
function layered(items, edges, wrap) {
  const count = items.length;
  if (count === 0) return { w: 0, h: 0, tall: false };
  const ins = items.map(() => []), outs = items.map(() => []);
  for (const e of edges) {
    // An edge against the order (a group that is left and entered again) is drawn, but does not affect ranks.
    e.back = e.from >= e.to;
    if (!e.back) { outs[e.from].push(e); ins[e.to].push(e); }
  }
  const rank = rankItems(count, ins, outs);

  // -- one row of places for each rank; a long edge passes through the rows between, shared by the readers of one item
  const places = items.map((it, i) => ({ w: it.w, h: it.h, rank: rank[i], up: [], down: [], bend: false }));
  const join = (a, b) => { a.down.push(b); b.up.push(a); };
  let bends = 0;
  for (let i = 0; i < count; ++i) {
    const chain = new Map();
    for (const e of outs[i].slice().sort((a, b) => rank[a.to] - rank[b.to])) {
      const span = rank[e.to] - rank[i];
      if (span > LONGEST || bends > MOST_BENDS) continue;
      let last = places[i];
      e.bends = [];
      for (let r = rank[i] + 1; r < rank[e.to]; ++r) {
        let next = chain.get(r);
        if (!next) {
          next = { w: 8, h: 0, rank: r, up: [], down: [], bend: true };
          chain.set(r, next);
          places.push(next);
          join(last, next);
          ++bends;
        }
        e.bends.push(next);
        last = next;
      }
      join(last, places[e.to]);
    }
  }
  const rows = [];
  for (const p of places) (rows[p.rank] ||= []).push(p);
  orderRows(rows, count > 2000 ? 6 : 12);
  spread(rows, count > 2000 ? 6 : 10);

  const columns = inColumns(rows, wrap);
  items.forEach((it, i) => { it.x = places[i].x - it.w / 2; it.y = places[i].top; });
  let turns = 0;
  for (const e of edges) {
    if (!e.bends) continue;
    e.points = [];
    let last = places[e.from];
    for (const p of [...e.bends, places[e.to]]) {
      if (p.column !== last.column) {  // round the foot of one column and the head of the next; 1: a corner
        const far = turns++ % 8 * 5, foot = columns.h + 14 + far, head = -14 - far, x = columns.left[p.column] - 14 - far;
        e.points.push([last.x, foot, 1], [x, foot, 1], [x, head, 1], [p.x, head, 1]);
      }
      if (p.bend) e.points.push([p.x, p.top], [p.x, p.bottom]);
      last = p;
    }
  }
  return columns;
}

// Computes y of the rows, with x from 0 on; if asked for, splits them where few lines cross.
function inColumns(rows, wrap) {
  const heights = rows.map(row => row.reduce((h, p) => Math.max(h, p.h), 0) + GAP_Y);
  const tall = heights.reduce((s, h) => s + h, 0) - GAP_Y;
  const edge = (row, sign) => row.reduce((m, p) => Math.max(m, sign * p.x + p.w / 2), -Infinity);
  const wide = Math.max(...rows.map(r => edge(r, 1))) + Math.max(...rows.map(r => edge(r, -1)));
  const count = wrap && isTall(wide, tall) ? Math.max(2, Math.round(Math.sqrt(1.5 * tall / (wide + GUTTER)))) : 1;
  const columns = { left: [], w: 0, h: 0, tall: isTall(wide, tall) }, aim = tall / count;
  for (let first = 0; first < rows.length;) {
    let last = first, y = 0, best = -1;
    for (; last < rows.length; ++last) {
      y += heights[last];
      if (y > 1.1 * aim) break;
      if (y > 0.8 * aim && (best < 0 || rows[last].length <= rows[best].length)) best = last;
    }
    const end = last === rows.length ? last : best < 0 ? last + 1 : best + 1;
    const column = rows.slice(first, end), shift = columns.w + Math.max(...column.map(r => edge(r, -1)));
    columns.left.push(columns.w);
    y = 0;
    column.forEach((row, k) => {
      for (const p of row) {
        p.column = columns.left.length - 1;
        p.x += shift;
        p.top = y;
        p.bottom = y + heights[first + k] - GAP_Y;
      }
      y += heights[first + k];
    });
    columns.w = Math.max(...column.map(r => edge(r, 1))) + GUTTER;
    columns.h = Math.max(columns.h, y - GAP_Y);
    first = end;
  }
  columns.w -= GUTTER;
  return columns;
}

// Ranks by the longest way from a source; an item that needs at most one input is placed right above its first reader,
// so that a chain of such items is together and only one line is long.
function rankItems(count, ins, outs) {
  const rank = new Int32Array(count);
  for (let i = 0; i < count; ++i) for (const e of ins[i]) rank[i] = Math.max(rank[i], rank[e.from] + 1);
  for (let i = count - 1; i >= 0; --i) {
    if (ins[i].length > 1 || outs[i].length === 0) continue;
    let first = Infinity;
    for (const e of outs[i]) first = Math.min(first, rank[e.to]);
    rank[i] = Math.max(rank[i], first - 1);
  }
  const used = [...new Set(rank)].sort((a, b) => a - b), at = new Map(used.map((r, k) => [r, k]));
  return rank.map(r => at.get(r));
}

// Moves every place to the middle of its neighbours in the row above, then below, and so on.
function orderRows(rows, sweeps) {
  const number = row => row.forEach((p, i) => { p.at = i; });
  const middle = list => {
    if (list.length === 1) return list[0].at;
    const at = list.map(p => p.at).sort((a, b) => a - b), m = at.length >> 1;
    return at.length % 2 ? at[m] : (at[m - 1] + at[m]) / 2;
  };
  rows.forEach(number);
  for (let s = 0; s < sweeps; ++s) {
    const down = s % 2 === 0;
    for (let k = 0; k < rows.length; ++k) {
      const row = rows[down ? k : rows.length - 1 - k];
      for (const p of row) {
        const near = down ? p.up : p.down;
        p.want = near.length ? middle(near) : p.at;
      }
      row.sort((a, b) => a.want - b.want || a.at - b.at);
      number(row);
    }
  }
}

// Computes x of every place: as near to its neighbours as the order and the widths of its row allow. Each row is solved
// exactly (least squares under order: neighbours that push each other become one block).
function spread(rows, sweeps) {
  for (const row of rows) {
    let x = 0;
    for (const p of row) { p.x = x + p.w / 2; x += p.w + GAP_X; }
    for (const p of row) p.x -= x / 2;
  }
  const pull = (a, b) => a.bend && b.bend ? 8 : a.bend || b.bend ? 2 : 1;
  for (let s = 0; s < sweeps; ++s) {
    const down = s % 2 === 0, both = s >= sweeps - 2;
    for (let k = 0; k < rows.length; ++k) {
      const row = rows[down ? k : rows.length - 1 - k], blocks = [];
      let offset = 0;
      row.forEach((p, i) => {
        if (i > 0) offset += row[i - 1].w / 2 + p.w / 2 + (p.bend && row[i - 1].bend ? 6 : GAP_X);
        p.offset = offset;
        let sum = 0, weight = 0;
        const near = both ? p.up.concat(p.down) : down ? p.up : p.down;
        for (const q of near) { const w = pull(p, q); sum += w * q.x; weight += w; }
        if (weight === 0) { sum = 0.05 * p.x; weight = 0.05; }
        let block = { sum: sum - weight * offset, weight, first: i };
        while (blocks.length) {
          const last = blocks[blocks.length - 1];
          if (last.sum / last.weight <= block.sum / block.weight) break;
          block = { sum: last.sum + block.sum, weight: last.weight + block.weight, first: last.first };
          blocks.pop();
        }
        blocks.push(block);
      });
      blocks.forEach((b, i) => {
        const end = i + 1 < blocks.length ? blocks[i + 1].first : row.length;
        for (let j = b.first; j < end; ++j) row[j].x = b.sum / b.weight + row[j].offset;
      });
    }
  }
}
