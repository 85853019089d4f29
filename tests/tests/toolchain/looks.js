// `1400 wide, dark`, and after it what sticks out of the page or cannot be read on its background.
function looks() {
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const parts = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { luminance: 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255), a };
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { luminance, a } = parts(getComputedStyle(at).backgroundColor);
      if (a === 1) return luminance;
    }
    return 1;
  };
  const faults = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!texts.length || !element.checkVisibility() || element.closest("script, option, .skip")) continue;
    const [text, back] = [parts(getComputedStyle(element).color).luminance, behind(element)];
    const contrast = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (contrast < 4.5) faults.add(`${element.tagName}.${element.className} has a contrast of ${contrast.toFixed(1)}`);
    // What scrolls by itself may be wider.
    if (element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, pre, .run")) {
      faults.add(`${element.tagName}.${element.className} sticks out`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.add("the page scrolls sideways");
  const mode = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  return [`${innerWidth} wide, ${mode}`, ...faults].join("; ");
}
