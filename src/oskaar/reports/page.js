"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const config = { responsive: true, displaylogo: false, displayModeBar: "hover", scrollZoom: false,
                   modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  function draw() {
    const style = getComputedStyle(document.documentElement);
    for (const source of document.querySelectorAll("script[data-figure]")) {
      const place = document.getElementById(source.dataset.figure);
      const text = source.textContent.replace(/"@([a-z0-9]+)"/g,
        (all, name) => JSON.stringify(style.getPropertyValue("--" + name).trim()));
      const figure = JSON.parse(text);
      Plotly.react(place, figure.data, figure.layout, config);
    }
    document.documentElement.dataset.drawn = dark.matches ? "dark" : "light";
  }
  dark.addEventListener("change", draw);
  draw();
})();
