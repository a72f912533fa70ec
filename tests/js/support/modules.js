// The modules of the page's scripts (lua/llmprof/report/html), for the tests beside this.
"use strict";
const path = require("path");

const HTML = path.join(__dirname, "../../../lua/llmprof/report/html");

module.exports = (name) => require(path.join(HTML, name));
