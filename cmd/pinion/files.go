package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pinion-zk/pinion/groth16"
)

// maxFile bounds the files that are read whole: proofs, public signals, verifying keys, inputs.
const maxFile = 64 << 20

// readFile reads a file of moderate size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &inputError{fmt.Errorf("%s: larger than %d MiB", path, maxFile>>20)}
	}
	return data, nil
}

// readJSON reads a file into v.
func readJSON(path string, v any) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &inputError{fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	return nil
}

// readProof reads a proof of snarkjs (JSON), or one in compressed bytes on the given curve.
func readProof(path string, curve groth16.Curve) (*groth16.Proof, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if text := strings.TrimSpace(string(data)); strings.HasPrefix(text, "{") {
		var proof groth16.Proof
		if err := json.Unmarshal(data, &proof); err != nil {
			return nil, &inputError{fmt.Errorf("%s: %w", filepath.Base(path), err)}
		}
		return &proof, nil
	}
	proof, err := groth16.ParseProof(curve, data)
	if err != nil {
		return nil, &inputError{fmt.Errorf("%s: %w", filepath.Base(path), err)}
	}
	return proof, nil
}

// isBinary tells whether a file is to hold bytes instead of JSON.
func isBinary(path string) bool { return filepath.Ext(path) == ".bin" }

// writeProof writes the proof.json of snarkjs, or the compressed bytes if the file is called .bin.
func writeProof(path string, proof *groth16.Proof) error {
	if isBinary(path) {
		return writeFile(path, proof.Bytes())
	}
	return writeJSON(path, proof)
}

// writePublic writes the public.json of snarkjs, or 32 bytes big-endian for each signal if the file is called .bin.
func writePublic(path string, public groth16.Public) error {
	if isBinary(path) {
		return writeFile(path, public)
	}
	return writeJSON(path, public)
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'))
}

// writeFile writes a file as a whole or not at all, so that nobody reads half a proof. What isn't a regular file (a terminal, a
// pipe) is written to as it is.
func writeFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "create", Path: path, Err: cause.Err} // not by its temporary name
	} else if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
