package groth16

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
)

// sample is what snarkjs made of a circuit.
type sample struct{ vkey, proof, public []byte }

// samples are the edge circuits of testdata (linear constraints only, every wire public, no public signal), and the examples.
func samples(t testing.TB) map[string]sample {
	t.Helper()
	read := func(data []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	all := map[string]sample{}
	for _, name := range []string{"mul", "lin", "allpub", "nopub"} {
		file := func(kind string) []byte { return read(os.ReadFile("testdata/" + name + "." + kind + ".json")) }
		all[name] = sample{file("vkey"), file("p"), file("pub")}
	}
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			file := func(kind string) []byte { return read(circuits.File(name, curve, kind)) }
			all[name+"-"+curve] = sample{file(circuits.VerificationKey), file(circuits.Proof), file(circuits.Public)}
		}
	}
	return all
}

func (s sample) decode(t testing.TB) (*VerifyingKey, *Proof, Public) {
	t.Helper()
	var vk VerifyingKey
	var proof Proof
	var public Public
	for data, to := range map[*[]byte]any{&s.vkey: &vk, &s.proof: &proof, &s.public: &public} {
		if err := json.Unmarshal(*data, to); err != nil {
			t.Fatal(err)
		}
	}
	return &vk, &proof, public
}

func TestSnarkjsProofsVerify(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			vk, proof, public := s.decode(t)
			for range 2 { // a key is not used up
				if err := vk.Verify(proof, public); err != nil {
					t.Fatal(err)
				}
			}
			if vk.Public() != public.Len() || vk.Curve() != proof.Curve || vk.Forgeable() {
				t.Errorf("key with %d public signals on %v, forgeable %v", vk.Public(), vk.Curve(), vk.Forgeable())
			}
		})
	}
}

func TestJSONIsThatOfSnarkjs(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			vk, proof, public := s.decode(t)
			for what, pair := range map[string]struct {
				value any
				want  []byte
			}{"vkey": {vk, s.vkey}, "proof": {proof, s.proof}, "public": {public, s.public}} {
				var got, want any
				out, err := json.Marshal(pair.value)
				if err == nil {
					err = errors.Join(json.Unmarshal(out, &got), json.Unmarshal(pair.want, &want))
				}
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %s, expected %s", what, out, pair.want)
				}
			}
		})
	}
}

func TestNoPublicSignalsAreAnEmptyArray(t *testing.T) {
	for _, public := range []Public{nil, {}} {
		if out, err := json.Marshal(public); err != nil || string(out) != "[]" {
			t.Errorf("%s, %v", out, err)
		}
	}
}

func TestCompressedProofs(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			vk, proof, public := s.decode(t)
			compressed := proof.Bytes()
			if len(compressed) != vk.Curve().ProofSize() {
				t.Fatalf("%d bytes, expected %d", len(compressed), vk.Curve().ProofSize())
			}
			again, err := ParseProof(vk.Curve(), compressed)
			if err != nil {
				t.Fatal(err)
			}
			if err := vk.Verify(again, public); err != nil {
				t.Error(err)
			}
			for _, wrong := range [][]byte{nil, compressed[1:], append(slices.Clone(compressed), 0), proof.Raw(), make([]byte, len(compressed))} {
				if _, err := ParseProof(vk.Curve(), wrong); err == nil {
					t.Errorf("%x accepted", wrong)
				}
			}
		})
	}
}

func TestParseProofErrors(t *testing.T) {
	_, proof, _ := samples(t)["mul"].decode(t)
	change := func(f func(b []byte)) []byte { b := proof.Bytes(); f(b); return b }
	infinity := func(b []byte) { clear(b[96:]); b[96] = 0x40 }
	tests := map[string]struct {
		bytes []byte
		want  string
	}{
		"length":       {proof.Bytes()[:127], "bn128 proof: 127 bytes, expected 128"},
		"uncompressed": {change(func(b []byte) { b[32] &= 0x3f }), "bn128 proof: point B is not in compressed form"},
		"infinity":     {change(infinity), "bn128 proof: point C is the point at infinity"},
		"not below q":  {change(func(b []byte) { copy(b, bytes.Repeat([]byte{0xff}, 32)) }), "bn128 proof: point A: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseProof(BN254, test.bytes)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, expected %s", err, test.want)
			}
		})
	}
}

