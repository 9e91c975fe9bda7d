package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"

	"github.com/pinion-zk/pinion/circuit"
)

type circuitCmd struct {
	Add     circuitAdd     `cmd:"" help:"Import a circuit: check its files and prepare its key."`
	Setup   circuitSetup   `cmd:"" help:"Make a key for development, of constraints or of a made-up circuit, and import it."`
	Push    circuitPush    `cmd:"" help:"Store a circuit on the broker, for all workers, and make its name mean it."`
	Pull    circuitPull    `cmd:"" help:"Fetch a circuit from the broker."`
	Use     circuitUse     `cmd:"" help:"Make a name mean a circuit that was pushed before."`
	List    circuitList    `cmd:"" help:"List the circuits."`
	Inspect circuitInspect `cmd:"" help:"Show one circuit."`
	Check   circuitCheck   `cmd:"" help:"Check a circuit of the catalogue, or a zkey that is in none, and store nothing."`
	Remove  circuitRemove  `cmd:"" help:"Remove a circuit."`
	Export  circuitExport  `cmd:"" help:"Write the verifying key of a circuit."`
}

// at says where a circuit was looked for that isn't there: most often another directory was meant.
func at(catalogue *circuit.Catalogue, err error) error {
	if errors.Is(err, circuit.ErrUnknownCircuit) {
		return fmt.Errorf("%w in %s", err, catalogue.Dir())
	}
	return err
}

// catalogue opens the one that the environment names.
func (a *app) catalogue() (*circuit.Catalogue, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return config.OpenCatalogue()
}

type circuitAdd struct {
	Name string `arg:"" help:"Name: 1 to 64 of A-Z, a-z, 0-9, _ and -."`
	Zkey string `required:"" placeholder:"F" help:"Proving key of snarkjs."`
	Wasm string `placeholder:"F" help:"Witness calculator of circom 2: jobs may then bring inputs instead of a witness."`
	R1cs string `name:"r1cs" placeholder:"F" help:"Constraints: a bad witness is then answered with the constraint that it breaks."`
}

func (c *circuitAdd) Run(a *app) error {
	catalogue, err := a.catalogue()
	if err != nil {
		return err
	}
	bar := a.bar()
	info, err := catalogue.Add(a.ctx, c.Name, circuit.Files{Zkey: c.Zkey, Wasm: c.Wasm, R1CS: c.R1cs}, bar.report)
	bar.close()
	if err != nil {
		return a.filesFault(err)
	}
	a.warnForgeable(*info)
	return a.print(info, func(w io.Writer) { fmt.Fprintln(w, info.Ref()) })
}

// filesFault makes an error one of the input: what isn't the file system's fault is that of the files.
func (a *app) filesFault(err error) error {
	if a.ctx.Err() == nil && !isA[*fs.PathError](err) {
		return &inputError{err}
	}
	return err
}

func (a *app) warnForgeable(info circuit.Info) {
	if info.Forgeable {
		a.warnf("the key of %s has no phase-2 contribution (gamma = delta): anyone can forge proofs; serve refuses it unless PINION_ALLOW_FORGEABLE names it", info.Name)
	}
}

// warnForgeableKey warns about a key that is in no catalogue.
func (a *app) warnForgeableKey(zkey string, forgeable bool) {
	if forgeable {
		a.warnf("%s has no phase-2 contribution (gamma = delta): anyone can forge proofs", zkey)
	}
}

type circuitList struct {
	Remote bool `help:"Those that were pushed to the broker."`
}

func (c *circuitList) Run(a *app) error {
	if c.Remote {
		return a.listStored()
	}
	catalogue, err := a.catalogue()
	if err != nil {
		return err
	}
	added, broken := catalogue.List()
	pulled, alsoBroken := catalogue.Received()
	infos := append(append([]circuit.Info{}, added...), pulled...)
	return errors.Join(broken, alsoBroken, a.print(infos, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		defer t.Flush()
		fmt.Fprintln(t, "NAME\tCURVE\tCONSTRAINTS\tPUBLIC\tDOMAIN\tKEY\tDIGEST\tNOTES")
		for n, i := range infos {
			note := notes(i)
			if n >= len(added) {
				note = "pulled " + note
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%.12s\t%s\n", i.Name, i.Curve, i.Constraints, i.Public, i.Domain, mebibytes(i.Bytes), i.Digest, note)
		}
	}))
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func notes(i circuit.Info) (notes string) {
	for _, n := range []struct {
		there bool
		text  string
	}{{i.HasWasm, "wasm "}, {i.HasR1CS, "r1cs "}, {i.Forgeable, "FORGEABLE"}} {
		if n.there {
			notes += n.text
		}
	}
	return notes
}

type circuitInspect struct {
	Circuit string `arg:"" help:"Name, or name@digest."`
}

func (c *circuitInspect) Run(a *app) error {
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	info, err := catalogue.Info(ref)
	if err != nil {
		return at(catalogue, err)
	}
	return a.print(info, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		defer t.Flush()
		for _, line := range []struct {
			name  string
			value any
		}{
			{"name", info.Name}, {"digest", info.Digest}, {"curve", info.Curve}, {"wires", info.Vars}, {"public signals", info.Public},
			{"constraints", info.Constraints}, {"domain", info.Domain}, {"matrix entries", info.Entries}, {"prepared key", mebibytes(info.Bytes)},
			{"witness calculator", info.HasWasm}, {"r1cs", info.HasR1CS}, {"forgeable", info.Forgeable},
		} {
			fmt.Fprintf(t, "%s\t%v\n", line.name, line.value)
		}
	})
}

