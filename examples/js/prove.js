// Has a circuit proven by Pinion's workers, and the proof checked by snarkjs: README.md says how it is called.
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { connect } from "@nats-io/transport-node";
import { groth16, wtns } from "snarkjs";
import { snarkjsProof, snarkjsPublic } from "./proof.js";
import { circuitRef, prove } from "./queue.js";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    wasm: { type: "string" },
    input: { type: "string" },
    witness: { type: "string" },
    vkey: { type: "string" },
    proof: { type: "string", default: "proof.json" },
    public: { type: "string", default: "public.json" },
    id: { type: "string", default: randomUUID() },
    priority: { type: "string", default: "normal" },
    deadline: { type: "string" },
  },
});

const json = async (path) => JSON.parse(await readFile(path));
const write = (path, value) => writeFile(path, JSON.stringify(value, null, 1) + "\n");

async function witness() {
  if (flags.witness) {
    return readFile(flags.witness);
  }
  const file = { type: "mem" };
  await wtns.calculate(await json(flags.input), flags.wasm, file);
  return file.data;
}

// The same variables as those of pinion say where the broker is, and who asks.
const { PINION_NATS: servers = "nats://127.0.0.1:4222", PINION_NATS_INBOX: inbox = "_INBOX", PINION_NATS_USER: user } = process.env;

async function broker() {
  const pass = user && (await readFile(process.env.PINION_NATS_PASSWORD_FILE, "utf8")).trimEnd();
  return connect({ servers, inboxPrefix: inbox, user, pass });
}

async function main() {
  const [name] = positionals;
  if (!name || !flags.vkey || !(flags.witness || (flags.input && flags.wasm))) {
    throw new Error("expected CIRCUIT --vkey FILE and --witness FILE, or --input FILE --wasm FILE");
  }
  const nc = await broker();
  try {
    const result = await prove(nc, {
      id: flags.id,
      circuit: await circuitRef(nc, name),
      witness: await witness(),
      priority: flags.priority,
      deadline: flags.deadline && Date.parse(flags.deadline),
      inbox,
      heard: (kind, message) => console.error(kind, message?.phase ?? message?.state ?? ""),
    });
    if (result.state !== "done") {
      throw new Error(`job ${flags.id} ${result.state}: ${result.err.code}: ${result.err.msg}`);
    }
    const vkey = await json(flags.vkey);
    const proof = await snarkjsProof(vkey.curve, result.proofs[0].proof);
    const signals = snarkjsPublic(result.proofs[0].public);
    if (!(await groth16.verify(vkey, signals, proof))) {
      throw new Error("snarkjs refuses the proof");
    }
    await write(flags.proof, proof);
    await write(flags.public, signals);
    console.log(`job ${flags.id}: proven by ${result.worker} in ${Math.round(result.ms.total)} ms, verified by snarkjs`);
  } finally {
    await nc.close();
  }
}

main().then(
  () => process.exit(0), // snarkjs leaves threads behind
  (err) => {
    console.error(`prove.js: ${err.message}`);
    process.exit(1);
  },
);
