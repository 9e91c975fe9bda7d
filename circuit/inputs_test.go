package circuit

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// fakeTable is a circuit's inputs by name.
type fakeTable map[string]int

func (t fakeTable) size(name string) (int, error) { return t[name], nil }

func (t fakeTable) total() (n int) {
	for _, size := range t {
		n += size
	}
	return n
}

// unsizedTable is what circom 2.0.0 tells: nothing.
type unsizedTable struct{}

func (unsizedTable) size(string) (int, error) { return -1, nil }

// printSignals writes signals as "name=value,value".
func printSignals(signals []signal) string {
	var all []string
	for _, s := range signals {
		var values []string
		for word := range slices.Chunk(s.values, groth16.ScalarSize) {
			be := slices.Clone(word)
			slices.Reverse(be)
			values = append(values, new(big.Int).SetBytes(be).String())
		}
		all = append(all, s.name+"="+strings.Join(values, ","))
	}
	return strings.Join(all, " ")
}

const (
	bnOrder  = "21888242871839275222246405745257275088548364400416034343698204186575808495617"
	bnLess1  = "21888242871839275222246405745257275088548364400416034343698204186575808495616"
	blsOrder = "52435875175126190479447740508185965837690552500527637822603658699938581184513"
)

// C12: each form of a value.
func TestC12InputValues(t *testing.T) {
	const notInteger = "not an integer, expected decimal, 0x, 0o or 0b digits"
	const notBelow = "not below the order of the scalar field"
	for _, test := range []struct{ json, want, fault string }{
		{`0`, "0", ""},
		{`-0`, "0", ""},
		{`7`, "7", ""},
		{`"7"`, "7", ""},
		{`"007"`, "7", ""},
		{`9007199254740993`, "9007199254740993", ""}, // 2^53+1: JSON.parse rounds it
		{`18446744073709551616`, "18446744073709551616", ""},
		{bnLess1, bnLess1, ""},
		{`"` + bnLess1 + `"`, bnLess1, ""},
		{`-1`, bnLess1, ""},
		{`"-1"`, bnLess1, ""},
		{`-` + bnLess1, "1", ""},
		{`"0xff"`, "255", ""},
		{`"0XfF"`, "255", ""},
		{`"0o17"`, "15", ""},
		{`"0b101"`, "5", ""},
		{`true`, "1", ""},
		{`false`, "0", ""},
		{`"` + strings.Repeat("0", 1023) + `1"`, "1", ""},

		{`null`, "", "null, expected an integer"},
		{`""`, "", "empty string, expected an integer"},
		{`1.5`, "", notInteger},
		{`1.0`, "", notInteger},
		{`1e3`, "", notInteger},
		{`"1e3"`, "", notInteger},
		{`"12abc"`, "", notInteger},
		{`" 12"`, "", notInteger},
		{`"+12"`, "", notInteger},
		{`"-"`, "", notInteger},
		{`"--1"`, "", notInteger},
		{`"0x"`, "", notInteger},
		{`"0xg"`, "", notInteger},
		{`"0b2"`, "", notInteger},
		{`"0o8"`, "", notInteger},
		{`"-0x1"`, "", notInteger},
		{`"1_000"`, "", notInteger},
		{`"١"`, "", notInteger},
		{bnOrder, "", notBelow},
		{`"` + bnOrder + `"`, "", notBelow},
		{`"-` + bnOrder + `"`, "", notBelow},
		{`"0x1` + strings.Repeat("0", 64) + `"`, "", notBelow},
		{strings.Repeat("9", 1024), "", notBelow},
		{`"` + strings.Repeat("0", 1024) + `1"`, "", "longer than 1024 characters"},
	} {
		signals, err := decodeInputs([]byte(`{"a":`+test.json+`}`), groth16.BN254, 1, fakeTable{"a": 1})
		switch {
		case test.fault != "":
			if want := `input signal "a": ` + test.fault; err == nil || err.Error() != want {
				t.Errorf("%.80s: %v, want %s", test.json, err, want)
			}
		case err != nil:
			t.Errorf("%.80s: %v", test.json, err)
		case printSignals(signals) != "a="+test.want:
			t.Errorf("%.80s: %s", test.json, printSignals(signals))
		}
	}
	signals, err := decodeInputs([]byte(`{"a":"`+bnOrder+`"}`), groth16.BLS12381, 1, fakeTable{"a": 1})
	if err != nil || printSignals(signals) != "a="+bnOrder {
		t.Errorf("order of bn128 on bls12381: %v", err)
	}
	if _, err := decodeInputs([]byte(`{"a":`+blsOrder+`}`), groth16.BLS12381, 1, fakeTable{"a": 1}); err == nil {
		t.Error("order of bls12381 is taken on bls12381")
	}
}

