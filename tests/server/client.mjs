// The quick start over REST, with nothing but Node and its fetch: node client.mjs <address> <key>
import assert from "node:assert/strict";

const [address, key] = process.argv.slice(2);

async function ask(method, path, body, headers = {}) {
  const response = await fetch(address + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text && JSON.parse(text) };
}

async function find(path, known, made) {
  for (let cursor = ""; cursor !== null; ) {
    const page = (await ask("GET", `${path}?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)).json;
    const found = page.items.find(known);
    if (found) return found;
    cursor = page.nextCursor ?? null;
  }
  return (await ask("POST", path, made)).json;
}

const me = process.argv[4];
const spaces = (await ask("GET", "/ai-memory/spaces")).json.items;
const space = spaces[0] ?? (await ask("POST", "/ai-memory/spaces", { name: "personal" })).json;
await ask("POST", "/ai-memory/bindings", {
  conversationScope: { namespace: "daily-checkin", userId: me },
  memorySpaceIds: [space.id],
  extractionPolicy: { onConversationClosed: true },
});

const isOpen = (each) => each.namespace === "daily-checkin" && each.status === "open";
const conversation = await find("/ai-conversations", isOpen, { namespace: "daily-checkin" });
const path = `/ai-conversations/${conversation.id}`;

const turn = { userContent: "I prefer meetings on Tuesday mornings.", assistant: { content: "Got it!" } };
const first = await ask("POST", `${path}/turns`, turn, { "idempotency-key": "turn-1" });
const again = await ask("POST", `${path}/turns`, turn, { "idempotency-key": "turn-1" });
assert.equal(first.status, 201);
assert.equal(again.json.userMessage.id, first.json.userMessage.id);
assert.equal(again.json.userMessage.replayed, true);
const said = (await ask("GET", `${path}/messages`)).json.items.flatMap((message) => message.content);
assert.ok(said.filter((block) => block.type === "text").some((block) => block.text.includes("Tuesday")));
assert.equal((await ask("POST", `${path}/close`)).json.status, "closed");
assert.equal((await ask("POST", `${path}/turns`, turn)).status, 409);

// The worker of the server makes memory of it.
let hits = [];
for (const until = Date.now() + 60_000; hits.length === 0 && Date.now() < until; ) {
  const asked = { query: "preferred meeting times", limit: 5 };
  hits = (await ask("POST", `/ai-memory/spaces/${space.id}/recall/topic`, asked)).json.hits;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
assert.deepEqual(hits[0].atom.sourceMessageIds, [first.json.userMessage.id]);

const next = await find("/ai-conversations", isOpen, { namespace: "daily-checkin" });
const context = (
  await ask("POST", `/ai-working-context/${next.id}`, { memorySpaceId: space.id, recallQuery: "When shall we meet?" })
).json;
assert.match(context.contextBlock, /Tuesday/);

const run = await fetch(`${address}/ai-conversations/${next.id}/run`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "text/event-stream" },
  body: JSON.stringify({
    model: "ollama:llama3:8b",
    userText: "When shall we meet?",
    options: { systemPrompt: context.contextBlock },
  }),
});
let streamed = "";
for await (const piece of run.body.pipeThrough(new TextDecoderStream())) streamed += piece;
const events = streamed.split("\n\n").filter((part) => part.startsWith("event: "));
const result = JSON.parse(events.at(-1).split("\ndata: ")[1]);
assert.equal(result.status, "completed");

const block = await ask("PUT", "/api/v1/memory/blocks/core", { content: "Speaks German.", expected_updated_at: null });
const changed = { content: "Speaks French." };
assert.equal((await ask("PUT", "/api/v1/memory/blocks/core", changed, { "if-match": block.headers.get("etag") })).status, 200);
assert.equal((await ask("PUT", "/api/v1/memory/blocks/core", changed, { "if-match": block.headers.get("etag") })).status, 412);

const refused = await fetch(`${address}/ai-conversations`);
assert.equal(refused.status, 401);
assert.ok((await refused.json()).hint);
console.log(hits[0].atom.text);
