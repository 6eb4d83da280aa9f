"use strict";
(function () {
  const get = id => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const NAMES = { "loss": "this learner", "repeat-last": "repeat-last", "majority": "majority" };
  let token = sessionStorage.getItem("oskaar-token") || "";
  let chosen = decodeURIComponent(location.hash.slice(1)) || null;
  let current = null;      // the connection
  let before = null;       // the last event, for rates
  let shown = null;        // the last state of the stream

  // ---------------------------------------------------------------- making elements; texts are never HTML

  function element(kind, text, name) {
    const made = document.createElement(kind);
    if (text !== undefined && text !== null) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function drawn(kind, attributes, parent) {
    const made = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  function replace(place, children) {
    place.replaceChildren(...children);
  }

  function value(thing) {
    const text = typeof thing === "string" ? thing : JSON.stringify(thing === undefined ? null : thing);
    return text.length > 80 ? text.slice(0, 77) + "..." : text;
  }

  const number = x => x === null || x === undefined ? "none" : x.toFixed(3);
  const count = n => n.toLocaleString("en");

  function age(seconds) {
    if (seconds === null || seconds === undefined) return "none";
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (seconds >= size) return (seconds / size).toFixed(seconds < 10 * size ? 1 : 0) + " " + unit;
    }
    return seconds.toFixed(0) + " s";
  }

  function bytes(size) {
    for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
      if (size < 1024 || unit === "GiB") return size.toFixed(size < 10 && unit !== "bytes" ? 1 : 0) + " " + unit;
      size /= 1024;
    }
  }

  // ---------------------------------------------------------------- curves

  function ticks(low, high, wanted) {
    const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw);
    const found = [];
    for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * step; t += step) found.push(t);
    return found;
  }

  function plot(place, rounds, curves, changes) {
    const width = Math.max(260, place.clientWidth), height = place.clientWidth < 420 ? 190 : 240;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    const names = Object.keys(curves).filter(name => curves[name].length);
    if (!rounds.length || !names.length) {
      replace(place, [element("p", "No round has been learned yet.", "soft")]);
      return;
    }
    const all = names.flatMap(name => curves[name]).filter(y => y !== null);
    const top = Math.max(...all, 0.01) * 1.05, bottom = Math.min(0, ...all);
    const left = 44, right = width - 8, low = height - 24, high = 8;
    const first = rounds[0], last = Math.max(rounds[rounds.length - 1], first + 1);
    const px = t => left + (right - left) * (t - first) / (last - first);
    const py = y => low - (low - high) * (y - bottom) / (top - bottom);
    for (const y of ticks(bottom, top, 4)) {
      drawn("line", { x1: left, x2: right, y1: py(y), y2: py(y), class: "grid" }, svg);
      drawn("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end" }, svg).textContent = +y.toPrecision(3);
    }
    for (const t of ticks(first, last, width < 420 ? 3 : 6)) {
      if (t !== Math.round(t)) continue;
      const anchor = px(t) > right - 24 ? "end" : "middle";
      drawn("text", { x: px(t), y: height - 6, "text-anchor": anchor }, svg).textContent = count(t);
    }
    for (const t of changes) {
      if (t >= first && t <= last) drawn("line", { x1: px(t), x2: px(t), y1: high, y2: low, class: "change" }, svg);
    }
    names.forEach((name, i) => {
      const points = curves[name].map((y, j) => y === null ? "" : `${px(rounds[j]).toFixed(1)},${py(y).toFixed(1)}`);
      drawn("polyline", { points: points.join(" "), class: `line line${Object.keys(NAMES).indexOf(name)}` }, svg);
    });
    const text = names.map(name => `${NAMES[name]} ${number(curves[name][curves[name].length - 1])}`).join(", ");
    svg.setAttribute("aria-label", `After ${count(last)} rounds: ${text}.`);
    replace(place, [svg, legend(names, curves)]);
  }

  function legend(names, curves) {
    const place = element("div", null, "legend");
    for (const name of names) {
      const entry = element("span"), line = drawn("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" });
      drawn("line", { x1: 0, x2: 28, y1: 5, y2: 5, "stroke-width": 2.5, class: `line${Object.keys(NAMES).indexOf(name)}` }, line);
      entry.append(line, `${NAMES[name]} ${number(curves[name][curves[name].length - 1])}`);
      place.appendChild(entry);
    }
    return place;
  }

  // ---------------------------------------------------------------- one event

  function rate(now, then, seconds) {
    return then === undefined || seconds <= 0 ? "" : Math.max(0, (now - then) / seconds).toFixed(1);
  }

  function show(event) {
    const time = performance.now() / 1000, seconds = before ? time - before.time : 0;
    const disk = Object.values(event.disk).reduce((a, b) => a + b, 0);
    const requests = before ? rate(event.requests, before.requests, seconds) : "";
    get("machine").textContent = `${count(event.streams.length)} stream${event.streams.length === 1 ? "" : "s"}, ${requests || "..."} requests a second, ` +
      `${bytes(disk)} on disk` + (event.problem ? `, cannot write: ${event.problem}` : "");
    list(event.streams);
    if (!chosen && event.streams.length) choose(event.streams[0].name);
    const known = event.streams.some(stream => stream.name === chosen);
    get("empty").hidden = event.streams.length > 0;
    if (event.stream && event.stream.name === chosen) {
      const same = before && before.stream === chosen;
      stream(event.stream, same ? rate(event.stream.rounds || 0, before.rounds, seconds) : "");
      before = { time, requests: event.requests, stream: chosen, rounds: event.stream.rounds || 0 };
    } else {
      before = { time, requests: event.requests };
      if (chosen && !known && event.streams.length) choose(event.streams[0].name);
    }
    document.documentElement.dataset.events = 1 + Number(document.documentElement.dataset.events || 0);
  }

  function list(streams) {
    const names = streams.map(stream => stream.name);
    const buttons = Array.from(get("streams").querySelectorAll("button"));
    if (buttons.map(button => button.dataset.name).join("\n") !== names.join("\n")) {
      replace(get("streams"), names.map(name => {
        const entry = element("li"), button = element("button", name);
        button.type = "button";
        button.dataset.name = name;
        button.addEventListener("click", () => choose(name));
        entry.appendChild(button);
        return entry;
      }));
    }
    for (const button of get("streams").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.name === chosen));
    }
  }

  function stream(found, pace) {
    const broken = found.problem || null;
    get("title").textContent = found.name;
    document.title = `${found.name} - oskaar serve`;
    get("problem").hidden = !broken;
    get("problem").textContent = broken || "";
    get("shown").hidden = Boolean(broken);
    if (broken) return;
    shown = found;
    get("about").textContent = `${value(found.learner)} with the loss ${value(found.loss)}`;
    const now = found.figures.now;
    const tiles = [
      [number(now.loss), "loss, last 100 rounds"], [number(now["repeat-last"]), "repeat-last, same rounds"],
      [number(now.majority), "majority, same rounds"], [number(found.mean_loss), "mean loss so far"],
      [count(found.rounds), "rounds"], [pace || "...", "rounds a second"],
      [count(found.open_tickets), "open tickets"], [age(found.oldest_ticket_age), "oldest open ticket"],
    ];
    replace(get("tiles"), tiles.filter(([shown, name]) => shown !== "none" || !/same rounds/.test(name)).map(([big, small]) => {
      const tile = element("div");
      tile.append(element("b", big), element("span", small));
      return tile;
    }));
    const changes = found.change_points.map(change => change[0]);
    plot(get("rolling"), found.figures.rounds, found.figures.rolling, changes);
    plot(get("mean"), found.figures.rounds, found.figures.mean, changes);
    get("changes").textContent = changes.length
      ? `${changes.length} noticed: ` + found.change_points.slice(-8).map(c => `from round ${count(c[0])}, noticed at ${count(c[1])}`).join("; ") + "."
      : "None noticed" + (Object.keys(found.expert_weights).length ? "." : ": this learner does not look for them.");
    weights(found.expert_weights);
    tables(found);
  }

  function weights(found) {
    const rows = Object.entries(found).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([name, weight]) => {
      const row = element("div", null, "bar"), bar = element("progress");
      bar.max = 1;
      bar.value = weight;
      bar.setAttribute("aria-label", name);
      row.append(element("span", name), bar, element("span", weight.toFixed(3)));
      return row;
    });
    replace(get("weights"), rows.length ? rows : [element("p", "This learner is one expert.", "soft")]);
  }

  function tables(found) {
    const cells = texts => texts.map(text => element("td", text, String(text).length > 14 ? "long" : ""));
    replace(get("rounds"), found.figures.recent.slice().reverse().map(round => {
      const row = element("tr", null, round.loss > 0 ? "miss" : "");
      row.append(...cells([count(round.round), value(round.x), value(round.z), value(round.y), number(round.loss)]));
      return row;
    }));
    replace(get("tickets"), found.tickets.map(ticket => {
      const row = element("tr");
      row.append(...cells([ticket.ticket, age(ticket.age), value(ticket.x), value(ticket.z)]));
      return row;
    }));
  }

  function choose(name) {
    if (chosen !== name) {
      chosen = name;
      location.hash = encodeURIComponent(name);
    }
    before = null;
    connect();
  }

  // ---------------------------------------------------------------- the connection

  function headers() {
    return token ? { authorization: `Bearer ${token}` } : {};
  }

  function live(text, kind) {
    get("live").textContent = text;
    get("live").className = `dot ${kind}`;
  }

  async function connect() {
    if (current) current.abort();
    const mine = current = new AbortController();
    for (let pause = 500; !mine.signal.aborted; pause = Math.min(2 * pause, 10000)) {
      try {
        if (await listen(mine)) pause = 500;
        else return;
      } catch (error) {
        if (mine.signal.aborted) return;
      }
      live("not connected", "off");
      await new Promise(resolve => setTimeout(resolve, pause));
    }
  }

  async function listen(mine) {
    const path = chosen ? `events?stream=${encodeURIComponent(chosen)}` : "events";
    const answer = await fetch(path, { headers: headers(), signal: mine.signal, cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) {
      get("key").hidden = false;
      live("a token is needed", "off");
      return false;
    }
    if (answer.status === 404) {
      chosen = null;
      return true;
    }
    if (!answer.ok) throw new Error(answer.status);
    get("key").hidden = true;
    live("live", "on");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value: part, done } = await reader.read();
      if (done) return true;
      text += part;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        if (event.startsWith("data: ") && !mine.signal.aborted) show(JSON.parse(event.slice(6)));
      }
    }
  }

  // ---------------------------------------------------------------- ask and tell by hand

  async function post(verb, body) {
    const sent = { "content-type": "application/json", "idempotency-key": crypto.getRandomValues(new Uint32Array(4)).join("-") };
    const path = `streams/${encodeURIComponent(chosen)}/${verb}`;
    const answer = await fetch(path, { method: "POST", headers: { ...headers(), ...sent }, body: JSON.stringify(body) });
    return [answer.ok, await answer.json()];
  }

  function report(text, bad) {
    get("answer").textContent = text;
    get("answer").className = bad ? "answer bad" : "answer";
  }

  function row(text) {
    const plain = text.trim();
    if (/^[[{"]/.test(plain)) return JSON.parse(plain);
    const numbers = plain.split(/[,;\s]+/).map(Number);
    if (!plain || numbers.some(Number.isNaN)) throw new Error("x must be numbers with commas, or JSON.");
    return numbers;
  }

  function label(text) {
    try {
      return JSON.parse(text);
    } catch (error) {
      return text.trim();
    }
  }

  async function sending(event, work) {
    event.preventDefault();
    try {
      await work();
    } catch (error) {
      report(error.message, true);
    }
  }

  get("ask").addEventListener("submit", event => sending(event, async () => {
    const [good, found] = await post("ask", { x: row(get("x").value) });
    if (!good) return report(found.error.message, true);
    const chances = found.probabilities ? `\n${value(found.probabilities)}` : "";
    report(`ticket ${found.ticket}: ${value(found.z)}${chances}`);
    get("ticket").value = found.ticket;
    get("y").focus();
  }));

  get("tell").addEventListener("submit", event => sending(event, async () => {
    const ticket = Number(get("ticket").value.trim() || NaN);
    if (!Number.isInteger(ticket)) throw new Error("a ticket is a whole number.");
    const [good, found] = await post("tell", { ticket, y: label(get("y").value) });
    report(good ? `round ${count(found.rounds)}: the answer cost ${number(found.loss)}` : found.error.message, !good);
  }));

  get("key").addEventListener("submit", event => {
    event.preventDefault();
    token = get("token").value.trim();
    sessionStorage.setItem("oskaar-token", token);
    get("token").value = "";
    connect();
  });

  addEventListener("hashchange", () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (name && name !== chosen) choose(name);
  });
  let width = 0;
  addEventListener("resize", () => {
    if (shown && innerWidth !== width) stream(shown, "");
    width = innerWidth;
  });
  connect();
})();
