import { linkPage } from "./page.ts";

/** passwordPage is a form whose answer is the file. No cookie is set, so the password opens nothing else. */
export function passwordPage(request: Request, proof: "wrong" | "missing"): Response {
  const problem = proof === "wrong" ? '<p class="problem" role="alert">This is not the password.</p>\n' : "";
  return linkPage(request, {
    title: "This file takes a password",
    status: proof === "wrong" ? 403 : 200,
    body: `${problem}<form method="post">
<label>Password <input type="password" name="password" required autofocus autocomplete="off"></label>
<button>Download</button>
</form>`,
  });
}
