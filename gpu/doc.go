// Package gpu drives the devices that make proofs. It knows keys and witnesses, and nothing of jobs.
//
// A Device is what makes proofs: the CPU device (NewCPU), or a CUDA card (OpenCUDA). An Executor owns one; its single goroutine, locked to its OS
// thread, is the only caller of the device, as drivers want it.
//
//	x, err := gpu.NewExecutor(gpu.NewCPU(), 4) // four tasks may wait
//	if err != nil {
//		return err // ErrInUse
//	}
//	defer x.Close(ctx)
//	key, err := x.Load(ctx, pk)
//	if err != nil {
//		return err
//	}
//	ticket, err := x.Submit(ctx, &gpu.Task{Key: key, Inputs: []gpu.Input{{Witness: w, A: a, B: b}}}) // blocks while four wait
//	if err != nil {
//		return err // ctx's error, ErrClosed, ErrUnhealthy
//	}
//	<-ticket.Uploaded() // w, a and b may serve the next task
//	proofs, timings, err := ticket.Result()
//
// # The life of a task
//
//	Submit -> queued -> begun -> uploaded -> done
//	             |
//	             +-> its context ended: it never begins
//
// Tasks begin in the order they were submitted; Info.Overlap says how many may be begun at once, so that a card copies the input of
// one while it computes another. Once begun, a task goes on to its end.
//
// A card proves many small witnesses at once in little more time than one. So when a task begins, those that wait with the same key
// begin with it, up to Footprint.Batch inputs. An idle device takes what is there. One that works lets a task that isn't a whole batch
// wait for more, until it is idle or something else waits behind that task. Each task has its own proofs, its own end and its own
// context; if the input of one is bad, the others end with ErrAgain.
//
// # CUDA
//
// The kernels are in csrc, and in a library of their own, which OpenCUDA loads: `make cuda` builds it. The same kernels for the
// software device, which is for tests, are built by `make cuda-software`. A card takes the witness alone and computes a and b itself.
// Its buffers should come from Card.Pinned: the driver copies other memory first.
//
// While a run is on the card, a goroutine of the run waits for the card's events; that and Pinned are all that calls the library
// beside the executor.
//
// # When a device fails
//
// An error that wraps ErrFault, a panic, a wrong number of proofs, and longer silence than Executor.Patience allows make a device
// unhealthy, and so does Executor.Condemn. Tasks
// that have begun come to their end; those that wait, and all that come, get ErrUnhealthy. Nothing makes it healthy again: the
// process has to be restarted.
package gpu
