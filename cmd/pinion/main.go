// Pinion proves circom circuits: Groth16, on BN254 and BLS12-381, as a service on a NATS JetStream work queue, or at once from the
// command line. Run it with --help.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }
