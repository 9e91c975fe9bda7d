// A job's way to the workers and back: docs/wire.md in JavaScript, as far as a producer of one proof needs it.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { decode, encode } from "@msgpack/msgpack";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { createInbox, headers, nuid } from "@nats-io/transport-node";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest();

// What a message can hold beside everything else in it: larger witnesses are uploaded, in chunks.
const inlineBytes = 900 * 1024;
const chunkBytes = 512 * 1024;

// last reads the last message of a subject by a direct get, which needs no right to anything else; null if there is none.
async function last(nc, stream, subject) {
  const { direct } = await jetstreamManager(nc, { checkAPI: false });
  return direct.getMessage(stream, { last_by_subj: subject });
}

// An object is its chunks, and a message that describes it, whose subject has the name in base64url.
const described = (bucket, name) => `$O.${bucket}.M.${base64url(name)}`;
const base64url = (bytes) => Buffer.from(bytes).toString("base64").replaceAll("+", "-").replaceAll("/", "_");

// circuitRef makes name@sha256 of a circuit's name, as its workers have registered it.
export async function circuitRef(nc, name) {
  if (name.includes("@")) {
    return name;
  }
  const record = await last(nc, "OBJ_pinion_circuits", described("pinion_circuits", `name.${name}`));
  if (!record) {
    throw new Error(`no worker has registered a circuit ${name}`);
  }
  return `${name}@${record.json().metadata.digest}`;
}

// prove submits a job of one witness and returns its result. It may be called again with the same arguments, also after an error or
// from elsewhere: one id is one job.
export async function prove(nc, { id, circuit, witness, priority, deadline, inbox, heard }) {
  const job = { v: 1, id, circuit, proofs: [await place(nc, id, witness)], deadline };
  const body = encode(job, { ignoreUndefined: true });
  const reply = createInbox(inbox); // in a header: another one each time, it would make another job of the body
  const told = listen(nc, reply, heard);
  await publish(nc, `pinion.job.${priority}.${circuit.split("@")[0]}.${id}`, id, reply, body);
  const result = await outcome(nc, id, told);
  if (!sha256(body).equals(result.job)) {
    throw new Error(`the id ${id} belongs to another job`);
  }
  return result;
}

// place puts the witness into the job, or into the object bucket if it is large.
async function place(nc, id, wtns) {
  if (wtns.length <= inlineBytes) {
    return { wtns };
  }
  const sum = sha256(wtns);
  const obj = { name: `${id}.0.${sum.toString("hex")}`, len: wtns.length, sha256: sum };
  await upload(nc, "pinion_witness", obj.name, wtns, sum);
  return { obj };
}

async function upload(nc, bucket, name, bytes, sum) {
  const there = (await last(nc, `OBJ_${bucket}`, described(bucket, name)))?.json();
  if (there && !there.deleted) {
    return; // the name has the digest
  }
  const info = {
    name,
    bucket,
    nuid: nuid.next(),
    size: bytes.length,
    chunks: Math.ceil(bytes.length / chunkBytes),
    digest: `SHA-256=${base64url(sum)}`,
    options: { max_chunk_size: chunkBytes },
  };
  const js = jetstream(nc);
  for (let i = 0; i < bytes.length; i += chunkBytes) {
    await js.publish(`$O.${bucket}.C.${info.nuid}`, bytes.subarray(i, i + chunkBytes)); // one at a time: the broker refuses a flood
  }
  const h = headers();
  h.set("Nats-Rollup", "sub");
  await js.publish(described(bucket, name), JSON.stringify(info), { headers: h });
}

async function publish(nc, subject, id, reply, body) {
  const h = headers();
  h.set("Pinion-Reply-To", reply);
  h.set("Content-Type", "application/vnd.pinion.job+msgpack;v=1");
  try {
    await jetstream(nc).publish(subject, body, { msgID: id, headers: h, expect: { streamName: "PINION_JOBS" } });
  } catch (err) {
    if (err.message !== "maximum messages per subject exceeded") {
      throw err;
    } // else the job is queued already
  }
}

// listen calls heard for each message on the reply subject; the promise is fulfilled with the result among them.
function listen(nc, reply, heard) {
  return new Promise((resolve) => {
    nc.subscribe(reply, {
      callback(err, msg) {
        if (err) {
          return;
        }
        const kind = msg.headers?.get("Pinion-Kind");
        const message = kind === "spans" ? undefined : decode(msg.data);
        heard(kind, message);
        if (msg.headers?.get("Pinion-Final") === "true") {
          resolve(message);
        }
      },
    });
  });
}

// outcome is the result that is stored, or heard: what is sent to the reply subject may be lost, what is stored isn't.
async function outcome(nc, id, told) {
  for (;;) {
    const msg = await last(nc, "PINION_RESULTS", `pinion.result.${id}`);
    const result = msg ? decode(msg.data) : await Promise.race([told, sleep(3000)]);
    if (result) {
      return result;
    }
  }
}