func TestDecodeInputs(t *testing.T) {
	flat := fakeTable{"a": 1, "b": 4}
	bus := fakeTable{"p.x": 1, "p.y": 2, "q[0].z": 1, "q[1].z": 1, "m[0][1].z": 1, "m[0][0].z": 1}
	const deep = 64
	for _, test := range []struct {
		name, json string
		table      signalTable
		total      int
		want       string
	}{
		{"nested", `{"a":1,"b":[[2,3],["4",[true]]]}`, flat, 5, "a=1 b=2,3,4,1"},
		{"flat", ` { "b" : [2,3,4,5] , "a" : [1] } `, flat, 5, "b=2,3,4,5 a=1"},
		{"size 0", `{"a":1,"b":[2,3,4,5],"c":[],"d":[[],[]]}`, flat, 5, "a=1 b=2,3,4,5 c= d="},
		{"nothing", `{}`, fakeTable{}, 0, ""},
		{"buses", `{"p":{"x":1,"y":[2,3]},"q":[{"z":4},{"z":5}],"m":[[{"z":6},{"z":7}]]}`, bus, bus.total(),
			"p.x=1 p.y=2,3 q[0].z=4 q[1].z=5 m[0][0].z=6 m[0][1].z=7"},
		{"qualified", `{"p.x":1,"p":{"y":[2,3]},"q[0].z":4,"q[1]":{"z":5},"m[0]":[{"z":6},{"z":7}]}`, bus, bus.total(),
			"p.x=1 p.y=2,3 q[0].z=4 q[1].z=5 m[0][0].z=6 m[0][1].z=7"},
		{"unsized", `{"a":1,"b":[2,3]}`, unsizedTable{}, 3, "a=1 b=2,3"},

		{"empty", ``, flat, 5, "inputs: JSON ends early, after byte 0"},
		{"cut", `{"a":1,"b":[2,`, flat, 5, "inputs: JSON ends early, after byte 14"},
		{"cut in a string", `{"a":"12`, flat, 5, "inputs: JSON ends early, after byte 5"},
		{"no JSON", `{"a":xyz}`, flat, 5, "inputs: not valid JSON after byte 5"},
		{"no object", `[1]`, flat, 5, "inputs: found an array, expected a JSON object of signals"},
		{"string", `"secret"`, flat, 5, "inputs: found a string, expected a JSON object of signals"},
		{"null", `null`, flat, 5, "inputs: found null, expected a JSON object of signals"},
		{"more", `{"a":1,"b":[2,3,4,5]}{}`, flat, 5, "inputs: found more after the JSON object, which ends at byte 21"},
		{"missing", `{"b":[2,3,4,5]}`, flat, 5, `inputs: 4 of 5 input values are set, by "b"; a signal is missing`},
		{"missing beside many", `{"b":[2,3,4,5],` + manyEmpty(9) + `}`, flat, 5, `inputs: 4 of 5 input values are set, by "b", "e0", "e1", "e2", "e3", "e4", "e5", "e6", 2 more; a signal is missing`},
		{"none", `{}`, flat, 5, "inputs: 0 of 5 input values are set"},
		{"unknown", `{"a":1,"c":2}`, flat, 5, `input signal "c": not an input of the circuit`},
		{"too few", `{"b":[[2],[3,4]]}`, flat, 5, `input signal "b": 3 values, expected 4`},
		{"too many", `{"b":[2,3,4,5,6,7,8,9]}`, flat, 5, `input signal "b": 8 values, expected 4`},
		{"none of an array", `{"b":[]}`, flat, 5, `input signal "b": 0 values, expected 4`},
		{"bad value in an array", `{"b":[[2,3],[4,"x"]]}`, flat, 5, `input signal "b": value 3: not an integer, expected decimal, 0x, 0o or 0b digits`},
		{"key twice", `{"a":1,"a":1}`, flat, 5, `input signal "a": given twice`},
		{"key twice, escaped", `{"a":1,"\u0061":1}`, flat, 5, `input signal "a": given twice`},
		{"bus twice", `{"p":{"x":1},"p":{"y":[2,3]}}`, bus, bus.total(), `input signal "p": given twice`},
		{"signal twice", `{"p":{"x":1},"p.x":1}`, bus, bus.total(), `input signal "p.x": given twice`},
		{"bus for a signal", `{"a":{"x":1}}`, flat, 5, `input signal "a.x": not an input of the circuit`},
		{"values, then objects", `{"b":[1,{"x":1}]}`, flat, 5, `input signal "b": mixes values and objects`},
		{"objects, then values", `{"q":[{"z":1},1]}`, bus, bus.total(), `input signal "q": mixes values and objects`},
		{"unsized, too many", `{"a":1,"b":[2,3,4]}`, unsizedTable{}, 3, `input signal "b": 4 values are set with it, the circuit takes 3`},
		{"deep arrays", `{"a":` + strings.Repeat("[", deep) + "1" + strings.Repeat("]", deep) + "}", flat, 5, `input signal "a": nested deeper than 64 levels`},
		{"deep objects", strings.Repeat(`{"a":`, deep+1), flat, 5, `input signal "a` + strings.Repeat(".a", deep-1) + `": nested deeper than 64 levels`},
		{"long name", `{"` + strings.Repeat("a", 1025) + `":1}`, flat, 5, "inputs: a signal's name is longer than 1024 bytes, at byte 1028"},
		{"many names", `{"a":1,` + manyEmpty(2000) + `}`, flat, 5, "inputs: more than 1029 signals"},
	} {
		t.Run(test.name, func(t *testing.T) {
			signals, err := decodeInputs([]byte(test.json), groth16.BN254, test.total, test.table)
			got := printSignals(signals)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Fatalf("%s\nwant %s", got, test.want)
			}
		})
	}
}

