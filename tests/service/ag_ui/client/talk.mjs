// Runs the official client of AG-UI, unchanged: each line of stdin is a step, each line of stdout what came of it.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

const [url, token] = process.argv.slice(2);
let agent;

const steps = {
  // Begins with a thread of its own, or a new one with the client's own UUID.
  open: ({ threadId, messages }) => {
    const headers = { Authorization: `Bearer ${token}` };
    agent = new HttpAgent({ url, headers, threadId, initialMessages: messages ?? [] });
    return { threadId: agent.threadId };
  },
  // Says something, as a front end does: the client invents the ids and sends its whole history.
  say: ({ text, runId }) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    return run({ runId });
  },
  // Has the last answer written anew, as a front end does: it drops the answer and runs again.
  regenerate: ({ runId }) => {
    agent.setMessages(agent.messages.slice(0, -1));
    return run({ runId });
  },
  run,
};

async function run({ runId }) {
  const events = [];
  const subscriber = { onEvent: ({ event }) => void events.push(event.type) };
  try {
    const { newMessages } = await agent.runAgent({ runId }, subscriber);
    return { events, newMessages, messages: agent.messages };
  } catch (error) {
    return { events, error: error.message, status: error.status, payload: error.payload, messages: agent.messages };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { step, ...options } = JSON.parse(line);
  console.log(JSON.stringify(await steps[step](options)));
}
process.exit(0);
