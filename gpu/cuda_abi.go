package gpu

import "unsafe"

// The types of csrc/include/pinion.h, field by field; see there. Opaque handles are addresses of the library's own.

// abiVersion is PINION_ABI.
const abiVersion = 2

type cDeviceInfo struct {
	name               [256]byte
	kind               [16]byte
	memory, free, used int64
	ordinal            int32
	_, _               int32 // processors, capability
	overlap            int32
}

type cMatrix struct {
	starts, columns, values unsafe.Pointer
	entries                 uint64
}

type cKey struct {
	curve, batch, quotient, exponents             uint32
	vars, publicWires, domain, rows, coefficients uint64
	alpha1, beta1, delta1                         unsafe.Pointer
	beta2, delta2                                 unsafe.Pointer
	pointsA, pointsB1, pointsB2, pointsC, pointsH unsafe.Pointer
	a, b                                          cMatrix
	coefficient                                   unsafe.Pointer
	touch                                         uintptr // a function of the library's calling convention
	context                                       uintptr
}

type cFootprint struct {
	device, pinned int64
	batch, _       uint32
}

type cInput struct {
	witness, a, b unsafe.Pointer
	r, s          [32]byte
}

type cTimings struct {
	upload, synthesis, ntt float32
	sort                   float32
	a, b1, b2, c, h        float32
	finish                 float32
	total                  float32
	overlapped             float32
}

type cBenchCase struct {
	kind, curve, group, logSize    uint32
	tables, sparse, repetitions, _ uint32
	seed                           uint64
}

type cBenchResult struct {
	least, median, greatest float32
	bits, tables, _         uint32
	operations              uint64
	found                   [192]byte
	expected                [32]byte
}

// library has the functions of a library that is loaded. It stays loaded: a driver in it may have threads of its own.
type library struct {
	path string

	abiVersion       func() uint32
	deviceCount      func(count *int32, e *cError) int32
	deviceOpen       func(ordinal int32, device *uintptr, e *cError) int32
	deviceClose      func(device uintptr, e *cError) int32
	deviceDescribe   func(device uintptr, info *cDeviceInfo, e *cError) int32
	circuitFootprint func(device uintptr, key *cKey, footprint *cFootprint, e *cError) int32
	circuitLoad      func(device uintptr, key *cKey, circuit *uintptr, e *cError) int32
	circuitUnload    func(circuit uintptr, e *cError) int32
	multiples        func(device uintptr, curve, group uint32, scalars *byte, n uint64, points *byte, e *cError) int32
	taskBegin        func(circuit uintptr, inputs *cInput, count uint32, task *uintptr, e *cError) int32
	taskWaitUploaded func(task uintptr, e *cError) int32
	taskWaitDone     func(task uintptr, e *cError) int32
	taskFinish       func(task uintptr, proofs *byte, size uint64, timings *cTimings, e *cError) int32
	hostRegister     func(ordinal int32, memory *byte, size uint64, readOnly int32, e *cError) int32
	hostUnregister   func(ordinal int32, memory *byte, e *cError) int32
	bench            func(device uintptr, what *cBenchCase, result *cBenchResult, e *cError) int32
}

// functions are the names that the library has to have. The version comes first: only if it is right do the others mean what they say.
func (l *library) functions() []function {
	return []function{
		{"pinion_abi_version", &l.abiVersion},
		{"pinion_device_count", &l.deviceCount},
		{"pinion_device_open", &l.deviceOpen},
		{"pinion_device_close", &l.deviceClose},
		{"pinion_device_describe", &l.deviceDescribe},
		{"pinion_circuit_footprint", &l.circuitFootprint},
		{"pinion_circuit_load", &l.circuitLoad},
		{"pinion_circuit_unload", &l.circuitUnload},
		{"pinion_multiples", &l.multiples},
		{"pinion_task_begin", &l.taskBegin},
		{"pinion_task_wait_uploaded", &l.taskWaitUploaded},
		{"pinion_task_wait_done", &l.taskWaitDone},
		{"pinion_task_finish", &l.taskFinish},
		{"pinion_host_register", &l.hostRegister},
		{"pinion_host_unregister", &l.hostUnregister},
		{"pinion_bench", &l.bench},
	}
}

// function is a function of the library, and where it goes: a pointer to a Go function of its type.
type function struct {
	name string
	to   any
}
