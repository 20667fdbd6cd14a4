// Client-side callbacks: every action writes the address, everything else follows it.
window.dash_clientside = window.dash_clientside || {};
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const skip = () => window.dash_clientside.no_update;
  const renamed = {};

  // Stores keep their object when nothing in it changed, so that nothing behind them runs again.
  // What a store holds is asked, not remembered: Dash drops what a callback returned when the
  // callback was asked for again meanwhile, and a memory of it would then be wrong for good.
  function changed(name, held, value) {
    const text = JSON.stringify(value);
    const now = JSON.stringify(held);
    const same = now === text || (renamed[name] && renamed[name].short === now && renamed[name].full === text);
    return same ? skip() : value;
  }

  function pick(view, ...names) {
    return Object.fromEntries(names.map((name) => [name, view[name]]));
  }

  // What a page, its panel and its matches depend on; pages say themselves what they are built from.
  const STORES = {
    place: ["page", "recording", "graph", "body"],
    focus: ["page", "recording", "graph", "body", "node", "view", "executable", "after", "graph_after"],
    query: ["page", "recording", "graph", "body", "search", "executable", "after", "graph_after"],
  };

  function fieldsOf(name, view) {
    const places = shell.places || {};
    const page = view.page || Object.keys(places)[0];
    return name === "place" && places[page] ? places[page] : STORES[name];
  }

  function stored(view) {
    return Object.keys(STORES).map((name) => [name, pick(view, ...fieldsOf(name, view))]);
  }

  // A short address such as "/" shows the first recording, or its first graph: name them, so that
  // a copied link means the same elsewhere. The page is there already and is not built again.
  function complete(context) {
    const view = shell.view();
    if (view.page && view.page !== context.page) return;
    const full = Object.assign({}, view);
    if (!full.recording) full.recording = context.recording || "";
    if (!full.graph && (context.graph || context.graphAfter)) full.graph = context.key || "";
    if (context.recordingAfter) {
      Object.assign(full, { after: context.recordingAfter, graph_after: context.graphAfter || "" });
    }
    const url = shell.compose(full);
    if (url.search === shell.compose(view).search) return;
    window.history.replaceState({}, "", url.pathname + url.search);
    const short = Object.fromEntries(stored(view));
    for (const [name, value] of stored(full)) {
      renamed[name] = { short: JSON.stringify(short[name]), full: JSON.stringify(value) };
    }
  }

  // The server sets a picker as well, with the page that it shows, and by the time that is here the
  // address may name another place already. Such a value came together with a context.
  const contexts = {};
  function setWith(picker, context, value, shown) {
    const fresh = contexts[picker] !== context;
    contexts[picker] = context;
    return fresh && value === shown;
  }

  function step(by, matches) {
    const found = (matches && matches.indices) || [];
    if (!found.length) return;
    const node = shell.view().node;
    const at = found.indexOf(node);
    let next;
    if (at >= 0) {
      next = (at + by + found.length) % found.length;
    } else {
      const after = node === null ? 0 : found.findIndex((index) => index > node);
      next = by > 0 ? Math.max(after, 0) : (after <= 0 ? found.length : after) - 1;
    }
    shell.go({ node: found[next] });
  }

  shell.stepMatch = (by) => shell.stepWhenFound(by, shell.view().search);

  // Enter, or n, can come before the matches of what is searched for have.
  let waiting = null;
  shell.stepWhenFound = function (by, text) {
    if (shell.matches && shell.matches.search === text) step(by, shell.matches);
    else waiting = text ? { by, text } : null;
  };
  shell.stepGraph = function (by) {
    const context = shell.context || {};
    const graph = by < 0 ? context.before : context.after;
    if (graph) shell.go({ graph, body: "", node: null, search: "" });
  };

  window.dash_clientside.shell = {
    // Called when the address changes; what it is by now is in the address itself.
    route(pathname, search, prefix, places, place, focus, query) {
      shell.prefix = prefix;
      shell.places = places;
      const view = shell.view();
      const held = { place, focus, query };
      shell.apply(view);
      const box = document.getElementById("search");
      const typing = box && document.activeElement === box;
      return [
        ...stored(view).map(([name, value]) => changed(name, held[name], value)),
        typing ? skip() : view.search,
      ];
    },

    selected(event) {
      if (event && event.index !== undefined) shell.go({ node: event.index });
    },

    // A run of the replay names its node by path; the body is all before the last number.
    runSelected(event) {
      if (!event) return;
      if (!event.path) {
        shell.go({ node: null });
        return;
      }
      const parts = event.path.split("/");
      const node = Number(parts.pop());
      const body = parts.join("/");
      shell.go(body === shell.view().body ? { node } : { body, node, search: "" });
    },

    entered(event) {
      if (!event || !event.path) return;
      // A comparison names bodies by the node that both sides share.
      const view = shell.view();
      const around = view.body ? `${view.body}/` : "";
      const path = view.page === "compare" ? around + event.index : event.path;
      shell.go({ body: `${path}/0`, node: null, search: "" });
    },

    pickRecording(recording, context) {
      if (setWith("recording", context, recording, (context || {}).recording)) return;
      const here = shell.view().recording || (shell.context || {}).recording;
      if (!recording || !here || recording === here) return;
      shell.go({ page: "", recording, graph: "", body: "", node: null, search: "" });
    },

    pickGraph(graph, context) {
      if (setWith("graph", context, graph, (context || {}).key)) return;
      const here = shell.view().graph || (shell.context || {}).key;
      if (!graph || !here || graph === here) return;
      shell.go({ page: "graph", graph, body: "", node: null, search: "" });
    },

    stepGraph(before, after) {
      const id = window.dash_clientside.callback_context.triggered_id;
      if (before || after) shell.stepGraph(id === "previous-graph" ? -1 : 1);
    },

    searchFor(text) {
      const value = text || "";
      if (value !== shell.view().search) shell.go({ search: value }, { replace: true });
    },

    stepMatch(before, after) {
      const id = window.dash_clientside.callback_context.triggered_id;
      if (before || after) shell.stepMatch(id === "search-previous" ? -1 : 1);
    },

    showMatches(matches, focus) {
      shell.matches = matches;
      shell.setMatches(matches ? matches.indices : null);
      if (waiting && matches && matches.search === waiting.text) {
        const { by } = waiting;
        waiting = null;
        // Not inside this callback: what it sets off would be overtaken by what it returns.
        setTimeout(() => step(by, matches));
      }
      if (!matches) return "";
      const found = matches.indices;
      const at = focus ? found.indexOf(focus.node) : -1;
      if (!found.length) return "no match";
      return at < 0 ? matches.text : `${at + 1} of ${matches.text}`;
    },

    showFrame(context) {
      shell.context = context || {};
      complete(shell.context);
      return [shell.context.hint || "Search", { visibility: shell.context.graph ? "visible" : "hidden" }];
    },

    replay(replay) {
      if (!replay || !replay.src) return "";
      window.cgReplay.mount(replay.src, replay.host);
      return replay.src;
    },

    mount(scene) {
      if (!scene || !scene.src) return "";
      shell.mount(scene);
      return scene.src;
    },

    // What was measured from here is shown as soon as it is there.
    measured(done) {
      if (done && done.recording) shell.go({ recording: done.recording, graph: done.graph, body: "", node: null });
    },

    // A click shows what is known of a graph beside the table, a second one opens it.
    focusGraph(cell) {
      const row = cell && cell.rowId;
      if (row && cell.colId !== "name") shell.go({ graph: row, body: "", node: null });
    },

    openGraph(cell) {
      const row = cell && cell.rowId;
      if (row) shell.go({ page: "graph", graph: row, body: "", node: null, search: "" });
    },

    openNode(cell) {
      if (cell && cell.rowId !== undefined) shell.go({ node: Number(cell.rowId) });
    },

    // The table holds the graph's own nodes, whichever body was looked at before.
    openKernel(cell) {
      if (cell && cell.rowId !== undefined && cell.colId !== "copy") shell.go({ body: "", node: Number(cell.rowId) });
    },

    // A line finds its nodes in the graph, unless someone selects its text.
    openLine(cell) {
      const row = cell && cell.rowId;
      const opens = cell && cell.colId === "line" && document.querySelector("#source-lines .line-link");
      if (!row || opens || cell.colId === "nodes" || String(window.getSelection())) return;
      const place = document.getElementById("source-lines");
      if (!place || !window.dash_ag_grid) return;
      window.dash_ag_grid.getApiAsync("source-lines").then((grid) => {
        const node = grid.getRowNode(row);
        if (node && node.data.link) shell.go(JSON.parse(node.data.link.go));
      });
    },

    openTable(clicks) {
      const open = Boolean(clicks % 2);
      if (open) setTimeout(() => shell.showRow(shell.view()), 300);
      return [open ? "nodes-box open" : "nodes-box", String(open)];
    },

    filterGraphs() {
      shell.apply(shell.view());
      return shell.view().search;
    },

    theme(choice) {
      const system = matchMedia("(prefers-color-scheme: dark)");
      const scheme = () => (choice === "light" || choice === "dark" ? choice : system.matches ? "dark" : "light");
      system.onchange = () => window.dash_clientside.set_props("provider", { forceColorScheme: scheme() });
      document.documentElement.dataset.agThemeMode = scheme();
      return scheme();
    },

    help(clicks, opened) {
      return clicks ? !opened : skip();
    },
  };

  // Not by a callback: what is done next has to find the choice in the address already.
  document.addEventListener("change", (event) => {
    if (event.target.closest("#colour")) shell.go({ colour: event.target.value });
    const choice = event.target.closest("[data-choose]");
    if (choice) {
      const also = JSON.parse(choice.dataset.also || "{}");
      shell.go({ ...also, [choice.dataset.choose]: event.target.value });
    }
  }, true);

  // Links of the panel and entries of the legend change a part of the view and keep the rest.
  document.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("[data-go]");
    if (link) {
      event.preventDefault();
      event.stopPropagation();
      shell.go(JSON.parse(link.dataset.go));
      return;
    }
    if (event.target.closest("[data-fit]")) shell.fit();
    if (event.target.closest("[data-legend-more]")) {
      document.getElementById("legend").classList.toggle("open");
      shell.measureLegend();
    }
    const entry = event.target.closest("[data-term]");
    if (entry) {
      const search = shell.view().search === entry.dataset.term ? "" : entry.dataset.term;
      shell.go({ search });
    }
  }, true);
})(window.cgShell);
