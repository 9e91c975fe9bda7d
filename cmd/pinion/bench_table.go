package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// benchReport is a run, as --json prints it.
type benchReport struct {
	Command string       `json:"command"`
	Date    time.Time    `json:"date"`
	Device  string       `json:"device"`
	Driver  string       `json:"driver"`
	Version string       `json:"version"`
	Library string       `json:"library"`
	Seconds float64      `json:"seconds"`
	Rates   []curveRates `json:"rates"`
	Rows    []benchRow   `json:"kernels"`
	Proofs  []benchProof `json:"proofs"`
	Skipped []string     `json:"skipped"`
}

// curveRates are bare operations per second on a curve.
type curveRates struct {
	Curve groth16.Curve `json:"curve"`
	benchRates
}

// benchRow is a sum or a transform of one size. Tables is how many its bases had.
type benchRow struct {
	What       string       `json:"what"`
	Log        int          `json:"log"`
	Least      milliseconds `json:"least_ms"`
	Median     milliseconds `json:"median_ms"`
	Greatest   milliseconds `json:"greatest_ms"`
	Floor      milliseconds `json:"floor_ms"`
	Operations uint64       `json:"operations"`
	Bits       int          `json:"bits,omitempty"`
	Tables     int          `json:"tables,omitempty"`
}

// milliseconds have three digits in print.
type milliseconds float64

func inMS(d time.Duration) milliseconds { return milliseconds(d.Seconds() * 1e3) }

func (ms milliseconds) String() string {
	decimals := 3
	for limit := 1.0; float64(ms) >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(float64(ms), 'f', decimals, 64)
}

// write prints the report in markdown, so that it can be pasted.
func (r *benchReport) write(w io.Writer) {
	fmt.Fprintf(w, "`pinion %s`, %s, %s, driver %s, pinion %s with %s, %.0f s.\n", r.Command, r.Date.Format("2006-01-02 15:04 MST"), r.Device, r.Driver,
		r.Version, r.Library, r.Seconds)
	fmt.Fprintf(w, "Cells are milliseconds / the floor of these: arithmetic alone, at the rates of bare operations in this run:\n\n")
	rates := markdown{{"G/s", "multiplications in Fr", "additions in G1", "additions in G2"}}
	for _, c := range r.Rates {
		rates = append(rates, []string{c.Curve.String(), giga(c.Multiplications), giga(c.G1), giga(c.G2)})
	}
	rates.write(w)
	r.writeRows(w, "transforms", func(row benchRow) bool { return row.Bits == 0 })
	r.writeRows(w, "sums of products", func(row benchRow) bool { return row.Bits != 0 })
	r.writeProofs(w)
	for _, text := range r.Skipped {
		fmt.Fprintf(w, "\nSkipped: %s.", text)
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintln(w)
	}
}

func giga(perSecond float64) string { return strconv.FormatFloat(perSecond/1e9, 'g', 3, 64) }

// writeRows prints what is measured at several sizes: a line for each thing, a column for each size.
func (r *benchReport) writeRows(w io.Writer, title string, in func(benchRow) bool) {
	var table markdown
	columns, lines := make(map[int]int), make(map[string]int)
	head := []string{title}
	spread := 0.0
	for _, row := range r.Rows {
		if in(row) && columns[row.Log] == 0 {
			columns[row.Log] = len(head)
			head = append(head, fmt.Sprintf("2^%d", row.Log))
		}
	}
	if len(columns) == 0 {
		return
	}
	table = append(table, head)
	for _, row := range r.Rows {
		if !in(row) {
			continue
		}
		if lines[row.What] == 0 {
			lines[row.What] = len(table)
			table = append(table, append([]string{row.What}, make([]string, len(columns))...))
		}
		table[lines[row.What]][columns[row.Log]] = fmt.Sprintf("%s / %s", row.Median, row.Floor)
		spread = max(spread, float64((row.Greatest-row.Least)/row.Median))
	}
	fmt.Fprintln(w)
	table.write(w)
	fmt.Fprintf(w, "\nMedians; from the least to the greatest reading of a cell it is at most %.1f %%.\n", 100*spread)
}

func (r *benchReport) writeProofs(w io.Writer) {
	if len(r.Proofs) == 0 {
		return
	}
	table := markdown{{"whole proofs", "proofs a task", "a task alone", "a task / floor, one after another", "proofs/s", "upload", "synthesis", "transforms", "sums", "finish"}}
	for _, p := range r.Proofs {
		table = append(table, []string{
			p.Circuit, strconv.Itoa(p.Batch), p.Alone.String(), fmt.Sprintf("%s / %s", p.Task, p.Floor), strconv.FormatFloat(p.Rate, 'g', 4, 64),
			p.Upload.String(), p.Synthesis.String(), p.NTT.String(), p.MSM.String(), p.Finish.String(),
		})
	}
	fmt.Fprintln(w)
	table.write(w)
}

// markdown is a table, its first line the head.
type markdown [][]string

func (m markdown) write(w io.Writer) {
	widths := make([]int, len(m[0]))
	for _, line := range m {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for n, line := range m {
		for i, cell := range line {
			fmt.Fprintf(w, "| %-*s ", widths[i], cell)
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprint(w, "|", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
}