// A device's answer is a proof only if its points can be points of one.
func TestNewProof(t *testing.T) {
	for _, name := range []string{"mul", "merkle-bls12381"} {
		_, proof, _ := samples(t)[name].decode(t)
		curve := proof.Curve
		g1, g2 := curve.G1Size(), curve.G2Size()
		points := slices.Clone(proof.raw)
		again, err := NewProof(curve, points)
		if err != nil {
			t.Fatal(err)
		}
		clear(points)
		if !bytes.Equal(again.Bytes(), proof.Bytes()) {
			t.Error("the proof changed with the caller's bytes")
		}
		change := func(f func(b []byte)) []byte { b := slices.Clone(proof.raw); f(b); return b }
		tests := map[string]struct {
			points []byte
			want   string
		}{
			"length":      {proof.raw[1:], fmt.Sprintf("%d bytes, expected %d", 2*g1+g2-1, 2*g1+g2)},
			"a bit of A":  {change(func(b []byte) { b[g1-9] ^= 1 }), "point A: not on the curve"},
			"a bit of B":  {change(func(b []byte) { b[g1] ^= 4 }), "point B: not on the curve"},
			"infinity":    {change(func(b []byte) { clear(b[g1+g2:]) }), "point C is the point at infinity"},
			"not below q": {change(func(b []byte) { b[g1+g2+curve.BaseSize()-1] = 0xff }), "point C: a coordinate is not below the field's modulus"},
		}
		for what, test := range tests {
			t.Run(name+"/"+what, func(t *testing.T) {
				want := curve.String() + " proof: " + test.want
				if proof, err := NewProof(curve, test.points); proof != nil || err == nil || err.Error() != want {
					t.Errorf("error %v, expected %s", err, want)
				}
			})
		}
	}
	if _, err := NewProof(7, nil); err == nil {
		t.Error("a proof on no curve")
	}
}

func TestRawProofIsBigEndianWithImaginaryPartsFirst(t *testing.T) {
	_, proof, _ := samples(t)["merkle-bls12381"].decode(t)
	var in jsonProof
	if err := json.Unmarshal(samples(t)["merkle-bls12381"].proof, &in); err != nil {
		t.Fatal(err)
	}
	want := new(bytes.Buffer)
	for _, decimal := range []string{in.A[0], in.A[1], in.B[0][1], in.B[0][0], in.B[1][1], in.B[1][0], in.C[0], in.C[1]} {
		n, _ := new(big.Int).SetString(decimal, 10)
		want.Write(n.FillBytes(make([]byte, 48)))
	}
	if !bytes.Equal(proof.Raw(), want.Bytes()) {
		t.Errorf("got %x, expected %x", proof.Raw(), want)
	}
}

func TestCalldata(t *testing.T) {
	want, err := os.ReadFile("testdata/mul.calldata.txt") // snarkjs zkey export soliditycalldata
	if err != nil {
		t.Fatal(err)
	}
	_, proof, public := samples(t)["mul"].decode(t)
	got, err := proof.Calldata(public)
	if err != nil || got != strings.TrimSpace(string(want)) {
		t.Errorf("got %s, %v, expected %s", got, err, want)
	}
	_, proof, public = samples(t)["nopub"].decode(t)
	if got, err := proof.Calldata(public); err != nil || !strings.HasSuffix(got, ",[]") {
		t.Errorf("without signals: %s, %v", got, err)
	}
	_, proof, public = samples(t)["merkle-bls12381"].decode(t)
	if _, err := proof.Calldata(public); err == nil || err.Error() != "calldata: a proof on bls12381, expected bn128" {
		t.Errorf("another curve: %v", err)
	}
}

func TestRapidsnarkProofWithoutCurve(t *testing.T) {
	s := samples(t)["mul"]
	s.proof = bytes.Replace(s.proof, []byte(`"curve": "bn128"`), []byte(`"other": 1`), 1)
	vk, proof, public := s.decode(t)
	if err := vk.Verify(proof, public); err != nil {
		t.Error(err)
	}
}

