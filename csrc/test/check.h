// A very small test driver: TEST(name) { CHECK(...); } in any file, main in main.cpp.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

struct Test {
  const char *name;
  std::function<void()> body;
};
std::vector<Test> &tests();
extern int failures;

struct Registered {
  Registered(const char *name, std::function<void()> body) { tests().push_back({name, std::move(body)}); }
};

#define TEST(name)                                       \
  static void test_##name();                             \
  static Registered registered_##name(#name, test_##name); \
  static void test_##name()

// CHECK reports a condition that doesn't hold, and goes on.
#define CHECK(condition, ...) ((condition) ? (void)0 : (failures++, std::printf("%s:%d: %s:", __FILE__, __LINE__, #condition), std::printf(" " __VA_ARGS__), (void)std::printf("\n")))
