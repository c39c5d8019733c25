// The published TypeScript client: starts a server over stdio, lists its tools, makes the
// calls that standard input holds and prints what came, one JSON value a line. It checks
// every structured result against the tool's output schema, as clients built of it do.
//
//   node client.mjs COMMAND ARGS... < calls.json
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "published-client", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
console.log(JSON.stringify(tools.map((tool) => tool.name)));
for (const call of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    console.log(JSON.stringify(await client.callTool(call)));
  } catch (err) {
    console.log(JSON.stringify({ thrown: String(err) }));
  }
}
await client.close();
