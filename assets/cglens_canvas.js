// Registers what Dash's client-side callbacks call, before the canvas's modules have loaded, and
// passes the calls on when they have. A classic script, since Dash looks the names up at once.
(function () {
  "use strict";
  const own = document.currentScript.src;
  const entry = new URL("canvas/main.mjs" + new URL(own).search, own);
  const modules = import(entry.href);
  modules.catch(function (error) {
    console.error("The canvas could not be loaded:", error);
  });

  function later(name) {
    return function () {
      const values = arguments;
      modules.then(function (module) {
        return module[name].apply(null, values);
      });
      return window.dash_clientside.no_update;
    };
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.cglens = Object.assign(window.dash_clientside.cglens || {}, {
    mount: later("mount"),
    setColouring: later("setColouring"),
    setSelection: later("setSelection"),
    setMatches: later("setMatches"),
    setFlows: later("setFlows"),
    setMarks: later("setMarks"),
    fit: later("fit"),
  });
})();
