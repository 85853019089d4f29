"use strict";
(() => {
  const filters = document.getElementById("filters");
  if (!filters) return;
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const shown = document.getElementById("shown");
  const boxes = [...filters.querySelectorAll("[name=level]")];
  const bars = [...document.querySelectorAll(".bar")];
  const items = [...document.querySelectorAll(".findings > li")].map((element) => ({
    element,
    details: element.querySelector("details"),
    values: element.dataset,
    text: undefined,
  }));
  // Of each facet but the rule, which the list of rules has: the chosen value.
  const chosen = { certainty: "", file: "", kernel: "" };

  const textOf = (item) => (item.text ??= item.element.textContent.toLowerCase());

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const wanted = Object.entries({ ...chosen, rule: rule.value }).filter(([, value]) => value);
    let count = 0;
    for (const item of items) {
      const fits = levels.has(item.values.level) && wanted.every(([facet, value]) => item.values[facet] === value) && words.every((word) => textOf(item).includes(word));
      item.element.hidden = !fits;
      count += fits ? 1 : 0;
    }
    for (const bar of bars) {
      const { facet, value } = bar.dataset;
      bar.setAttribute("aria-pressed", String((facet === "rule" ? rule.value : chosen[facet]) === value));
    }
    shown.value = count === items.length ? `${count} shown` : `${count} of ${items.length} shown`;
  };

  // The filters in the address: `#q=…&rule=PTX401&level=error`.
  const write = () => {
    const address = new URLSearchParams();
    if (search.value) address.set("q", search.value);
    if (rule.value) address.set("rule", rule.value);
    for (const [facet, value] of Object.entries(chosen)) if (value) address.set(facet, value);
    const levels = boxes.filter((box) => box.checked).map((box) => box.value);
    if (levels.length < boxes.length) address.set("level", levels.join(","));
    history.replaceState(null, "", `#${address}`);
  };

  const change = () => {
    write();
    apply();
  };

  // A link to a finding or a rule opens it; another address holds filters.
  const follow = () => {
    const hash = location.hash.slice(1);
    const target = hash && document.getElementById(decodeURIComponent(hash));
    if (target instanceof HTMLDetailsElement) target.open = true;
    if (!hash.includes("=")) return;
    const address = new URLSearchParams(hash);
    search.value = address.get("q") ?? "";
    rule.value = address.get("rule") ?? "";
    for (const facet of Object.keys(chosen)) chosen[facet] = address.get(facet) ?? "";
    const levels = address.get("level")?.split(",");
    for (const box of boxes) box.checked = !levels || levels.includes(box.value);
    apply();
  };

  const setOpen = (isOpen) => {
    for (const item of items) if (!item.element.hidden) item.details.open = isOpen;
  };

  // The cells of 32 lanes, once they are seen.
  const draw = (figure) => {
    const set = (key) => (figure.dataset[key] === undefined ? undefined : Number(figure.dataset[key]));
    const [named, here, wrong] = ["named", "here", "wrong"].map(set);
    const has = (lanes, lane) => ((lanes >>> lane) & 1) === 1;
    const list = document.createElement("ol");
    list.setAttribute("aria-hidden", "true");
    for (let lane = 0; lane < 32; lane++) {
      const isNamed = named === undefined ? undefined : has(named, lane);
      const isHere = here === undefined ? undefined : has(here, lane);
      let [kind, mark] = ["none", ""];
      if (isNamed && isHere === false) [kind, mark] = ["missing", "–"];
      else if (isNamed) [kind, mark] = ["named", "✓"];
      else if (isNamed === false && isHere) [kind, mark] = ["unnamed", "!"];
      else if (isNamed === undefined && isHere !== undefined) [kind, mark] = isHere ? ["named", "✓"] : ["missing", "–"];
      const cell = document.createElement("li");
      cell.className = has(wrong, lane) ? `${kind} wrong` : kind;
      for (const [part, text] of [["number", lane], ["mark", mark]]) {
        const span = cell.appendChild(document.createElement("span"));
        span.className = part;
        span.textContent = text;
      }
      list.append(cell);
    }
    figure.querySelector("figcaption").after(list);
  };
  // `0-3, 8`
  const ranges = (lanes) => {
    const parts = [];
    for (let lane = 0; lane < 32; lane++) {
      if (!((lanes >>> lane) & 1)) continue;
      const first = lane;
      while (lane < 31 && (lanes >>> (lane + 1)) & 1) lane++;
      parts.push(first === lane ? `${first}` : `${first}-${lane}`);
    }
    return parts.join(", ");
  };
  // The steps of a run as a table: a column for the lanes of a warp that always go together, a row for each step.
  const MOST_COLUMNS = 8;
  const drawRun = (details) => {
    const list = details.querySelector("ol");
    const steps = [...list.children].map((item) => {
      const by = item.dataset.by?.split(",");
      return { item, key: by && by.slice(0, 2).join(), lanes: by ? parseInt(by[2], 16) | 0 : 0 };
    });
    const warps = new Map();
    for (const { key, lanes } of steps) {
      if (key === undefined) continue;
      const parts = [];
      let rest = lanes;
      for (const part of warps.get(key) ?? []) {
        parts.push(...[part & lanes, part & ~lanes].filter(Boolean));
        rest &= ~part;
      }
      warps.set(key, rest ? [...parts, rest] : parts);
    }
    const lowest = (lanes) => 31 - Math.clz32(lanes & -lanes);
    const columns = [...warps]
      .sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
      .flatMap(([key, parts]) => parts.sort((one, other) => lowest(one) - lowest(other)).map((lanes) => ({ key, lanes })));
    if (!columns.length || columns.length > MOST_COLUMNS) return;
    const table = document.createElement("table");
    const cell = (row, tag, parts, span = 1) => {
      const made = row.appendChild(document.createElement(tag));
      made.append(...parts);
      if (span > 1) made.colSpan = span;
      return made;
    };
    const head = table.createTHead().insertRow();
    cell(head, "th", ["step"]).scope = "col";
    for (const { key, lanes } of columns) {
      const [block, warp] = key.split(",").map((digits) => digits && parseInt(digits, 16));
      const words = [block !== "" && `block ${block}`, warp !== "" && `warp ${warp}`, lanes === -1 ? "all lanes" : /^\d+$/.test(ranges(lanes)) ? `lane ${ranges(lanes)}` : `lanes ${ranges(lanes)}`];
      cell(head, "th", [words.filter(Boolean).join(", ")]).scope = "col";
    }
    const body = table.createTBody();
    for (const { item, key, lanes } of steps) {
      const row = body.insertRow();
      if (key === undefined) {
        cell(row, "td", [item.textContent], columns.length + 1).className = "words";
        continue;
      }
      const place = item.querySelector("code")?.cloneNode(true);
      cell(row, "th", [`${item.value} `, ...(place ? [place] : [])]).scope = "row";
      const act = item.querySelector("b").nextSibling?.textContent ?? item.textContent;
      for (let at = 0; at < columns.length; ) {
        const takes = (column) => column && column.key === key && (column.lanes & lanes) !== 0;
        let end = at + 1;
        if (takes(columns[at])) while (takes(columns[end])) end++;
        const parts = [];
        if (takes(columns[at])) {
          parts.push(document.createElement("span"));
          parts[0].textContent = act;
        }
        cell(row, "td", parts, end - at);
        at = end;
      }
    }
    const scroll = document.createElement("div");
    scroll.className = "lifelines";
    scroll.tabIndex = 0;
    scroll.append(table);
    list.after(scroll);
    list.hidden = true;
  };
  for (const run of document.querySelectorAll(".timeline")) run.addEventListener("toggle", () => run.open && !run.querySelector("table") && drawRun(run));

  const drawIn = (details) => {
    for (const figure of details.querySelectorAll("figure.lanes")) if (!figure.querySelector("ol")) draw(figure);
  };
  for (const { details } of items) {
    details.addEventListener("toggle", () => details.open && drawIn(details));
    if (details.open) drawIn(details);
  }

  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", change);
  for (const bar of bars) {
    bar.addEventListener("click", () => {
      const { facet, value } = bar.dataset;
      const is = facet === "rule" ? rule.value : chosen[facet];
      const next = is === value ? "" : value;
      if (facet === "rule") rule.value = next;
      else chosen[facet] = next;
      change();
    });
  }
  document.getElementById("open").addEventListener("click", () => setOpen(true));
  document.getElementById("close").addEventListener("click", () => setOpen(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  window.addEventListener("hashchange", follow);
  apply();
  follow();
})();
