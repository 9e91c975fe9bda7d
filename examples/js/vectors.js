// Holds this folder's reading and writing against the test vectors of docs/wire.md, whose path is the argument.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { decode, encode } from "@msgpack/msgpack";
import { snarkjsProof } from "./proof.js";

const vector = /<!-- vector: (.+) -->\n```json\n([^`]+)```\n```\n([^`]+)```/g;

// binary replaces what the page writes as hex:... by bytes.
function binary(value) {
  if (typeof value === "string" && value.startsWith("hex:")) {
    return new Uint8Array(Buffer.from(value.slice(4), "hex"));
  }
  if (Array.isArray(value)) {
    return value.map(binary);
  }
  return value instanceof Object ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, binary(v)])) : value;
}

async function check(name, says, bytes) {
  if (name.startsWith("proof ")) {
    assert.deepEqual(await snarkjsProof(says.curve, bytes), says, name);
    return;
  }
  assert.deepEqual(decode(bytes), binary(says), name);
  if (name.startsWith("job")) {
    assert.deepEqual(encode(binary(says)), bytes, name);
  }
}

const vectors = [...(await readFile(process.argv[2], "utf8")).matchAll(vector)];
for (const [, name, json, hex] of vectors) {
  await check(name, JSON.parse(json), new Uint8Array(Buffer.from(hex.replaceAll("\n", ""), "hex")));
}
assert(vectors.length > 0, "no vectors");
console.log(`${vectors.length} vectors`);
process.exit(0); // snarkjs leaves threads behind
