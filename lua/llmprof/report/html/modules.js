// How the scripts of the page find their modules. A script is a folder here, a module a file
// in it, written as Node's are: require("./name") gives what its `module.exports` is. The
// script begins with its main.js.
"use strict";
/* exported startModules */
const startModules = (bodies) => {
  const loaded = {};
  const require = (name) => {
    if (!bodies[name]) throw new Error(`there is no module ${name}`);
    if (!loaded[name]) {
      loaded[name] = { exports: {} };
      bodies[name](loaded[name], require);
    }
    return loaded[name].exports;
  };
  require("./main");
};
