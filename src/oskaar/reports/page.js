"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const mouse = window.matchMedia("(pointer: fine)");
  const config = { responsive: true, displayModeBar: false, scrollZoom: false };
  function draw() {
    const style = getComputedStyle(document.documentElement);
    for (const source of document.querySelectorAll("script[data-figure]")) {
      const place = document.getElementById(source.dataset.figure);
      const text = source.textContent.replace(/"@([a-z0-9]+)"/g,
        (all, name) => JSON.stringify(style.getPropertyValue("--" + name).trim()));
      const figure = JSON.parse(text);
      figure.layout.dragmode = mouse.matches ? "zoom" : false;  // a finger scrolls the page
      Plotly.react(place, figure.data, figure.layout, config);
    }
    document.documentElement.dataset.drawn = dark.matches ? "dark" : "light";
  }
  dark.addEventListener("change", draw);
  draw();
})();
