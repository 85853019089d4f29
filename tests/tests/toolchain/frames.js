// Shows each page in a frame of each width, and lists what scrolls sideways there or is cut off. PAGES: their addresses.
const frame = document.querySelector("iframe");
const look = (document, width, page) => {
  const faults = [];
  if (document.documentElement.scrollWidth > width) faults.push("the page");
  for (const element of document.querySelectorAll("main pre, main pre > code, main .table-wrapper")) {
    const columns = element.querySelector("tr")?.children.length ?? 0;
    // A wide table scrolls on a phone.
    const mayScroll = width < 500 && columns > 3;
    if (element.scrollWidth > element.clientWidth + 1 && !mayScroll) faults.push(element.textContent.trim().slice(0, 60));
  }
  for (const code of document.querySelectorAll("main code.language-cpp")) {
    if (!code.querySelector("[class^=hljs-]") && /\b(if|int|for|float)\b/.test(code.textContent)) faults.push("no colours: " + code.textContent.slice(0, 60));
  }
  return faults.map((fault) => `${page} at ${width}: ${fault}`);
};
(async () => {
  const faults = [];
  let count = 0;
  for (const width of [1400, 400]) {
    frame.style.width = `${width}px`;
    for (const page of PAGES) {
      await new Promise((loaded) => {
        frame.onload = loaded;
        frame.src = page;
      });
      faults.push(...look(frame.contentDocument, width, page.split("/book/")[1]));
      count++;
    }
  }
  document.body.append(`saw ${count} pages; ${faults.join("; ")}.`);
})();
