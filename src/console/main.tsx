import { render } from "preact";

render(<h1>node-server</h1>, document.body);
