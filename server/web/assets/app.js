// All modules are optional: every page works without scripts.
import "./copy.js";
import "./filters.js";
import "./live.js";
import "./menu.js";
import "./preview.js";
import "./print.js";
import "./suggest.js";