func manyEmpty(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"e%d":[]`, i)
	}
	return strings.Join(names, ",")
}

// Values past what the circuit takes are not kept: a small message can't make much memory.
func TestDecodeInputsMemory(t *testing.T) {
	inputs := []byte(`{"a":[` + strings.Repeat("0,", 1<<18) + `0]}`)
	_, err := decodeInputs(inputs, groth16.BN254, 4, fakeTable{"a": 4})
	if want := `input signal "a": 262145 values, expected 4`; err == nil || err.Error() != want {
		t.Fatalf("%v\nwant %s", err, want)
	}
}

// Whatever the decoder takes is whole and below the order of the field, and no error quotes a value.
func FuzzDecodeInputs(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":["2",3,[true,"0x5"]]}`, `{"p":{"x":-1,"y":[2,3]},"a":[{"x":"1"}]}`, `{"a":"` + bnOrder + `"}`,
		`{"a":1e400}`, `{"a":[[[[[]]]]]}`, `{"\ud800":null}`, "{\"\xff\":1}", `{"a":1}{`, `[`, ``,
	} {
		f.Add([]byte(seed))
	}
	table := fakeTable{"a": 1, "b": 4, "p.x": 1, "p.y": 2}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, total := range []int{table.total(), 5, 1} {
			signals, err := decodeInputs(data, groth16.BN254, total, table)
			if err != nil {
				if _, typed := err.(*InputError); !typed {
					t.Fatalf("%T %v", err, err)
				}
				continue
			}
			given := 0
			for _, s := range signals {
				if len(s.values) != table[s.name]*groth16.ScalarSize {
					t.Fatalf("%q has %d bytes", s.name, len(s.values))
				}
				given += table[s.name]
				for word := range slices.Chunk(s.values, groth16.ScalarSize) {
					be := slices.Clone(word)
					slices.Reverse(be)
					if new(big.Int).SetBytes(be).Cmp(groth16.BN254.ScalarModulus()) >= 0 {
						t.Fatalf("%q is not below the order", s.name)
					}
				}
			}
			if given != total {
				t.Fatalf("%d values of %d", given, total)
			}
		}
	})
}

// parseScalar agrees with math/big.
func FuzzParseScalar(f *testing.F) {
	for _, seed := range []string{"0", "-1", "0x10", "0b11", "0o7", bnOrder, bnLess1, "-" + bnLess1, "12abc"} {
		f.Add(seed)
	}
	field := fieldOf(groth16.BN254)
	order := groth16.BN254.ScalarModulus()
	f.Fuzz(func(t *testing.T, text string) {
		modulus := scalar(field.modulus)
		got, err := parseScalar(text, &modulus)
		if err != nil {
			return
		}
		digits, base := text, 10
		if len(text) > 2 && text[0] == '0' && strings.ContainsRune("xXoObB", rune(text[1])) {
			digits, base = text[2:], map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]|0x20]
		}
		want, ok := new(big.Int).SetString(digits, base)
		if !ok || new(big.Int).Abs(want).Cmp(order) >= 0 {
			t.Fatalf("%q is taken", text)
		}
		want.Mod(want, order)
		if s := printSignals([]signal{{"a", got.appendTo(nil)}}); s != "a="+want.String() {
			t.Fatalf("%q is %s, want %s", text, s, want)
		}
	})
}
