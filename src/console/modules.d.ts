/** A file of the documentation as text. */
declare module "*.md" {
  const text: string;
  export default text;
}

/** A style sheet, which applies from its import on. */
declare module "*.css";
