/** What keeps a text from being the tag of a release; undefined when nothing does. */
export function tagProblem(text: string): string | undefined {
  return /^v\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(text)
    ? undefined
    : "It must read vX.Y.Z, a v and three numbers, such as v1.2.3.";
}