// lookUp opens the catalogue and reads a reference to one of its circuits.
func (a *app) lookUp(name string) (*circuit.Catalogue, circuit.Ref, error) {
	ref, err := circuit.ParseRef(name)
	if err != nil {
		return nil, ref, &usageError{err}
	}
	catalogue, err := a.catalogue()
	return catalogue, ref, err
}

type circuitCheck struct {
	Circuit string `arg:"" optional:"" help:"Name, or name@digest, of a circuit of the catalogue."`
	Zkey    string `placeholder:"F" help:"Proving key of snarkjs."`
}

func (c *circuitCheck) Run(a *app) error {
	if (c.Circuit == "") == (c.Zkey == "") {
		return &usageError{errors.New("give the name of a circuit, or --zkey")}
	}
	bar := a.bar()
	defer bar.close()
	if c.Zkey != "" {
		return c.checkZkey(a, bar)
	}
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	if err := catalogue.Check(a.ctx, ref, bar.report); err != nil {
		return at(catalogue, err)
	}
	info, err := catalogue.Info(ref)
	if err != nil {
		return err
	}
	a.warnForgeable(*info)
	return a.print(info, func(w io.Writer) { fmt.Fprintln(w, info.Ref(), "is whole") })
}

func (c *circuitCheck) checkZkey(a *app, bar *bar) error {
	info, err := checkZkey(a.ctx, c.Zkey, bar.report)
	if err != nil {
		return err
	}
	bar.close()
	a.warnForgeableKey(c.Zkey, info.Forgeable)
	return a.print(info, func(w io.Writer) {
		fmt.Fprintf(w, "valid: %s, %d wires, %d public, domain %d, %d contributions, sha256 %s\n",
			info.Curve, info.Vars, info.Public, info.Domain, info.Contributions, info.Digest)
	})
}

// zkeyInfo is what circuit check prints of a key.
type zkeyInfo struct {
	Digest        circuit.Digest `json:"digest"`
	Curve         string         `json:"curve"`
	Vars          int            `json:"vars"`
	Public        int            `json:"public"`
	Domain        int            `json:"domain"`
	Entries       int            `json:"entries"`
	Contributions int            `json:"contributions"`
	Forgeable     bool           `json:"forgeable"`
}

func checkZkey(ctx context.Context, path string, progress circuit.Progress) (*zkeyInfo, error) {
	z, err := circuit.OpenZkey(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if err := z.Check(ctx, progress); err != nil {
		return nil, err
	}
	digest, err := z.Digest(ctx, progress)
	if err != nil {
		return nil, err
	}
	return &zkeyInfo{digest, z.Curve.String(), z.Vars, z.Public, z.Domain, z.Entries, z.Contributions, z.Forgeable()}, nil
}

type circuitRemove struct {
	Circuit string `arg:"" help:"Name, or name@digest."`
	Remote  bool   `help:"Remove it from the broker: name@digest. Workers that have it keep it."`
}

func (c *circuitRemove) Run(a *app) error {
	if c.Remote {
		return a.removeStored(c.Circuit)
	}
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	return at(catalogue, catalogue.Remove(ref))
}

type circuitExport struct {
	Circuit string `arg:"" help:"Name, or name@digest."`
	Vkey    string `placeholder:"F" default:"verification_key.json" help:"File for the verifying key, in snarkjs's form."`
}

func (c *circuitExport) Run(a *app) error {
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	opened, err := catalogue.Open(ref)
	if err != nil {
		return at(catalogue, err)
	}
	defer opened.Close()
	return writeJSON(c.Vkey, opened.VerifyingKey())
}
