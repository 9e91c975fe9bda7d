package circuit

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// What circom 2 exports and we call; all parameters and results are i32.
var calculatorExports = []struct {
	name            string
	params, results int
	optional        bool
}{
	{name: "getVersion", results: 1},
	{name: "getFieldNumLen32", results: 1},
	{name: "getSharedRWMemoryStart", results: 1},
	{name: "getRawPrime"},
	{name: "getWitnessSize", results: 1},
	{name: "getInputSize", results: 1},
	{name: "init", params: 1},
	{name: "setInputSignal", params: 3},
	{name: "getWitness", params: 1},
	{name: "getInputSignalSize", params: 2, results: 1, optional: true}, // not in early 2.0
	{name: "getMessageChar", results: 1, optional: true},
}

// What circom 2 imports from "runtime". Its parameters are i32, and it has no results.
var calculatorImports = map[string]struct {
	params int
	do     func(ctx context.Context, params []uint64)
}{
	"exceptionHandler":   {1, func(ctx context.Context, params []uint64) { running(ctx).raise(uint32(params[0])) }},
	"printErrorMessage":  {0, func(ctx context.Context, _ []uint64) { running(ctx).noteMessage() }},
	"writeBufferMessage": {0, func(context.Context, []uint64) {}}, // log(): secret
	"showSharedRWMemory": {0, func(context.Context, []uint64) {}}, // log(): secret
	"printDebug":         {1, func(context.Context, []uint64) {}}, // left in by circom 2.2.0
}

// checkModule tells whether a module has the interface of circom 2's witness calculators.
func checkModule(m wazero.CompiledModule) error {
	exports := m.ExportedFunctions()
	if _, old := exports["getNVars"]; old {
		return fmt.Errorf("%w: circom 1 made it", ErrNotCalculator)
	}
	for _, want := range calculatorExports {
		f, there := exports[want.name]
		switch {
		case !there && want.optional:
		case !there:
			return fmt.Errorf("%w: it exports no function %s", ErrNotCalculator, want.name)
		case !allI32(f.ParamTypes(), want.params) || !allI32(f.ResultTypes(), want.results):
			return fmt.Errorf("%w: its function %s has other parameters or results", ErrNotCalculator, want.name)
		}
	}
	if len(m.ExportedMemories()) != 1 || m.ExportedMemories()["memory"] == nil {
		return fmt.Errorf("%w: it exports no memory", ErrNotCalculator)
	}
	if len(m.ImportedMemories()) > 0 {
		return fmt.Errorf("%w: it imports its memory", ErrNotCalculator)
	}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		want, known := calculatorImports[name]
		if module != "runtime" || !known {
			return fmt.Errorf("%w: it imports %.64q from %.64q", ErrNotCalculator, name, module)
		}
		if !allI32(f.ParamTypes(), want.params) || len(f.ResultTypes()) > 0 {
			return fmt.Errorf("%w: it imports %s with other parameters or results", ErrNotCalculator, name)
		}
	}
	return nil
}

func allI32(types []api.ValueType, n int) bool {
	for _, t := range types {
		if t != api.ValueTypeI32 {
			return false
		}
	}
	return len(types) == n
}

// linkHost gives the runtime the functions that calculators import.
func linkHost(ctx context.Context, r wazero.Runtime) error {
	host := r.NewHostModuleBuilder("runtime")
	for name, f := range calculatorImports {
		params := make([]api.ValueType, f.params)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		host.NewFunctionBuilder().WithGoFunction(api.GoFunc(f.do), params, nil).Export(name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return fmt.Errorf("witness calculator: %w", err)
	}
	return nil
}
