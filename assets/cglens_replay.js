// Registers the calls of the replay's canvas before its modules have loaded; see cglens_canvas.js.
(function () {
  "use strict";
  const own = document.currentScript.src;
  const entry = new URL("replay/main.mjs" + new URL(own).search, own);
  const modules = import(entry.href);
  modules.catch(function (error) {
    console.error("The replay could not be loaded:", error);
  });

  window.cgReplay = {};
  for (const name of ["mount", "setSelection", "setMatches", "fit"]) {
    window.cgReplay[name] = function () {
      const values = arguments;
      modules.then(function (module) {
        module[name].apply(null, values);
      });
    };
  }
})();
