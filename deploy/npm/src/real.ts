// What a test may replace by fakes, as it was when this module was loaded.
const { fetch, setTimeout, clearTimeout, performance } = globalThis;
const real = { fetch, setTimeout, clearTimeout, now: performance.now.bind(performance) };
export default real;
