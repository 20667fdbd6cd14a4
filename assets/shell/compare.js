// A comparison: its pictures and replays are drawn when they are on the page, and the keys step
// through its changes.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  let tour = null; // { src, bodies, body, node, group, place: "body:node" -> index }

  const list = () => document.querySelector("[data-tour]");
  const keyOf = (body, node) => `${body}:${node}`;

  // Elements say themselves what is drawn in them: pages fill later than their callbacks end.
  function scan() {
    for (const host of document.querySelectorAll("[data-canvas]")) {
      if (host.drawn === host.dataset.canvas) continue;
      host.drawn = host.dataset.canvas;
      shell.mount({ src: host.dataset.canvas, host: host.id });
    }
    for (const host of document.querySelectorAll("[data-replay-src]")) {
      if (host.drawn === host.dataset.replaySrc) continue;
      host.drawn = host.dataset.replaySrc;
      window.cgReplay.mount(host.dataset.replaySrc, host.id);
    }
    const changes = list();
    if (changes && tour?.src !== changes.dataset.tour) load(changes.dataset.tour);
  }

  async function load(src) {
    tour = { src, bodies: [], body: [], node: [], group: [], place: new Map() };
    const response = await fetch(src, { credentials: "same-origin" });
    if (!response.ok || tour.src !== src) return;
    Object.assign(tour, await response.json());
    for (let at = tour.node.length - 1; at >= 0; at--) {
      tour.place.set(keyOf(tour.bodies[tour.body[at]], tour.node[at]), at);
    }
    shell.showChange(shell.view());
  }

  const current = (view) => (tour && view.node !== null ? tour.place.get(keyOf(view.body, view.node)) ?? -1 : -1);

  // Go to the next change, or to the first one of the next row.
  shell.stepChange = function (by, wide) {
    const count = tour ? tour.node.length : 0;
    if (!list() || !count) return;
    const at = current(shell.view());
    let next = at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
    if (wide && at >= 0) {
      while (next !== at && tour.group[next] === tour.group[at]) next = (next + by + count) % count;
      while (next > 0 && tour.group[next - 1] === tour.group[next]) next--;
    }
    shell.go({ body: tour.bodies[tour.body[next]], node: tour.node[next] });
  };

  // Say which change is selected, and mark its row.
  shell.showChange = function (view) {
    const changes = list();
    if (!changes || !tour) return;
    const at = current(view);
    const said = changes.querySelector(".change-at");
    if (said) said.textContent = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${tour.node.length.toLocaleString("en")}`;
    if (!document.getElementById("compare-changes") || !window.dash_ag_grid) return;
    window.dash_ag_grid.getApiAsync("compare-changes").then((grid) => {
      const row = at < 0 ? null : grid.getRowNode(String(tour.group[at]));
      if (row) grid.ensureNodeVisible(row);
      grid.redrawRows();
    });
  };

  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  functions.isCurrentChange = function (params) {
    const at = current(shell.view());
    return at >= 0 && Boolean(params.data) && params.data.group === tour.group[at];
  };
  functions.bySize = (one, other) => Math.abs(one ?? 0) - Math.abs(other ?? 0);

  // Hand a file of this machine to the server, and compare with it.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-open-file]");
    if (!button) return;
    const input = document.createElement("input");
    input.type = "file";
    input.addEventListener("change", () => input.files.length && open(input.files[0], button));
    input.click();
  });

  async function open(file, button) {
    button.disabled = true;
    const words = button.textContent;
    button.textContent = `Reading ${file.name}\u2026`;
    const say = (text) => window.dash_clientside.set_props("problem", { children: text });
    try {
      const address = `${shell.prefix || "/"}open-file?name=${encodeURIComponent(file.name)}`;
      const response = await fetch(address, { method: "POST", body: file, credentials: "same-origin",
        headers: { "Content-Type": "application/octet-stream" } });
      const answer = await response.text();
      if (response.ok) {
        say("");
        shell.go({ after: JSON.parse(answer).recording, graph: "", graph_after: "", body: "", node: null });
      } else say(answer);
    } catch (error) {
      say(`The file could not be handed over: ${error.message}`);
    }
    button.disabled = false;
    button.textContent = words;
  }

  const watch = { childList: true, subtree: true, attributes: true,
    attributeFilter: ["data-canvas", "data-replay-src", "data-tour"] };
  new MutationObserver(scan).observe(document.documentElement, watch);
})(window.cgShell);
