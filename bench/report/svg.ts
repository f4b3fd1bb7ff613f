/** Colours for light and dark pages. The picture has a background of its own, so that it can be read on any page. */
const style = `
.page{fill:#fff}.text{fill:#1f2328}.soft{fill:#59636e}.other{fill:#afb8c1}.ours,.c0{fill:#0969da}.c1{fill:#bc4c00}.c2{fill:#1a7f37}
.grid{stroke:#d1d9e0}.axis{stroke:#818b98}.linear{stroke:#818b98;stroke-dasharray:3 3}
.l0{stroke:#0969da}.l1{stroke:#bc4c00}.l2{stroke:#1a7f37}.whisker{stroke:#1f2328}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117}.text{fill:#f0f6fc}.soft{fill:#9198a1}.other{fill:#4f5864}.ours,.c0{fill:#4493f8}.c1{fill:#f0883e}.c2{fill:#3fb950}
.grid{stroke:#2a313c}.axis{stroke:#656c76}.linear{stroke:#656c76}
.l0{stroke:#4493f8}.l1{stroke:#f0883e}.l2{stroke:#3fb950}.whisker{stroke:#f0f6fc}}`;

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** For readers who do not see it. */
  readonly title: string;
  readonly body: string;
}

export function svgDocument({ width, height, title, body }: Picture): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>${escapeXml(title)}</title><style>${style}</style>
<rect class="page" width="${width}" height="${height}" rx="6"/>
${body}
</svg>
`;
}

export interface Text {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly className?: string;
  readonly anchor?: "start" | "middle" | "end";
  readonly size?: number;
}

export function svgText({ x, y, text, className = "text", anchor = "start", size = 12 }: Text): string {
  const plain = escapeXml(text.replaceAll("`", ""));
  return `<text class="${className}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-size="${size}">${plain}</text>`;
}

export interface Panel {
  readonly height: number;
  /** Draws the panel with its top left corner at 0, 0. */
  readonly body: string;
}

export const panelWidth = 300;
const gap = 24;
const columns = 3;

/** Panels side by side, in rows of three, below the title. */
export function svgGrid(title: string, panels: readonly Panel[]): string {
  const parts = [svgText({ x: gap, y: gap, text: title, className: "soft", size: 13 })];
  let top = 2 * gap;
  for (let first = 0; first < panels.length; first += columns) {
    const row = panels.slice(first, first + columns);
    for (const [at, { body }] of row.entries())
      parts.push(`<g transform="translate(${gap + at * (panelWidth + gap)} ${top})">${body}</g>`);
    top += Math.max(...row.map(({ height }) => height)) + gap;
  }
  const width = columns * (panelWidth + gap) + gap;
  return svgDocument({ width, height: top, title, body: parts.join("\n") });
}

export const round = (value: number) => Math.round(value * 10) / 10;

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
