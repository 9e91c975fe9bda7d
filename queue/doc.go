// Package queue is Pinion's wire contract on NATS JetStream: what a proving
// job looks like, where it lies, who may take it, and how its result comes
// back. docs/wire.md says the same for producers in other languages.
//
// Producers start with [NewClient] and [Client.Submit]; proving processes
// with [NewWorker], [Worker.Run] and a [Handler], which is all that this
// package knows of proving. [Provision] creates the streams, consumers and
// buckets; clients and workers only bind to them.
//
// The package relies on three rules, because JetStream's acknowledgements
// prove nothing (an ack of a job that another worker holds succeeds too):
//
//   - A job is worked on under a lease in the key-value bucket, renewed by
//     compare and set. Who loses it stops, and neither naks nor terminates.
//   - The first stored result wins. Everybody else reads that one.
//   - Attempts are counted before the work begins, so a job that kills its
//     worker is given up after [MaxAttempts], with a dead letter.
package queue