// TestChangedStatementsAreRefused changes each signal and each point.
func TestChangedStatementsAreRefused(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			vk, proof, public := s.decode(t)
			for i := range min(public.Len(), 3) {
				changed := slices.Clone(public)
				changed[(i+1)*ScalarSize-1] ^= 1
				if err := vk.Verify(proof, changed); !errors.Is(err, ErrInvalidProof) {
					t.Errorf("signal %d changed: %v", i, err)
				}
			}
			g1, g2 := proof.Curve.G1Size(), proof.Curve.G2Size()
			swapped := &Proof{Curve: proof.Curve, raw: slices.Concat(proof.raw[g1+g2:], proof.raw[g1:g1+g2], proof.raw[:g1])}
			if err := vk.Verify(swapped, public); !errors.Is(err, ErrInvalidProof) {
				t.Errorf("A and C swapped: %v", err)
			}
		})
	}
}

func TestVerifyErrors(t *testing.T) {
	vk, proof, public := samples(t)["mul"].decode(t)
	_, other, _ := samples(t)["merkle-bls12381"].decode(t)
	r := BN254.ScalarModulus()
	plusR := r.Add(r, new(big.Int).SetBytes(public)).FillBytes(make([]byte, ScalarSize))
	tests := map[string]struct {
		proof  *Proof
		public Public
		want   error
	}{
		"curve":         {other, public, &CurveError{Found: BLS12381, Expected: BN254}},
		"too few":       {proof, nil, &PublicCountError{Found: 0, Expected: 1}},
		"too many":      {proof, append(slices.Clone(public), public...), &PublicCountError{Found: 2, Expected: 1}},
		"signal plus r": {proof, plusR, &PublicRangeError{Index: 0}},
		"odd length":    {proof, public[1:], errPublicLength},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := vk.Verify(test.proof, test.public); !reflect.DeepEqual(err, test.want) {
				t.Errorf("error %v, expected %v", err, test.want)
			}
		})
	}
}

func TestMalformedJSON(t *testing.T) {
	s := samples(t)["mul"]
	q := BN254.BaseModulus().String()
	tests := map[string]struct {
		data, from, to, want string
	}{
		"no JSON":          {string(s.proof), "{", "", "proof: invalid character"},
		"plonk":            {string(s.proof), "groth16", "plonk", `proof of protocol "plonk", expected groth16`},
		"curve":            {string(s.proof), `"curve": "bn128"`, `"curve": "secp256k1"`, `proof: unknown curve "secp256k1": expected bn128 or bls12381`},
		"gnark's curve":    {string(s.proof), "bn128", "bls12-377", `proof: unknown curve "bls12-377": expected bn128 or bls12381`},
		"no pi_a":          {string(s.proof), "pi_a", "pi_x", "proof: pi_a: 0 coordinates, expected 3"},
		"hexadecimal":      {string(s.proof), `"4602`, `"0x4602`, `proof: pi_a: coordinate 0: 'x' in a number, expected decimal digits`},
		"leading zero":     {string(s.proof), `"4602`, `"04602`, "proof: pi_a: coordinate 0: a number with a leading zero"},
		"empty number":     {string(s.proof), "4602505331331842045212157325473386395442665036978770510003870713955071771340", "", "proof: pi_a: coordinate 0: a number of 0 digits, expected 1 to 116"},
		"long number":      {string(s.proof), `"4602`, `"` + strings.Repeat("9", 100), "proof: pi_a: coordinate 0: a number of 172 digits, expected 1 to 116"},
		"not below q":      {string(s.proof), "4602505331331842045212157325473386395442665036978770510003870713955071771340", q, "proof: pi_a: coordinate 0: not below the modulus of the coordinates' field"},
		"257 bits":         {string(s.proof), "4602505331331842045212157325473386395442665036978770510003870713955071771340", new(big.Int).Lsh(big.NewInt(1), 256).String(), "proof: pi_a: coordinate 0: a number of 257 bits, expected at most 256"},
		"not on the curve": {string(s.proof), `"4602`, `"4603`, "proof: pi_a: not on the curve"},
		"G2":               {string(s.proof), `"12130`, `"12131`, "proof: pi_b: not on the curve"},
		"z":                {string(s.proof), "\"1\"\n ],\n \"pi_b\"", "\"2\"\n ],\n \"pi_b\"", "proof: pi_a: the third coordinate of an affine point is not 1"},
		"infinity":         {`{"protocol":"groth16","pi_a":["0","1","0"],"pi_b":[["0","0"],["1","0"],["0","0"]],"pi_c":["0","1","0"]}`, "", "", "is the point at infinity"},
		"zero":             {`{"protocol":"groth16","pi_a":["0","0","1"]}`, "", "", "proof: pi_a: all coordinates are zero"},
		"pairs":            {`{"protocol":"groth16","pi_a":["1","2","1"],"pi_b":[["0"],["1","0"],["0","0"]]}`, "", "", "proof: pi_b: coordinate 0 has 1 parts, expected 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := strings.Replace(test.data, test.from, test.to, 1)
			var p Proof
			if err := p.UnmarshalJSON([]byte(data)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, expected %s", err, test.want)
			}
		})
	}
}

