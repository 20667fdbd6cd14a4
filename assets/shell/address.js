// The view and its address: the browser's half of graphviz_app/state.py.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const FIELDS = ["recording", "graph", "body", "node", "colour", "search", "view", "executable", "after", "graph_after"];
  const COLOURS = ["type", "kernel", "lane", "time", "path", "module", "operator", "phase", "source"];

  const prefix = () => shell.prefix || "/";

  shell.parse = function (pathname, search) {
    const start = prefix();
    const rest = pathname.startsWith(start) ? pathname.slice(start.length) : pathname;
    const query = new URLSearchParams(search || "");
    const view = { page: decodeURIComponent(rest).replace(/^\/+|\/+$/g, "") };
    for (const field of FIELDS) view[field] = query.get(field) || "";
    view.body = view.body.replace(/^\/+|\/+$/g, "");
    view.node = /^[0-9]{1,9}$/.test(view.node) ? Number(view.node) : null;
    if (!COLOURS.includes(view.colour)) view.colour = "type";
    return view;
  };

  shell.compose = function (view) {
    const encode = (text) => encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
    const parts = [];
    for (const field of FIELDS) {
      const value = view[field];
      if (value === null || value === "" || value === undefined) continue;
      if (field === "colour" && value === "type") continue;
      parts.push(`${field}=${encode(String(value))}`);
    }
    return { pathname: prefix() + encode(view.page), search: parts.length ? `?${parts.join("&")}` : "" };
  };

  shell.view = () => shell.parse(window.location.pathname, window.location.search);

  // Show another view. Typing replaces the entry in the browser's history, all else adds one.
  shell.go = function (changes, options) {
    const now = shell.view();
    const next = Object.assign({}, now, changes);
    // An executable is one of its graph's.
    if (next.graph !== now.graph && changes.executable === undefined) next.executable = "";
    // The other side of a comparison belongs to its page.
    if (next.page !== "compare" && now.page === "compare") Object.assign(next, { after: "", graph_after: "" });
    const differs = (one, other) => one.pathname !== other.pathname || one.search !== other.search;
    if (!differs(shell.compose(next), shell.compose(now))) return;
    const url = shell.compose(next);
    if (options && options.replace) {
      window.history.replaceState({}, "", url.pathname + url.search);
    } else {
      window.history.pushState({}, "", url.pathname + url.search);
    }
    // Dash's Location reads the address again on this event; setting its properties instead
    // would leave its `href` behind, from which it restores the old address.
    window.dispatchEvent(new PopStateEvent("popstate"));
  };
})(window.cgShell);
