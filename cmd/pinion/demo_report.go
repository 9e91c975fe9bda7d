package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// printDemo prints the median time of each phase per circuit, and the trace of the last job.
func printDemo(w io.Writer, replies []*demoReply) {
	fmt.Fprintf(w, "%d jobs done, %d proofs verified by the producer. Median milliseconds per circuit:\n\n", len(replies), len(replies))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "circuit\tjobs\t")
	for _, name := range phaseNames {
		fmt.Fprint(t, name, "\t")
	}
	fmt.Fprintln(t)
	for _, line := range medians(replies) {
		fmt.Fprintf(t, "%s\t%d\t", line.Circuit, line.Jobs)
		for _, name := range phaseNames {
			fmt.Fprintf(t, "%.1f\t", line.MS[name])
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	last := replies[len(replies)-1]
	fmt.Fprintf(w, "\nTrace %s of job %s: the producer's span, and those that the worker sent to the reply subject:\n\n", last.result.Trace, last.result.ID)
	if err := printTrace(w, last.spans, last.sent); err != nil {
		fmt.Fprintln(w, err)
	}
}

// circuitMedians are the median times of the jobs of one circuit.
type circuitMedians struct {
	Circuit string             `json:"circuit"`
	Jobs    int                `json:"jobs"`
	MS      map[string]float64 `json:"ms"`
}

// medians sums up the replies, one line for each circuit in the order of appearance.
func medians(replies []*demoReply) []circuitMedians {
	var lines []circuitMedians
	times := map[string]map[string][]float64{}
	for _, r := range replies {
		name := r.example.name
		if times[name] == nil {
			times[name] = map[string][]float64{}
			lines = append(lines, circuitMedians{Circuit: name, MS: map[string]float64{}})
		}
		for phase, ms := range timingsMS(r.result.Timings) {
			times[name][phase] = append(times[name][phase], ms)
		}
	}
	for i := range lines {
		for phase, all := range times[lines[i].Circuit] {
			lines[i].Jobs = len(all)
			lines[i].MS[phase] = median(all)
		}
	}
	return lines
}

func median(values []float64) float64 {
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}

func demoJSON(replies []*demoReply) any {
	return map[string]any{"jobs": len(replies), "verified": len(replies), "circuits": medians(replies)}
}