func TestMalformedVerifyingKeys(t *testing.T) {
	key := string(samples(t)["mul"].vkey)
	tests := map[string]struct{ from, to, want string }{
		"no JSON":   {"{", "", "verifying key: invalid character"},
		"protocol":  {"groth16", "fflonk", `verifying key of protocol "fflonk", expected groth16`},
		"curve":     {"bn128", "", `verifying key: unknown curve "": expected bn128 or bls12381`},
		"nPublic":   {`"nPublic": 1`, `"nPublic": 2`, "verifying key: 2 IC points, expected nPublic and one more"},
		"no number": {`"nPublic": 1,`, "", "verifying key: 2 IC points, expected nPublic and one more"},
		"no IC":     {`"IC"`, `"XX"`, "verifying key: 0 IC points, expected nPublic and one more"},
		"no alpha":  {"vk_alpha_1", "x", "verifying key: vk_alpha_1: 0 coordinates, expected 3"},
		"gamma":     {`"10857046999023057135944570762232829481370756359578518086990519993285655852781"`, `"1"`, "verifying key: vk_gamma_2: not on the curve"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var vk VerifyingKey
			if err := vk.UnmarshalJSON([]byte(strings.Replace(key, test.from, test.to, 1))); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, expected %s", err, test.want)
			}
		})
	}
	vk, _, _ := samples(t)["mul"].decode(t)
	p := vk.points
	zero := make([]byte, 64)
	if _, err := NewVerifyingKey(BN254, zero, p.Beta2, p.Gamma2, p.Delta2, p.IC); err == nil || err.Error() != "verifying key: alpha1 is the point at infinity" {
		t.Errorf("alpha at infinity: %v", err)
	}
	if _, err := NewVerifyingKey(BN254, p.Alpha1, p.Beta2, p.Gamma2, p.Delta2, p.IC[1:]); err == nil || err.Error() != "verifying key: IC, point 0: 127 bytes are no whole number of points of 64 bytes" {
		t.Errorf("IC cut: %v", err)
	}
}

func TestMalformedPublicSignals(t *testing.T) {
	for data, want := range map[string]string{
		`null`:     "public signals: null, expected an array",
		`{}`:       "public signals: json: cannot unmarshal object into Go value of type []string",
		`[1]`:      "public signals: json: cannot unmarshal number into Go value of type string",
		`["-1"]`:   "public signal 0: '-' in a number, expected decimal digits",
		`["1",""]`: "public signal 1: a number of 0 digits, expected 1 to 116",
	} {
		var p Public
		if err := p.UnmarshalJSON([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, expected %s", data, err, want)
		}
	}
}

// The fuzz tests check that what a decoder takes comes back from its encoder and is taken again.
func FuzzProofJSON(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.proof)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, again Proof
		if p.UnmarshalJSON(data) != nil {
			return
		}
		out, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil || !bytes.Equal(p.Bytes(), again.Bytes()) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

func FuzzVerifyingKeyJSON(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.vkey)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var vk, again VerifyingKey
		if vk.UnmarshalJSON(data) != nil {
			return
		}
		out, err := vk.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil || !reflect.DeepEqual(vk.points, again.points) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

func FuzzPublicJSON(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.public)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, again Public
		if p.UnmarshalJSON(data) != nil {
			return
		}
		out, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(out); err != nil || !bytes.Equal(p, again) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	for _, s := range samples(f) {
		_, proof, _ := s.decode(f)
		f.Add(uint8(proof.Curve), proof.Bytes())
	}
	f.Fuzz(func(t *testing.T, c uint8, data []byte) {
		p, err := ParseProof(Curve(c), data)
		if err == nil && !bytes.Equal(p.Bytes(), data) {
			t.Fatalf("%s comes back as %s", hex.EncodeToString(data), hex.EncodeToString(p.Bytes()))
		}
	})
}
