// From the bytes of a result to what snarkjs takes: see "Proofs" in docs/wire.md.
import { curves } from "snarkjs";

// Per curve: bytes of a coordinate, which bits of the first byte are flags, what they are for the larger and for the smaller y.
const encodings = {
  bn128: { size: 32, mask: 0xc0, larger: 0xc0, smaller: 0x80 },
  bls12381: { size: 48, mask: 0xe0, larger: 0xa0, smaller: 0x80 },
};

// snarkjsProof makes proof.json's content of A | B | C, compressed.
export async function snarkjsProof(name, bytes) {
  const encoding = encodings[name];
  if (bytes.length !== 4 * encoding?.size) {
    throw new Error(`a proof of ${bytes.length} bytes is none on ${name}`);
  }
  const curve = await curves.getCurveFromName(name);
  const point = (group, start, length) => decompress(group, encoding, bytes.slice(start, start + length));
  const n = encoding.size;
  return {
    pi_a: point(curve.G1, 0, n),
    pi_b: point(curve.G2, n, 2 * n),
    pi_c: point(curve.G1, 3 * n, n),
    protocol: "groth16",
    curve: name,
  };
}

// decompress finds the y of a point's x. ffjavascript does, from bytes with its own flags: 0x80 for the larger y.
function decompress(group, { mask, larger, smaller }, bytes) {
  const flags = bytes[0] & mask;
  if (flags !== larger && flags !== smaller) {
    throw new Error(`a point with flags 0x${flags.toString(16)}`);
  }
  bytes[0] = (bytes[0] & ~mask) | (flags === larger ? 0x80 : 0);
  const point = group.fromRprCompressed(bytes, 0);
  if (!group.isValid(point)) {
    throw new Error("a point that isn't on the curve");
  }
  return decimal(group.toObject(point)); // x and y, and 1: projective, as snarkjs writes it
}

const decimal = (x) => (Array.isArray(x) ? x.map(decimal) : x.toString());

// snarkjsPublic makes public.json's content of the public signals, 32 bytes each.
export function snarkjsPublic(bytes) {
  const signals = [];
  for (let i = 0; i < bytes.length; i += 32) {
    signals.push(BigInt("0x" + Buffer.from(bytes.subarray(i, i + 32)).toString("hex")).toString());
  }
  return signals;
}
