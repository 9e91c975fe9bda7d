// Tests of the tests: a carry that is lost, a barrier that nobody waits in, an exchange in which each lane keeps what it has, each makes
// the tests of its folder fail. Built with PINION_MUTANTS, and with PINION_LANES, so that lanes share points as on a card.
#ifdef PINION_MUTANTS
#include "../device/device.h"
#include "../field/primitives.h"
#include "check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>

using namespace pinion;

namespace {

// passes is whether the tests whose names begin so pass, in a process of their own: a mutant may crash, or never end.
bool passes(const std::string &prefix, bool lastFirst) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit seconds{20, 20};
    setrlimit(RLIMIT_CPU, &seconds);
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(2);
    failures = 0;
    software::lastFirst(lastFirst);
    for (const Test &test : tests()) {
      if (std::strncmp(test.name, prefix.c_str(), prefix.size()) != 0) continue;
      try {
        test.body();
      } catch (const std::exception &) {
        _exit(1);
      }
      if (failures) _exit(1);
    }
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// survives is whether they pass whichever warp goes ahead.
bool survives(const std::string &prefix) { return passes(prefix, false) && passes(prefix, true); }

// exchanges are the lines of a file that call barriers, shuffles or ballots, but for those that are compiled for cards only.
std::vector<int> exchanges(const std::filesystem::path &path) {
  static const std::regex call("\\b(barrier|warpBarrier|shuffle\\w*|ballot)\\(");
  std::ifstream file(path);
  std::vector<int> lines;
  bool cards = false;
  std::string line;
  for (int n = 1; std::getline(file, line); n++) {
    if (line.rfind("#ifdef __CUDA_ARCH__", 0) == 0) cards = true;
    if (line.rfind("#else", 0) == 0 || line.rfind("#endif", 0) == 0) cards = false;
    if (!cards && std::regex_search(line.substr(0, line.find("//")), call)) lines.push_back(n);
  }
  return lines;
}

}  // namespace

TEST(mutants_of_carries) {
  const char *const names[] = {"none", "add", "addc", "addcLast", "sub", "subc", "borrowLast", "madLo", "madcLo", "madcHi"};
  using P = Primitive;
  const CarryMutant all[] = {{P::addc, false}, {P::addcLast, false}, {P::subc, false}, {P::borrowLast, false}, {P::madcLo, false},
                             {P::madcHi, false}, {P::add, true}, {P::addc, true}, {P::sub, true}, {P::subc, true}, {P::madLo, true},
                             {P::madcLo, true}, {P::madcHi, true}};
  for (const char *field : {"field_bn254_r", "field_bn254_q", "field_bls12381_r", "field_bls12381_q"}) {
    CHECK(survives(field), "%s without a mutant", field);
    for (const CarryMutant &mutant : all) {
      carryMutant = mutant;
      CHECK(!survives(field), "%s doesn't notice a carry lost %s %s", field, mutant.out ? "by" : "before", names[int(mutant.primitive)]);
      carryMutant = {P::none, false};
    }
  }
}

TEST(mutants_of_exchanges) {
  const std::filesystem::path sources = std::filesystem::path(__FILE__).parent_path().parent_path();
  const std::pair<const char *, const char *> tested[] = {
      {"curve", "curve_bn254"}, {"msm", "msm_lanes"}, {"ntt", "ntt_bn254"}, {"prover", "prover_m"}, {"setup", "setup"}};
  int found = 0;
  for (const auto &[folder, prefix] : tested) {
    CHECK(survives(prefix), "%s without a mutant", prefix);
    for (const auto &file : std::filesystem::directory_iterator(sources / folder)) {
      const std::string name = std::string(folder) + "/" + file.path().filename().string();
      for (int line : exchanges(file.path())) {
        found++;
        software::omit(name, line);
        CHECK(!survives(prefix), "%s doesn't notice that line %d of %s is left out", prefix, line, name.c_str());
        software::omit("", 0);
      }
    }
  }
  CHECK(found > 10, "%d exchanges in %s: they are looked for in the wrong place", found, sources.c_str());
}
#endif
