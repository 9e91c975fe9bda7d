#include "check.h"

#include <cstring>
#include <exception>

std::vector<Test> &tests() {
  static std::vector<Test> all;
  return all;
}
int failures = 0;

// main runs the tests whose names begin with one of the arguments, or all.
int main(int argc, char **argv) {
  int ran = 0;
  for (const Test &test : tests()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; i++) wanted |= std::strncmp(test.name, argv[i], std::strlen(argv[i])) == 0;
    if (!wanted) continue;
    const int before = failures;
    try {
      test.body();
    } catch (const std::exception &e) {
      failures++;
      std::printf("%s\n", e.what());
    }
    std::printf("%s %s\n", failures == before ? "ok  " : "FAIL", test.name);
    std::fflush(stdout);
    ran++;
  }
  std::printf("%d tests, %d failures\n", ran, failures);
  return failures || !ran;
}
