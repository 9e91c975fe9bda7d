# The device libraries. Each source is compiled twice: by nvcc for cards, and by the C++ compiler for the software device. Files called
# cuda or *_cuda are for cards only, software or *_software for the software device only; what is in test/ is in neither library.

BUILD := build
NVCC ?= nvcc

# Real architectures; of the last one the library has PTX too, for newer cards. For development: make cuda CUDA_ARCHS=90
CUDA_ARCHS ?= 80 86 89 90
gencode = $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
  -gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))

CSRC_FLAGS := -std=c++17 -Icsrc -Icsrc/include
# No -lineinfo: with as much inlining as this, ptxas 11.8 recurses until its stack is gone.
NVCC_FLAGS = $(CSRC_FLAGS) -O3 $(gencode) -Xcompiler -fPIC,-fvisibility=hidden,-Wall
CXX_FLAGS = $(CSRC_FLAGS) -O2 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Wno-unknown-pragmas -pthread $(SANITIZE)

sources := $(filter-out csrc/test/%,$(wildcard csrc/*/*.cu csrc/*/*.cpp))
software_sources := $(filter-out %/cuda.cu %_cuda.cu,$(sources))
cuda_sources := $(filter-out %/software.cpp %_software.cpp,$(sources))
object = $(patsubst csrc/%,$(BUILD)/$(1)/%.o,$(2))

software_objects := $(call object,software,$(software_sources))
cuda_objects := $(call object,cuda,$(cuda_sources))

# The tests of csrc: one driver, for the software device and for cards, with the sources that it tests. Sums have a file for each group,
# since nvcc takes minutes for one.
tested = $(filter-out csrc/prover/% csrc/bench/%,$(1)) csrc/test/main.cpp $(wildcard csrc/test/*_test.cpp)
software_tests := $(call object,software,$(call tested,$(software_sources)))
cuda_tests := $(call object,cuda,$(call tested,$(cuda_sources)))

.PHONY: cuda
cuda: $(BUILD)/libpinion_cuda.so ## build the library for NVIDIA cards (nvcc 11.8 or later)

.PHONY: cuda-software
cuda-software: $(BUILD)/libpinion_software.so ## build the same kernels for the CPU: slow, for tests

$(BUILD)/libpinion_cuda.so: $(cuda_objects)
	$(NVCC) -shared $(gencode) -o $@.new $^ -Xcompiler -static-libstdc++,-static-libgcc -Xlinker --exclude-libs,ALL
	mv $@.new $@

$(BUILD)/libpinion_software.so: $(software_objects)
	$(CXX) -shared -pthread -o $@.new $^ -Wl,--no-undefined
	mv $@.new $@

$(BUILD)/csrc_test_software: $(software_tests) | build/vectors
	$(CXX) -pthread $(SANITIZE) -o $@ $^

# What gnark-crypto computes, for the tests to compare with.
build/vectors: $(wildcard csrc/test/vectors/*.go) go.mod
	@mkdir -p $(@D)
	go run ./csrc/test/vectors $@

$(BUILD)/csrc_test_cuda: $(cuda_tests)
	$(NVCC) $(gencode) -o $@ $^ -Xcompiler -static-libstdc++,-static-libgcc

# The same driver with points in lanes, as on a card, and with mutants.
mutant_objects := $(patsubst $(BUILD)/software/%,$(BUILD)/mutants/%,$(filter-out %_g1_test.cpp.o %_g2_test.cpp.o,$(software_tests)))

$(BUILD)/csrc_test_mutants: $(mutant_objects) | build/vectors
	$(CXX) -pthread -o $@ $^

$(BUILD)/mutants/%.o: csrc/% csrc/csrc.mk
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -O1 -DPINION_MUTANTS -DPINION_LANES -MMD -MF $(@:.o=.d) -x c++ -c -o $@ $<

# Which tests of the driver, by the beginnings of their names, run under sanitizers too: by default all.
SANITIZED_TESTS ?=
sanitizers := -fsanitize=address,undefined -fno-sanitize-recover=all

.PHONY: test-csrc
test-csrc: ## test the kernels on the software device, these tests by mutants, and the memory by sanitizers
	$(MAKE) -j2 build/csrc_test_software build/csrc_test_mutants
	build/csrc_test_software
	build/csrc_test_mutants mutants msm_lanes
	$(MAKE) -j2 BUILD=build/sanitized SANITIZE="$(sanitizers)" build/sanitized/csrc_test_software
	build/sanitized/csrc_test_software $(SANITIZED_TESTS)

.PHONY: gpu-files
gpu-files: $(BUILD)/libpinion_cuda.so $(BUILD)/csrc_test_cuda build/vectors ## fill build/gpu, which a GPU machine without Go is tested with
	@mkdir -p $(BUILD)/gpu/testdata
	cp $^ scripts/test-gpu.sh $(BUILD)/gpu
	cp gpu/testdata/stub.cpp csrc/include/pinion.h $(BUILD)/gpu/testdata
	CGO_ENABLED=0 go test -c -trimpath -o $(BUILD)/gpu/gpu.test ./gpu
	CGO_ENABLED=0 go build -trimpath -o $(BUILD)/gpu/pinion ./cmd/pinion

.PHONY: test-gpu
test-gpu: ## test kernels and device on the GPU of this machine
	@command -v nvidia-smi >/dev/null || { echo "no GPU here: make gpu-files, and carry $(BUILD)/gpu to a machine that has one" >&2; exit 3; }
	$(MAKE) gpu-files
	@scripts/test-gpu.sh $(BUILD)/gpu

$(BUILD)/cuda/%.o: csrc/% csrc/csrc.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -MMD -MF $(@:.o=.d) -x cu -c -o $@ $<

$(BUILD)/software/%.o: csrc/% csrc/csrc.mk
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -MMD -MF $(@:.o=.d) -x c++ -c -o $@ $<

-include $(software_objects:.o=.d) $(cuda_objects:.o=.d) $(software_tests:.o=.d) $(cuda_tests:.o=.d) $(mutant_objects:.o=.d)
