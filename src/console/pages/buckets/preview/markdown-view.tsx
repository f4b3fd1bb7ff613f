import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { t } from "../../../text/text.ts";
import { PlainTable } from "../../../ui/data-table.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { type Block, parseMarkdown } from "./markdown.ts";
import "./preview.css";

/** Address in the console for the target of a link; undefined if it has none. */
type LinkOf = (target: string) => string | undefined;

const Links = createContext<LinkOf>(() => undefined);

interface MarkdownViewProps {
  readonly text: string;
  readonly path: string;
  /** For a document of the console's own. */
  readonly linkOf?: LinkOf;
}

/** Markdown as elements. HTML in it is shown as text, images are links, and every link shows where it leads. */
export default function MarkdownView({ text, path, linkOf = () => undefined }: MarkdownViewProps) {
  return (
    // A scrolling element must be focusable to be scrolled by keyboard.
    <section class="preview-markdown" tabIndex={0} aria-label={t.files.contentOf(path)}>
      <Links.Provider value={linkOf}>
        <Blocks blocks={parseMarkdown(text)} />
      </Links.Provider>
    </section>
  );
}

function Blocks({ blocks }: { readonly blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, at) => (
        <OneBlock key={at} block={block} />
      ))}
    </>
  );
}

function OneBlock({ block }: { readonly block: Block }) {
  switch (block.as) {
    case "heading": {
      // The dialog has the heading of level 2.
      const Heading = `h${Math.min(block.level + 2, 6)}` as "h3";
      return <Heading data-level={block.level}>{inline(block.text)}</Heading>;
    }
    case "paragraph":
      return <p>{inline(block.text)}</p>;
    case "code":
      return (
        // A scrolling element must be focusable to be scrolled by keyboard.
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "rule":
      return <hr />;
    case "quote":
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "list": {
      const items = block.items.map((item, at) => (
        <li key={at}>
          <Item blocks={item} />
        </li>
      ));
      return block.ordered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return <PlainTable heads={block.head.map(inline)} rows={block.rows.map((row) => row.map(inline))} />;
  }
}

/** Item of a list. One that is a single paragraph has no space around it. */
function Item({ blocks }: { readonly blocks: readonly Block[] }) {
  const [first, ...rest] = blocks;
  if (first?.as !== "paragraph") return <Blocks blocks={blocks} />;
  return (
    <>
      {inline(first.text)}
      <Blocks blocks={rest} />
    </>
  );
}

/** Code, escapes, images, links, addresses, strong, emphasis, deletion: the first that matches. Bounded, so that no text is slow. */
const marked =
  /`([^`]{1,500})`|\\([!-/:-@[-`{-~])|(!?)\[([^\][]{0,500})\]\(([^()\s]{0,1000})(?:\s"[^"]{0,200}")?\)|<?(https?:\/\/[^\s<>()"]{1,1000})>?|\*\*([^*]{1,1000})\*\*|__([^_]{1,1000})__|\*([^*\s][^*]{0,1000})\*|(?<![\w])_([^_\s][^_]{0,1000})_(?![\w])|~~([^~]{1,1000})~~/g;

function inline(text: string, depth = 0): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let from = 0;
  const inner = (part: string) => (depth < 3 ? inline(part, depth + 1) : part);
  for (const found of text.matchAll(marked)) {
    const [whole, code, escaped, image, label, target, address, strong, bold, emphasis, italic, deleted] =
      found;
    parts.push(text.slice(from, found.index));
    from = found.index + whole.length;
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (escaped !== undefined) parts.push(escaped);
    else if (target !== undefined)
      parts.push(<Link label={label ?? ""} target={target} image={image === "!"} />);
    else if (address !== undefined) parts.push(<Link label="" target={address} image={false} />);
    else if (strong !== undefined || bold !== undefined)
      parts.push(<strong>{inner(strong ?? bold ?? "")}</strong>);
    else if (emphasis !== undefined || italic !== undefined)
      parts.push(<em>{inner(emphasis ?? italic ?? "")}</em>);
    else if (deleted !== undefined) parts.push(<del>{inner(deleted)}</del>);
  }
  parts.push(text.slice(from));
  return parts;
}

interface LinkProps {
  readonly label: string;
  readonly target: string;
  readonly image: boolean;
}

/** Link of a document. Only web addresses can be followed, and the text always shows where to. */
function Link({ label, target, image }: LinkProps) {
  const inside = useContext(Links)(target);
  const shown = visibleText(target);
  const text = label === "" ? shown : label;
  const title = image ? t.files.imageOf(text) : text;
  if (inside !== undefined) return <a href={inside}>{text}</a>;
  const where = text === shown ? "" : ` (${shown})`;
  if (!/^https?:\/\//i.test(target))
    return (
      <bdi>
        {title}
        {where !== "" && <span class="muted">{where}</span>}
      </bdi>
    );
  return (
    <bdi>
      <a href={target} target="_blank" rel="noopener noreferrer">
        {title}
      </a>
      {where !== "" && <span class="muted">{where}</span>}
    </bdi>
  );
}
